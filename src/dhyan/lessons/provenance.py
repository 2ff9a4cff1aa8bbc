"""Where a lesson's numbers come from: the command and commit of a snapshot, the machine of a timing."""

from dataclasses import dataclass

from dhyan.lessons.catalogue import Text


@dataclass(frozen=True)
class Provenance:
    """The command of a measurement, its machine and versions, its commit and date."""

    command: str
    machine: str
    versions: str
    commit: str
    date: str


@dataclass(frozen=True)
class Machine:
    """The machine of a timing: processor, cores and compute threads."""

    processor: str
    cores: int
    threads: int

    def describe(self, text: Text) -> str:
        """The machine in words."""
        name = f" ({self.processor})" if self.processor else ""
        return text(
            "provenance.machine_cores_them_used", cores=self.cores, name=name, threads=self.threads
        )


def this_machine() -> Machine:
    """The machine this runs on."""
    from dhyan.compare.environment import measurement_environment

    machine = measurement_environment("cpu")["machine"]
    return Machine(machine["processor"], machine["cores"] or 1, machine["threads"])
