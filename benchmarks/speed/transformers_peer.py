"""MarianMT of `transformers` for comparison: the model and its training throughput."""

from collections.abc import Callable, Sequence
from math import log
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from benchmarks.speed.model_recipes import Size
from benchmarks.speed.timing import TRAINED, Effort, Row, Table, throughputs

Step = Callable[[], Tensor]


def marian(size: Size, device: str) -> Any:
    """A MarianMT of this size with random weights; its last token id is padding."""
    from transformers import MarianConfig, MarianMTModel

    torch.manual_seed(1)
    config = MarianConfig(
        vocab_size=size.vocabulary,
        d_model=size.width,
        encoder_layers=size.layers,
        decoder_layers=size.layers,
        encoder_attention_heads=size.heads,
        decoder_attention_heads=size.heads,
        encoder_ffn_dim=size.feed_forward_width,
        decoder_ffn_dim=size.feed_forward_width,
        max_position_embeddings=4 * size.length,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=size.vocabulary - 1,
        decoder_start_token_id=size.vocabulary - 1,
        eos_token_id=0,
        forced_eos_token_id=None,
        dropout=0.1,
    )
    with torch.device(device):
        return MarianMTModel(config)


def marian_step(
    size: Size, *, half_weights: bool, compiled: str | None, device: str = "cuda"
) -> Step:
    """One training step of MarianMT with fused Adam on a batch without padding; returns the loss.

    With `half_weights` the weights are bf16, else fp32 under autocast. No label smoothing.
    """
    model = marian(size, device).train()
    if half_weights:
        model = model.bfloat16()
    fused = device == "cuda"
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=fused)
    shape = (size.sentences, size.length)
    source, inputs, labels = (
        torch.randint(1, size.vocabulary - 1, shape, device=device) for _ in range(3)
    )

    def loss_of(source: Tensor, inputs: Tensor, labels: Tensor) -> Tensor:
        with torch.autocast(device, torch.bfloat16, enabled=not half_weights):
            return model(
                input_ids=source, decoder_input_ids=inputs, labels=labels, use_cache=False
            ).loss

    if compiled:
        mode = None if compiled == "default" else compiled
        loss_of = torch.compile(loss_of, mode=mode)

    def step() -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(source, inputs, labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return step


def train_marian(
    table: Table, size: Size, names: Sequence[str], *, device: str, effort: Effort
) -> None:
    """Time training in each of these configurations, on batches without padding."""
    steps = effort.steps // 10 + 1
    for name in names:
        with table.trying(name):
            start = perf_counter()
            half, mode = MARIANS[name]
            step = marian_step(size, half_weights=half, compiled=mode, device=device)
            first = float(step())
            table.check(f"{name}: first loss over ln V", first / log(size.vocabulary))
            note = f"{perf_counter() - start:.0f} s to the first step"

            def run_steps(step: Step = step) -> None:
                for _ in range(steps):
                    step()

            tokens = size.sentences * size.length * steps
            rates = throughputs(run_steps, tokens, repeats=effort.windows)
            table.add(Row.of(name, f"{size.sentences} × {size.length}", TRAINED, rates, note))


MARIANS = {  # bf16 weights, and the mode of torch.compile
    "transformers, autocast": (False, None),
    "transformers, bf16 weights": (True, None),
    "transformers, autocast, compiled": (False, "default"),
}
