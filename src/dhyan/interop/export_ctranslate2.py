"""Export Transformers as CTranslate2 folders, which translate on a CPU without torch.

The file is written here, as `ModelSpec.save` of CTranslate2 writes it, so that an export needs no
further package and is the inverse of the import.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, cast

import torch
from torch import Tensor

from dhyan import atomic_folder
from dhyan.checkpoint import weights_from_bytes
from dhyan.config import Recipe, TransformerDecoder, TransformerEncoder
from dhyan.errors import UserError
from dhyan.interop.ctranslate2_file import SCALE, ModelFile
from dhyan.interop.write_model import check_out
from dhyan.model_check import read_model
from dhyan.models.build import build_model
from dhyan.models.positions import NoPositions, Positions
from dhyan.models.transformer import TransformerDecoder as DecoderModule
from dhyan.models.transformer import TransformerEncoder as EncoderModule
from dhyan.run.load import load_codecs, load_weights
from dhyan.special_tokens import BOS, EOS, NAMES, UNK
from dhyan.text.tokenizer import Tokenizer

Precision = Literal["float32", "int8"]
ARCHITECTURE, REVISION = "TransformerSpec", 7
ACTIVATIONS = {"relu": 0, "silu": 2, "swiglu": 2, "gelu": 3}
ONLY = {  # what CTranslate2 has of each of these settings
    "activation": tuple(ACTIVATIONS),
    "embedding_norm": (False,),
    "normalization": ("layer",),
    "positions": ("sinusoidal", "learned", "none"),
    "score": ("scaled_dot",),
}
LEAST_POSITIONS = 2048  # of a table of sinusoids, which have no end
LARGEST = 127  # whole number of int8
EMBEDDINGS = ("encoder/embeddings_0/weight", "decoder/embeddings/weight")
OUTPUT = "decoder/projection/weight"
HOW = "CTranslate2 has no such models; a page has: --to html"


def export_ctranslate2(model: str | Path, out: Path, *, precision: Precision = "float32") -> None:
    """Write the CTranslate2 folder of a Transformer, complete or not at all."""
    check_out(out)
    checked = read_model(model)
    recipe = checked.recipe
    for setting, value in _unsupported(recipe):
        raise UserError(f"{checked.name}: CTranslate2 cannot hold {setting} = {value}")
    source, target = load_codecs(checked.files)
    if not isinstance(source, Tokenizer):
        raise UserError(f"{checked.name}: reads {source.kind}, which CTranslate2 cannot")
    module = build_model(recipe, len(source), len(target)).eval()
    load_weights(module, weights_from_bytes(checked.files["model.safetensors"]))
    encoder, decoder = cast(EncoderModule, module.encoder), cast(DecoderModule, module.decoder)
    sections = cast(tuple[TransformerEncoder, TransformerDecoder], (recipe.encoder, recipe.decoder))
    positions = max(LEAST_POSITIONS, recipe.decoding.max_source_length + 1)
    variables = {
        **_stack("encoder", encoder, sections[0], positions),
        **_stack("decoder", decoder, sections[1], positions),
        **_linear("decoder/projection", decoder.output),
    }
    aliases = _aliases(sections[1])
    if precision == "int8":
        variables = _quantized(variables, aliases)
    file = ModelFile(ARCHITECTURE, REVISION, variables)
    settings = {
        "bos_token": NAMES[BOS],
        "eos_token": NAMES[EOS],
        "unk_token": NAMES[UNK],
        "decoder_start_token": NAMES[BOS],
        "add_source_bos": False,
        "add_source_eos": sections[0].reads_eos,
        "layer_norm_epsilon": None,
    }
    with atomic_folder.atomic_folder(out) as folder:
        (folder / "model.bin").write_bytes(file.to_bytes(aliases))
        (folder / "config.json").write_text(json.dumps(settings, indent=1))
        for side, tokenizer in (("source", source), ("target", target)):
            tokens = json.dumps(list(tokenizer.piece_ids()), ensure_ascii=False, indent=0)
            (folder / f"{side}_vocabulary.json").write_text(tokens, encoding="utf-8")
            tokenizer.save(folder / f"{side}.json")


def _unsupported(recipe: Recipe) -> Iterator[tuple[str, object]]:
    """The settings that CTranslate2 has not."""
    for side in ("encoder", "decoder"):
        section = getattr(recipe, side)
        if not isinstance(section, TransformerEncoder | TransformerDecoder):
            yield f"{side}.kind", f"{section.kind}: {HOW}"
            return
        for name, possible in ONLY.items():
            if (value := getattr(section, name)) not in possible:
                yield f"{side}.{name}", str(value).lower() if value is True else value
        if section.kv_heads not in (0, section.heads):
            yield f"{side}.kv_heads", section.kv_heads
    if (
        isinstance(recipe.encoder, TransformerEncoder)
        and recipe.encoder.self_attention != "learned"
    ):
        yield "encoder.self_attention", recipe.encoder.self_attention
    if recipe.decoder.copy_mechanism:
        yield "decoder.copy_mechanism", "true"
    if recipe.text.placeholders:
        yield "text.placeholders", ", ".join(recipe.text.placeholders)


def _stack(
    side: str,
    stack: EncoderModule | DecoderModule,
    section: TransformerEncoder | TransformerDecoder,
    positions: int,
) -> dict[str, Tensor]:
    """The variables of an encoder or a decoder."""
    weights: dict[str, Tensor] = dict(stack.named_parameters(remove_duplicate=False))
    variables = {
        f"{side}/num_heads": torch.tensor(section.heads, dtype=torch.int16),
        f"{side}/pre_norm": _flag(section.norm == "pre"),
        f"{side}/activation": torch.tensor(ACTIVATIONS[section.activation], dtype=torch.int8),
        f"{side}/scale_embeddings": _flag(section.scale_embedding),
        EMBEDDINGS[side == "decoder"]: weights["embedding.token_embedding.weight"],
        f"{side}/position_encodings/encodings": _table(stack.embedding.positions, positions),
    }
    if section.norm == "pre":
        variables |= _norm(f"{side}/layer_norm", weights, "final_norm")
    for number in range(section.layers):
        theirs, ours = f"{side}/layer_{number}", f"layers.{number}"
        attention = f"{ours}.self_attention"
        variables |= _joined(
            f"{theirs}/self_attention/linear_0", weights, attention, ("query", "key", "value")
        )
        variables |= _joined(f"{theirs}/self_attention/linear_1", weights, attention, ("output",))
        variables |= _norm(
            f"{theirs}/self_attention/layer_norm", weights, f"{ours}.self_attention_norm"
        )
        if side == "decoder":
            attention = f"{ours}.cross_attention"
            for at, parts in enumerate((("query",), ("key", "value"), ("output",))):
                variables |= _joined(f"{theirs}/attention/linear_{at}", weights, attention, parts)
            variables |= _norm(f"{theirs}/attention/layer_norm", weights, f"{attention}_norm")
        network = f"{ours}.feed_forward"
        gated = section.activation == "swiglu"
        variables |= _joined(
            f"{theirs}/ffn/linear_0", weights, network, ("gate" if gated else "up",)
        )
        if gated:
            variables |= _joined(f"{theirs}/ffn/linear_0_noact", weights, network, ("up",))
        variables |= _joined(f"{theirs}/ffn/linear_1", weights, network, ("down",))
        variables |= _norm(f"{theirs}/ffn/layer_norm", weights, f"{network}_norm")
    return variables


def _joined(
    name: str, weights: dict[str, Tensor], ours: str, parts: tuple[str, ...]
) -> dict[str, Tensor]:
    """Linear layers of one input as one."""
    return {
        f"{name}/{kind}": torch.cat([weights[f"{ours}.{part}.{kind}"] for part in parts])
        for kind in ("weight", "bias")
    }


def _linear(name: str, layer: torch.nn.Linear) -> dict[str, Tensor]:
    return {f"{name}/weight": layer.weight, f"{name}/bias": layer.bias}


def _norm(name: str, weights: dict[str, Tensor], ours: str) -> dict[str, Tensor]:
    return {f"{name}/gamma": weights[f"{ours}.weight"], f"{name}/beta": weights[f"{ours}.bias"]}


def _table(positions: Positions, count: int) -> Tensor:
    """A vector for each position; those that were learned have an end."""
    table = positions(0, positions.max_length or count)
    return table.expand(count, -1) if isinstance(positions, NoPositions) else table


def _flag(value: bool) -> Tensor:
    return torch.tensor(value, dtype=torch.int8)


def _aliases(decoder: TransformerDecoder) -> dict[str, str]:
    """Tables that are another's; they are stored once."""
    aliases = {}
    if decoder.share_source_embedding:
        aliases[EMBEDDINGS[0]] = EMBEDDINGS[1]
    if decoder.tie_embeddings:
        aliases[OUTPUT] = EMBEDDINGS[1]
    return aliases


def _quantized(variables: dict[str, Tensor], aliases: dict[str, str]) -> dict[str, Tensor]:
    """Matrices as whole numbers of 8 bits, with a scale for each row; aliases follow theirs."""
    quantized = dict(variables)
    for name, tensor in variables.items():
        if name.endswith("/weight") and name not in aliases:
            largest = tensor.detach().abs().amax(dim=1)
            scale = LARGEST / torch.where(largest > 0, largest, LARGEST)
            quantized[name] = (tensor.detach() * scale[:, None]).round().to(torch.int8)
            quantized[name + SCALE] = scale
    return quantized
