"""Test sets of a comparison, the same for all models: from files, held-out or generated pairs."""

import json
import logging
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from dhyan.atomic_folder import to_json_bytes
from dhyan.checkpoint import replace_file
from dhyan.config import Recipe
from dhyan.config.sections import Delimiter, Header
from dhyan.data.corpus import with_languages
from dhyan.data.filters import distinct
from dhyan.data.pairs import Pair
from dhyan.data.prepared_corpus import PreparedCorpus
from dhyan.data.primer import SentencePair, TranslationCheck, generate_sentences
from dhyan.data.text_lines import TABLE_SUFFIXES, format_suffix
from dhyan.errors import UserError
from dhyan.evaluation.alignment_error_rate import Link, parse_gold
from dhyan.evaluation.slices import LENGTHS
from dhyan.run.evaluate import ReferenceSet, read_test_set
from dhyan.special_tokens import UNK
from dhyan.text.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

FILE = "tests.json"
QUICK_SENTENCES = 200  # held-out sentences with `quick`
Tokenizers = tuple[Tokenizer, Tokenizer]
SEED = 1  # of the tests, whatever the seed of a training
SHORTEST, LONGEST = 2, 60
TRIES = 200  # sentences generated for each one that is needed
OTHERS = {
    "unseen": "words that were seen in training, in pairings that never were",
    "longer": "sentences longer than any in training",
    "context": "words whose translation depends on the words around them",
    "idiom": "idioms, and the same words meant literally",
    "attachment": "to which part of the sentence a phrase belongs",
    "agreement": "agreement over a distance",
}


@dataclass(frozen=True)
class EvaluationExample:
    """A test sentence: its reference, other references, gold links, and required words."""

    source: str
    target: str
    others: tuple[str, ...] = ()
    links: str = ""
    checks: tuple[TranslationCheck, ...] = ()


@dataclass(frozen=True)
class EvaluationSet:
    """One test set."""

    name: str
    about: str
    examples: tuple[EvaluationExample, ...]

    def reference_set(self) -> ReferenceSet:
        """The same as a reference set, which `dhyan evaluate` uses."""
        file = Path(self.name)
        numbered = list(enumerate(self.examples, start=1))
        return ReferenceSet(
            file,
            [Pair(example.source, example.target, line) for line, example in numbered],
            len(numbered),
            gold=[parse_gold(example.links, file, line) for line, example in numbered],
            others=[example.others for example in self.examples],
        )

    @property
    def linked(self) -> "EvaluationSet":
        """Only the examples with gold links."""
        linked = (example for example in self.examples if example.links.strip())
        return replace(self, examples=tuple(linked))


@dataclass(frozen=True)
class EvaluationSets:
    """The test sets, the main one first; `selection` only chooses the layer that aligns best."""

    sets: tuple[EvaluationSet, ...]
    selection: EvaluationSet

    @property
    def main(self) -> EvaluationSet:
        """The test set whose scores are compared."""
        return self.sets[0]


def write_tests(tests: EvaluationSets, folder: Path) -> None:
    """Write the test sets beside the models."""
    replace_file(folder / FILE, to_json_bytes(asdict(tests)))


def read_tests(folder: Path) -> EvaluationSets:
    """Read the test sets of a comparison."""
    parts = json.loads((folder / FILE).read_text(encoding="utf-8"))
    return EvaluationSets(tuple(map(_set, parts["sets"])), _set(parts["selection"]))


def file_tests(reference_set: ReferenceSet) -> EvaluationSets:
    """Test files; half of the gold links select the layer, the other half are scored."""
    links = [pharaoh(gold.sure, gold.possible) for gold in reference_set.gold] or [""] * len(
        reference_set.pairs
    )
    examples = [
        EvaluationExample(pair.source, pair.target, links=pair_links)
        for pair, pair_links in zip(reference_set.pairs, links, strict=True)
    ]
    scored = [
        replace(example, links="") if n % 2 == 0 else example for n, example in enumerate(examples)
    ]
    selection = EvaluationSet(
        "selection", "every second sentence of the test", tuple(examples[::2])
    )
    test = EvaluationSet("test", str(reference_set.file), tuple(scored))
    return EvaluationSets((test,), selection.linked)


def held_out_tests(pairs: Sequence[Pair]) -> EvaluationSets:
    """The validation pairs, on which the best checkpoints are chosen too."""
    if not pairs:
        raise UserError(
            "there is nothing to test on: give --test-source FILE and --test-target FILE"
        )
    examples = tuple(EvaluationExample(pair.source, pair.target) for pair in pairs)
    about = "held-out validation pairs, on which each model's best checkpoint is chosen too"
    return EvaluationSets(
        (EvaluationSet("validation", about, examples),), EvaluationSet("selection", "", ())
    )


def pharaoh(sure: Set[Link], possible: Set[Link]) -> str:
    """Links in Pharaoh's form; a sure one is possible too."""
    return " ".join(f"{a}{'-' if (a, b) in sure else '?'}{b}" for a, b in sorted(possible))


def _set(parts: dict[str, Any]) -> EvaluationSet:
    return EvaluationSet(parts["name"], parts["about"], tuple(map(_example, parts["examples"])))


def _example(parts: dict[str, Any]) -> EvaluationExample:
    checks = [
        TranslationCheck(w["kind"], w["about"], tuple(w["right"]), tuple(w["wrong"]))
        for w in parts["checks"]
    ]
    return EvaluationExample(
        parts["source"], parts["target"], tuple(parts["others"]), parts["links"], tuple(checks)
    )


