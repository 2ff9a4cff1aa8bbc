"""Variable length: padding changes nothing, and a truncated output is reported as unfinished."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from dhyan import config
from dhyan.batch import Batch, Tokens
from dhyan.decoding.beam import Hypothesis
from dhyan.decoding.rules import Ids, Rule, Scores, SentenceIndex, min_length
from dhyan.decoding.search import beam_search, greedy_search
from dhyan.insight.lesson_blocks import Block, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, ProgressCallback, lesson, parse_int, parse_words
from dhyan.lessons.tiny_models import (
    END,
    START,
    Pairs,
    Vocabulary,
    make_batch,
    read_pairs,
    tiny_encoder_decoder,
    train_updates,
)
from dhyan.models.build import build_model
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import EOS

PAIRS = (
    ("nice to meet you", "मिलकर अच्छा लगा"),
    ("think about it", "सोच लो"),
    ("come in", "अंदर आ जाओ"),
)
SIX = "please say this six hundred times"
MORE = 20  # columns of padding beyond the longest sentence
UNIT = 1e-15
NOTHING = 1e-10


@dataclass(frozen=True)
class LongSearch:
    """One search: its length limit, the output's length, and whether it reached <end>."""

    search: str
    limit: int
    length: int
    finished: bool


@dataclass(frozen=True)
class VariableLength(LessonResult):
    """The effect of padding in each model, a trained model's outputs, and long outputs.

    `logit_differences` are, for each model, the largest difference of a logit between a sentence
    alone and the same sentence in the padded batch, and in one that is padded further.
    """

    pairs: tuple[tuple[str, str], ...]
    logit_differences: tuple[tuple[str, float, float], ...]
    outputs: tuple[str, ...]
    single_outputs: tuple[str, ...]
    sentence: str
    output_length: int
    long_searches: tuple[LongSearch, ...]

    @property
    def unchanged(self) -> bool:
        """Whether padding changed nothing beyond rounding."""
        return (
            max(max(row[1:]) for row in self.logit_differences) < NOTHING
            and self.outputs == self.single_outputs
        )

    def blocks(self, text: Text) -> Iterator[Block]:
        """Padding, lengths of outputs, long outputs."""
        yield from self._padding(text)
        yield from self._lengths(text)
        yield from self._long_outputs(text)

    def _padding(self, text: Text) -> Iterator[Block]:
        sizes = ", ".join(str(len(source.split())) for source, _ in self.pairs)
        names = (text("column_padded"), text("column_padded_further", more=MORE))
        yield text.paragraph("padding_difference", sizes=sizes, unit=UNIT)
        yield table(
            "max |Δ|",
            [[difference / UNIT for difference in row[1:]] for row in self.logit_differences],
            [row[0] for row in self.logit_differences],
            names,
            digits=1,
        )

    def _lengths(self, text: Text) -> Iterator[Block]:
        counts = [
            [float(len(part.split())) for part in (*pair, output)]
            for pair, output in zip(self.pairs, self.outputs, strict=True)
        ]
        right = sum(
            output == pair[1] for output, pair in zip(self.outputs, self.pairs, strict=True)
        )
        yield text.paragraph("outputs_in_batch", end=END, right=right, pairs_count=len(self.pairs))
        yield table(
            text("word_counts"),
            counts,
            [
                f"{pair[0]} → {output}"
                for pair, output in zip(self.pairs, self.outputs, strict=True)
            ],
            (text("column_source"), text("column_reference"), text("column_output")),
        )

    def _long_outputs(self, text: Text) -> Iterator[Block]:
        names = [f"{search.search}, ≤ {search.limit}" for search in self.long_searches]
        counts = [[float(search.length), float(search.finished)] for search in self.long_searches]
        size = len(self.sentence.split())
        complete = sum(
            search.finished and search.length == self.output_length for search in self.long_searches
        )
        cut = [search for search in self.long_searches if not search.finished]
        yield text.paragraph(
            "forced_length",
            size=size,
            complete=complete,
            long_count=len(self.long_searches),
            cut_count=len(cut),
            single_complete=complete == 1,
            single_cut=len(cut) == 1,
        )
        yield table(
            f"“{self.sentence}”", counts, names, (text("column_output"), text("column_finished"))
        )


