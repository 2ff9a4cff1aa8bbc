"""`dhyan tasks`: list what models can be trained for, with the codecs and metrics of each task."""

import json
from typing import Any

import typer

from dhyan.cli.options import AsJson


def tasks(as_json: AsJson = False) -> None:
    """List the tasks a recipe can name.

    A recipe names one as `task = "name"`; a file of one's own registers further ones
    (dhyan.register_task), given as `dhyan --plugin FILE.py …`.

    Example: dhyan tasks
    """
    from dhyan.tasks import find_task, task_names

    records = [find_task(name) for name in task_names()]
    if as_json:
        facts: list[dict[str, Any]] = [
            {
                "name": task.name,
                "about": task.about,
                "source": task.source or "text",
                "target": task.target or "text",
                "metrics": list(task.metrics),
            }
            for task in records
        ]
        typer.echo(json.dumps(facts, ensure_ascii=False, indent=1))
        return
    width = max(len(task.name) for task in records)
    for task in records:
        typer.echo(f"{task.name:<{width}}  {task.about}")
        typer.echo(
            f"{'':<{width}}  {task.source or 'text'} → {task.target or 'text'}; "
            f"{', '.join(task.metrics)}"
        )
