"""Putting a run down and taking it up again, exactly."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from dhyan.faults import Fault
from dhyan.training.trainer import Progress, Trainer


def optimizer_tensors(trainer: Trainer) -> dict[str, Tensor]:
    """The optimizer's memory of each parameter, by the parameter's name."""
    tensors = {}
    for name, parameter in trainer.model.named_parameters():
        for key, value in trainer.optimizer.state.get(parameter, {}).items():
            if value is not None:
                tensors[f"{name}:{key}"] = torch.as_tensor(value)
    return tensors


def restore(trainer: Trainer, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Give a freshly built trainer back its memory and its place."""
    parameters = dict(trainer.model.named_parameters())
    for full_name, tensor in tensors.items():
        name, _, key = full_name.rpartition(":")
        if name not in parameters:
            raise Fault(f"the training state names a weight {name!r} that this model lacks")
        place = tensor if key == "step" else tensor.to(parameters[name].device)
        trainer.optimizer.state[parameters[name]][key] = place
    trainer.progress = Progress(**facts)
