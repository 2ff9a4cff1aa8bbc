"""Self-attention by layer: how far each moves an ambiguous word toward the disambiguating words."""

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
from dhyan.insight.lesson_blocks import Block, Paragraph, Point, ScatterPlot, heatmap
from dhyan.lessons.catalogue import Text
from dhyan.lessons.trained_model import primer_sentences
from dhyan.models.transformer import TransformerEncoder
from dhyan.special_tokens import EOS

LINKS = ("and", "because")  # the cues follow them
NO_CUES = frozenset("and then because he she wanted to the a an".split())


@dataclass(frozen=True)
class ContextStates:
    """Encoder states of a sentence by layer; `at` indexes the ambiguous word.

    `cues` index the words that disambiguate it, `rest` the other content words; `sense` is the index
    of its meaning.
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
        """Mean distance by layer from the ambiguous word, or from that of another sentence."""
        query_sentence = of or self
        word = query_sentence.states[:, query_sentence.at].unsqueeze(1)
        return (self.states[:, list(others)] - word).norm(dim=-1).mean(dim=-1)


def meanings(word: str) -> tuple[tuple[str, ...], ...]:
    """Hindi forms of each meaning of an ambiguous word; empty for a word with one meaning."""
    senses = read_lexicon().senses.get(word, ())
    return tuple(tuple(" ".join(form) for form in sense.noun.hindi) for sense in senses)


def meaning_in(word: str, hindi: str) -> int:
    """Index of the meaning that a Hindi text names; the number of meanings if it names none."""
    text, senses = f" {hindi.replace('।', ' ')} ", meanings(word)
    matches = (at for at, forms in enumerate(senses) if any(f" {form} " in text for form in forms))
    return next(matches, len(senses))


def context_states(translator: Translator, pair: SentencePair) -> ContextStates | None:
    """Layer states of a sentence of the primer's "context"; None without cues or other words."""
    check = pair.checks[0]
    states = states_by_layer(
        translator, pair.english, check.about, meaning_in(check.about, check.right[0])
    )
    return states if states and states.cues and states.rest else None


def states_by_layer(
    translator: Translator, text: str, word: str, sense: int
) -> ContextStates | None:
    """Encoder states before and after every layer; None if the word is not in the sentence."""
    ids = translator.encode(text)
    spans = [
        span
        for span in translator.source.words(ids, text)
        if ids[span.first] != EOS and any(character.isalnum() for character in span.text)
    ]
    words = tuple(span.text for span in spans)
    if word not in words:
        return None
    at = words.index(word)
    link = next((index for index in range(at, len(words)) if words[index] in LINKS), len(words))
    content_words = [
        index for index, other_word in enumerate(words) if other_word.lower() not in NO_CUES
    ]
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
        [index for index in content_words if index > link],
        [index for index in content_words if index < link and index != at],
    )


def opposite_pairs(reads: Sequence[ContextStates]) -> Iterator[tuple[ContextStates, ContextStates]]:
    """Pairs each sentence with one of another meaning that has the word at the same position."""
    by_position: dict[tuple[str, int], list[ContextStates]] = defaultdict(list)
    for sentence in reads:
        by_position[sentence.word, sentence.at].append(sentence)
    for group in by_position.values():
        for number, sentence in enumerate(group):
            candidates = group[number + 1 :] + group[:number]
            other = next(
                (candidate for candidate in candidates if candidate.sense != sentence.sense), None
            )
            if other:
                yield sentence, other


def _layers(translator: Translator, ids: list[int]) -> Iterator[Float64[Tensor, "T D"]]:
    """Final norm of the embedding and of each layer's output."""
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
MOST = 2 / 3  # share of the pairs; chance is a half


