"""Linear probes on a recurrent encoder's states of paragraphs: words, last sentence, paragraph."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from jaxtyping import Int
from torch import Tensor

from dhyan.batch import Tokens
from dhyan.data.primer.paragraphs import (
    MAX_SENTENCES,
    Paragraph,
    make_paragraphs,
    paragraph_pair,
    person_names,
    person_of,
    person_sentences,
)
from dhyan.data.primer.sentence_pair import SentencePair
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.probes import (
    FEWEST,
    PAST,
    Level,
    ProbedFact,
    common_words,
    last_states,
    probe_fact,
    tense_of,
    word_states,
)
from dhyan.special_tokens import UNK

SENTENCE_FACTS = ("tense", "negation")
PARAGRAPH_FACTS = ("first_person", "mostly_past", "same_person")


@dataclass(frozen=True)
class ProbeParagraphs:
    """Paragraphs of as many sentences, without their final full stop, and the facts of each.

    `facts` has a class per paragraph for every fact, `last_sentence` one for everything in the facts
    that depends on the last sentence alone.
    """

    paragraphs: tuple[Paragraph, ...]
    tokens: Tokens
    facts: Mapping[str, Int[Tensor, " B"]]
    last_sentence: Int[Tensor, " B"]


def read_probe_paragraphs(
    translator: Translator, split: str, count: int, *, sentences: int, seed: int
) -> ProbeParagraphs:
    """Paragraphs of sentences of a split that show their tense and whose words the model knows."""
    usable: list[SentencePair] = []
    for pair in person_sentences(split, sentences, seed=1):
        known = UNK not in translator.encode(pair.english)
        if known and tense_of(pair.hindi) is not None:
            usable.append(pair)
    if len(usable) < FEWEST:
        raise UserError(
            f"model: of {sentences} sentences of the primer it knows the words of {len(usable)}, and "
            f"{FEWEST} are needed; give one trained from English with data.synthetic=primer"
        )
    paragraphs = tuple(islice(make_paragraphs(usable, seed=seed, least=MAX_SENTENCES), count))
    names = sorted(person_names())
    last = [paragraph[-1] for paragraph in paragraphs]
    tense = torch.tensor([[_tense(pair) for pair in paragraph] for paragraph in paragraphs])
    negation = torch.tensor(["not" in pair.english.split() for pair in last]).long()
    first_person, last_person = (
        torch.tensor([names.index(person_of(paragraph[at])) for paragraph in paragraphs])
        for at in (0, -1)
    )
    facts = {
        "tense": tense[:, -1],
        "negation": negation,
        "first_person": first_person,
        "mostly_past": ((tense == PAST).sum(1) * 2 > MAX_SENTENCES).long(),
        "same_person": (first_person == last_person).long(),
    }
    ids = [translator.encode(paragraph_pair(paragraph).source)[:-2] for paragraph in paragraphs]
    last_sentence = (last_person * 10 + tense[:, -1]) * 2 + negation
    return ProbeParagraphs(paragraphs, Tokens.pad(ids), facts, last_sentence)


def _tense(pair: SentencePair) -> int:
    tense = tense_of(pair.hindi)
    assert tense is not None
    return tense


def probe_paragraph_facts(
    fit: ProbeParagraphs, test: ProbeParagraphs, before: Sequence[Tensor], after: Sequence[Tensor]
) -> tuple[ProbedFact, ...]:
    """Linear probes for words, and at the last word for facts of the last sentence and the paragraph.

    `before` are the layers' states of the `fit` paragraphs, `after` those of the `test` paragraphs.
    """
    common = common_words(fit.tokens)
    facts = []
    for back, name in enumerate(("word", "word_before")):
        data = [
            (word_states(fit.tokens, a, back, common), word_states(test.tokens, b, back, common))
            for a, b in zip(before, after, strict=True)
        ]
        facts.append(probe_fact(name, data, level="word"))
    for name in (*SENTENCE_FACTS, *PARAGRAPH_FACTS):
        data = [
            (
                (last_states(fit.tokens, a), fit.facts[name]),
                (last_states(test.tokens, b), test.facts[name]),
            )
            for a, b in zip(before, after, strict=True)
        ]
        level: Level = "sentence" if name in SENTENCE_FACTS else "paragraph"
        facts.append(probe_fact(name, data, level=level))
    return tuple(facts)


def guess_from_last_sentence(fit: ProbeParagraphs, test: ProbeParagraphs, fact: str) -> float:
    """Accuracy of the commonest class among paragraphs whose last sentence is of the same sort."""
    answers: dict[int, Counter[int]] = defaultdict(Counter)
    overall: Counter[int] = Counter(fit.facts[fact].tolist())
    for sort, answer in zip(fit.last_sentence.tolist(), fit.facts[fact].tolist(), strict=True):
        answers[sort][answer] += 1
    right = [
        (answers.get(sort) or overall).most_common(1)[0][0] == answer
        for sort, answer in zip(test.last_sentence.tolist(), test.facts[fact].tolist(), strict=True)
    ]
    return sum(right) / len(right)
