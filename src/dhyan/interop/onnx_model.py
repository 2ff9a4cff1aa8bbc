"""Translate with an exported ONNX folder: our search over the graphs of ONNX Runtime."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dhyan.attention import last_position
from dhyan.batch import Tokens
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.interop.decoder_state import TensorState
from dhyan.interop.export_onnx import ENCODER, SETTINGS, STEP, needs
from dhyan.model_check import parse_saved_recipe
from dhyan.models.interface import AttentionLayer, Decoder, Encoded, Encoder
from dhyan.models.seq2seq import Seq2Seq
from dhyan.run.load import load_codecs, make_translator
from dhyan.safe_io.bounded_files import read_file
from dhyan.safe_io.json_toml import read_json
from dhyan.text.safe_tokenizer import MAX_BYTES

MAX_SETTINGS = 2**20
FILES = ("recipe.toml", "source.json", "target.json")


class OnnxEncoder(nn.Module):
    """Passes the source on: the graph `encoder.onnx` returns the state of a decoder at once."""

    width = 0
    summary_shape = (0, 0, 0)
    final_state_mask = last_position
    token_embedding = None

    def __init__(self, max_length: int | None) -> None:
        super().__init__()
        self.max_length = max_length

    def forward(self, source: Tokens) -> Encoded:
        """No states, and the source."""
        nothing = torch.zeros(*source.shape, 0)
        return Encoded(nothing, nothing.sum(dim=1), source)

    def attentions(self) -> list[AttentionLayer]:
        """None: the graphs return no weights."""
        return []


class OnnxDecoder(nn.Module):
    """Both graphs: the first state of a source, and one step after the other."""

    output = None
    token_embedding = None
    width = 0

    def __init__(
        self, folder: Path, state: Mapping[str, Any], max_length: int | None, *, threads: int
    ) -> None:
        super().__init__()
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.max_length = max_length
        self.names, self.empty = list(state), {name: how for name, how in state.items() if how}
        self.encoder_graph, self.step_graph = (
            onnxruntime.InferenceSession(folder / name, options, providers=["CPUExecutionProvider"])
            for name in (ENCODER, STEP)
        )
        self.scalars = frozenset(
            output.name for output in self.encoder_graph.get_outputs() if not output.shape
        )

    def start(self, encoded: Encoded) -> TensorState:
        """The state before the first token; caches begin empty."""
        source = cast(Tokens, encoded.source)
        computed = iter(
            _run(self.encoder_graph, {"source": source.ids, "source_mask": source.mask})
        )
        return self._state(
            [
                _empty(len(source), self.empty[name]) if name in self.empty else next(computed)
                for name in self.names
            ]
        )

    def forward(
        self, token_ids: Int[Tensor, "B T"], state: TensorState
    ) -> tuple[Float[Tensor, "B T V"], TensorState]:
        """The logits of the token after each of these."""
        steps = []
        for ids in token_ids.unbind(dim=1):
            logits, *after = _run(self.step_graph, {"token": ids, **state.tensors})
            state = self._state(after)
            steps.append(logits)
        return torch.stack(steps, dim=1), state

    def hidden(self, token_ids: Tensor, state: TensorState) -> Any:
        """Not there: a step of the graph ends with logits."""
        raise UserError("an ONNX model returns logits alone")

    def attentions(self) -> list[AttentionLayer]:
        """None: the graphs return no weights."""
        return []

    def _state(self, tensors: Sequence[Tensor]) -> TensorState:
        return TensorState(dict(zip(self.names, tensors, strict=True)), self.scalars)


def onnx_model(
    folder: Path,
    state: Mapping[str, Any],
    *,
    max_source: int | None = None,
    max_target: int | None = None,
    threads: int = 1,
) -> Seq2Seq:
    """The graphs of a folder as a model that search drives like any other."""
    decoder = OnnxDecoder(folder, state, max_target, threads=threads)
    return Seq2Seq(cast(Encoder, OnnxEncoder(max_source)), cast(Decoder, decoder)).eval()


def load_onnx(folder: str | Path, *, threads: int = 1) -> Translator:
    """A translator from a folder that `dhyan export --to onnx` wrote; it runs on the CPU.

    Its requests, search and rendering are those of any translator; there are no attention maps.
    """
    needs("onnxruntime")
    folder = Path(folder)
    try:
        settings: Any = read_json(read_file(folder / SETTINGS, max_bytes=MAX_SETTINGS))
        files = {name: read_file(folder / name, max_bytes=MAX_BYTES) for name in FILES}
        state = dict(settings["state"])
        limits = {key: settings[key] for key in ("max_source", "max_target")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{folder}: is no folder that dhyan export --to onnx wrote: {error}"
        ) from None
    recipe = parse_saved_recipe(files["recipe.toml"])
    source, target = load_codecs(files)
    model = onnx_model(folder, state, **limits, threads=threads)
    return make_translator(recipe, model, source, target, torch.device("cpu"))


def _empty(rows: int, how: Mapping[str, Any]) -> Tensor:
    dtype = torch.bool if how["bool"] else torch.float32
    return torch.zeros(rows, *how["shape"][1:], dtype=dtype)


def _run(graph: Any, inputs: dict[str, Tensor]) -> list[Tensor]:
    """The outputs of a graph; inputs that it does not use are left out."""
    used = {node.name for node in graph.get_inputs()}
    arrays = {name: tensor.numpy() for name, tensor in inputs.items() if name in used}
    return [torch.from_numpy(array) for array in graph.run(None, arrays)]
