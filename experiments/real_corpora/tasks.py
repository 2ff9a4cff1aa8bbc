"""Tasks on real corpora: training texts, validation set, tests and recipe of each."""

import lzma
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from dhyan.atomic_folder import atomic_folder
from experiments.pretrained.corpus import Pair, Primer, primer_pairs, write_pairs

JOIN_SEED = 1
DISTILLED = "distilled"  # sources translated by a trained teacher, mixed in by that name


@dataclass(frozen=True)
class Split:
    """One part of a corpus of the data folder.

    A `tag` is a word before every source sentence that says which domain it is from (Kobus et al.,
    2017), or which language it goes to. `source` and `target` are the files of its sides, if not
    those of the task's languages.
    """

    corpus: str
    name: str
    tag: str = ""
    source: str = ""
    target: str = ""

    def read(self, data: Path, source: str, target: str) -> Iterator[Pair]:
        """Its pairs, from two xz files of lines; an empty side is no pair."""
        sides = self.source or source, self.target or target
        files = [data / self.corpus / f"{self.name}.{side}.xz" for side in sides]
        with (
            lzma.open(files[0], "rt", encoding="utf-8", newline="\n") as sources,
            lzma.open(files[1], "rt", encoding="utf-8", newline="\n") as targets,
        ):
            for sentence, translation in zip(sources, targets, strict=True):
                if sentence.strip() and translation.strip():
                    yield tagged(sentence.rstrip("\n"), self.tag), translation.rstrip("\n")


def tagged(source: str, tag: str) -> str:
    """A source sentence with the tag of its domain before it, if there is one."""
    return f"{tag} {source}" if tag else source


def untagged(source: str, tag: str) -> str:
    """A source sentence without the tag of its domain."""
    return source.removeprefix(f"{tag} ") if tag else source


