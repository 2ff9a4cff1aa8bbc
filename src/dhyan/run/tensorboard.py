"""TensorBoard logging: writes the scalars of a training run as it proceeds."""

from importlib.util import find_spec
from pathlib import Path

from dhyan.errors import UserError
from dhyan.training.events import Event, Stepped, Validated


class TensorBoardLog:
    """Writes the scalars of a run to a folder for `tensorboard --logdir`.

    `after` is the step the run resumes from, -1 for a new run: points after it, from an earlier
    attempt, are removed, so that none is shown twice.
    """

    def __init__(self, folder: Path, *, after: int) -> None:
        require_tensorboard()
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder), purge_step=after + 1)

    def write(self, event: Event) -> None:
        """Write the scalars of an event."""
        for name, value in scalars(event).items():
            self._writer.add_scalar(name, value, event.step)
        if isinstance(event, Validated):
            self._writer.flush()

    def close(self) -> None:
        """Write what is buffered."""
        self._writer.close()


def scalars(event: Event) -> dict[str, float]:
    """The scalars of an event by their names in TensorBoard."""
    match event:
        case Stepped():
            return {
                "train/loss": event.loss,
                "train/learning_rate": event.learning_rate,
                "train/gradient_norm": event.gradient_norm,
                "train/tokens_per_second": event.tokens / max(event.seconds, 1e-9),
            }
        case Validated():
            return {f"valid/{name}": value for name, value in event.scores.items()}
    return {}


def require_tensorboard() -> None:
    """Refuse training.tensorboard if the package is not installed."""
    if find_spec("tensorboard") is None:
        raise UserError(
            "training.tensorboard: the package is not installed; pip install tensorboard, "
            "or leave the setting out"
        )
