"""Attention maps: record the weights of every attention of a model, with its role and layer."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from dhyan.attention import Attended
from dhyan.errors import UserError
from dhyan.kernels.backend import reference_kernels
from dhyan.models.interface import AttentionLayer
from dhyan.models.interface import AttentionRole as AttentionRole
from dhyan.notebook_display import html_weights, make_matrix_frame


@dataclass(frozen=True, repr=False)
class AttentionMap:
    """One attention's weights over a sentence: a row per target word, a column per source word.

    In self-attention both are words of the same sentence. `member` is its model in an ensemble.
    In a notebook it shows itself as a table, coloured by weight.

    >>> attention, *_ = dhyan.explain(dhyan.load(run_folder), "seven nine")
    >>> attention.source
    ('seven', 'nine', '</s>')
    >>> attention.to_frame().columns.to_list()
    ['seven', 'nine', '</s>']
    """

    name: str
    role: AttentionRole
    layer: int
    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Float[Tensor, "H T S"]
    member: int = 0

    def head_weights(self, head: int | None = None) -> Float[Tensor, "T S"]:
        """The weights of a head, the first of which is 1; by default the mean over the heads."""
        if head is None:
            return self.weights.mean(dim=0)
        if not 1 <= head <= len(self.weights):
            raise UserError(f"head {head}: {self.name} has {len(self.weights)}; count them from 1")
        return self.weights[head - 1]

    def to_frame(self, head: int | None = None) -> Any:
        """The weights of a head, or their mean, as a pandas DataFrame labelled with the words."""
        return make_matrix_frame(self.head_weights(head).tolist(), self.target, self.source)

    def __repr__(self) -> str:
        heads, rows, columns = self.weights.shape
        return f"AttentionMap({self._place()}, heads={heads}, target={rows}, source={columns})"

    def _repr_html_(self) -> str:
        heads = f", mean of {len(self.weights)} heads" if len(self.weights) > 1 else ""
        weights = self.head_weights().tolist()
        return html_weights(weights, self.target, self.source, f"{self._place()}{heads}")

    def _place(self) -> str:
        return f"{self.name!r}, {self.role}, layer {self.layer}"


@dataclass(frozen=True)
class AttentionWeights:
    """One attention's weights over a batch of token ids; `member` is its model in an ensemble."""

    name: str
    role: AttentionRole
    layer: int
    weights: Float[Tensor, "B H T S"]
    member: int = 0


@dataclass(frozen=True)
class AttentionRecorder:
    """The weights of every call to an attention, in order, by its name."""

    layers: Sequence[AttentionLayer]
    calls: dict[str, list[Tensor]] = field(default_factory=dict)

    def weights(self) -> list[AttentionWeights]:
        """The weights of each attention that was called, its calls joined along the queries.

        A recurrent decoder calls its attention once a step. Positions that an earlier call could
        not attend to have weight zero in its rows.
        """
        return [
            AttentionWeights(
                layer.name, layer.role, layer.layer, _join(self.calls[layer.name]), layer.member
            )
            for layer in self.layers
            if layer.name in self.calls
        ]


@runtime_checkable
class HasAttentions(Protocol):
    """A model, encoder or decoder that declares its attentions."""

    def attentions(self) -> Sequence[AttentionLayer]: ...  # noqa: D102


def attends_to_source(model: HasAttentions) -> bool:
    """Whether a model has any attention to the source; the plain encoder-decoder has none."""
    return any(layer.role == "cross" for layer in model.attentions())


_active: ContextVar[tuple[AttentionRecorder, ...]] = ContextVar("active_recorders", default=())


@contextmanager
def watch(model: HasAttentions) -> Iterator[AttentionRecorder]:
    """Record the weights of every attention of the model that is called inside the block.

    Inside the block attention is computed by its definition, since fused kernels return no
    weights. Calls from other threads are neither slowed nor recorded.
    """
    recorder = AttentionRecorder(model.attentions())
    token = _active.set((*_active.get(), recorder))
    with ExitStack() as undo:
        undo.callback(_active.reset, token)
        undo.enter_context(reference_kernels())
        for layer in recorder.layers:
            module = layer.attention
            if isinstance(module, nn.Module):
                handle = module.register_forward_hook(_record_as(layer.name, recorder))
                undo.callback(handle.remove)
        yield recorder


def row_entropy(weights: Float[Tensor, "*H T S"]) -> Float[Tensor, "*H T"]:
    """Entropy of each row in bits: 0 for all weight on one position, log2 S for uniform weights.

    Rows are normalised to sum to one, as those of local attention may not; a row of zeros has 0.
    """
    total = weights.sum(dim=-1, keepdim=True)
    probs = torch.where(total > 0, weights / total.clamp_min(1e-38), 0.0)
    return torch.special.entr(probs).sum(dim=-1) / torch.tensor(2.0).log()


def _record_as(
    name: str, recorder: AttentionRecorder
) -> Callable[[nn.Module, object, Attended], None]:
    def hook(module: nn.Module, inputs: object, attended: Attended) -> None:
        in_this_thread = any(active is recorder for active in _active.get())
        if in_this_thread and attended.weights is not None:
            recorder.calls.setdefault(name, []).append(attended.weights)

    return hook


def _join(calls: Sequence[Float[Tensor, "B H _ _"]]) -> Float[Tensor, "B H T S"]:
    widest = max(weights.shape[-1] for weights in calls)
    padded = [functional.pad(weights, (0, widest - weights.shape[-1])) for weights in calls]
    return torch.cat(padded, dim=2)
