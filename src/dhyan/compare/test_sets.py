"""What the models of a comparison are asked: tests, written down once so that all get the same."""

import json
from collections.abc import Sequence, Set
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dhyan.atomic_folder import to_json_bytes
from dhyan.checkpoint import replace_file
from dhyan.data.pairs import Pair
from dhyan.data.primer import Wanted
from dhyan.errors import UserError
from dhyan.evaluation.alignment_error_rate import Link, parse_gold
from dhyan.run.evaluate import Exam, read_exam

FILE = "tests.json"


@dataclass(frozen=True)
class Question:
    """A sentence, its reference and other correct ones, its gold links, and what must be said."""

    source: str
    target: str
    others: tuple[str, ...] = ()
    links: str = ""
    wanted: tuple[Wanted, ...] = ()


@dataclass(frozen=True)
class Sheet:
    """The questions of one test."""

    name: str
    about: str
    questions: tuple[Question, ...]

    def exam(self) -> Exam:
        """As all of the house's exams are."""
        file = Path(self.name)
        asked = list(enumerate(self.questions, start=1))
        return Exam(
            file,
            [Pair(one.source, one.target, line) for line, one in asked],
            len(asked),
            gold=[parse_gold(one.links, file, line) for line, one in asked],
            others=[one.others for one in self.questions],
        )

    @property
    def linked(self) -> "Sheet":
        """The questions alone whose links are known."""
        return replace(self, questions=tuple(one for one in self.questions if one.links.strip()))


@dataclass(frozen=True)
class Sheets:
    """The sheets, the main one first; on `choosing` nothing is scored, a layer is chosen."""

    sheets: tuple[Sheet, ...]
    choosing: Sheet

    @property
    def main(self) -> Sheet:
        """The test whose scores are compared."""
        return self.sheets[0]


def write_tests(tests: Sheets, folder: Path) -> None:
    """Keep them beside the models."""
    replace_file(folder / FILE, to_json_bytes(asdict(tests)))


def read_tests(folder: Path) -> Sheets:
    """Those kept."""
    kept = json.loads((folder / FILE).read_text(encoding="utf-8"))
    return Sheets(tuple(map(_sheet, kept["sheets"])), _sheet(kept["choosing"]))


def file_tests(
    source: Path, target: Path | None, *, columns: tuple[str, str] | None, gold: Path | None
) -> Sheets:
    """A person's own test set; of gold links every second sentence's choose, the others score."""
    exam = read_exam(source, target, columns=columns, gold=gold)
    links = [pharaoh(one.sure, one.possible) for one in exam.gold] or [""] * len(exam.pairs)
    asked = [
        Question(pair.source, pair.target, links=one)
        for pair, one in zip(exam.pairs, links, strict=True)
    ]
    scored = [replace(one, links="") if n % 2 == 0 else one for n, one in enumerate(asked)]
    choosing = Sheet("choosing", "every second sentence of the test", tuple(asked[::2]))
    return Sheets((Sheet("test", str(source), tuple(scored)),), choosing.linked)


def held_out_tests(pairs: Sequence[Pair]) -> Sheets:
    """Where nothing else is named: the pairs held out, on which the models are also chosen."""
    if not pairs:
        raise UserError(
            "there is nothing to test on: name --test-source FILE and --test-target FILE"
        )
    asked = tuple(Question(pair.source, pair.target) for pair in pairs)
    about = "the pairs held out from training, on which each model's best checkpoint is chosen too"
    return Sheets((Sheet("validation", about, asked),), Sheet("choosing", "", ()))


def pharaoh(sure: Set[Link], possible: Set[Link]) -> str:
    """Links in Pharaoh's form; a sure one is possible too."""
    return " ".join(f"{a}{'-' if (a, b) in sure else '?'}{b}" for a, b in sorted(possible))


def _sheet(kept: dict[str, Any]) -> Sheet:
    return Sheet(kept["name"], kept["about"], tuple(map(_question, kept["questions"])))


def _question(kept: dict[str, Any]) -> Question:
    wanted = [
        Wanted(w["kind"], w["about"], tuple(w["right"]), tuple(w["wrong"])) for w in kept["wanted"]
    ]
    return Question(
        kept["source"], kept["target"], tuple(kept["others"]), kept["links"], tuple(wanted)
    )
