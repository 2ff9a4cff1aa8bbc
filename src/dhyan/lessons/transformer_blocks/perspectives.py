"""Abstractive summaries from two perspectives: one trained model, a reader named in the source."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.attention_maps import AttentionMap, attends_to_source
from dhyan.data.perspectives import (
    READERS,
    Reader,
    TransformerFacts,
    draw_facts,
    is_held_out_paragraph,
    perspective_pair,
    reader_of,
)
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.explain import cross_maps, explain_translation
from dhyan.insight.lesson_blocks import Block, Paragraph, heatmap, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, lesson
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot
from dhyan.lessons.trained_model import knows_every_word, load_single_model
from dhyan.text.sentence_splitter import split_sentences

TESTED, SEED = 200, 7  # test paragraphs of each kind, and the seed they are drawn with
WATCHED = 50  # of them, whose attention is measured
TOP = 4  # source words listed with the largest weights

Model = str | Path | Translator


@dataclass(frozen=True)
class ReaderView:
    """One reader's summary, and the weights of its words on the words of the paragraph.

    `weights` are the mean over the heads of the last cross-attention, a row for each word of the
    summary without punctuation; `by_sentence` is their mean, summed over each sentence, the
    reader's name first.
    """

    reader: Reader
    summary: str
    summary_words: tuple[str, ...]
    weights: Float[Tensor, "T S"]
    by_sentence: Float[Tensor, " N"]


@dataclass(frozen=True)
class SummaryScores:
    """Exact summaries of one training, in shares: of the engineer, then of the shopper.

    `new` are paragraphs whose two sentences for a reader never occur together in training.
    `attention` has a row for each reader: the weight on the sentences that the engineer's, and the
    shopper's summary needs.
    """

    heads: int
    exact: tuple[float, float]
    new: tuple[float, float]
    attention: tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class Perspectives(LessonResult):
    """Two summaries of one paragraph by one model, and scores of trainings with other heads.

    `references` are the right summaries, empty for a reader's own paragraph. `novel` is the share
    of the words of all references that their paragraphs do not have.
    """

    sentences: tuple[str, ...]
    words: tuple[str, ...]
    views: tuple[ReaderView, ...]
    references: tuple[str, ...]
    scores: tuple[SummaryScores, ...]
    novel: float
    parameters: int

    @property
    def heads(self) -> int:
        """The heads of the model whose summaries are shown."""
        return self.scores[0].heads

    def blocks(self, text: Text) -> Iterator[Block]:
        """The paragraph, both summaries, what each attends to, and the scores."""
        numbered = enumerate(self.sentences, 1)
        yield Paragraph(" ".join(f"[{number}] {sentence}" for number, sentence in numbered))
        yield text.paragraph("setup")
        for view in self.views:
            yield Paragraph(f"{_name(view.reader, text)}: {view.summary}")
        yield text.paragraph("attention")
        for view in self.views:
            yield heatmap(
                _name(view.reader, text), view.weights, view.summary_words, self.words, compact=True
            )
        rows = [text("row_tag"), *(f"[{number + 1}]" for number in range(len(self.sentences)))]
        yield heatmap(
            text("by_sentence"),
            torch.stack([view.by_sentence for view in self.views]).T,
            rows,
            [_name(view.reader, text) for view in self.views],
        )
        yield Paragraph(self._differences(text))
        yield table(
            text("exact_summaries"),
            [[100 * share for share in (*score.exact, *score.new)] for score in self.scores],
            [text("row_heads", heads=score.heads) for score in self.scores],
            [
                text("column_new", reader=name) if new else name
                for new in (False, True)
                for name in (_name(reader, text) for reader in READERS)
            ],
            digits=1,
        )
        yield Paragraph(self._verdict(text))

    def _differences(self, text: Text) -> str:
        """The words that either reader's summary attends to most, and the shares over test texts."""
        score = self.scores[0]
        tops = "; ".join(f"{_name(view.reader, text)}: {self._top(view)}" for view in self.views)
        engineer, shopper = score.attention
        return text(
            "attended",
            tops=tops,
            engineer_own=engineer[0],
            engineer_other=engineer[1],
            shopper_own=shopper[1],
            shopper_other=shopper[0],
            differ=engineer[0] > shopper[0] and shopper[1] > engineer[1],
            watched=WATCHED,
        )

    def _top(self, view: ReaderView) -> str:
        weights = view.weights.mean(0)
        order = weights.argsort(descending=True).tolist()
        return ", ".join(self.words[at] for at in order[:TOP])

    def _verdict(self, text: Text) -> str:
        """Exact match over all trainings, and whether several heads are better than one."""
        first, second = (fmean(score.exact[at] for score in self.scores) for at in (0, 1))
        new = tuple(fmean(score.new[at] for score in self.scores) for at in (0, 1))
        verdict = text(
            "exact_match",
            tested=TESTED,
            engineer=first,
            shopper=second,
            engineer_new=new[0],
            shopper_new=new[1],
            trainings=len(self.scores),
            several=len(self.scores) > 1,
        )
        return verdict + self._heads(text)

    def mean_by_heads(self) -> dict[int, list[float]]:
        """Each training's mean exact share over readers and kinds of test, by number of heads."""
        by_heads: dict[int, list[float]] = {}
        for score in self.scores:
            by_heads.setdefault(score.heads, []).append(fmean((*score.exact, *score.new)))
        return by_heads

    def _heads(self, text: Text) -> str:
        by_heads = self.mean_by_heads()
        if len(by_heads) < 2:
            return ""
        fewest, most = min(by_heads), max(by_heads)
        few, many = by_heads[fewest], by_heads[most]
        return " " + text(
            "heads_compared",
            fewest=fewest,
            single=fewest == 1,
            most=most,
            few=_range(few),
            many=_range(many),
            apart=min(many) > max(few) or min(few) > max(many),
            better=fmean(many) > fmean(few),
        )


