"""The machine that a lesson times something on, here and now."""

from dataclasses import dataclass

from dhyan.lessons.shown import Say


@dataclass(frozen=True)
class Machine:
    """Its processor, how many cores it has, and how many threads compute."""

    processor: str
    cores: int
    threads: int

    def told(self, say: Say) -> str:
        """In words."""
        name = f" ({self.processor})" if self.processor else ""
        return say(
            f"a machine with {self.cores} cores{name}, {self.threads} of them used",
            f"{self.cores} कोर की मशीन{name}, काम में लिए गए कोर: {self.threads}",
        )


def this_machine() -> Machine:
    """The one this runs on."""
    from dhyan.compare.environment import surroundings

    found = surroundings("cpu")["machine"]
    return Machine(found["processor"], found["cores"] or 1, found["threads"])
