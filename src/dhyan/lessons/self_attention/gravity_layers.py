"""How far each encoder layer moves an ambiguous word toward the words that decide its meaning."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.batch import Tokens
from dhyan.data.primer import SentencePair
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translator
from dhyan.insight.blocks import Part, Plane, Point, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.trained_model import primer_sentences
from dhyan.models.transformer import TransformerEncoder
from dhyan.special_tokens import EOS

LINKS = ("and", "because")  # what decides stands after them
NO_CUES = frozenset("and then because he she wanted to the a an".split())


@dataclass(frozen=True)
class ContextStates:
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

    def far(
        self, others: Sequence[int], *, of: "ContextStates | None" = None
    ) -> Float64[Tensor, " L"]:
        """The mean distance to these words, by layer: of the word here, or of another sentence."""
        asks = of or self
        word = asks.states[:, asks.at].unsqueeze(1)
        return (self.states[:, list(others)] - word).norm(dim=-1).mean(dim=-1)


def meanings(word: str) -> tuple[tuple[str, ...], ...]:
    """The Hindi forms of each of a word's meanings; none of a word with one meaning."""
    senses = read_lexicon().senses.get(word, ())
    return tuple(tuple(" ".join(form) for form in sense.noun.hindi) for sense in senses)


def meaning_in(word: str, hindi: str) -> int:
    """Which of a word's meanings a Hindi text names; one too many if it names none."""
    text, found = f" {hindi.replace('।', ' ')} ", meanings(word)
    named = (at for at, forms in enumerate(found) if any(f" {form} " in text for form in forms))
    return next(named, len(found))


def context_states(translator: Translator, twin: SentencePair) -> ContextStates | None:
    """A sentence of the primer's "context"; None if no other words are left to compare with."""
    wanted = twin.wanted[0]
    found = states_by_layer(
        translator, twin.english, wanted.about, meaning_in(wanted.about, wanted.right[0])
    )
    return found if found and found.cues and found.rest else None


def states_by_layer(
    translator: Translator, text: str, word: str, sense: int
) -> ContextStates | None:
    """The states of a sentence before and after every layer; None if the word is not in it."""
    ids = translator.encode(text)
    spans = [
        span
        for span in translator.source.words(ids, text)
        if ids[span.first] != EOS and any(letter.isalnum() for letter in span.text)
    ]
    words = tuple(span.text for span in spans)
    if word not in words:
        return None
    at = words.index(word)
    link = next((place for place in range(at, len(words)) if words[place] in LINKS), len(words))
    telling = [place for place, other_word in enumerate(words) if other_word.lower() not in NO_CUES]
    return ContextStates(
        word,
        sense,
        words,
        torch.stack(
            [
                torch.stack([states[span.first : span.last].mean(0) for span in spans])
                for states in _layers(translator, ids)
            ]
        ),
        at,
        [place for place in telling if place > link],
        [place for place in telling if place < link and place != at],
    )


def opposite_pairs(reads: Sequence[ContextStates]) -> Iterator[tuple[ContextStates, ContextStates]]:
    """Each sentence with one of another meaning that has the word at the same place."""
    places: dict[tuple[str, int], list[ContextStates]] = defaultdict(list)
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


SAME = 1e-9  # distances that differ by no more are equal
MOST = 2 / 3  # of the pairs: a half would be chance


@dataclass(frozen=True)
class LayerDistances:
    """Sentences of the primer in which other words, the cues, decide what a word means.

    States are those after each layer, and before the first, as the encoder's last normalisation
    would hand them on, so that their lengths agree. `to_cues` and `to_rest` are the mean distances
    from the word to its cues and to the sentence's words before it, by layer; `nearer` and
    `rest_nearer` in what share of the sentences they shrink in a layer. `own` is in what share the
    word is nearer to its cues than its state in a sentence with another meaning (`pairs`) is.

    `paths` are the word's places in the two sentences told of, layer by layer, `crowd` those after
    the last layer in all sentences of the word, `cues` those of the words that decide in the two.
    """

    sentences: int
    right: int
    to_cues: Float64[Tensor, " L"]
    to_rest: Float64[Tensor, " L"]
    nearer: Float64[Tensor, " M"]
    rest_nearer: Float64[Tensor, " M"]
    own: Float64[Tensor, " L"]
    pairs: int
    senses: tuple[str, ...]
    crowd: Float64[Tensor, "N 2"]
    crowd_senses: tuple[int, ...]
    paths: Float64[Tensor, "2 L 2"]
    path_senses: tuple[int, ...]
    cues: tuple[tuple[str, int], ...]
    cue_places: Float64[Tensor, "K 2"]
    explained: Float64[Tensor, " 2"]

    def parts(self, word: str, text: Text) -> tuple[Part, ...]:
        """The plane, and what holds of many sentences."""
        return (self._plane(word, text), *self._tables(text), Words(self._verdict(text)))

    def _plane(self, word: str, text: Text) -> Part:
        first, second = (round(100 * float(one)) for one in self.explained)
        crowd = [
            Point("", x, y, faint=True, kind=kind)
            for kind, (x, y) in zip(self.crowd_senses, self.crowd.tolist(), strict=True)
        ]
        cues = [
            Point(name, x, y, kind=kind)
            for (name, kind), (x, y) in zip(self.cues, self.cue_places.tolist(), strict=True)
        ]
        moves, named = [], []
        for number, (path, kind) in enumerate(
            zip(self.paths.tolist(), self.path_senses, strict=True)
        ):
            moves += [(*one, *other) for one, other in zip(path, path[1:], strict=False)]
            x, y = path[-1]
            named.append(Point(f"{word} {number + 1}", x, y, kind=kind))
        x, y = self.paths[:, 0].mean(0).tolist()
        begin = Point(word, x, y, kind=len(self.senses))
        return Plane(
            text("gravity.layer_layer_axes_explain", word=word, first=first, second=second),
            (*crowd, *cues, begin, *named),
            tuple(moves),
            kinds=(*self.senses, text("gravity.embedding")),
        )

    def _tables(self, text: Text) -> tuple[Part, Part]:
        """Shares of the sentences, a row for every layer."""
        rows = [text("gravity.layer", at=at) for at in range(1, len(self.own))]
        return (
            table(
                text("gravity.share_nearer_before"),
                torch.stack([self.nearer, self.rest_nearer], dim=1),
                rows,
                (text("gravity.cues"), text("gravity.rest")),
                kind="weights",
            ),
            table(
                text("gravity.nearer_other_state"),
                self.own[1:].unsqueeze(1),
                (),
                (text("gravity.cues"),),
                kind="weights",
            ),
        )

    def _verdict(self, text: Text) -> str:
        """Whether it is drawn, whether by its cues more than by the rest, and what follows."""
        drawn, rest = (float(one.min()) for one in (self.nearer, self.rest_nearer))
        own = float(self.own[-1])
        told = text(
            "gravity.sentences_them_translated_rightly", sentences=self.sentences, right=self.right
        )
        if drawn <= 0.5:
            told += self._not_nearer(text)
        elif rest >= drawn:
            told += text("gravity.most_layer_brings_word")
        else:
            told += text("gravity.most_layer_brings_word_nearer")
        return told + text(
            "gravity.pairs_chance_gives_half",
            own=own,
            pairs=self.pairs,
            pull=text(_pull_key(own, drawn)),
        )

    def _not_nearer(self, text: Text) -> str:
        """The layers in which most come no nearer to the words that decide what they mean."""
        few = [(at, float(one)) for at, one in enumerate(self.nearer, 1) if one <= 0.5]
        return "".join(
            text("gravity.layer_most_words_come", at=at, share=share) for at, share in few
        )