@lesson
def perspectives(paragraph: str = "", *, model: Model = SNAPSHOT) -> Perspectives:
    """Two readers, two summaries: a trained Transformer writes what a paragraph amounts to.

    `model` is the folder of a run with data.synthetic=perspectives, or a translator, and `paragraph` a
    text of such sentences; by default the snapshot of six trainings is shown.
    """
    if model != SNAPSHOT:
        return measure_perspectives([model], paragraph)
    if paragraph:
        raise UserError(
            "paragraph: the snapshot has its own; give model=RUN too, a run with "
            "data.synthetic=perspectives"
        )
    return read_snapshot("perspectives", Perspectives)


def measure_perspectives(models: Sequence[Model], paragraph: str = "") -> Perspectives:
    """Summaries and scores of trained models; the summaries shown are the first one's."""
    translators = [load_single_model(model) for model in models]
    first = translators[0]
    if not attends_to_source(first.model):
        raise UserError("model: it has no attention to the source; give one that has")
    texts = held_out_texts(new=False)
    facts, sentences = texts[0]
    references = tuple(facts.summary(reader) for reader in READERS)
    if paragraph:
        sentences, references = tuple(split_sentences(paragraph)), ()
        if not knows_every_word(first, paragraph):
            raise UserError(
                "paragraph: the model does not know all of its words; give sentences of the task, "
                f"such as {' '.join(texts[0][1])!r}"
            )
    views = [_view(first, reader, sentences) for reader in READERS]
    novel = [
        word not in _words(" ".join(text))
        for text_facts, text in texts
        for reader in READERS
        for word in _words(text_facts.summary(reader))
    ]
    return Perspectives(
        sentences=sentences,
        words=views[0][1],
        views=tuple(view for view, _ in views),
        references=references,
        scores=tuple(score_summaries(translator) for translator in translators),
        novel=fmean(novel),
        parameters=sum(parameter.numel() for parameter in first.model.parameters()),
    )