@dataclass(frozen=True)
class LayerDistances:
    """Distances by layer from an ambiguous word to its cues, the words that disambiguate it.

    States are those before the first layer and after each one, passed through the encoder's final
    norm so that their lengths agree. `cue_distances` and `rest_distances` are the mean distances
    from the word to its cues and to the content words before them, by layer; `nearer` and
    `rest_nearer` are the shares of sentences in which they shrink in a layer.
    `nearer_than_other_sense` is the share of `pairs` in which the word is nearer to its cues than
    its state in a sentence with another meaning.

    On the principal axes, `paths` are the word's coordinates in the two examples, layer by layer,
    `word_coordinates` those after the last layer in all sentences, `cue_coordinates` the cues'.
    """

    sentences: int
    right: int
    cue_distances: Float64[Tensor, " L"]
    rest_distances: Float64[Tensor, " L"]
    nearer: Float64[Tensor, " M"]
    rest_nearer: Float64[Tensor, " M"]
    nearer_than_other_sense: Float64[Tensor, " L"]
    pairs: int
    senses: tuple[str, ...]
    word_coordinates: Float64[Tensor, "N 2"]
    word_senses: tuple[int, ...]
    paths: Float64[Tensor, "2 L 2"]
    path_senses: tuple[int, ...]
    cues: tuple[tuple[str, int], ...]
    cue_coordinates: Float64[Tensor, "K 2"]
    explained: Float64[Tensor, " 2"]

    def blocks(self, word: str, text: Text) -> Iterator[Block]:
        """The scatter plot, the tables and the verdict."""
        yield self._plane(word, text)
        yield from self._tables(text)
        yield Paragraph(self._verdict(text))

    def _plane(self, word: str, text: Text) -> Block:
        first, second = (round(100 * float(share)) for share in self.explained)
        word_points = [
            Point("", x, y, faint=True, group=sense)
            for sense, (x, y) in zip(self.word_senses, self.word_coordinates.tolist(), strict=True)
        ]
        cue_points = [
            Point(name, x, y, group=sense)
            for (name, sense), (x, y) in zip(self.cues, self.cue_coordinates.tolist(), strict=True)
        ]
        moves, named = [], []
        for number, (path, sense) in enumerate(
            zip(self.paths.tolist(), self.path_senses, strict=True)
        ):
            moves += [(*start, *end) for start, end in zip(path, path[1:], strict=False)]
            x, y = path[-1]
            named.append(Point(f"{word} {number + 1}", x, y, group=sense))
        x, y = self.paths[:, 0].mean(0).tolist()
        start_point = Point(word, x, y, group=len(self.senses))
        return ScatterPlot(
            text("gravity.layers_projection", word=word, first=first, second=second),
            (*word_points, *cue_points, start_point, *named),
            tuple(moves),
            groups=(*self.senses, text("gravity.embedding")),
        )

    def _tables(self, text: Text) -> Iterator[Block]:
        """Shares of the sentences, a row for every layer."""
        rows = [text("gravity.layer", at=at) for at in range(1, len(self.nearer_than_other_sense))]
        yield heatmap(
            text("gravity.share_moved_nearer"),
            torch.stack([self.nearer, self.rest_nearer], dim=1),
            rows,
            (text("gravity.column_cues"), text("gravity.column_other_words")),
        )
        yield heatmap(
            text("gravity.nearer_than_other_sense"),
            self.nearer_than_other_sense[1:].unsqueeze(1),
            (),
            (text("gravity.column_cues"),),
        )

    def _verdict(self, text: Text) -> str:
        """Whether the word moves to its cues, and whether more than to the rest."""
        cue_share, rest_share = (float(shares.min()) for shares in (self.nearer, self.rest_nearer))
        pair_share = float(self.nearer_than_other_sense[-1])
        verdict = text("gravity.sentences_measured", sentences=self.sentences, right=self.right)
        if cue_share <= 0.5:
            verdict += self._not_nearer(text)
        elif rest_share >= cue_share:
            verdict += text("gravity.nearer_to_everything")
        else:
            verdict += text("gravity.nearer_to_cues")
        return verdict + text(
            "gravity.opposite_sense_pairs",
            share=pair_share,
            pairs=self.pairs,
            pull=text(_pull_key(pair_share, cue_share)),
        )

    def _not_nearer(self, text: Text) -> str:
        """The layers in which most words come no nearer to their cues."""
        layers = [(at, float(share)) for at, share in enumerate(self.nearer, 1) if share <= 0.5]
        return "".join(text("gravity.layer_not_nearer", at=at, share=share) for at, share in layers)


