"""What probes ask of states: words, and a sentence's tense and kind, of the primer's sentences."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from jaxtyping import Int
from torch import Tensor

from dhyan.batch import Tokens
from dhyan.data.primer import Twin, primer_twins
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.lessons.sequences.probes import Fact, probe
from dhyan.lessons.trained_model import knows_every_word

CORE, SHORTEST, LONGEST = 0.15, 4, 7  # of the primer: the share of its words, words a sentence
FEWEST = 50  # sentences a probe is fitted to or judged on, of a model that comes from elsewhere
OFTEN = 20  # how often a word must come for a probe to be asked for it
PRESENT, PAST, FUTURE = range(3)
FORMS = {"है": PRESENT, "हैं": PRESENT, "हूँ": PRESENT, "हो": PRESENT}
ENDINGS = (("गा", FUTURE), ("गे", FUTURE), ("गी", FUTURE)) + tuple(
    (one, PAST) for one in ("ा", "े", "ी", "ीं", "ई")
)


@dataclass(frozen=True)
class Read:
    """Sentences without their last sign: their tokens, tense, and whether they are questions."""

    twins: tuple[Twin, ...]
    tokens: Tokens
    tense: Int[Tensor, " B"]
    question: Int[Tensor, " B"]


def tense_of(hindi: str) -> int | None:
    """The tense of a simple Hindi sentence by its last word; none where that does not show it."""
    last = hindi.rstrip("।?! ").split()[-1]
    if last in FORMS:
        return FORMS[last]
    return next((tense for ending, tense in ENDINGS if last.endswith(ending)), None)


def read(
    translator: Translator,
    split: str,
    count: int,
    *,
    seed: int = 7,
    but: Collection[Twin] = (),
    knows: bool = False,
) -> Read:
    """Of so many sentences those, each once, that end in a full stop or question mark and show
    their tense, but none of some others; if it `knows`, those whose every word the model has met.
    """
    made = primer_twins(split, seed=seed, shortest=SHORTEST, longest=LONGEST, core=CORE)
    left_out = {one.english for one in but}
    found: dict[str, tuple[Twin, list[int], int, int]] = {}
    for twin in islice(made, count):
        tense, text = tense_of(twin.hindi), twin.english
        if tense is None or text[-1] not in ".?" or text in left_out:
            continue
        if not knows or knows_every_word(translator, text):
            found[text] = twin, translator.encode(text)[:-2], tense, int(text.endswith("?"))
    if knows and len(found) < FEWEST:
        raise UserError(
            f"model: of {count} sentences of the primer it knows the words of {len(found)}, and "
            f"{FEWEST} are needed; give one trained from English with data.task=primer, or more "
            "sentences"
        )
    twins, ids, tenses, questions = zip(*found.values(), strict=True)
    return Read(twins, Tokens.pad(ids), torch.tensor(tenses), torch.tensor(questions))


def asked_of(
    fit: Read, test: Read, before: Sequence[Tensor], after: Sequence[Tensor]
) -> tuple[Fact, ...]:
    """Every probe on the embedding and on every layer."""
    common = torch.bincount(fit.tokens.ids[fit.tokens.mask]) >= OFTEN

    def words(read: Read, states: Tensor, back: int) -> tuple[Tensor, Tensor]:
        mask = read.tokens.mask[:, back:]
        ids = read.tokens.ids[:, : mask.shape[1]][mask]
        asked = (ids < len(common)) & common[ids.clamp(max=len(common) - 1)]
        return states[:, back:][mask][asked], ids[asked]

    def ends(read: Read, states: Tensor, answers: Tensor) -> tuple[Tensor, Tensor]:
        return states[torch.arange(len(states)), read.tokens.lengths - 1], answers

    found: list[Fact] = []
    for back, name in enumerate(("word", "word_before")):
        asked = [
            (words(fit, a, back), words(test, b, back)) for a, b in zip(before, after, strict=True)
        ]
        found.append(_fact(name, asked, of_word=True))
    for name in ("tense", "question"):
        answers = getattr(fit, name), getattr(test, name)
        asked = [
            (ends(fit, a, answers[0]), ends(test, b, answers[1]))
            for a, b in zip(before, after, strict=True)
        ]
        found.append(_fact(name, asked, of_word=False))
    return tuple(found)


Asked = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]


def _fact(name: str, asked: Sequence[Asked], *, of_word: bool) -> Fact:
    (_, learned), (_, judged) = asked[0]
    chance = float((judged == learned.mode().values).double().mean())
    shares = tuple(probe(fit, test) for fit, test in asked)
    return Fact(name, of_word, chance, len(judged), (shares,))