def held_out_texts(*, new: bool) -> list[tuple[TransformerFacts, tuple[str, ...]]]:
    """Paragraphs that are not trained on, with their facts.

    In `new` ones no reader's two sentences occur together in training; in others both readers' do.
    """
    rng = random.Random(SEED)
    texts: list[tuple[TransformerFacts, tuple[str, ...]]] = []
    while len(texts) < TESTED:
        facts = draw_facts(rng)
        sentences = tuple(facts.sentences(rng))
        kinds = {facts.new_for(reader) for reader in READERS}
        if kinds == {new} and (new or is_held_out_paragraph(" ".join(sentences))):
            texts.append((facts, sentences))
    return texts


def score_summaries(translator: Translator) -> SummaryScores:
    """Exact summaries of held-out paragraphs for both readers, and where their attention lies."""
    exact = {new: [_exact(translator, reader, new) for reader in READERS] for new in (False, True)}
    attention = []
    for reader in READERS:
        views = [
            (_view(translator, reader, sentences)[0], sentences)
            for _, sentences in held_out_texts(new=False)[:WATCHED]
        ]
        attention.append(
            tuple(
                fmean(
                    sum(
                        float(weight)
                        for weight, sentence in zip(view.by_sentence[1:], sentences, strict=True)
                        if reader_of(sentence) == needed_by
                    )
                    for view, sentences in views
                )
                for needed_by in READERS
            )
        )
    return SummaryScores(
        heads=_last_cross(translator, READERS[0], held_out_texts(new=False)[0][1])[1].weights.shape[
            0
        ],
        exact=tuple(exact[False]),  # type: ignore[arg-type]
        new=tuple(exact[True]),  # type: ignore[arg-type]
        attention=tuple(attention),  # type: ignore[arg-type]
    )


def _exact(translator: Translator, reader: Reader, new: bool) -> float:
    pairs = [
        perspective_pair(reader, " ".join(sentences), facts)
        for facts, sentences in held_out_texts(new=new)
    ]
    outputs = translator([pair.source for pair in pairs], beam=1)
    return fmean(output.text == pair.target for output, pair in zip(outputs, pairs, strict=True))


def _view(
    translator: Translator, reader: Reader, sentences: Sequence[str]
) -> tuple[ReaderView, tuple[str, ...]]:
    """A reader's summary with its weights, and the words of the paragraph."""
    summary, last = _last_cross(translator, reader, sentences)
    rows = [row for row, word in enumerate(last.target) if word.isalpha()]
    weights = last.head_weights()[rows]
    groups = _sentence_numbers(last.source)
    by_sentence = torch.zeros(len(sentences) + 1)
    if rows:
        by_sentence.index_add_(0, groups.clamp(max=len(sentences)), weights.mean(0))
    inside = groups > 0
    words = tuple(word for word, kept in zip(last.source, inside.tolist(), strict=True) if kept)
    summary_words = tuple(last.target[row] for row in rows)
    return ReaderView(reader, summary, summary_words, weights[:, inside], by_sentence), words


def _last_cross(
    translator: Translator, reader: Reader, sentences: Sequence[str]
) -> tuple[str, AttentionMap]:
    """A reader's summary, and the last cross-attention while it is written."""
    source = f"{reader}: {' '.join(sentences)}"
    [output] = translator([source], beam=1)
    return output.text, cross_maps(explain_translation(translator, source, output, words=False))[-1]


def _sentence_numbers(tokens: Sequence[str]) -> Tensor:
    """The number of each token's sentence; 0 for the reader's name and its colon.

    The end token belongs to the last sentence.
    """
    numbers, number = [], 0
    for place, token in enumerate(tokens):
        if place and tokens[place - 1] in (":", ".") and token != "</s>":
            number += 1
        numbers.append(number)
    return torch.tensor(numbers)


def _words(text: str) -> list[str]:
    return text.lower().replace(".", " ").replace(":", " ").split()


def _name(reader: Reader, text: Text) -> str:
    return text(f"reader_{reader}")


def _range(shares: Sequence[float]) -> str:
    return "–".join(dict.fromkeys(f"{100 * end(shares):.1f}" for end in (min, max)))
