"""Tasks on real corpora: training texts, validation set, tests and recipe of each."""

import lzma
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dhyan.atomic_folder import atomic_folder
from experiments.pretrained.corpus import Pair, Primer, primer_pairs, write_pairs

RECIPES = Path(__file__).parent / "recipes"


@dataclass(frozen=True)
class Split:
    """One part of a corpus of the data folder."""

    corpus: str
    name: str

    def read(self, data: Path, target: str) -> Iterator[Pair]:
        """Its pairs, from two xz files of lines."""
        files = [data / self.corpus / f"{self.name}.{side}.xz" for side in ("en", target)]
        with (
            lzma.open(files[0], "rt", encoding="utf-8", newline="\n") as sources,
            lzma.open(files[1], "rt", encoding="utf-8", newline="\n") as targets,
        ):
            for source, translation in zip(sources, targets, strict=True):
                yield source.rstrip("\n"), translation.rstrip("\n")


@dataclass(frozen=True)
class Task:
    """A translation task from English, and the recipe that is meant for its size.

    `mix` has further corpora and how often each of their pairs comes in an epoch; `monolingual` has
    English sentences that a trained teacher can translate, to distill it (Kim and Rush, 2016).
    """

    target: str
    recipe: str
    train: tuple[Split, ...]
    valid: Split
    tests: tuple[Split, ...]
    primer: Primer | None = None
    mix: tuple[tuple[Split, float], ...] = ()
    monolingual: tuple[tuple[Split, str], ...] = ()

    @property
    def recipe_file(self) -> Path:
        """The file of its recipe."""
        return RECIPES / f"{self.recipe}.toml"

    def write(self, data: Path, folder: Path) -> Path:
        """Write its texts into a folder, unless it is there; `tests` joins the tests to find leaks."""
        if folder.exists():
            return folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        splits = {"train": self.train, "valid": (self.valid,), "tests": self.tests}
        splits |= {f"test-{number}": (test,) for number, test in enumerate(self.tests)}
        with atomic_folder(folder) as partial:
            for name, parts in splits.items():
                pairs = (pair for part in parts for pair in part.read(data, self.target))
                write_pairs(partial / name, self.target, pairs)
            for number, (split, _) in enumerate(self.mix):
                write_pairs(partial / f"mix-{number}", self.target, split.read(data, self.target))
            if self.primer:
                write_pairs(partial / "primer", self.target, primer_pairs(self.primer))
            self._write_monolingual(data, partial)
        return folder

    def _write_monolingual(self, data: Path, folder: Path) -> None:
        """Write the sources to distill: those of the training text, then further English sentences.

        A sentence of the validation set or of a test is left out, also in another case.
        """
        parts = [(part, self.target) for part in self.train] + list(self.monolingual)
        held_out = {
            source.lower()
            for part in (self.valid, *self.tests)
            for source, _ in part.read(data, self.target)
        }
        sentences = dict.fromkeys(
            source for part, language in parts for source, _ in part.read(data, language)
        )
        with open(folder / "monolingual.en", "w", encoding="utf-8") as file:
            file.writelines(
                f"{sentence}\n" for sentence in sentences if sentence.lower() not in held_out
            )

    def settings(self, folder: Path) -> dict[str, str]:
        """The settings of `dhyan train` that name the texts; leaked pairs are dropped."""
        settings = {"data.drop_leaks": "true", "data.source_language": "en"}
        settings["data.target_language"] = self.target
        for key, name in (("", "train"), ("valid_", "valid"), ("test_", "tests")):
            settings[f"data.{key}source"] = str(folder / f"{name}.en")
            settings[f"data.{key}target"] = str(folder / f"{name}.{self.target}")
        weights = {f"mix-{number}": weight for number, (_, weight) in enumerate(self.mix)}
        if self.primer:
            weights["primer"] = self.primer.weight
        settings["data.mix"] = mix_setting(folder, self.target, weights)
        return settings


def mix_setting(folder: Path, target: str, weights: Mapping[str, float]) -> str:
    """The value of `data.mix` for texts of a folder by name, with their weights."""
    corpora = (
        f'{{source="{folder / name}.en",target="{folder / name}.{target}",weight={weight:g}}}'
        for name, weight in weights.items()
    )
    return f"[{','.join(corpora)}]"


def _multi30k(target: str, recipe: str) -> Task:
    parts = [Split("multi30k", name) for name in ("train", "valid", "test_2016_flickr")]
    mix = ((Split(f"tatoeba-en-{target}", "train"), 0.15),)
    return Task(target, recipe, (parts[0],), parts[1], (parts[2],), mix=mix)


def _tatoeba(corpus: str, target: str, recipe: str, primer: Primer | None = None) -> Task:
    parts = [Split(corpus, name) for name in ("train", "valid", "test")]
    others = tuple((Split(f"tatoeba-en-{other}", "train"), other) for other in ("fr", "de"))
    monolingual = tuple(pair for pair in others if pair[1] != target)
    return Task(target, recipe, (parts[0],), parts[1], (parts[2],), primer, monolingual=monolingual)


EN_HI = (
    "tatoeba-en-hi-large",
    "hindi-visual-genome",
    "bible-en-hi",
    "iitb-en-hi-sample",
    "iitb-en-hi-gnome",
    "hindencorp-en-hi-4k",
    "xnli-5way",
)
TASKS = {
    "multi30k-en-de": _multi30k("de", "transformer-30k-pairs"),
    "multi30k-en-de-bahdanau": _multi30k("de", "bahdanau-30k-pairs"),
    "multi30k-en-fr": _multi30k("fr", "transformer-30k-pairs"),
    "tatoeba-en-fr": _tatoeba("tatoeba-en-fr", "fr", "transformer-150k-pairs"),
    "tatoeba-en-hi": _tatoeba("tatoeba-en-hi-large", "hi", "transformer-10k-pairs", Primer()),
    "all-en-hi": Task(
        "hi",
        "transformer-150k-pairs",
        tuple(Split(corpus, "train") for corpus in EN_HI),
        Split("tatoeba-en-hi-large", "valid"),
        (Split("tatoeba-en-hi-large", "test"), Split("flores200-devtest", "test")),
        Primer(),
    ),
}
