"""A task as a record: codecs of both sides, search rules, metrics, formats; and their registry."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dhyan.config import Recipe, suggestion
from dhyan.config.sections import Codec
from dhyan.data.read_pairs import Reader, register_format
from dhyan.errors import UserError, spell
from dhyan.evaluation.metrics import check_metrics

if TYPE_CHECKING:
    from dhyan.decoding.searcher import RequestRule


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a model turns into what; a recipe names it as `task = "name"`.

    `source` and `target` are the codecs of a recipe that names none. `rules` keep what search finds
    in the form of the task. `metrics` are names of registered metrics, the first of them foremost;
    validations score by them, an evaluation by `slow_metrics` too. `readers` read files of other
    formats than pairs of lines and tables, by their suffix. `figure` is how the attention of one
    output is drawn. A task `between_languages` needs to know which they are.
    """

    name: str
    about: str
    source: Codec = ""
    target: Codec = ""
    rules: "tuple[RequestRule, ...]" = ()
    metrics: tuple[str, ...] = ("bleu", "chrf")
    slow_metrics: tuple[str, ...] = ()
    readers: Mapping[str, Reader] = field(default_factory=dict)
    figure: str = "heatmap"
    between_languages: bool = False

    @property
    def command(self) -> str:
        """The command that uses a model of this task."""
        return "translate" if self.between_languages else "predict"


_tasks: dict[str, Task] = {}


def register_task(task: Task) -> Task:
    """Let recipes say `task = "name"`, and read its formats by their suffix.

    >>> from dhyan.tasks import Task
    >>> task = dhyan.register_task(Task(name="shout", about="Upper case.", metrics=("exact",)))
    >>> dhyan.load_recipe("numbers", {"task": "shout"}).task
    'shout'
    """
    if task.name in _tasks and _tasks[task.name] != task:
        raise ValueError(f"a task {task.name!r} is registered already: choose another name")
    check_metrics((*task.metrics, *task.slow_metrics))
    for suffix, reader in task.readers.items():
        register_format(suffix, reader)
    _tasks[task.name] = task
    return task


def task_names() -> list[str]:
    """The names of all tasks, in the order of their registration."""
    return list(_tasks)


def find_task(name: str) -> Task:
    """The task of that name."""
    if name not in _tasks:
        remedy = spell(command_line="--plugin FILE", python="dhyan.register_task")
        raise UserError(
            f"task: none is called {name!r}{suggestion(name, task_names())}; one of your own is made "
            f"known with {remedy}"
        )
    return _tasks[name]


def with_task(recipe: Recipe) -> Recipe:
    """The recipe with the codecs of its task, where it names none.

    Its early stopping metric is the loss or one of the task's.
    """
    task, text = find_task(recipe.task), recipe.text
    metric, known = recipe.training.early_stopping_metric, ("loss", *task.metrics)
    if metric not in known:
        raise UserError(
            f"training.early_stopping_metric = {metric!r}: the task {task.name!r} has no such metric"
            f"{suggestion(metric, known)}; give one of {', '.join(known)}"
        )
    chosen = replace(
        text,
        source_codec=text.source_codec or task.source,
        target_codec=text.target_codec or task.target,
    )
    return replace(recipe, text=chosen)
