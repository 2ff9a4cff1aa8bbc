"""What a measurement came from, so that it can be judged and made again."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Origin:
    """The command that makes it, the machine and the versions it ran with, its commit and day."""

    command: str
    machine: str
    versions: str
    commit: str
    date: str
