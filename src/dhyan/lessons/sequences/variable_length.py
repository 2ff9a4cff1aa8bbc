"""Any length in, any length out: padding changes nothing, and nothing is cut unsaid."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from dhyan import config
from dhyan.batch import Batch, Tokens
from dhyan.decoding.beam import Hypothesis
from dhyan.decoding.rules import Ids, Rule, Scores, SentenceIndex, min_length
from dhyan.decoding.search import beam_search, greedy_search
from dhyan.insight.blocks import Part, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_words
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.tiny_models import (
    END,
    START,
    Pairs,
    ProgressCallback,
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
    """One search: the most tokens it may say, how many it said, and whether it ended by itself."""

    search: str
    limit: int
    said: int
    finished: bool


@dataclass(frozen=True)
class VariableLength(LessonResult):
    """What padding changes in each model, what a learned batch says, and how long a text may be.

    `apart` is, for each model, the largest difference of a logit between a sentence alone and the
    same sentence in the padded batch, and in one that is padded further.
    """

    pairs: tuple[tuple[str, str], ...]
    apart: tuple[tuple[str, float, float], ...]
    said: tuple[str, ...]
    alone: tuple[str, ...]
    sentence: str
    asked: int
    long: tuple[LongSearch, ...]

    @property
    def unchanged(self) -> bool:
        """Whether padding changed nothing beyond rounding."""
        return max(max(one[1:]) for one in self.apart) < NOTHING and self.said == self.alone

    def page(self, text: Text) -> Page:
        """Padding, lengths, six in and hundreds out."""
        return Page(
            text("variable_length.title"),
            (*self._padding(text), *self._spoken(text), *self._lasting(text)),
        )

    def _padding(self, text: Text) -> list[Part]:
        sizes = ", ".join(str(len(one.split())) for one, _ in self.pairs)
        names = (text("variable_length.batch"), text("variable_length.columns_more", more=MORE))
        return [
            Words(
                text(
                    "variable_length.sentences_words_share_batch",
                    sizes=sizes,
                    unit=UNIT,
                    unchanged=self.unchanged,
                )
            ),
            table(
                "max |Δ|",
                [[one / UNIT for one in row[1:]] for row in self.apart],
                [row[0] for row in self.apart],
                names,
                digits=1,
            ),
        ]

    def _spoken(self, text: Text) -> list[Part]:
        counts = [
            [float(len(text.split())) for text in (*pair, said)]
            for pair, said in zip(self.pairs, self.said, strict=True)
        ]
        right = sum(said == pair[1] for said, pair in zip(self.said, self.pairs, strict=True))
        return [
            Words(
                text(
                    "variable_length.translation_ends_model_says",
                    end=END,
                    right=right,
                    pairs_count=len(self.pairs),
                )
            ),
            table(
                text("variable_length.words"),
                counts,
                [f"{pair[0]} → {said}" for pair, said in zip(self.pairs, self.said, strict=True)],
                (
                    text("variable_length.in"),
                    text("variable_length.wanted"),
                    text("variable_length.said"),
                ),
            ),
        ]

    def _lasting(self, text: Text) -> list[Part]:
        names = [f"{one.search}, ≤ {one.limit}" for one in self.long]
        counts = [[float(one.said), float(one.finished)] for one in self.long]
        size = len(self.sentence.split())
        whole_ones = sum(one.finished and one.said == self.asked for one in self.long)
        cut = [one for one in self.long if not one.finished]
        return [
            Words(
                text(
                    "variable_length.words_out_model_untrained",
                    size=size,
                    asked=self.asked,
                    whole_ones=whole_ones,
                    long_count=len(self.long),
                    cut_count=len(cut),
                    single_whole_ones=whole_ones == 1,
                    single_cut=len(cut) == 1,
                )
            ),
            table(
                f"“{self.sentence}”",
                counts,
                names,
                (text("variable_length.said"), text("variable_length.finished")),
            ),
        ]


def variable_length(
    pairs: Pairs = PAIRS,
    *,
    sentence: str = SIX,
    asked: int = 600,
    width: int = 8,
    steps: int = 120,
    seed: int = 1,
    on_progress: ProgressCallback | None = None,
) -> VariableLength:
    """Pairs of any lengths in one batch, and `asked` words out of a sentence; it takes 5 seconds.

    The usual limit of a translation is three times its source and fifty: where that is too few,
    the translation says that it did not finish.
    """
    pairs = read_pairs(pairs)
    words = parse_words(sentence)
    source = Vocabulary.of([*(one for one, _ in pairs), " ".join(words)])
    target = Vocabulary.of((other for _, other in pairs), START, END)
    batch = make_batch(pairs, source, target)
    small = tiny_encoder_decoder(source, target, width=parse_int("width", width), seed=seed)
    apart = [
        (name, *_padding_difference(model, batch))
        for name, model in _models(source, target, small, seed).items()
    ]
    long = _search_long(small, source.ids(words), parse_int("asked", asked))
    train_updates(
        small,
        batch,
        steps=parse_int("steps", steps, least=0),
        learning_rate=0.03,
        on_progress=on_progress,
    )
    most = 2 * batch.target.ids.shape[1]
    together = greedy_search(small, batch.source, max_length=most)
    alone = [greedy_search(small, one.source, max_length=most)[0] for one in _each(batch)]
    return VariableLength(
        pairs,
        tuple(apart),
        tuple(" ".join(target.said(one.ids)) for one in together),
        tuple(" ".join(target.said(one.ids)) for one in alone),
        " ".join(words),
        asked,
        tuple(long),
    )


def _models(
    source: Vocabulary, target: Vocabulary, small: Seq2Seq, seed: int
) -> dict[str, Seq2Seq]:
    """One of each kind, untrained, in double precision."""
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
    found = {"LSTM": small}
    for name, recipe in recipes.items():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            found[name] = build_model(recipe, len(source) + 1, len(target) + 1).double().eval()
    return found


def _each(batch: Batch) -> list[Batch]:
    """Every pair alone, without padding."""
    return [
        Batch(
            *(side.select(torch.tensor([row]))[: int(side.lengths[row])] for side in _sides(batch))
        )
        for row in range(len(batch.source))
    ]


def _sides(batch: Batch) -> tuple[Tokens, Tokens]:
    return batch.source, batch.target


@torch.no_grad()
def _padding_difference(model: Seq2Seq, batch: Batch) -> tuple[float, float]:
    """How far the logits of real tokens move in the batch, and in one padded further."""
    wider = Batch(*(Tokens(pad(s.ids, (0, MORE)), pad(s.mask, (0, MORE))) for s in _sides(batch)))
    alone = [model(one)[0] for one in _each(batch)]
    return _largest_difference(model(batch), alone), _largest_difference(model(wider), alone)


def _largest_difference(logits: Tensor, alone: list[Tensor]) -> float:
    """The largest difference; a score of −∞ is the same everywhere."""
    moved = [
        (row[: len(own)] - own).masked_fill(row[: len(own)] == own, 0.0).abs().max()
        for row, own in zip(logits, alone, strict=True)
    ]
    return float(torch.stack(moved).max())


def _search_long(model: Seq2Seq, ids: list[int], asked: int) -> list[LongSearch]:
    """Searches that must say so many words: two with room for them, one with the usual limit."""
    source, rules = Tokens.pad([ids]), [min_length(asked), _force_end(asked)]
    usual = 3 * len(ids) + 50
    room = asked + 1
    found: list[tuple[str, int, Hypothesis]] = [
        ("greedy", room, greedy_search(model, source, max_length=room, rules=rules)[0]),
        ("beam 3", room, beam_search(model, source, beam=3, max_length=room, rules=rules)[0][0]),
        ("greedy", usual, greedy_search(model, source, max_length=usual, rules=rules)[0]),
    ]
    return [LongSearch(name, limit, len(one.ids), one.finished) for name, limit, one in found]


def _force_end(tokens: int) -> Rule:
    """After so many tokens only the end is left."""

    def rule(ids: Ids, scores: Scores, sentence: SentenceIndex) -> Scores:
        if ids.shape[1] <= tokens:
            return scores
        end = torch.arange(scores.shape[1]) == EOS
        return scores.masked_fill(~end, -torch.inf)

    return rule
