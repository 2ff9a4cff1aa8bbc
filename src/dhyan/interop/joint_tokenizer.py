"""Both tokenizers of a model as one file of the `tokenizers` library, for `transformers`.

`transformers` gives an encoder-decoder one tokenizer, and most of its models one table of embeddings
for both sides. So the tokens of the target stand behind those of the source, each with a mark before
its name: texts are cut into tokens of the source, and ids of the target are joined to a text.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenizers import Regex, decoders, normalizers, processors
from tokenizers import Tokenizer as Backend

from dhyan.errors import UserError
from dhyan.special_tokens import BOS, EOS, NAMES, PAD, UNK
from dhyan.text.normalize import normalization_steps
from dhyan.text.pretokenization import WORD_MARK
from dhyan.text.sentencepiece import KIND as SENTENCEPIECE
from dhyan.text.sentencepiece import SentencePiece
from dhyan.text.tokenizer import Tokenizer

TARGET_MARK = "\u2063"  # before the names of target tokens; normalisation removes it from texts
SPECIAL = (PAD, BOS, EOS)
CAN_JOIN = ("bpe", "unigram", "words", "characters")


def joint_tokenizer(source: Tokenizer, target: Tokenizer, *, shared: bool, reads_eos: bool) -> str:
    """The JSON of a tokenizer that encodes with the source's ids and decodes those of both.

    If the vocabulary is `shared`, they are the same; else the target's follow the source's.
    """
    for side in (source, target):
        if side.kind not in CAN_JOIN:
            raise UserError(
                f"one tokenizer of transformers cannot hold {side.kind} and the other side's; "
                "ONNX needs none: --to onnx"
            )
    backend = json.loads(source.to_json())
    pieces = [] if shared else [TARGET_MARK + piece for piece in target.piece_ids()]
    vocabulary = backend["model"]["vocab"]
    if isinstance(vocabulary, dict):
        vocabulary |= {piece: len(source) + id for id, piece in enumerate(pieces)}
    else:  # a score that leaves the least one, and so that of unknown characters, as it is
        least = min(score for _, score in vocabulary)
        vocabulary += [[piece, least] for piece in pieces]
    backend["added_tokens"] = [*_special_tokens("", 0)]
    if not shared:
        backend["added_tokens"] += _special_tokens(TARGET_MARK, len(source))
    joined = Backend.from_str(json.dumps(backend))
    joined.normalizer = _normalizer()
    joined.decoder = _decoder(word_level=target.kind == "words")
    if reads_eos:
        joined.post_processor = processors.TemplateProcessing(
            f"$A {NAMES[EOS]}", special_tokens=[(NAMES[EOS], EOS)]
        )
    return joined.to_str()


def write_tokenizers(folder: Path, source: Tokenizer, target: Tokenizer) -> None:
    """Each side's tokenizer: as ours, and, where it can be, for a library without ours."""
    for side, tokenizer in (("source", source), ("target", target)):
        tokenizer.save(folder / f"{side}.json")
        if tokenizer.kind in CAN_JOIN:
            alone = joint_tokenizer(tokenizer, tokenizer, shared=True, reads_eos=False)
            (folder / f"{side}_tokenizer.json").write_text(alone, encoding="utf-8")
        elif tokenizer.kind == SENTENCEPIECE:
            model = SentencePiece.from_table(json.loads(tokenizer.to_json()))
            if model.algorithm != "characters" and not model.languages:
                (folder / f"{side}.spm").write_bytes(model.to_file().to_bytes())


def _special_tokens(mark: str, first: int) -> Iterator[dict[str, Any]]:
    """The special tokens that a decoded text leaves out; an unknown token is written."""
    for id in SPECIAL:
        yield {
            "id": first + id,
            "content": mark + NAMES[id],
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }


def _normalizer() -> normalizers.Sequence:
    """Our normalisation, step by step."""
    return normalizers.Sequence(
        [
            normalizers.NFC() if step is None else normalizers.Replace(Regex(step[0]), step[1])
            for step in normalization_steps()
        ]
    )


def _decoder(*, word_level: bool) -> decoders.Sequence:
    """Pieces to text; an unknown word is written with a space before it."""
    unknown = decoders.Replace(NAMES[UNK], WORD_MARK + NAMES[UNK])
    return decoders.Sequence(
        [
            decoders.Replace(TARGET_MARK, ""),
            *([unknown] if word_level else []),
            decoders.ByteFallback(),
            decoders.Metaspace(WORD_MARK),
            decoders.Fuse(),
            decoders.Replace(Regex(" +"), " "),
            decoders.Replace(Regex(r"\A | \Z"), ""),
        ]
    )
