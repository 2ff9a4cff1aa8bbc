"""Data pipeline: read, filter, check, encode, store, mix and batch sentence pairs.

read    `text_lines`, `detect_table_format`, `read_table`, `read_tmx`, `read_pairs`;
        or generated: `synthetic`, `primer/`
filter  `filters`
check   `script_check`, `leakage`, `corpus_statistics`
encode  `encode`
store   `store`, `prepare`, `prepared_corpus`
mix     `mixture`
batch   `permutation`, `batches`

`training_sentences` remembers in a model folder what it was trained on.
`pairs` holds what is read, `read_report` the report of reading it; `add_table_column` serves
`dhyan translate`; `corpus_files` and `corpus` take a recipe along this path.
"""