def measure_layers(
    translator: Translator, word: str, texts: Sequence[str], sentences: int
) -> LayerDistances | None:
    """Measure `sentences` of the primer, and project those of the word on their principal axes.

    None if the encoder is no Transformer, if the word has one meaning, or if a text of `texts`
    has no cues.
    """
    if not isinstance(translator.model.encoder, TransformerEncoder) or not meanings(word):
        return None
    examples = [_example(translator, word, text) for text in texts]
    pairs = primer_sentences(translator, "context", sentences)
    translations = translator([pair.english for pair in pairs], beam=1)
    contexts = [states for pair in pairs if (states := context_states(translator, pair))]
    word_contexts = [context for context in contexts if context.word == word]
    if not word_contexts or not all(example and example.cues for example in examples):
        return None
    by_cues, by_rest = (
        torch.stack([context.far(getattr(context, name)) for context in contexts])
        for name in ("cues", "rest")
    )
    wins = [
        sentence.far(sentence.cues) < sentence.far(sentence.cues, of=opposite) - SAME
        for sentence, opposite in opposite_pairs(contexts)
    ]
    shares = torch.stack(wins).double().mean(0) if wins else by_cues[0] * 0
    return LayerDistances(
        sentences=len(contexts),
        right=sum(
            pair.checks[0].passes(translation.text)
            for pair, translation in zip(pairs, translations, strict=True)
        ),
        cue_distances=by_cues.mean(0),
        rest_distances=by_rest.mean(0),
        nearer=(by_cues.diff(dim=1) < 0).double().mean(0),
        rest_nearer=(by_rest.diff(dim=1) < 0).double().mean(0),
        nearer_than_other_sense=shares,
        pairs=len(wins),
        **_principal_coordinates(word_contexts, [example for example in examples if example]),
    )


def _example(translator: Translator, word: str, text: str) -> ContextStates | None:
    """An example sentence; its meaning is the one in the model's translation."""
    (translation,) = translator([text], beam=1)
    return states_by_layer(translator, text, word, meaning_in(word, translation.text))


def _principal_coordinates(
    contexts: Sequence[ContextStates], examples: Sequence[ContextStates]
) -> dict[str, Any]:
    """The word's and the cues' states on the first two principal components."""
    layers = len(contexts[0].states)
    last = torch.stack([context.states[-1, context.at] for context in contexts])
    paths = torch.cat([example.states[:, example.at] for example in examples])
    cues = torch.cat([example.states[-1, example.cues] for example in examples])
    every = torch.cat([last, paths, cues])
    left, sizes, _ = torch.linalg.svd(every - every.mean(0), full_matrices=False)
    coordinates = left[:, :2] * sizes[:2]
    word_coordinates, path_points, cue_points = coordinates.split(
        [len(last), len(paths), len(cues)]
    )
    return {
        "senses": tuple(meaning[0] for meaning in meanings(contexts[0].word)),
        "word_coordinates": word_coordinates,
        "word_senses": tuple(context.sense for context in contexts),
        "paths": path_points.unflatten(0, (len(examples), layers)),
        "path_senses": tuple(example.sense for example in examples),
        "cues": tuple(
            (example.words[cue], example.sense) for example in examples for cue in example.cues
        ),
        "cue_coordinates": cue_points,
        "explained": sizes[:2].square() / sizes.square().sum(),
    }


def _pull_key(pair_share: float, cue_share: float) -> str:
    """The catalogue key of the verdict on a share of pairs."""
    if pair_share <= MOST:
        return "gravity.not_pulled"
    return "gravity.pulled_by_comparison" if cue_share <= 0.5 else "gravity.pulled_to_cues"
