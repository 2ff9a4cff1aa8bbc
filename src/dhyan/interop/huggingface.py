"""What the Hugging Face folders of Transformers have in common: settings, tensors and their names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dhyan.checkpoint import tensors_from_bytes
from dhyan.errors import UserError
from dhyan.interop.foreign_folder import ForeignFolder, Settings
from dhyan.interop.vocabulary import Vocabulary
from dhyan.models.positions import Sinusoids
from dhyan.safe_io.json_toml import safe_repr
from dhyan.safe_io.safetensors_header import read_header

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "silu", "silu": "silu"}
CLOSE = 1e-3  # of a table of sinusoids in half precision
LEARNING_RATE = 5e-5  # of fine-tuning
SIDES = ("encoder", "decoder")
SHARED, BIAS, LM_HEAD = "model.shared.weight", "final_logits_bias", "lm_head.weight"
EMBEDDINGS = {side: f"model.{side}.embed_tokens.weight" for side in SIDES}
LAYER_PARTS = {
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
FINAL_NORM, EMBEDDING_NORM = "final_norm", "embedding.norm"
NORMS = {"layer_norm": FINAL_NORM, "layernorm_embedding": EMBEDDING_NORM}  # of a whole side
LEAST_POSITIONS = 4  # BOS, a token or two, EOS
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


@dataclass(frozen=True)
class Layout:
    """In what the models of this family differ: norms of a side, and how positions are stored."""

    name: str
    norms: Sequence[str] = ()
    sinusoids: str = ""
    first_position: int = 0  # of a table that was learned: the rows before it are not used


def has_weights(folder: ForeignFolder) -> bool:
    """Whether there are safetensors, in one file or several."""
    return folder.has(WEIGHTS) or folder.has(INDEX)


def both_sides(settings: Settings) -> dict[str, Any]:
    """The settings that encoder and decoder share."""
    return {
        "width": settings.size("d_model"),
        "activation": settings.choice("activation_function", ACTIVATIONS, "gelu"),
        "scale_embedding": settings.flag("scale_embedding", False),
        "dropout": min(settings.number("dropout", 0.1), 0.99),
        "attention_dropout": min(settings.number("attention_dropout", 0.0), 0.99),
    }


def side_sizes(settings: Settings, side: str) -> dict[str, Any]:
    """The sizes of an encoder or a decoder."""
    return {
        "layers": settings.size(f"{side}_layers"),
        "heads": settings.size(f"{side}_attention_heads"),
        "feed_forward_width": settings.size(f"{side}_ffn_dim"),
    }


def read_tensors(folder: ForeignFolder) -> dict[str, Tensor]:
    """The tensors of model.safetensors, or of the files of its index, in float32."""
    names = [WEIGHTS]
    if not folder.has(WEIGHTS):
        files = folder.settings(INDEX).table.get("weight_map")
        if not isinstance(files, dict) or not all(type(file) is str for file in files.values()):
            raise UserError(f"{folder.path / INDEX}: has no weight_map from tensors to files")
        names = sorted(set(files.values()))
    tensors: dict[str, Tensor] = {}
    for name in names:
        if Path(name).name != name:
            raise UserError(f"{folder.path / INDEX}: {safe_repr(name)} is no file of this folder")
        tensors |= _tensors_of(folder, name)
    return tensors


def _tensors_of(folder: ForeignFolder, file: str) -> dict[str, Tensor]:
    path = folder.path / file
    data = folder.read_weights(file, read_header)
    try:
        tensors = tensors_from_bytes(data)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    for name, tensor in tensors.items():
        if not tensor.dim():
            raise UserError(f"{path}: {safe_repr(name)} is a single number")
        if not tensor.is_floating_point():
            raise UserError(f"{path}: {safe_repr(name)} is of {tensor.dtype}, not of floats")
    return {name: tensor.float() for name, tensor in tensors.items()}


def rename_weights(
    folder: ForeignFolder,
    layout: Layout,
    vocabularies: Mapping[str, Vocabulary],
    *,
    shared: bool,
    tied: bool,
) -> dict[str, Tensor]:
    """The weights of a folder under our names, their rows in the order of our ids."""
    path, tensors = folder.path / WEIGHTS, read_tensors(folder)
    tables = {
        "encoder": [EMBEDDINGS["encoder"], *([SHARED, EMBEDDINGS["decoder"]] if shared else [])],
        "decoder": [EMBEDDINGS["decoder"], *([SHARED, EMBEDDINGS["encoder"]] if shared else [])],
        "output": [LM_HEAD],
    }
    for side in SIDES:
        if shared and tied:
            tables[side].append(LM_HEAD)
    if tied:
        tables["output"] = [*tables["decoder"], LM_HEAD]
    found = {part: _first(tensors, names, path) for part, names in tables.items()}
    source, target = vocabularies["source"], vocabularies["target"]
    for part, vocabulary in (("encoder", source), ("decoder", target), ("output", target)):
        if found[part].dim() != 2 or len(found[part]) != vocabulary.size:
            raise UserError(
                f"{path}: {tables[part][0]!r} is {safe_repr(tuple(found[part].shape))}, and the "
                f"vocabulary has {vocabulary.size:,} tokens"
            )
    bias = tensors.get(BIAS, torch.zeros(1, target.size)).flatten()
    if len(bias) != target.size:
        raise UserError(f"{path}: {BIAS!r} is of {len(bias):,}, not {target.size:,}")
    renormalized = folder.settings("generation_config.json").flag("renormalize_logits", False)
    weights = {
        "encoder.embedding.token_embedding.weight": source.rearranged(found["encoder"]),
        "decoder.embedding.token_embedding.weight": target.rearranged(found["decoder"]),
        "decoder.output.weight": target.rearranged(found["output"]),
        "decoder.output.bias": target.output_bias(bias, padding_is_possible=not renormalized),
    }
    for name, tensor in tensors.items():
        if name not in {SHARED, BIAS, LM_HEAD, *EMBEDDINGS.values()}:
            weights |= _renamed(name, tensor, layout, path)
    return weights


def _first(tensors: Mapping[str, Tensor], names: list[str], path: object) -> Tensor:
    """The first of these that is stored: a tensor with several names is stored under one."""
    for name in names:
        if name in tensors:
            return tensors[name]
    raise UserError(f"{path}: has no {names[0]!r}")


def _renamed(name: str, tensor: Tensor, layout: Layout, path: object) -> dict[str, Tensor]:
    """model.encoder.layers.0.self_attn.q_proj.weight → encoder.layers.0.self_attention.query.weight."""
    match name.split("."):
        case ["model", "encoder" | "decoder" as side, "layers", number, *part, kind] if (
            number.isdecimal() and ".".join(part) in LAYER_PARTS
        ):
            return {f"{side}.layers.{number}.{LAYER_PARTS['.'.join(part)]}.{kind}": tensor}
        case ["model", "encoder" | "decoder" as side, part, kind] if (
            NORMS.get(part) in layout.norms
        ):
            return {f"{side}.{NORMS[part]}.{kind}": tensor}
        case ["model", "encoder" | "decoder" as side, "embed_positions", "weight" | "weights"]:
            if layout.sinusoids:
                _check_sinusoids(tensor, layout, name, path)
                return {}
            return {f"{side}.embedding.positions.table": tensor[layout.first_position :]}
    raise UserError(f"{path}: {safe_repr(name)} is no weight of {layout.name}")


def _check_sinusoids(table: Tensor, layout: Layout, name: str, path: object) -> None:
    """Refuse a table of positions that was trained; transformers computes it."""
    expected = None
    if table.dim() == 2 and len(table) > layout.first_position:
        table = table[layout.first_position :]
        expected = Sinusoids(table.shape[1], layout.sinusoids)(0, len(table))
    if expected is None or not torch.allclose(table, expected, atol=CLOSE):
        raise UserError(f"{path}: {name!r} is no table of sinusoids")


def learned_positions(weights: Mapping[str, Tensor]) -> int:
    """How many positions a model has learned; those of both sides are as many."""
    tables = [weights.get(f"{side}.embedding.positions.table") for side in SIDES]
    counts = [0 if table is None else len(table) for table in tables]
    if counts[0] != counts[1] or min(counts) < LEAST_POSITIONS:
        raise UserError(f"its tables of positions are of {counts[0]} and {counts[1]} rows")
    return counts[0]
