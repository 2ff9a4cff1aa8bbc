"""Hugging Face folders of Marian models (Junczys-Dowmunt et al., 2018), such as OPUS-MT."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from dhyan import config
from dhyan.checkpoint import tensors_from_bytes
from dhyan.errors import UserError
from dhyan.interop.foreign_folder import ForeignFolder, Settings
from dhyan.interop.vocabulary import NONE, Roles, Vocabulary
from dhyan.interop.write_model import ImportedModel
from dhyan.models.positions import Sinusoids
from dhyan.safe_io.json_toml import safe_repr
from dhyan.safe_io.safetensors_header import read_header
from dhyan.text.languages import LANGUAGE_NAMES, LONG_CODES
from dhyan.text.sentencepiece import SentencePiece
from dhyan.text.sentencepiece_file import SentencePieceFile
from dhyan.text.tokenizer import Tokenizer

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "silu", "silu": "silu"}
NEVER_SET = ("normalize_before", "normalize_embedding", "add_final_layer_norm")
CLOSE = 1e-3  # of a table of sinusoids in half precision
LEARNING_RATE = 5e-5  # of fine-tuning
PARTS = {
    "self_attn.q_proj": "self_attention.query",
    "self_attn.k_proj": "self_attention.key",
    "self_attn.v_proj": "self_attention.value",
    "self_attn.out_proj": "self_attention.output",
    "self_attn_layer_norm": "self_attention_norm",
    "encoder_attn.q_proj": "cross_attention.query",
    "encoder_attn.k_proj": "cross_attention.key",
    "encoder_attn.v_proj": "cross_attention.value",
    "encoder_attn.out_proj": "cross_attention.output",
    "encoder_attn_layer_norm": "cross_attention_norm",
    "fc1": "feed_forward.up",
    "fc2": "feed_forward.down",
    "final_layer_norm": "feed_forward_norm",
}
SHARED, BIAS, LM_HEAD = "model.shared.weight", "final_logits_bias", "lm_head.weight"
EMBEDDINGS = {side: f"model.{side}.embed_tokens.weight" for side in ("encoder", "decoder")}
POSITIONS = {side: f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")}


def read_marian(folder: ForeignFolder) -> ImportedModel:
    """The model of a folder with config.json, model.safetensors, vocab.json and two .spm files."""
    settings = folder.settings("config.json")
    for key in NEVER_SET:
        if settings.flag(key, False):
            raise settings.error(key, "a Marian model of transformers has false")
    shared = settings.flag("share_encoder_decoder_embeddings", True)
    tied = settings.flag("tie_word_embeddings", True)
    vocabularies = _vocabularies(folder, settings)
    tensors = _read_tensors(folder)
    recipe = _recipe(folder, settings, vocabularies, shared=shared, tied=tied)
    weights = _weights(folder, tensors, vocabularies, shared=shared, tied=tied)
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
    width = settings.size("d_model")
    both: dict[str, Any] = {
        "width": width,
        "activation": settings.choice("activation_function", ACTIVATIONS, "gelu"),
        "norm": "post",
        "positions": "sinusoidal",
        "sinusoids": "halves",
        "scale_embedding": settings.flag("scale_embedding", False),
        "dropout": min(settings.number("dropout", 0.1), 0.99),
        "attention_dropout": min(settings.number("attention_dropout", 0.0), 0.99),
    }
    sizes: dict[str, dict[str, Any]] = {
        side: {
            "layers": settings.size(f"{side}_layers"),
            "heads": settings.size(f"{side}_attention_heads"),
            "feed_forward_width": settings.size(f"{side}_ffn_dim"),
        }
        for side in ("encoder", "decoder")
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
        encoder=config.TransformerEncoder(**both, **sizes["encoder"]),
        decoder=config.TransformerDecoder(
            **both, **sizes["decoder"], tie_embeddings=tied, share_source_embedding=shared
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


def _read_tensors(folder: ForeignFolder) -> dict[str, Tensor]:
    """The tensors of model.safetensors in float32."""
    path = folder.path / "model.safetensors"
    data = folder.read_weights(path.name, read_header)
    try:
        tensors = tensors_from_bytes(data)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            raise UserError(f"{path}: {safe_repr(name)} is of {tensor.dtype}, not of floats")
    return {name: tensor.float() for name, tensor in tensors.items()}


def _weights(
    folder: ForeignFolder,
    tensors: dict[str, Tensor],
    vocabularies: Mapping[str, Vocabulary],
    *,
    shared: bool,
    tied: bool,
) -> dict[str, Tensor]:
    path = folder.path / "model.safetensors"
    tables = {
        "encoder": [EMBEDDINGS["encoder"], *([SHARED, EMBEDDINGS["decoder"]] if shared else [])],
        "decoder": [EMBEDDINGS["decoder"], *([SHARED, EMBEDDINGS["encoder"]] if shared else [])],
        "output": [LM_HEAD],
    }
    for side in ("encoder", "decoder"):
        if shared and tied:
            tables[side].append(LM_HEAD)
    if tied:
        tables["output"] = [*tables["decoder"], LM_HEAD]
    found = {part: _first(tensors, names, path) for part, names in tables.items()}
    source, target = vocabularies["source"], vocabularies["target"]
    for part, vocabulary in (("encoder", source), ("decoder", target), ("output", target)):
        if found[part].dim() != 2 or len(found[part]) != len(_theirs(vocabulary)):
            raise UserError(
                f"{path}: {tables[part][0]!r} is {safe_repr(tuple(found[part].shape))}, and the "
                f"vocabulary has {len(_theirs(vocabulary)):,} tokens"
            )
    bias = tensors.get(BIAS, torch.zeros(1, len(_theirs(target)))).flatten()
    if len(bias) != len(_theirs(target)):
        raise UserError(f"{path}: {BIAS!r} is of {len(bias):,}, not {len(_theirs(target)):,}")
    renormalized = folder.settings("generation_config.json").flag("renormalize_logits", False)
    weights = {
        "encoder.embedding.token_embedding.weight": source.rearranged(found["encoder"]),
        "decoder.embedding.token_embedding.weight": target.rearranged(found["decoder"]),
        "decoder.output.weight": target.rearranged(found["output"]),
        "decoder.output.bias": target.output_bias(bias, padding_is_possible=not renormalized),
    }
    known = {SHARED, BIAS, LM_HEAD, *EMBEDDINGS.values(), *POSITIONS.values()}
    for name, tensor in tensors.items():
        if name in POSITIONS.values():
            _check_sinusoids(tensor, name, path)
        elif name not in known:
            weights[_our_name(name, path)] = tensor
    return weights


def _theirs(vocabulary: Vocabulary) -> list[int]:
    return sorted({row for row in vocabulary.rows if row != NONE})


def _first(tensors: Mapping[str, Tensor], names: list[str], path: object) -> Tensor:
    """The first of these that is stored: a tensor with several names is stored under one."""
    for name in names:
        if name in tensors:
            return tensors[name]
    raise UserError(f"{path}: has no {names[0]!r}")


def _our_name(name: str, path: object) -> str:
    """model.encoder.layers.0.self_attn.q_proj.weight → encoder.layers.0.self_attention.query.weight."""
    match name.split("."):
        case ["model", "encoder" | "decoder" as side, "layers", number, *part, kind] if (
            number.isdecimal() and ".".join(part) in PARTS
        ):
            return f"{side}.layers.{number}.{PARTS['.'.join(part)]}.{kind}"
    raise UserError(f"{path}: {safe_repr(name)} is no weight of a Marian model")


def _check_sinusoids(table: Tensor, name: str, path: object) -> None:
    """Refuse a table of positions that was trained; transformers computes it."""
    if table.dim() != 2 or not torch.allclose(
        table, Sinusoids(table.shape[1], "halves")(0, len(table)), atol=CLOSE
    ):
        raise UserError(f"{path}: {name!r} is no table of sinusoids")
