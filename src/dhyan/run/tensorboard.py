"""A run's figures for TensorBoard, beside its metrics."""

from importlib.util import find_spec
from pathlib import Path

from dhyan.errors import UserError
from dhyan.training.events import Event, Stepped, Validated


class TensorBoardLog:
    """Listens to a run and writes its scalars into a folder that `tensorboard --logdir` shows.

    `after` is the step the run goes on from, -1 at its beginning: points that an earlier attempt
    left beyond it are taken back, so that none is shown twice.
    """

    def __init__(self, folder: Path, *, after: int) -> None:
        need_tensorboard()
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder), purge_step=after + 1)

    def note(self, event: Event) -> None:
        """Write what can be drawn of an event."""
        for name, value in scalars(event).items():
            self._writer.add_scalar(name, value, event.step)
        if isinstance(event, Validated):
            self._writer.flush()

    def close(self) -> None:
        """Write what is still held back."""
        self._writer.close()


def scalars(event: Event) -> dict[str, float]:
    """The numbers of an event by the names they have on the board."""
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


def need_tensorboard() -> None:
    """Refuse to begin what cannot be written."""
    if find_spec("tensorboard") is None:
        raise UserError(
            "training.tensorboard: the package is not here; pip install tensorboard, "
            "or leave the setting out"
        )
