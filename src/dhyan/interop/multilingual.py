"""Hugging Face folders of multilingual models: M2M100 (Fan et al., 2021), NLLB-200, mBART-50.

Source and target each begin with the token of their language. A text has the tokens of one
SentencePiece model; where the folder has no such file, tokenizer.json has the same pieces.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dhyan import config
from dhyan.errors import UserError
from dhyan.interop.foreign_folder import ForeignFolder, Settings
from dhyan.interop.huggingface import (
    EMBEDDING_NORM,
    FINAL_NORM,
    LEARNING_RATE,
    Layout,
    both_sides,
    learned_positions,
    rename_weights,
    side_sizes,
)
from dhyan.interop.tokenizer_json import read_pieces
from dhyan.interop.vocabulary import Roles, Vocabulary
from dhyan.interop.write_model import ImportedModel
from dhyan.text.language_tokens import M2M100, find_language, is_language_token, known_code
from dhyan.text.safe_tokenizer import MAX_PIECES
from dhyan.text.sentencepiece import SentencePiece
from dhyan.text.sentencepiece_file import SentencePieceFile
from dhyan.text.tokenizer import Tokenizer

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")  # the first ids, as fairseq has them
UNUSED = "madeupword"  # of fairseq, for rows of the tables that no token has
MASK = "<mask>"
SENTENCEPIECE = "sentencepiece.bpe.model"
LAYOUTS = {
    "m2m_100": Layout(
        "an M2M100 model", norms=(FINAL_NORM,), sinusoids="fairseq", first_position=2
    ),
    "mbart": Layout("an mBART model", norms=(FINAL_NORM, EMBEDDING_NORM), first_position=2),
}


@dataclass(frozen=True)
class Pieces:
    """The tokens of a model by their id, those of its languages, and how a text is cut."""

    tokens: tuple[str, ...]
    languages: tuple[str, ...]
    file: SentencePieceFile


def read_multilingual(folder: ForeignFolder, languages: tuple[str, str]) -> ImportedModel:
    """The model of a folder, from a source to a target language that it has."""
    settings = folder.settings("config.json")
    kind = settings.text("model_type")
    tokenizer = folder.settings("tokenizer_config.json")
    _check_convention(settings, tokenizer)
    pieces = _read_pieces(folder, settings, kind)
    ours = {
        side: find_language(
            language or tokenizer.text(key), pieces.languages, place=str(folder.path), side=side
        )
        for side, language, key in zip(
            ("source", "target"), languages, ("src_lang", "tgt_lang"), strict=True
        )
    }
    place = str(folder.path)
    vocabulary = Vocabulary.arrange(pieces.tokens, _roles(settings, pieces.tokens), place=place)
    tied = settings.flag("tie_word_embeddings", True)
    vocabularies = {"source": vocabulary, "target": vocabulary}
    weights = rename_weights(folder, LAYOUTS[kind], vocabularies, shared=True, tied=tied)
    recipe = _recipe(
        folder,
        settings,
        ours,
        longest=learned_positions(weights) - 2 if kind == "mbart" else _longest(settings),
        vocabulary_size=len(vocabulary.tokens),
        tied=tied,
    )
    tokenizers = {
        side: Tokenizer(
            SentencePiece.from_file(
                pieces.file,
                vocabulary.tokens,
                languages=pieces.languages,
                language=language,
            )
        )
        for side, language in ours.items()
    }
    return ImportedModel(f"huggingface-{kind}", recipe, weights, **tokenizers)


def _check_convention(settings: Settings, tokenizer: Settings) -> None:
    """Refuse models whose language tokens stand after a source, as in the first mBART."""
    if tokenizer.flag("legacy_behaviour", False):
        raise tokenizer.error("legacy_behaviour", "sources that end in their language are not read")
    start, eos = settings.id("decoder_start_token_id", 2), settings.id("eos_token_id", 2)
    first_mbart = tokenizer.text("tokenizer_class").removesuffix("Fast") == "MBartTokenizer"
    if start != eos or first_mbart:
        raise UserError(
            f"{settings.path}: is of the first mBART, whose sources end in the token of their "
            f"language after EOS; mBART-50, M2M100 and NLLB, whose sources begin with it, are imported"
        )


def _roles(settings: Settings, tokens: tuple[str, ...]) -> Roles:
    ids = {key: settings.id(f"{key}_token_id", at) for key, at in (("pad", 1), ("eos", 2))}
    for key, id in ids.items():
        if id >= len(tokens):
            raise settings.error(f"{key}_token_id", f"there are {len(tokens):,} tokens")
    if len({*ids.values(), SPECIAL.index("<unk>")}) < 3:
        raise settings.error("eos_token_id", "it must differ from padding and <unk>")
    return Roles(**ids, bos=ids["eos"], unk=SPECIAL.index("<unk>"))


def _longest(settings: Settings) -> int:
    return settings.size("max_position_embeddings", 1024)


def _recipe(
    folder: ForeignFolder,
    settings: Settings,
    languages: Mapping[str, str],
    *,
    longest: int,
    vocabulary_size: int,
    tied: bool,
) -> config.Recipe:
    generation = folder.settings("generation_config.json")
    positions: dict[str, Any] = {"positions": "learned", "embedding_norm": True}
    if settings.text("model_type") == "m2m_100":
        positions = {"positions": "sinusoidal", "sinusoids": "fairseq"}
    both: dict[str, Any] = {**both_sides(settings), **positions, "norm": "pre"}
    return config.Recipe(
        about=f"A multilingual model of Hugging Face ({languages['source']} → "
        f"{languages['target']}), imported from {folder.path.absolute().name}.",
        data=config.Data(
            source_language=known_code(languages["source"]),
            target_language=known_code(languages["target"]),
            max_tokens=longest,
        ),
        text=config.Text(
            tokenizer="sentencepiece",
            source_vocabulary_size=vocabulary_size,
            target_vocabulary_size=vocabulary_size,
            shared_vocabulary=True,
        ),
        encoder=config.TransformerEncoder(**both, **side_sizes(settings, "encoder")),
        decoder=config.TransformerDecoder(
            **both,
            **side_sizes(settings, "decoder"),
            tie_embeddings=tied,
            share_source_embedding=True,
        ),
        training=config.Training(
            learning_rate=LEARNING_RATE, tokens_per_batch=max(4096, longest + 2)
        ),
        decoding=config.DecodingOptions(
            beam=min(generation.size("num_beams", settings.size("num_beams", 5)), 1000),
            length_penalty=min(generation.number("length_penalty", 1.0), 10.0),
            max_source_length=min(longest - 1, 10_000),
        ),
    )


def _read_pieces(folder: ForeignFolder, settings: Settings, kind: str) -> Pieces:
    size = settings.size("vocab_size")
    file, table = read_pieces(folder, SENTENCEPIECE)
    if folder.has("vocab.json"):
        tokens = folder.ids("vocab.json")
    elif table:
        tokens = table.tokens()
    else:
        tokens = [*SPECIAL, *file.pieces]
    named = _named_tokens(folder, table.added if table else [])
    if kind == "m2m_100" and folder.has("vocab.json"):
        named = named or [f"__{code}__" for code in M2M100]
    listed = set(tokens)
    tokens += [token for token in dict.fromkeys(named) if token not in listed]
    if MASK not in tokens and not folder.has("vocab.json"):
        tokens.append(MASK)
    if tuple(tokens[: len(SPECIAL)]) != SPECIAL:
        raise UserError(f"{folder.path}: its ids do not begin with {', '.join(SPECIAL)}")
    if not len(tokens) <= size <= MAX_PIECES:
        raise settings.error(
            "vocab_size", f"there are {len(tokens):,} tokens; {MAX_PIECES:,} can be imported"
        )
    tokens += [f"{UNUSED}{number:04}" for number in range(size - len(tokens))]
    spoken = set(named)
    languages = tuple(token for token in tokens[len(SPECIAL) :] if token in spoken)
    return Pieces(tuple(tokens), languages, file)


def _named_tokens(folder: ForeignFolder, added_tokens: list[Any]) -> list[str]:
    """The tokens of languages, in the order of their ids, wherever a folder lists them."""
    entries = list(added_tokens)
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        table = folder.settings(name).table
        added = table.get("added_tokens_decoder")
        entries += list(added.values()) if isinstance(added, dict) else []
        for key in ("additional_special_tokens", "extra_special_tokens"):
            listed = table.get(key)
            entries += listed if isinstance(listed, list) else []
    if folder.has("added_tokens.json"):
        entries += folder.settings("added_tokens.json").table
    contents = [entry.get("content") if isinstance(entry, dict) else entry for entry in entries]
    return [text for text in contents if isinstance(text, str) and is_language_token(text)]
