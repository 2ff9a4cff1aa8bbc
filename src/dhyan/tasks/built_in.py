"""The tasks of the package, from translation to speech; what differs between them is data."""

from dhyan.tasks.rules import known_symbols, one_label, same_length_as_source, valid_iob2
from dhyan.tasks.task import Task, register_task

TRANSLATE = register_task(
    Task(
        name="translate",
        about="A sentence to its translation.",
        slow_metrics=("ter",),
        between_languages=True,
    ),
)
CLASSIFY = register_task(
    Task(
        name="classify",
        about="A text to one of several labels, such as its sentiment.",
        target="labels",
        rules=(one_label, known_symbols),
        metrics=("accuracy", "macro_f1"),
        figure="shaded_words",
    )
)
TAG = register_task(
    Task(
        name="tag",
        about="Each word of a sentence to a tag: named entities (IOB2) or parts of speech.",
        source="word_characters",
        target="symbols",
        rules=(same_length_as_source, known_symbols, valid_iob2),
        metrics=("span_f1", "tag_accuracy"),
        figure="entity_spans",
    )
)
SUMMARIZE = register_task(
    Task(
        name="summarize",
        about="A text to its summary.",
        metrics=("rouge1", "rouge2", "rougeL"),
    )
)
TRANSLITERATE = register_task(
    Task(
        name="transliterate",
        about="A word to the same word in another script.",
        source="characters",
        target="characters",
        metrics=("exact", "cer"),
    )
)
PRONOUNCE = register_task(
    Task(
        name="pronounce",
        about="A word to its phonemes, separated by spaces.",
        source="characters",
        target="symbols",
        metrics=("exact", "wer"),
    )
)
OCR = register_task(
    Task(
        name="ocr",
        about="A picture of a line to its text.",
        source="image_columns",
        target="characters",
        metrics=("cer", "wer", "exact"),
        figure="image_overlay",
    )
)
CAPTION = register_task(
    Task(
        name="caption",
        about="A picture to a sentence that describes it.",
        source="image_patches",
        target="words",
        metrics=("exact", "bleu", "chrf"),
        figure="image_overlay",
    )
)
TEXT_TO_IMAGE = register_task(
    Task(
        name="text_to_image",
        about="A sentence to the cells of a small picture, each a symbol.",
        source="words",
        target="symbols",
        rules=(known_symbols,),
        metrics=("exact",),
        figure="cell_grid",
    )
)
TEXT_TO_SPEECH = register_task(
    Task(
        name="text_to_speech",
        about="A text to the frames of a sound, each a symbol of a codebook.",
        source="characters",
        target="symbols",
        rules=(known_symbols,),
        metrics=("wer",),
        figure="waveform",
    )
)
