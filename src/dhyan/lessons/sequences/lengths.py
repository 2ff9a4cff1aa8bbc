"""Any length in, any length out: padding changes nothing, and nothing is cut unsaid."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from dhyan import config
from dhyan.batch import Batch, Tokens
from dhyan.decoding.beam import Hypothesis
from dhyan.decoding.rules import Rule, Said, Scores, Sentence, at_least
from dhyan.decoding.search import beam_search, greedy_search
from dhyan.insight.blocks import Part, Words, table
from dhyan.lessons.given import whole, words_of
from dhyan.lessons.sequences.miniature import (
    END,
    START,
    Hear,
    Pairs,
    Vocabulary,
    encoder_decoder,
    in_batch,
    learn,
    read_pairs,
)
from dhyan.lessons.shown import Say, Shown, Story
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
class Long:
    """One search: the most tokens it may say, how many it said, and whether it ended by itself."""

    search: str
    limit: int
    said: int
    finished: bool


@dataclass(frozen=True)
class Lengths(Shown):
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
    long: tuple[Long, ...]

    @property
    def unchanged(self) -> bool:
        """Whether padding changed nothing beyond rounding."""
        return max(max(one[1:]) for one in self.apart) < NOTHING and self.said == self.alone

    def story(self, say: Say) -> Story:
        """Padding, lengths, six in and hundreds out."""
        return Story(
            say("Any length in, any length out", "इनपुट और आउटपुट, किसी भी लंबाई के"),
            (*self._padding(say), *self._spoken(say), *self._lasting(say)),
        )

    def _padding(self, say: Say) -> list[Part]:
        sizes = ", ".join(str(len(one.split())) for one, _ in self.pairs)
        names = (say("in a batch", "बैच में"), say(f"{MORE} columns more", f"{MORE} स्तंभ और"))
        return [
            Words(
                say(
                    f"Sentences of {sizes} words share a batch, the shorter ones padded. The "
                    f"largest difference between a sentence's logits in the batch and alone, in "
                    f"units of {UNIT:.0e}: beyond rounding, padding changes "
                    + ("nothing." if self.unchanged else "them."),
                    f"{sizes} शब्दों के वाक्य एक ही बैच में हैं; छोटे वाक्यों को padding से समान लंबाई "
                    f"दी गई है। वाक्य को बैच में और अकेले पढ़ने पर logits में अधिकतम अंतर, "
                    f"{UNIT:.0e} की इकाई में: पूर्णांकन (rounding) को छोड़कर padding से "
                    + ("कुछ नहीं बदलता।" if self.unchanged else "वे बदल जाते हैं।"),
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

    def _spoken(self, say: Say) -> list[Part]:
        counts = [
            [float(len(text.split())) for text in (*pair, said)]
            for pair, said in zip(self.pairs, self.said, strict=True)
        ]
        right = sum(said == pair[1] for said, pair in zip(self.said, self.pairs, strict=True))
        return [
            Words(
                say(
                    f"Each translation ends where the model says {END}, not where its source did. "
                    f"A small LSTM that learned these pairs says, all in one batch, {right} of "
                    f"{len(self.pairs)} right.",
                    f"हर अनुवाद वहाँ समाप्त होता है जहाँ मॉडल {END} कहता है, वहाँ नहीं जहाँ स्रोत "
                    f"समाप्त हुआ। इन युग्मों पर प्रशिक्षित छोटा LSTM एक ही बैच में {len(self.pairs)} में से "
                    f"{right} अनुवाद सही बोलता है।",
                )
            ),
            table(
                say("words", "शब्दों की संख्या"),
                counts,
                [f"{pair[0]} → {said}" for pair, said in zip(self.pairs, self.said, strict=True)],
                (say("in", "स्रोत"), say("wanted", "अपेक्षित"), say("said", "बोले गए")),
            ),
        ]

    def _lasting(self, say: Say) -> list[Part]:
        names = [f"{one.search}, ≤ {one.limit}" for one in self.long]
        counts = [[float(one.said), float(one.finished)] for one in self.long]
        size = len(self.sentence.split())
        whole_ones = sum(one.finished and one.said == self.asked for one in self.long)
        cut = [one for one in self.long if not one.finished]
        return [
            Words(
                say(
                    f"{size} words in, {self.asked} out: the model here is untrained and is told "
                    "to go on so long and to end then; nothing is learned, and what it says means "
                    f"nothing. That so long a text can be said is all this shows. {whole_ones} of "
                    f"{len(self.long)} searches say all {self.asked}; {len(cut)} met its limit "
                    "first, and says so (finished 0).",
                    f"इनपुट में {size} शब्द, आउटपुट में {self.asked}: यहाँ मॉडल अप्रशिक्षित है और उससे कहा "
                    "गया है कि इतनी देर बोलता रहे और ठीक वहीं रुके; कुछ सीखा नहीं गया है और उसके कहे का "
                    "कोई अर्थ नहीं। इससे केवल इतना दिखता है कि इतना लंबा पाठ बोला जा सकता है। "
                    f"{len(self.long)} में से {whole_ones} "
                    f"{'खोज' if whole_ones == 1 else 'खोजें'} पूरे {self.asked} शब्द "
                    f"{'बोलती है' if whole_ones == 1 else 'बोलती हैं'}; {len(cut)} पहले ही अपनी सीमा "
                    f"पर {'रुक गई और यह बताती है' if len(cut) == 1 else 'रुक गईं और यह बताती हैं'} "
                    f"(पूर्ण 0)।",
                )
            ),
            table(
                f"“{self.sentence}”",
                counts,
                names,
                (say("said", "बोले गए"), say("finished", "पूर्ण")),
            ),
        ]


def lengths(
    pairs: Pairs = PAIRS,
    *,
    sentence: str = SIX,
    asked: int = 600,
    width: int = 8,
    steps: int = 120,
    seed: int = 1,
    hear: Hear | None = None,
) -> Lengths:
    """Pairs of any lengths in one batch, and `asked` words out of a sentence; it takes 5 seconds.

    The usual limit of a translation is three times its source and fifty: where that is too few,
    the translation says that it did not finish.
    """
    pairs = read_pairs(pairs)
    words = words_of(sentence)
    source = Vocabulary.of([*(one for one, _ in pairs), " ".join(words)])
    target = Vocabulary.of((other for _, other in pairs), START, END)
    batch = in_batch(pairs, source, target)
    small = encoder_decoder(source, target, width=whole("width", width), seed=seed)
    apart = [
        (name, *_apart(model, batch))
        for name, model in _models(source, target, small, seed).items()
    ]
    long = _said_long(small, source.ids(words), whole("asked", asked))
    learn(small, batch, steps=whole("steps", steps, least=0), learning_rate=0.03, hear=hear)
    most = 2 * batch.target.ids.shape[1]
    together = greedy_search(small, batch.source, max_length=most)
    alone = [greedy_search(small, one.source, max_length=most)[0] for one in _each(batch)]
    return Lengths(
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
def _apart(model: Seq2Seq, batch: Batch) -> tuple[float, float]:
    """How far the logits of real tokens move in the batch, and in one padded further."""
    wider = Batch(*(Tokens(pad(s.ids, (0, MORE)), pad(s.mask, (0, MORE))) for s in _sides(batch)))
    alone = [model(one)[0] for one in _each(batch)]
    return _far(model(batch), alone), _far(model(wider), alone)


def _far(logits: Tensor, alone: list[Tensor]) -> float:
    """The largest difference; a score of −∞ is the same everywhere."""
    moved = [
        (row[: len(own)] - own).masked_fill(row[: len(own)] == own, 0.0).abs().max()
        for row, own in zip(logits, alone, strict=True)
    ]
    return float(torch.stack(moved).max())


def _said_long(model: Seq2Seq, ids: list[int], asked: int) -> list[Long]:
    """Searches that must say so many words: two with room for them, one with the usual limit."""
    source, rules = Tokens.pad([ids]), [at_least(asked), _no_more(asked)]
    usual = 3 * len(ids) + 50
    room = asked + 1
    found: list[tuple[str, int, Hypothesis]] = [
        ("greedy", room, greedy_search(model, source, max_length=room, rules=rules)[0]),
        ("beam 3", room, beam_search(model, source, beam=3, max_length=room, rules=rules)[0][0]),
        ("greedy", usual, greedy_search(model, source, max_length=usual, rules=rules)[0]),
    ]
    return [Long(name, limit, len(one.ids), one.finished) for name, limit, one in found]


def _no_more(tokens: int) -> Rule:
    """After so many tokens only the end is left."""

    def rule(said: Said, scores: Scores, sentence: Sentence) -> Scores:
        if said.shape[1] <= tokens:
            return scores
        end = torch.arange(scores.shape[1]) == EOS
        return scores.masked_fill(~end, -torch.inf)

    return rule
