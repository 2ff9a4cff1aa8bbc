"""Export any translator as two ONNX graphs: an encoder, and one step of its decoder.

The encoder takes padded token ids and their mask and returns the state of the decoder before its
first token, as a list of tensors: projected keys and values, empty caches, recurrent states. The
step takes a token and the state of each hypothesis and returns logits and the next state. A search
in any language needs no more. Recurrent layers of the encoder become ONNX's own, which know the
length of each row.
"""

import json
import logging
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dhyan import atomic_folder
from dhyan.batch import Tokens
from dhyan.checkpoint import weights_from_bytes
from dhyan.config import LinearDecoder, Recipe, dump_recipe
from dhyan.config.sections import AttentiveDecoder
from dhyan.errors import UserError
from dhyan.interop.decoder_state import named_tensors, with_tensors, with_zeros
from dhyan.interop.exported_card import write_card
from dhyan.interop.joint_tokenizer import write_tokenizers
from dhyan.interop.write_model import check_out
from dhyan.model_check import read_model
from dhyan.models.build import build_model
from dhyan.models.interface import Encoded, State
from dhyan.models.rnn import RNNEncoder
from dhyan.models.seq2seq import Seq2Seq
from dhyan.run.load import load_codecs, load_weights
from dhyan.run.slim_export import without_files
from dhyan.special_tokens import BOS, EOS, NAMES, PAD, UNK
from dhyan.text.tokenizer import Tokenizer

Precision = Literal["float32", "int8"]
ENCODER, STEP, SETTINGS = "encoder.onnx", "step.onnx", "dhyan.json"
NEEDED = ("onnx", "onnxscript")
OPSET = 20
GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}  # our blocks in ONNX's order
INSTEAD = "dhyan itself runs it: --slim"
EXAMPLE = ([5, 6, 7, 8, 9, 8, EOS], [6, 5, EOS], [8, EOS])  # ids to trace with; sizes are free


def export_onnx(model: str | Path, out: Path, *, precision: Precision = "float32") -> None:
    """Write the folder of a translator, complete or not at all."""
    check_out(out)
    needs(*NEEDED, *(["onnxruntime"] if precision == "int8" else []))
    checked = read_model(model)
    recipe = checked.recipe
    source, target = load_codecs(checked.files)
    if not isinstance(source, Tokenizer):
        raise UserError(f"{checked.name}: reads {source.kind}, which is not exported; {INSTEAD}")
    if isinstance(recipe.decoder, LinearDecoder):
        raise UserError(f"{checked.name}: decoder.kind = linear is not exported; {INSTEAD}")
    module = build_model(recipe, len(source), len(target)).eval()
    load_weights(module, weights_from_bytes(checked.files["model.safetensors"]))
    with atomic_folder.atomic_folder(out) as folder, torch.no_grad():
        state = write_graphs(module, folder, with_steps=_counts_steps(recipe))
        if precision == "int8":
            _quantize(folder)
        settings = {
            "format": "dhyan-onnx-1",
            "precision": precision,
            "state": state,
            "special_tokens": dict(zip(NAMES, (PAD, BOS, EOS, UNK), strict=True)),
            "max_source": module.encoder.max_length,
            "max_target": module.decoder.max_length,
        }
        (folder / SETTINGS).write_text(json.dumps(settings, indent=1))
        (folder / "recipe.toml").write_text(dump_recipe(without_files(recipe)), encoding="utf-8")
        write_tokenizers(folder, source, target)
        write_card(checked, folder, "onnx")


def needs(*packages: str) -> None:
    """Refuse to go on without these packages."""
    if missing := [package for package in packages if find_spec(package) is None]:
        raise UserError(
            f"{', '.join(missing)}: not installed, and ONNX needs it; pip install {' '.join(missing)}"
        )


def _counts_steps(recipe: Recipe) -> bool:
    """Whether the attention depends on the number of steps: a window that moves with them."""
    decoder = recipe.decoder
    return isinstance(decoder, AttentiveDecoder) and decoder.attention.window == "monotonic"


