"""Resume: the tensors of a training state, and restoring a trainer from them."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from dhyan.errors import UserError
from dhyan.training.data_parallel import sharded_like
from dhyan.training.ema import WeightEMA
from dhyan.training.state import TrainState
from dhyan.training.trainer import Trainer

RAW_WEIGHT = "raw"


def training_tensors(trainer: Trainer) -> dict[str, Tensor]:
    """The optimizer state of each weight, by `weight:key`.

    With a moving average, which is what the model file holds, also the weight itself.
    """
    tensors = {}
    for name, parameter in trainer.model.named_parameters():
        for key, value in trainer.optimizer.state.get(parameter, {}).items():
            if value is not None:
                tensors[f"{name}:{key}"] = torch.as_tensor(value)
        if trainer.ema:
            tensors[f"{name}:{RAW_WEIGHT}"] = parameter
    return tensors


def restore(trainer: Trainer, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> None:
    """Restore optimizer state and training state; the model already has the saved weights."""
    if trainer.ema:
        trainer.ema = WeightEMA.start(trainer.model, trainer.ema.decay)
    trainer.optimizer.state.clear()
    parameters = dict(trainer.model.named_parameters())
    for full_name, tensor in tensors.items():
        name, _, key = full_name.rpartition(":")
        if name not in parameters:
            raise UserError(f"the training state names a weight {name!r} that this model lacks")
        if key == RAW_WEIGHT:
            with torch.no_grad():
                parameters[name].copy_(sharded_like(parameters[name], tensor))
        else:
            on_cpu = key == "step" and not trainer.optimizer.defaults.get("fused")
            value = tensor if on_cpu else sharded_like(parameters[name], tensor)
            trainer.optimizer.state[parameters[name]][key] = value
    trainer.state = TrainState(**state)
