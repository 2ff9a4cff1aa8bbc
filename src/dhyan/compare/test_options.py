"""What a comparison is to be tested on, as it was asked for."""

from dataclasses import dataclass
from pathlib import Path

from dhyan.compare.primer_test_sets import FEW, LONGEST, MANY, SHORTEST, primer_tests
from dhyan.compare.test_sets import Sheets, file_tests, held_out_tests
from dhyan.config import Recipe
from dhyan.data.corpus import with_languages
from dhyan.data.prepared_corpus import PreparedCorpus
from dhyan.data.read_text import TABLE_SUFFIXES, format_suffix
from dhyan.errors import UserError

QUICKLY = 200  # sentences held out are enough


@dataclass(frozen=True)
class Wish:
    """A person's own test files, if there are any; `quick` asks fewer sentences."""

    source: str = ""
    target: str = ""
    gold: str = ""
    columns: tuple[str, ...] = ()
    quick: bool = False

    def check(self) -> None:
        """Refuse files that belong to none."""
        for option, file in (("--test-target", self.target), ("--gold-alignment", self.gold)):
            if file and not self.source:
                raise UserError(f"{option} {file}: has no sentences; add --test-source FILE")

    def of_files(self) -> Sheets:
        """The tests that the files make."""
        return file_tests(
            Path(self.source),
            Path(self.target) if self.target else None,
            columns=self._columns(),
            gold=Path(self.gold) if self.gold else None,
        )

    def _columns(self) -> tuple[str, str] | None:
        """Those of the training files name the test's too, if it is a table."""
        named = self.columns and format_suffix(Path(self.source)) in TABLE_SUFFIXES
        return (self.columns[0], self.columns[1]) if named else None

    def of_pairs(self, recipe: Recipe, corpus: PreparedCorpus) -> Sheets:
        """The primer's own tests, else the pairs held out; none that was trained on."""
        if recipe.data.task != "primer":
            return held_out_tests(corpus.validation[: QUICKLY if self.quick else None])
        return primer_tests(
            shortest=max(SHORTEST, recipe.data.min_words),
            longest=recipe.data.max_words or LONGEST,
            sizes=FEW if self.quick else MANY,
            words=corpus.tokenizers,
            core=recipe.data.core_share,
            backwards=with_languages(recipe).data.source_language == "hi",
        )