@dataclass(frozen=True)
class Task:
    """A translation task, and the recipe that is meant for its size.

    `valid` is the validation set of training, `further_valid` is scored in tuning only. `further`
    has more corpora by name; `monolingual` has source sentences, with the language of the file
    beside them, that a trained model translates: to distill it (Kim and Rush, 2016), or for a model
    of the other direction (back-translation; Sennrich et al., 2016), which names the pairs
    `../TEXTS/distilled` in its weights. `joined` are splits of which two sentences each are joined to
    one, as text `joined`: a remedy for tests with longer sentences than the training text (Kondo et
    al., 2021). `weights` says how often a pair of those, of the `primer`
    and of the `distilled` pairs comes in an epoch. `vocabulary_pairs` first ones make the
    vocabularies, so that text of another domain does not fill them. Tasks with the same `texts`
    share the folder of their texts.
    """

    texts: str
    target: str
    recipe: str
    train: tuple[Split, ...]
    valid: Split
    tests: tuple[Split, ...]
    vocabulary_pairs: int
    further_valid: tuple[Split, ...] = ()
    further: Mapping[str, tuple[Split, ...]] = field(default_factory=dict)
    joined: tuple[Split, ...] = ()
    primer: Primer | None = None
    primer_tag: str = ""
    monolingual: tuple[tuple[Split, str], ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    source: str = "en"
    settings: Mapping[str, str] = field(default_factory=dict)

    def write(self, data: Path, texts: Path) -> Path:
        """Write its texts into a folder, unless it is there; `tests` joins the tests to find leaks."""
        folder = texts / self.texts
        if folder.exists():
            return folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        splits = {"train": self.train, "tests": self.tests}
        splits |= {f"test-{number}": (test,) for number, test in enumerate(self.tests)}
        splits |= {f"valid-{number}": (part,) for number, part in enumerate(self.valid_sets)}
        splits |= self.further
        with atomic_folder(folder) as partial:
            for name, parts in splits.items():
                pairs = (pair for part in parts for pair in self.read(part, data))
                write_pairs(partial / name, self.source, self.target, pairs)
            if self.joined:
                pairs = (pair for part in self.joined for pair in self._joined_pairs(part, data))
                write_pairs(partial / "joined", self.source, self.target, pairs)
            if self.primer:
                pairs = self._primer_pairs(self.primer)
                write_pairs(partial / "primer", self.source, self.target, pairs)
            sentences = "".join(dict.fromkeys(self._monolingual(data)))
            (partial / f"monolingual.{self.source}").write_text(sentences, encoding="utf-8")
        return folder

    def read(self, split: Split, data: Path) -> Iterator[Pair]:
        """The pairs of a split in the languages of the task."""
        return split.read(data, self.source, self.target)

    def _joined_pairs(self, split: Split, data: Path) -> Iterator[Pair]:
        """Two random pairs of a split each, joined to one; every pair is used once."""
        pairs = list(self.read(split, data))
        Random(JOIN_SEED).shuffle(pairs)
        for first, second in zip(pairs[::2], pairs[1::2], strict=False):
            source = f"{first[0]} {untagged(second[0], split.tag)}"
            yield source, f"{first[1]} {second[1]}"

    @property
    def valid_sets(self) -> tuple[Split, ...]:
        """The validation sets; training uses the first."""
        return (self.valid, *self.further_valid)

    def _primer_pairs(self, primer: Primer) -> Iterator[Pair]:
        for english, hindi in primer_pairs(primer):
            pair = (english, hindi) if self.source == "en" else (hindi, english)
            yield tagged(pair[0], self.primer_tag), pair[1]

    def _monolingual(self, data: Path) -> Iterable[str]:
        """The sentences to distill; those of a validation set or a test are left out."""
        held_out = {
            untagged(source, split.tag).lower().strip()
            for split in (*self.valid_sets, *self.tests)
            for source, _ in self.read(split, data)
        }
        for part, language in self.monolingual:
            for source, _ in part.read(data, self.source, language):
                if untagged(source, part.tag).lower().strip() not in held_out:
                    yield f"{source}\n"

    def train_settings(self, folder: Path) -> dict[str, str]:
        """Its settings, and those that name its texts; leaked pairs are dropped."""
        settings = {**self.settings, "data.drop_leaks": "true", "data.source_language": self.source}
        settings["data.target_language"] = self.target
        settings["text.vocabulary_pairs"] = str(self.vocabulary_pairs)
        for key, name in (("", "train"), ("valid_", "valid-0"), ("test_", "tests")):
            settings[f"data.{key}source"] = str(folder / f"{name}.{self.source}")
            settings[f"data.{key}target"] = str(folder / f"{name}.{self.target}")
        settings["data.mix"] = self.mix_setting(folder, self.weights)
        return settings

    def mix_setting(self, folder: Path, weights: Mapping[str, float]) -> str:
        """The value of `data.mix` for texts of a folder by name, with their weights."""
        corpora = (
            f'{{source="{folder / name}.{self.source}",target="{folder / name}.{self.target}",'
            f"weight={weight:g}}}"
            for name, weight in weights.items()
        )
        return f"[{','.join(corpora)}]"


CAPTIONS = (Split("hindi-visual-genome", "train"), "hi")  # English sentences like Multi30k's
TATOEBA_ENGLISH = tuple((Split(f"tatoeba-en-{other}", "train"), other) for other in ("fr", "de"))


def _multi30k(target: str, recipe: str, weights: Mapping[str, float]) -> Task:
    parts = [Split("multi30k", name) for name in ("train", "valid", "test_2016_flickr")]
    return Task(
        f"multi30k-en-{target}",
        target,
        recipe,
        (parts[0],),
        parts[1],
        (parts[2],),
        vocabulary_pairs=29_000,
        further={"tatoeba": (Split(f"tatoeba-en-{target}", "train"),)},
        monolingual=((parts[0], target), CAPTIONS),
        weights=weights,
    )


def _reversed(task: Task, texts: str) -> Task:
    """The other direction of a task, which translates its targets back."""
    return replace(
        task,
        texts=texts,
        source=task.target,
        target=task.source,
        further={},
        monolingual=tuple((part, task.source) for part in task.train),
        weights={},
    )


def _multi30k_distilled(target: str) -> Task:
    """Its own models' translations of captions, and the reversed models' of its targets.

    Several models translate each sentence: data diversification (Nguyen et al., 2020).
    """
    weights = {DISTILLED: 0.25, f"../multi30k-{target}-en/{DISTILLED}": 0.4}
    task = _multi30k(target, "transformer-30k-pairs", weights)
    return replace(task, settings={"training.steps": "8000"})


def _distilled(task: Task, weights: Mapping[str, float], steps: int) -> Task:
    """A task with the translations of its own models, each of which translates every sentence."""
    settings = {**task.settings, "training.steps": str(steps)}
    return replace(task, weights=weights, settings=settings)


def _tatoeba_en_fr() -> Task:
    """163,778 pairs; one vocabulary for both languages keeps the model below 10 million weights."""
    parts = [Split("tatoeba-en-fr", name) for name in ("train", "valid", "test")]
    return Task(
        "tatoeba-en-fr",
        "fr",
        "transformer-150k-pairs",
        (parts[0],),
        parts[1],
        (parts[2],),
        vocabulary_pairs=160_000,
        monolingual=((parts[0], "fr"), TATOEBA_ENGLISH[1]),
        settings={
            "text.shared_vocabulary": "true",
            "decoder.share_source_embedding": "true",
            "training.steps": "10000",
        },
    )


def _tatoeba_en_hi() -> Task:
    """Text that may be distributed: Tatoeba and the primer."""
    parts = [Split("tatoeba-en-hi-large", name) for name in ("train", "valid", "test")]
    return Task(
        "tatoeba-en-hi",
        "hi",
        "transformer-10k-pairs",
        (parts[0],),
        parts[1],
        (parts[2],),
        vocabulary_pairs=70_000,
        primer=Primer(),
        monolingual=((parts[0], "hi"), *TATOEBA_ENGLISH),
        weights={"primer": 0.3, DISTILLED: 0.2},
    )


HINDI = ((Split("tatoeba-en-hi-large", "train"), "en"),) + tuple(
    (Split("indian-parallel-hi-en-4ref", name), "en.0") for name in ("valid", "devtest", "test")
)  # may be distributed: Tatoeba (CC BY) and Wikipedia (CC BY-SA)


def _tatoeba_hi_en() -> Task:
    """The other direction, which translates further Hindi sentences back."""
    return replace(
        _reversed(_tatoeba_en_hi(), "tatoeba-hi-en"),
        monolingual=HINDI,
        weights={"primer": 0.3},
        settings={"training.steps": "4000"},
    )


def _tatoeba_two_way() -> Task:
    """English to Hindi and Hindi to English in one model, told apart by a tag."""

    def to_hindi(name: str) -> Split:
        return Split("tatoeba-en-hi-large", name, "xhindi")

    return Task(
        "tatoeba-two-way",
        "hi",
        "transformer-10k-pairs",
        (to_hindi("train"), Split("tatoeba-en-hi-large", "train", "xenglish", "hi", "en")),
        to_hindi("valid"),
        (to_hindi("test"),),
        vocabulary_pairs=90_000,
        primer=Primer(),
        primer_tag="xhindi",
        weights={"primer": 0.3},
        settings={
            "text.shared_vocabulary": "true",
            "text.source_vocabulary_size": "10000",
            "decoder.share_source_embedding": "true",
        },
    )


def _all_en_hi(*, tags: bool) -> Task:
    """Every English–Hindi pair of the data folder that is not held out, and the primer."""

    def split(corpus: str, name: str, tag: str, source: str = "") -> Split:
        return Split(corpus, name, f"x{tag}" if tags else "", source)

    tatoeba = split("tatoeba-en-hi-large", "train", "tatoeba")
    near = (
        tatoeba,
        split("hindi-visual-genome", "train", "captions"),
        split("iitb-en-hi-sample", "train", "iitb"),
        split("hindencorp-en-hi-4k", "train", "hindencorp"),
        split("xnli-5way", "train", "xnli"),
        split("xnli-5way", "valid", "xnli"),
    )
    wikipedia = tuple(
        split("indian-parallel-hi-en-4ref", name, "wiki", f"en.{reference}")
        for name in ("valid", "devtest", "test")
        for reference in range(4)
    )
    far = (split("bible-en-hi", "train", "bible"), split("iitb-en-hi-gnome", "train", "gnome"))
    english = ((split(part.corpus, "train", "tatoeba"), end) for part, end in TATOEBA_ENGLISH)
    return Task(
        "all-en-hi" if tags else "all-en-hi-untagged",
        "hi",
        "transformer-150k-pairs",
        near + wikipedia,
        split("tatoeba-en-hi-large", "valid", "tatoeba"),
        (
            split("tatoeba-en-hi-large", "test", "tatoeba"),
            split("flores200-devtest", "test", "wiki"),
        ),
        vocabulary_pairs=190_000,
        further_valid=(split("wmt14-en-hi", "valid", "wiki"),),
        further={
            "far": far,
            "tatoeba": (tatoeba,),
            "plain": tuple(replace(part, tag="") for part in near + wikipedia + far),
        },
        joined=near + wikipedia,
        primer=Primer(),
        primer_tag="xprimer" if tags else "",
        monolingual=((tatoeba, "hi"), *english),
        weights={"far": 0.4, "tatoeba": 1.0, "primer": 0.3, DISTILLED: 0.15},
        settings=WIDER,
    )


WIDER = {
    f"{side}.{key}": value
    for side in ("encoder", "decoder")
    for key, value in (
        ("width", "384"),
        ("heads", "6"),
        ("feed_forward_width", "1536"),
        ("dropout", "0.3"),
    )
} | {"training.learning_rate": "1.5e-3", "training.r_drop": "3.0", "training.steps": "5500"}
ENGLISH_GERMAN = _multi30k("de", "transformer-30k-pairs", {})
ENGLISH_FRENCH = _multi30k("fr", "transformer-30k-pairs", {})
TASKS = {
    "multi30k-en-de": ENGLISH_GERMAN,
    "multi30k-de-en": _reversed(ENGLISH_GERMAN, "multi30k-de-en"),
    "multi30k-en-de-distilled": _multi30k_distilled("de"),
    "multi30k-en-de-bahdanau": _multi30k("de", "bahdanau-30k-pairs", {DISTILLED: 0.5}),
    "multi30k-en-fr": ENGLISH_FRENCH,
    "multi30k-fr-en": _reversed(ENGLISH_FRENCH, "multi30k-fr-en"),
    "multi30k-en-fr-distilled": _multi30k_distilled("fr"),
    "tatoeba-en-fr": _tatoeba_en_fr(),
    "tatoeba-en-fr-distilled": _distilled(_tatoeba_en_fr(), {DISTILLED: 0.3}, 9000),
    "tatoeba-en-hi": _tatoeba_en_hi(),
    "tatoeba-en-hi-distilled": _distilled(
        _tatoeba_en_hi(),
        {"primer": 0.3, DISTILLED: 0.12, f"../tatoeba-hi-en/{DISTILLED}": 0.3},
        8000,
    ),
    "tatoeba-hi-en": _tatoeba_hi_en(),
    "tatoeba-two-way": _tatoeba_two_way(),
    "all-en-hi": _all_en_hi(tags=True),
    "all-en-hi-distilled": _distilled(
        _all_en_hi(tags=True),
        {
            "far": 0.4,
            "tatoeba": 1.0,
            "primer": 0.3,
            DISTILLED: 0.07,
            "joined": 0.5,
            "plain": 0.3,
        },
        8000,
    ),
    "all-en-hi-untagged": _all_en_hi(tags=False),
}
