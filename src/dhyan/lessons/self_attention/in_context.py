"""A word of several meanings in a sentence, with the states of all words after every layer."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.batch import Tokens
from dhyan.data.primer import Twin
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translator
from dhyan.models.transformer import TransformerEncoder
from dhyan.special_tokens import EOS

LINKS = ("and", "because")  # what decides stands after them
NO_CUES = frozenset("and then because he she wanted to the a an".split())


@dataclass(frozen=True)
class InContext:
    """A sentence with its states by layer; `at` is the word, `cues` decide what it means.

    `rest` are the other words that say something, and `sense` is the number of the meaning.
    """

    word: str
    sense: int
    words: tuple[str, ...]
    states: Float64[Tensor, "L T D"]
    at: int
    cues: list[int]
    rest: list[int]

    def far(self, others: Sequence[int], *, of: "InContext | None" = None) -> Float64[Tensor, " L"]:
        """The mean distance to these words, by layer: of the word here, or of another sentence."""
        asks = of or self
        word = asks.states[:, asks.at].unsqueeze(1)
        return (self.states[:, list(others)] - word).norm(dim=-1).mean(dim=-1)


def meanings(word: str) -> tuple[tuple[str, ...], ...]:
    """The Hindi forms of each of a word's meanings; none of a word with one meaning."""
    senses = read_lexicon().senses.get(word, ())
    return tuple(tuple(" ".join(form) for form in one.noun.hindi) for one in senses)


def meaning_in(word: str, hindi: str) -> int:
    """Which of a word's meanings a Hindi text names; one too many if it names none."""
    text, found = f" {hindi.replace('।', ' ')} ", meanings(word)
    named = (at for at, forms in enumerate(found) if any(f" {one} " in text for one in forms))
    return next(named, len(found))


def in_context(translator: Translator, twin: Twin) -> InContext | None:
    """A sentence of the primer's "context"; None if no other words are left to compare with."""
    wanted = twin.wanted[0]
    found = by_layer(
        translator, twin.english, wanted.about, meaning_in(wanted.about, wanted.right[0])
    )
    return found if found and found.cues and found.rest else None


def by_layer(translator: Translator, text: str, word: str, sense: int) -> InContext | None:
    """The states of a sentence before and after every layer; None if the word is not in it."""
    ids = translator.encode(text)
    spans = [
        one
        for one in translator.source.words(ids, text)
        if ids[one.first] != EOS and any(letter.isalnum() for letter in one.text)
    ]
    words = tuple(one.text for one in spans)
    if word not in words:
        return None
    at = words.index(word)
    link = next((place for place in range(at, len(words)) if words[place] in LINKS), len(words))
    telling = [place for place, one in enumerate(words) if one.lower() not in NO_CUES]
    return InContext(
        word,
        sense,
        words,
        torch.stack(
            [
                torch.stack([states[one.first : one.last].mean(0) for one in spans])
                for states in _layers(translator, ids)
            ]
        ),
        at,
        [place for place in telling if place > link],
        [place for place in telling if place < link and place != at],
    )


def pairs(reads: Sequence[InContext]) -> Iterator[tuple[InContext, InContext]]:
    """Each sentence with one of another meaning that has the word at the same place."""
    places: dict[tuple[str, int], list[InContext]] = defaultdict(list)
    for one in reads:
        places[one.word, one.at].append(one)
    for group in places.values():
        for number, one in enumerate(group):
            turned = group[number + 1 :] + group[:number]
            other = next((two for two in turned if two.sense != one.sense), None)
            if other:
                yield one, other


def _layers(translator: Translator, ids: list[int]) -> Iterator[Float64[Tensor, "T D"]]:
    """What the encoder would hand on if it ended before the first layer, after it, and so on."""
    encoder = translator.model.encoder
    assert isinstance(encoder, TransformerEncoder)
    source = Tokens.pad([ids]).to(translator.device)
    with evaluation_mode(encoder), torch.no_grad():
        states = encoder.embedding(source.ids)
        yield encoder.final_norm(states)[0].double().cpu()
        for layer in encoder.layers:
            states = layer(states, source)
            yield encoder.final_norm(states)[0].double().cpu()