class _Start(nn.Module):
    """Token ids and their mask to the tensors of the first state, without empty caches."""

    def __init__(self, model: Seq2Seq, later: State, with_steps: bool) -> None:
        super().__init__()
        self.model, self.later, self.with_steps = model, later, with_steps

    def forward(self, ids: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"]) -> list[Tensor]:
        source, encoder = Tokens(ids, mask), self.model.encoder
        encoded = _encode(encoder, source) if isinstance(encoder, RNNEncoder) else encoder(source)
        state = with_zeros(self.model.decoder.start(encoded), self.later)
        return [
            tensor
            for tensor in named_tensors(state, with_steps=self.with_steps).values()
            if 0 not in tensor.shape[1:]
        ]


class _Step(nn.Module):
    """A token of each row and the tensors of a state to logits and those of the next state."""

    def __init__(self, model: Seq2Seq, state: State, with_steps: bool) -> None:
        super().__init__()
        self.model, self.state, self.with_steps = model, state, with_steps

    def forward(self, ids: Int[Tensor, " B"], state: list[Tensor]) -> list[Tensor]:
        before = with_tensors(self.state, state, with_steps=self.with_steps)
        logits, after = self.model.step(ids, before)
        return [logits, *named_tensors(after, with_steps=self.with_steps).values()]


def write_graphs(
    module: Seq2Seq, folder: Path, *, with_steps: bool
) -> dict[str, dict[str, Any] | None]:
    """Trace and write both graphs.

    Returns the tensors of a state by name; the shape and type of those that begin empty, which the
    encoder does not return.
    """
    source = Tokens.pad(EXAMPLE)
    first = module.start(source)
    _, second = module.step(torch.tensor([BOS] * len(EXAMPLE)), first)
    _, third = module.step(torch.tensor([5, 6, 7]), second)
    first = with_zeros(first, third)
    tensors, start = (named_tensors(state, with_steps=with_steps) for state in (third, first))
    names = list(tensors)
    rows, width = torch.export.Dim("rows"), torch.export.Dim("source_length")
    _write_graph(
        _Start(module, third, with_steps),
        (source.ids, source.mask),
        ({0: rows, 1: width}, {0: rows, 1: width}),
        folder / ENCODER,
        inputs=["source", "source_mask"],
        outputs=[name for name in names if 0 not in start[name].shape],
    )
    axes = [
        dict.fromkeys(_free_axes(tensor, start[name]), torch.export.Dim.DYNAMIC)
        for name, tensor in tensors.items()
    ]
    _write_graph(
        _Step(module, third, with_steps),
        (torch.tensor([7, 8, 9]), list(tensors.values())),
        ({0: torch.export.Dim.DYNAMIC}, axes),
        folder / STEP,
        inputs=["token", *names],
        outputs=["logits", *(f"next.{name}" for name in names)],
    )
    return {
        name: {"shape": [-1, *tensor.shape[1:]], "bool": tensor.dtype == torch.bool}
        if 0 in tensor.shape
        else None
        for name, tensor in start.items()
    }


def _free_axes(tensor: Tensor, start: Tensor) -> Iterator[int]:
    """The axes of rows, of what has been decoded, and of the source."""
    source_length = len(EXAMPLE[0])
    for at, (size, size_before) in enumerate(zip(tensor.shape, start.shape, strict=True)):
        if at == 0 or size != size_before or size == source_length:
            yield at


def _write_graph(
    module: nn.Module,
    arguments: tuple[Any, ...],
    axes: tuple[Any, ...],
    path: Path,
    *,
    inputs: Sequence[str],
    outputs: Sequence[str],
) -> None:
    with _quiet():
        program = torch.onnx.export(
            module,
            arguments,
            dynamic_shapes=axes,
            input_names=list(inputs),
            output_names=list(outputs),
            opset_version=OPSET,
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    assert program is not None
    _check_free(program.model.graph.inputs, axes)
    program.save(path, external_data=False)


def _check_free(inputs: Iterable[Any], axes: tuple[Any, ...]) -> None:
    """Refuse a graph for the traced sizes alone, as a loop over positions makes it."""
    wanted = [one for part in axes for one in (part if isinstance(part, list) else [part])]
    for value, free in zip(inputs, wanted, strict=True):
        if fixed := [at for at in free if isinstance(value.shape[at], int)]:
            raise UserError(
                f"an attention that goes from position to position, such as coverage in an encoder, "
                f"is not exported ({value.name} has a fixed axis {fixed[0]}); {INSTEAD}"
            )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of the exporter, which concern its own code."""
    loggers = [logging.getLogger(name) for name in ("", "onnxscript", "onnx_ir", "torch.onnx")]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


def _encode(encoder: RNNEncoder, source: Tokens) -> Encoded:
    """The encoder with ONNX's recurrent layers."""
    states = encoder.token_embedding(source.inputs).transpose(0, 1)
    lengths = source.mask.sum(dim=1).to(torch.int32)
    ends = []
    for layer in range(encoder.rnn.num_layers):
        states, end = _onnx_layer(encoder.rnn, layer, states, lengths, reverse=encoder.reverse)
        ends.append(end)
    last = torch.cat(ends, dim=2)  # B P (layers × directions) D
    return Encoded(states.transpose(0, 1), last.flatten(1), source)


def _onnx_layer(
    rnn: nn.RNNBase,
    layer: int,
    inputs: Float[Tensor, "S B I"],
    lengths: Int[Tensor, " B"],
    *,
    reverse: bool,
) -> tuple[Float[Tensor, "S B E"], Float[Tensor, "B P N D"]]:
    """One layer by ONNX's LSTM, GRU or RNN: its outputs, and the state after the last real token."""
    kind = rnn.mode.partition("_")[0]
    suffixes = [f"_l{layer}", f"_l{layer}_reverse"][: 1 + rnn.bidirectional]
    weights = {
        name: torch.stack([_gates(getattr(rnn, name + suffix), kind) for suffix in suffixes])
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    }
    bias = torch.cat([weights["bias_ih"], weights["bias_hh"]], dim=1)
    directions, rows = len(suffixes), inputs.shape[1]
    direction = "bidirectional" if rnn.bidirectional else "reverse" if reverse else "forward"
    attributes: dict[str, Any] = {"hidden_size": rnn.hidden_size, "direction": direction}
    if kind == "GRU":
        attributes["linear_before_reset"] = 1
    state = [directions, rows, rnn.hidden_size]
    shapes = [[inputs.shape[0], *state], state, *([state] if kind == "LSTM" else [])]
    outputs, *last = torch.onnx.ops.symbolic_multi_out(
        kind,
        (inputs, weights["weight_ih"], weights["weight_hh"], bias, lengths),
        attributes,
        dtypes=[torch.float32] * len(shapes),
        shapes=shapes,
        version=OPSET,
    )
    joined = outputs.transpose(1, 2).flatten(2)
    return joined, torch.stack(list(last)).permute(2, 0, 1, 3)


def _gates(weight: Tensor, kind: str) -> Tensor:
    """The gate blocks of a weight or bias in ONNX's order."""
    order = GATES[kind]
    return torch.cat([weight.chunk(len(order))[at] for at in order])


def _quantize(folder: Path) -> None:
    """Matrix products with weights of 8 bits, a scale for each output; states are rounded too."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    for name in (ENCODER, STEP):
        graph = onnx.load(folder / name)
        del graph.graph.value_info[:]  # shapes of weights, which quantization transposes
        with _quiet():
            quantize_dynamic(
                graph,
                folder / name,
                per_channel=True,
                weight_type=QuantType.QInt8,
                nodes_to_exclude=list(_products_with_vectors(graph.graph)),
            )


def _products_with_vectors(graph: Any) -> Iterator[str]:
    """The names of products whose weight has one column, for which there is no such kernel."""
    vectors = {
        tensor.name for tensor in graph.initializer if len(tensor.dims) < 2 or tensor.dims[-1] == 1
    }
    yield from (
        node.name for node in graph.node if node.op_type == "MatMul" and node.input[1] in vectors
    )
