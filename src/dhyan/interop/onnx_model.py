"""Translate with an exported ONNX folder: our search over the graphs of ONNX Runtime."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dhyan.batch import Batch, Tokens
from dhyan.decoding.translator import LengthLimits, Translator
from dhyan.errors import UserError
from dhyan.interop.decoder_state import TensorState
from dhyan.interop.export_onnx import ENCODER, SETTINGS, STEP, needs
from dhyan.model_check import parse_saved_recipe
from dhyan.models.interface import AttentionLayer
from dhyan.models.seq2seq import Seq2Seq
from dhyan.run.load import load_codecs
from dhyan.safe_io.bounded_files import read_file
from dhyan.safe_io.json_toml import read_json
from dhyan.text.safe_tokenizer import MAX_BYTES

MAX_SETTINGS = 2**20
FILES = ("recipe.toml", "source.json", "target.json")


class OnnxModel(nn.Module):
    """The two graphs as a model that decodes token by token."""

    def __init__(self, folder: Path, state: Mapping[str, Any], threads: int) -> None:
        super().__init__()
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.names, self.empty = list(state), {name: e for name, e in state.items() if e}
        self.encoder_graph, self.step_graph = (
            onnxruntime.InferenceSession(folder / name, options, providers=["CPUExecutionProvider"])
            for name in (ENCODER, STEP)
        )
        self.scalars = frozenset(
            output.name for output in self.encoder_graph.get_outputs() if not output.shape
        )

    def start(self, source: Tokens) -> TensorState:
        """Encode the source."""
        inputs = {"source": source.ids, "source_mask": source.mask}
        computed = iter(_run(self.encoder_graph, inputs))
        return self._state(
            [
                torch.zeros(
                    len(source),
                    *self.empty[name]["shape"][1:],
                    dtype=torch.bool if self.empty[name]["bool"] else torch.float32,
                )
                if name in self.empty
                else next(computed)
                for name in self.names
            ]
        )

    def step(
        self, ids: Int[Tensor, " R"], state: TensorState
    ) -> tuple[Float[Tensor, "R V"], TensorState]:
        """The logits of the next token, and the state after this one."""
        logits, *after = _run(self.step_graph, {"token": ids, **state.tensors})
        return logits, self._state(after)

    def forward(self, batch: Batch) -> Float[Tensor, "B T V"]:
        """The logits of every target token, one step after the other."""
        state, steps = self.start(cast(Tokens, batch.source)), []
        for ids in batch.inputs.ids.unbind(dim=1):
            logits, state = self.step(ids, state)
            steps.append(logits)
        return torch.stack(steps, dim=1)

    def attentions(self) -> list[AttentionLayer]:
        """None: the graphs return no weights."""
        return []

    def _state(self, tensors: Sequence[Tensor]) -> TensorState:
        return TensorState(dict(zip(self.names, tensors, strict=True)), self.scalars)


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
        limits = [settings[key] for key in ("max_source", "max_target")]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{folder}: is no folder that dhyan export --to onnx wrote: {error}"
        ) from None
    recipe = parse_saved_recipe(files["recipe.toml"])
    source, target = load_codecs(files)
    longest = recipe.decoding.max_source_length
    return Translator(
        cast(Seq2Seq, OnnxModel(folder, state, threads)),
        source,
        target,
        language=recipe.data.target_language,
        source_language=recipe.data.source_language,
        limits=LengthLimits(
            source=min(longest, limits[0] - 1) if limits[0] else longest, target=limits[1]
        ),
        options=recipe.decoding,
        placeholders=recipe.text.placeholders,
        task=recipe.task,
    )


def _run(graph: Any, inputs: dict[str, Tensor]) -> list[Tensor]:
    """The outputs of a graph; inputs that it does not use are left out."""
    used = {node.name for node in graph.get_inputs()}
    arrays = {name: tensor.numpy() for name, tensor in inputs.items() if name in used}
    return [torch.from_numpy(array) for array in graph.run(None, arrays)]
