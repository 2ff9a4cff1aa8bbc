"""Tasks on real corpora: training texts, validation set, tests and recipe of each."""

import lzma
from collections.abc import Iterator
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
    """A translation task from English, and the recipe that is meant for its size."""

    target: str
    recipe: str
    train: tuple[Split, ...]
    valid: Split
    tests: tuple[Split, ...]
    primer: Primer | None = None

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
            if self.primer:
                write_pairs(partial / "primer", self.target, primer_pairs(self.primer))
        return folder

    def settings(self, folder: Path) -> dict[str, str]:
        """The settings of `dhyan train` that name the texts; leaked pairs are dropped."""
        settings = {"data.drop_leaks": "true", "data.source_language": "en"}
        settings["data.target_language"] = self.target
        for key, name in (("", "train"), ("valid_", "valid"), ("test_", "tests")):
            settings[f"data.{key}source"] = str(folder / f"{name}.en")
            settings[f"data.{key}target"] = str(folder / f"{name}.{self.target}")
        if self.primer:
            source, target = folder / "primer.en", folder / f"primer.{self.target}"
            weight = f"{self.primer.weight:g}"
            settings["data.mix"] = f'[{{source="{source}",target="{target}",weight={weight}}}]'
        return settings


def _multi30k(target: str, recipe: str) -> Task:
    parts = [Split("multi30k", name) for name in ("train", "valid", "test_2016_flickr")]
    return Task(target, recipe, (parts[0],), parts[1], (parts[2],))


def _tatoeba(corpus: str, target: str, recipe: str, primer: Primer | None = None) -> Task:
    parts = [Split(corpus, name) for name in ("train", "valid", "test")]
    return Task(target, recipe, (parts[0],), parts[1], (parts[2],), primer)


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