@lesson
def variable_length(
    pairs: Pairs = PAIRS,
    *,
    sentence: str = SIX,
    output_length: int = 600,
    width: int = 8,
    steps: int = 120,
    seed: int = 1,
    on_progress: ProgressCallback | None = None,
) -> VariableLength:
    """Pairs of any length in one batch, and an output of `output_length` words; it takes 5 seconds.

    The default limit of a translation is three times its source plus fifty tokens; a longer output
    is marked as unfinished.
    """
    pairs = read_pairs(pairs)
    words = parse_words(sentence)
    source = Vocabulary.of([*(sentence for sentence, _ in pairs), " ".join(words)])
    target = Vocabulary.of((target_sentence for _, target_sentence in pairs), START, END)
    batch = make_batch(pairs, source, target)
    small = tiny_encoder_decoder(source, target, width=parse_int("width", width), seed=seed)
    differences = [
        (name, *_padding_difference(model, batch))
        for name, model in _models(source, target, small, seed).items()
    ]
    long = _search_long(small, source.ids(words), parse_int("output_length", output_length))
    train_updates(
        small,
        batch,
        steps=parse_int("steps", steps, least=0),
        learning_rate=0.03,
        on_progress=on_progress,
    )
    most = 2 * batch.target.ids.shape[1]
    batched = greedy_search(small, batch.source, max_length=most)
    alone = [greedy_search(small, single.source, max_length=most)[0] for single in _each(batch)]
    return VariableLength(
        pairs,
        tuple(differences),
        tuple(" ".join(target.words_of(hypothesis.ids)) for hypothesis in batched),
        tuple(" ".join(target.words_of(hypothesis.ids)) for hypothesis in alone),
        " ".join(words),
        output_length,
        tuple(long),
    )


def _models(
    source: Vocabulary, target: Vocabulary, small: Seq2Seq, seed: int
) -> dict[str, Seq2Seq]:
    """The LSTM, a GRU with attention and a Transformer, untrained, in double precision."""
    rnn = {"embedding_width": 8, "width": 8, "dropout": 0.0}
    additive = config.Attention(score="additive", score_width=8)
    layers = {"width": 8, "heads": 2, "feed_forward_width": 16, "layers": 2, "dropout": 0.0}
    recipes = {
        "GRU, Bahdanau": config.Recipe(
            encoder=config.RNNEncoder(**rnn, bidirectional=True),  # type: ignore[arg-type]
            decoder=config.BahdanauDecoder(**rnn, attention=additive, readout_width=8),  # type: ignore[arg-type]
        ),
        "Transformer": config.Recipe(
            encoder=config.TransformerEncoder(**layers),  # type: ignore[arg-type]
            decoder=config.TransformerDecoder(**layers),  # type: ignore[arg-type]
        ),
    }
    models = {"LSTM": small}
    for name, recipe in recipes.items():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            models[name] = build_model(recipe, len(source) + 1, len(target) + 1).double().eval()
    return models


def _each(batch: Batch) -> list[Batch]:
    """Every pair as a batch of its own, without padding."""
    return [
        Batch(
            *(side.select(torch.tensor([row]))[: int(side.lengths[row])] for side in _sides(batch))
        )
        for row in range(len(batch.source))
    ]


def _sides(batch: Batch) -> tuple[Tokens, Tokens]:
    assert isinstance(batch.source, Tokens)
    return batch.source, batch.target


@torch.no_grad()
def _padding_difference(model: Seq2Seq, batch: Batch) -> tuple[float, float]:
    """The largest change of a real token's logit in the batch, and in one padded further."""
    wider = Batch(*(Tokens(pad(s.ids, (0, MORE)), pad(s.mask, (0, MORE))) for s in _sides(batch)))
    alone = [model(single)[0] for single in _each(batch)]
    return _largest_difference(model(batch), alone), _largest_difference(model(wider), alone)


def _largest_difference(logits: Tensor, alone: list[Tensor]) -> float:
    """The largest difference; logits that are −∞ in both are equal."""
    moved = [
        (row[: len(single)] - single).masked_fill(row[: len(single)] == single, 0.0).abs().max()
        for row, single in zip(logits, alone, strict=True)
    ]
    return float(torch.stack(moved).max())


def _search_long(model: Seq2Seq, ids: list[int], output_length: int) -> list[LongSearch]:
    """Searches with a forced output length: two with room for it, one with the default limit."""
    source, rules = Tokens.pad([ids]), [min_length(output_length), _force_end(output_length)]
    usual = 3 * len(ids) + 50
    room = output_length + 1
    hypotheses: list[tuple[str, int, Hypothesis]] = [
        ("greedy", room, greedy_search(model, source, max_length=room, rules=rules)[0]),
        ("beam 3", room, beam_search(model, source, beam=3, max_length=room, rules=rules)[0][0]),
        ("greedy", usual, greedy_search(model, source, max_length=usual, rules=rules)[0]),
    ]
    return [
        LongSearch(name, limit, len(hypothesis.ids), hypothesis.finished)
        for name, limit, hypothesis in hypotheses
    ]


def _force_end(tokens: int) -> Rule:
    """A rule that allows only <end> after `tokens` tokens."""

    def rule(ids: Ids, scores: Scores, sentence: SentenceIndex) -> Scores:
        if ids.shape[1] <= tokens:
            return scores
        end = torch.arange(scores.shape[1]) == EOS
        return scores.masked_fill(~end, -torch.inf)

    return rule