def measure_layers(
    translator: Translator, word: str, told: Sequence[str], sentences: int
) -> LayerDistances | None:
    """Measure so many sentences, and set those of the word on their principal axes.

    None where the encoder is no Transformer, where the word has one meaning, or where the
    sentences told of have no cues.
    """
    if not isinstance(translator.model.encoder, TransformerEncoder) or not meanings(word):
        return None
    examples = [_example(translator, word, text) for text in told]
    twins = primer_sentences(translator, "context", sentences)
    said = translator([twin.english for twin in twins], beam=1)
    reads = [found for twin in twins if (found := context_states(translator, twin))]
    crowd = [read for read in reads if read.word == word]
    if not crowd or not all(example and example.cues for example in examples):
        return None
    by_cues, by_rest = (
        torch.stack([read.far(getattr(read, name)) for read in reads]) for name in ("cues", "rest")
    )
    wins = [
        one.far(one.cues) < one.far(one.cues, of=other) - SAME
        for one, other in opposite_pairs(reads)
    ]
    shares = torch.stack(wins).double().mean(0) if wins else by_cues[0] * 0
    return LayerDistances(
        sentences=len(reads),
        right=sum(twin.wanted[0].passes(own.text) for twin, own in zip(twins, said, strict=True)),
        to_cues=by_cues.mean(0),
        to_rest=by_rest.mean(0),
        nearer=(by_cues.diff(dim=1) < 0).double().mean(0),
        rest_nearer=(by_rest.diff(dim=1) < 0).double().mean(0),
        own=shares,
        pairs=len(wins),
        **_principal_places(crowd, [example for example in examples if example]),
    )


def _example(translator: Translator, word: str, text: str) -> ContextStates | None:
    """A sentence told of; its meaning is the one the model says."""
    (said,) = translator([text], beam=1)
    return states_by_layer(translator, text, word, meaning_in(word, said.text))


def _principal_places(
    crowd: Sequence[ContextStates], examples: Sequence[ContextStates]
) -> dict[str, Any]:
    """The word's states and the cues' on the two axes of most variance."""
    layers = len(crowd[0].states)
    last = torch.stack([one.states[-1, one.at] for one in crowd])
    paths = torch.cat([example.states[:, example.at] for example in examples])
    cues = torch.cat([example.states[-1, example.cues] for example in examples])
    every = torch.cat([last, paths, cues])
    left, sizes, _ = torch.linalg.svd(every - every.mean(0), full_matrices=False)
    at = left[:, :2] * sizes[:2]
    own, walked, deciding = at.split([len(last), len(paths), len(cues)])
    return {
        "senses": tuple(meaning[0] for meaning in meanings(crowd[0].word)),
        "crowd": own,
        "crowd_senses": tuple(one.sense for one in crowd),
        "paths": walked.unflatten(0, (len(examples), layers)),
        "path_senses": tuple(example.sense for example in examples),
        "cues": tuple(
            (example.words[cue], example.sense) for example in examples for cue in example.cues
        ),
        "cue_places": deciding,
        "explained": sizes[:2].square() / sizes.square().sum(),
    }


def _pull_key(own: float, drawn: float) -> str:
    """The key of what a share of pairs says; it compares two states and no more."""
    if own <= MOST:
        return "gravity.hardly_drawn"
    return "gravity.drawn_by_comparison" if drawn <= 0.5 else "gravity.drawn"
