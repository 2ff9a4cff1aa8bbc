"""Hugging Face folders of Marian models (Junczys-Dowmunt et al., 2018), such as OPUS-MT."""

from collections.abc import Mapping
from typing import Any

from dhyan import config
from dhyan.errors import UserError
from dhyan.interop.foreign_folder import ForeignFolder, Settings
from dhyan.interop.huggingface import (
    LEARNING_RATE,
    Layout,
    both_sides,
    rename_weights,
    side_sizes,
)
from dhyan.interop.vocabulary import NONE, Roles, Vocabulary
from dhyan.interop.write_model import ImportedModel
from dhyan.text.languages import LANGUAGE_NAMES, LONG_CODES
from dhyan.text.sentencepiece import SentencePiece
from dhyan.text.sentencepiece_file import SentencePieceFile
from dhyan.text.tokenizer import Tokenizer

NEVER_SET = ("normalize_before", "normalize_embedding", "add_final_layer_norm")
LAYOUT = Layout("a Marian model", sinusoids="halves")


def read_marian(folder: ForeignFolder) -> ImportedModel:
    """The model of a folder with config.json, model.safetensors, vocab.json and two .spm files."""
    settings = folder.settings("config.json")
    for key in NEVER_SET:
        if settings.flag(key, False):
            raise settings.error(key, "a Marian model of transformers has false")
    shared = settings.flag("share_encoder_decoder_embeddings", True)
    tied = settings.flag("tie_word_embeddings", True)
    vocabularies = _vocabularies(folder, settings)
    recipe = _recipe(folder, settings, vocabularies, shared=shared, tied=tied)
    weights = rename_weights(folder, LAYOUT, vocabularies, shared=shared, tied=tied)
    tokenizers = {
        side: Tokenizer(
            SentencePiece.from_file(
                SentencePieceFile.read(folder.path / f"{side}.spm"), vocabularies[side].tokens
            )
        )
        for side in ("source", "target")
    }
    return ImportedModel("huggingface-marian", recipe, weights, **tokenizers)


def _vocabularies(folder: ForeignFolder, settings: Settings) -> dict[str, Vocabulary]:
    """The vocabulary of each side: one table for both, or vocab.json and target_vocab.json."""
    size = settings.size("vocab_size")
    sizes = {"source": size, "target": settings.size("decoder_vocab_size", size)}
    separate = folder.has("target_vocab.json")
    names = {"source": "vocab.json", "target": "target_vocab.json" if separate else "vocab.json"}
    return {side: _vocabulary(folder, settings, names[side], sizes[side]) for side in sizes}


def _vocabulary(folder: ForeignFolder, settings: Settings, name: str, size: int) -> Vocabulary:
    tokens = folder.ids(name)
    if len(tokens) != size:
        raise UserError(
            f"{folder.path / name}: has {len(tokens):,} tokens, and config.json's vocab_size or "
            f"decoder_vocab_size says {size:,}"
        )
    ids = {
        "pad": settings.id("pad_token_id"),
        "bos": settings.id("decoder_start_token_id", settings.id("pad_token_id")),
        "eos": settings.id("eos_token_id"),
    }
    for role, id in ids.items():
        if id >= size:
            key = {"bos": "decoder_start_token_id"}.get(role, f"{role}_token_id")
            raise settings.error(key, f"{name} has {size:,} tokens")
    unk = tokens.index("<unk>") if "<unk>" in tokens else NONE
    if ids["eos"] in (ids["pad"], ids["bos"]) or unk in ids.values():
        raise settings.error("eos_token_id", "it must differ from padding, start and <unk>")
    return Vocabulary.arrange(tokens, Roles(**ids, unk=unk), place=str(folder.path / name))


def _recipe(
    folder: ForeignFolder,
    settings: Settings,
    vocabularies: Mapping[str, Vocabulary],
    *,
    shared: bool,
    tied: bool,
) -> config.Recipe:
    generation, tokenizer = map(
        folder.settings, ("generation_config.json", "tokenizer_config.json")
    )
    positions = settings.size("max_position_embeddings", 1024)
    same = vocabularies["source"].tokens == vocabularies["target"].tokens
    if shared and not same:
        raise settings.error(
            "share_encoder_decoder_embeddings", "the vocabularies of source and target differ"
        )
    both: dict[str, Any] = {
        **both_sides(settings),
        "norm": "post",
        "positions": "sinusoidal",
        "sinusoids": "halves",
    }
    return config.Recipe(
        about=f"A Marian model of Hugging Face, imported from {folder.path.absolute().name}.",
        data=config.Data(
            source_language=_language(tokenizer.text("source_lang")),
            target_language=_language(tokenizer.text("target_lang")),
            max_tokens=min(positions - 1, 510),
        ),
        text=config.Text(
            tokenizer="sentencepiece",
            source_vocabulary_size=len(vocabularies["source"].tokens),
            target_vocabulary_size=len(vocabularies["target"].tokens),
            shared_vocabulary=shared,
        ),
        encoder=config.TransformerEncoder(**both, **side_sizes(settings, "encoder")),
        decoder=config.TransformerDecoder(
            **both,
            **side_sizes(settings, "decoder"),
            tie_embeddings=tied,
            share_source_embedding=shared,
        ),
        training=config.Training(learning_rate=LEARNING_RATE),
        decoding=config.DecodingOptions(
            beam=min(generation.size("num_beams", settings.size("num_beams", 4)), 1000),
            length_penalty=min(generation.number("length_penalty", 1.0), 10.0),
            max_source_length=min(positions - 1, 10_000),
        ),
    )


def _language(code: str) -> str:
    """A code as ours, empty if it is no language."""
    code = LONG_CODES.get(code, code)
    return code if code in LANGUAGE_NAMES else ""