@dataclass(frozen=True)
class Sizes:
    """Sentences for each length slice, for each other test set, and for layer selection."""

    each_length: int
    each_test: int
    selection: int


SMALL, LARGE = Sizes(40, 60, 60), Sizes(150, 300, 200)


def primer_tests(
    *,
    longest: int,
    sizes: Sizes,
    shortest: int = SHORTEST,
    words: Tokenizers | None = None,
    core: float = 1.0,
    backwards: bool = False,
    splits: Collection[str] = tuple(OTHERS),
) -> EvaluationSets:
    """Test sets of the primer: sentences of these lengths that training does not contain.

    With tokenizers, all words of the "unseen" test set are in the vocabularies. A test set that
    cannot be generated is left out, and one that comes short is logged. From Hindi to English
    (`backwards`) there are no required words.
    """
    make = _hindi_to_english if backwards else _english_to_hindi

    def generate(split: str, count: int, least: int, most: int) -> list[EvaluationExample]:
        pairs = generate_sentences(
            split, seed=SEED, min_words=least, max_words=most, core_share=core
        )
        examples = map(make, islice(_until_error(pairs), TRIES * count))
        usable = (
            example
            for example in examples
            if split != "unseen" or not words or _in_vocabulary(example, words)
        )
        chosen = list(distinct(usable, lambda example: example.source, count))
        if len(chosen) < count:
            group = f", {least} to {most} words" if split == "random" else ""
            note = "" if chosen else "; left out"
            logger.info(f"test {split!r}{group}: found {len(chosen)} of {count} sentences{note}")
        return chosen

    groups = _lengths(shortest, longest)
    main = [
        example for group in groups for example in generate("random", sizes.each_length, *group)
    ]
    if not main:
        raise UserError(f"the primer has no sentence to test on of {shortest} to {longest} words")
    about = f"sentences of {shortest} to {longest} words, as many of each group of lengths"
    sets = [EvaluationSet("random", about, tuple(main))]
    for split in splits:
        if chosen := generate(split, sizes.each_test, shortest, longest):
            sets.append(EvaluationSet(split, OTHERS[split], tuple(chosen)))
    valid = generate("valid", sizes.selection, shortest, longest)
    return EvaluationSets(
        tuple(sets), EvaluationSet("valid", "the primer's own for validation", tuple(valid))
    )


def _until_error(pairs: Iterator[SentencePair]) -> Iterator[SentencePair]:
    """The sentences up to the first that cannot be generated."""
    try:
        yield from pairs
    except UserError:
        return


def _lengths(shortest: int, longest: int) -> Iterator[tuple[int, int]]:
    """The first and last length of each slice."""
    ends = [*(start - 1 for start in LENGTHS[1:]), longest]
    for first, last in zip(LENGTHS, ends, strict=True):
        if first <= longest and last >= shortest:
            yield max(first, shortest), min(last, longest)


def _in_vocabulary(example: EvaluationExample, words: Tokenizers) -> bool:
    """Whether the vocabularies have every word."""
    sides = zip(words, (example.source, example.target), strict=True)
    return all(UNK not in tokenizer.encode(text) for tokenizer, text in sides)


def _english_to_hindi(pair: SentencePair) -> EvaluationExample:
    return EvaluationExample(pair.english, pair.hindi, pair.others, pair.links, pair.checks)


def _hindi_to_english(pair: SentencePair) -> EvaluationExample:
    swapped = frozenset((b, a) for a, b in pair.sure), frozenset((b, a) for a, b in pair.possible)
    return EvaluationExample(pair.hindi, pair.english, links=pharaoh(*swapped))


@dataclass(frozen=True)
class EvaluationOptions:
    """Test files, if there are any; `quick` tests fewer sentences."""

    source: str = ""
    target: str = ""
    gold: str = ""
    columns: tuple[str, ...] = ()
    header: Header = "auto"
    delimiter: Delimiter = ""
    quick: bool = False

    def check(self) -> None:
        """Refuse test files without a test source."""
        for option, file in (("--test-target", self.target), ("--gold-alignment", self.gold)):
            if file and not self.source:
                raise UserError(f"{option} {file}: needs --test-source FILE")

    def of_files(self) -> EvaluationSets:
        """Test sets from the files."""
        reference_set = read_test_set(
            Path(self.source),
            Path(self.target) if self.target else None,
            columns=self._columns(),
            header=self.header,
            delimiter=self.delimiter,
            gold=Path(self.gold) if self.gold else None,
        )
        return file_tests(reference_set)

    def _columns(self) -> tuple[str, str] | None:
        """The columns of the training files apply to the test file too, if it is a table."""
        is_table = self.columns and format_suffix(Path(self.source)) in TABLE_SUFFIXES
        return (self.columns[0], self.columns[1]) if is_table else None

    def of_pairs(self, recipe: Recipe, corpus: PreparedCorpus) -> EvaluationSets:
        """The primer's test sets for primer data, else the held-out pairs."""
        if recipe.data.synthetic != "primer":
            return held_out_tests(corpus.validation[: QUICK_SENTENCES if self.quick else None])
        return primer_tests(
            shortest=max(SHORTEST, recipe.data.min_words),
            longest=recipe.data.max_words or LONGEST,
            sizes=SMALL if self.quick else LARGE,
            words=corpus.tokenizers,
            core=recipe.data.core_share,
            backwards=with_languages(recipe).data.source_language == "hi",
        )
