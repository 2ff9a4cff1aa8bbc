"""Putting a run down and taking it up again, exactly."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from dhyan.errors import UserError
from dhyan.training.ema import WeightEMA
from dhyan.training.state import TrainState
from dhyan.training.trainer import Trainer

RAW = "raw"


def training_tensors(trainer: Trainer) -> dict[str, Tensor]:
    """All that training needs beside the saved weights, by `weight:what`.

    That is the optimizer's memory of each weight; and the weight itself, where what is saved as
    the model is an average.
    """
    tensors = {}
    for name, parameter in trainer.model.named_parameters():
        for key, value in trainer.optimizer.state.get(parameter, {}).items():
            if value is not None:
                tensors[f"{name}:{key}"] = torch.as_tensor(value)
        if trainer.ema:
            tensors[f"{name}:{RAW}"] = parameter
    return tensors


def restore(trainer: Trainer, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Give a trainer, whose model has the saved weights, back its memory and its place."""
    if trainer.ema:
        trainer.ema = WeightEMA.start(trainer.model, trainer.ema.decay)
    trainer.optimizer.state.clear()
    parameters = dict(trainer.model.named_parameters())
    for full_name, tensor in tensors.items():
        name, _, key = full_name.rpartition(":")
        if name not in parameters:
            raise UserError(f"the training state names a weight {name!r} that this model lacks")
        if key == RAW:
            with torch.no_grad():
                parameters[name].copy_(tensor)
        else:
            counted_here = key == "step" and not trainer.optimizer.defaults.get("fused")
            place = tensor if counted_here else tensor.to(parameters[name].device)
            trainer.optimizer.state[parameters[name]][key] = place
    trainer.state = TrainState(**facts)
