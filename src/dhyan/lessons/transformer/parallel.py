"""Training on all words at once is training word by word: same loss, same gradients, one run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter

import torch
from jaxtyping import Float64
from torch import Tensor, nn
from torch.nn import functional

from dhyan.batch import Batch, Tokens
from dhyan.insight.blocks import Curve, Lines, Words, table
from dhyan.lessons.given import whole, wholes, words_of
from dhyan.lessons.machine import Machine, this_machine
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.lessons.transformer.tiny import numbered, transformer
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import BOS, EOS, NAMES
from dhyan.training.scheduled_sampling import decode_stepwise

SENTENCE, TARGET = "we are friends", "हम दोस्त हैं"
LENGTHS = (3, 30, 100, 300)
VOCABULARY = 20  # words of the sentences that are only timed
SAME = 1e-9


@dataclass(frozen=True)
class Way:
    """One way through a sentence: runs of the decoder, seconds, and what training gets from it.

    The seconds of a way that was gone several times are their median.
    """

    runs: int
    seconds: float
    losses: Float64[Tensor, " T"]
    gradient: Float64[Tensor, " P"]

    @property
    def loss(self) -> float:
        """The mean over all words."""
        return float(self.losses.mean())


@dataclass(frozen=True)
class Pair:
    """A sentence of so many words, learned from word by word and all at once."""

    length: int
    in_turn: Way
    at_once: Way

    @property
    def loss_difference(self) -> float:
        """How far the two mean losses are apart."""
        return abs(self.in_turn.loss - self.at_once.loss)

    @property
    def gradient_difference(self) -> float:
        """The largest difference between the two gradients of any weight."""
        return float((self.in_turn.gradient - self.at_once.gradient).abs().max())

    @property
    def times_faster(self) -> float:
        """How often the parallel way fits into the other's time."""
        return self.in_turn.seconds / self.at_once.seconds


@dataclass(frozen=True)
class Parallel(Shown):
    """A sentence both ways, and longer ones timed."""

    words: tuple[str, ...]
    own: Pair
    timed: tuple[Pair, ...]
    repeats: int
    machine: Machine

    @property
    def same(self) -> bool:
        """Whether losses and gradients are equal but for rounding, at every length."""
        apart = [(one.loss_difference, one.gradient_difference) for one in (self.own, *self.timed)]
        return max(max(pair) for pair in apart) < SAME

    def story(self, say: Say) -> Story:
        """Equal first, then how many runs and how long."""
        turn, once = say("one by one", "एक-एक करके"), say("in parallel", "एक साथ")
        ways = (turn, once)
        lengths = [str(one.length) for one in self.timed]
        named = [say(f"{one} words", f"{one} शब्द") for one in lengths]
        worst = max(one.gradient_difference for one in (self.own, *self.timed))
        last = self.timed[-1]
        return Story(
            say("Training in parallel", "समांतर प्रशिक्षण"),
            (
                Words(
                    say(
                        "In training the right words are known, so no step has to wait for the one "
                        "before: with the mask one run of the decoder learns from every place.",
                        "प्रशिक्षण में सही शब्द पहले से पता होते हैं, इसलिए किसी चरण को पिछले चरण की "
                        "प्रतीक्षा नहीं करनी पड़ती: मास्क के साथ डिकोडर एक ही बार चलकर हर जगह से सीखता "
                        "है।",
                    )
                ),
                table(
                    say("loss of each word", "हर शब्द की हानि"),
                    torch.stack([self.own.in_turn.losses, self.own.at_once.losses]),
                    ways,
                    self.words,
                    digits=4,
                ),
                Words(
                    say(
                        f"Loss and gradients are the same; the largest difference of any gradient "
                        f"is {worst:.0e}, which is rounding.",
                        f"हानि और प्रवणताएँ एक-सी हैं; किसी प्रवणता का सबसे बड़ा अंतर {worst:.0e} है, जो "
                        "केवल पूर्णांकन है।",
                    )
                    if self.same
                    else say(
                        f"Loss or gradients differ, by up to {worst:.2g}.",
                        f"हानि या प्रवणताओं में {worst:.2g} तक का अंतर है।",
                    )
                ),
                table(
                    say("runs of the decoder", "डिकोडर कितनी बार चला"),
                    [[float(one.in_turn.runs), float(one.at_once.runs)] for one in self.timed],
                    named,
                    ways,
                ),
                table(
                    say("milliseconds", "मिलीसेकंड"),
                    [
                        [1000 * one.in_turn.seconds, 1000 * one.at_once.seconds]
                        for one in self.timed
                    ],
                    named,
                    ways,
                    digits=1,
                ),
                Lines(
                    say("time to learn from one sentence", "एक वाक्य से सीखने का समय"),
                    tuple(
                        Curve(name, [1000 * seconds for seconds in found])
                        for name, found in (
                            (turn, [one.in_turn.seconds for one in self.timed]),
                            (once, [one.at_once.seconds for one in self.timed]),
                        )
                    ),
                    tuple(lengths),
                    say("words", "शब्द"),
                    say("milliseconds", "मिलीसेकंड"),
                ),
                Words(
                    say(
                        f"A sentence of {last.length} words takes {last.in_turn.runs} runs one by "
                        f"one (its end is said too) and {last.at_once.runs} in parallel; one by "
                        f"one took {last.times_faster:.1f} times as long here, by the median of "
                        f"{self.repeats} on {self.machine.told(say)}. When it "
                        "translates, a model must still go one by one: the next word waits for "
                        "the one it has said.",
                        f"{last.length} शब्द के वाक्य के लिए डिकोडर एक-एक करके {last.in_turn.runs} "
                        "बार चलता है (वाक्य का अंत भी कहना होता है) और एक साथ "
                        f"{last.at_once.runs} बार; यहाँ एक-एक करके {last.times_faster:.1f} गुना "
                        f"समय लगा ({self.repeats} मापों की माध्यिका, {self.machine.told(say)})। "
                        "अनुवाद करते समय मॉडल को फिर भी एक-एक करके ही चलना पड़ता है: अगला "
                        "शब्द उस शब्द की प्रतीक्षा करता है जो मॉडल ने अभी कहा।",
                    )
                ),
            ),
        )


def parallel(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    target: str | Sequence[str] = TARGET,
    lengths: Sequence[int] = LENGTHS,
    repeats: int = 3,
    seed: int = 1,
) -> Parallel:
    """Loss and gradients of a pair both ways, then of random words of each length, timed.

    Every time is the median of some `repeats`. The defaults take a few seconds.
    """
    source, said = words_of(sentence), words_of(target)
    lengths, seed = wholes("lengths", lengths), whole("seed", seed, least=0)
    repeats = whole("repeats", repeats)
    heard, names = numbered([source]), numbered([said])
    model = transformer(len(heard), len(names), seed=seed)
    own = _both(
        model,
        _batch([heard[word] for word in source], [names[word] for word in said]),
    )
    timed = tuple(_timed(lengths, repeats, seed))
    return Parallel((*said, NAMES[EOS]), own, timed, repeats, this_machine())


def _timed(lengths: Sequence[int], repeats: int, seed: int) -> list[Pair]:
    """Random words of each length; the first pass, which warms up, does not count."""
    model = transformer(VOCABULARY, VOCABULARY, seed=seed)
    draw = torch.Generator().manual_seed(seed)
    batches = []
    for length in lengths:
        ids = torch.randint(VOCABULARY, (2, length), generator=draw) + len(NAMES)
        batches.append(_batch(*ids.tolist()))
    _both(model, min(batches, key=lambda batch: batch.target.count))
    return [_typical([_both(model, batch) for _ in range(repeats)]) for batch in batches]


def _typical(pairs: Sequence[Pair]) -> Pair:
    """The last of several equal ones, with the median of their times."""
    turn, once = (
        replace(ways[-1], seconds=median(way.seconds for way in ways))
        for ways in ([one.in_turn for one in pairs], [one.at_once for one in pairs])
    )
    return Pair(pairs[-1].length, turn, once)


def _batch(source: list[int], target: list[int]) -> Batch:
    return Batch(Tokens.pad([[*source, EOS]]), Tokens.pad([[BOS, *target, EOS]]))


def _both(model: Seq2Seq, batch: Batch) -> Pair:
    """Word by word, told the right words; then all at once."""
    told = torch.ones_like(batch.inputs.ids, dtype=torch.bool)
    in_turn = _way(model, batch, lambda: decode_stepwise(model, batch, told))
    at_once = _way(model, batch, lambda: model(batch))
    return Pair(batch.target.count - 2, in_turn, at_once)


def _way(model: Seq2Seq, batch: Batch, think: Callable[[], Tensor]) -> Way:
    """Forward and backward, with the runs of the decoder counted."""
    runs: list[None] = []
    decoder = model.decoder
    assert isinstance(decoder, nn.Module)
    counting = decoder.register_forward_hook(lambda *_: runs.append(None))
    model.zero_grad()
    try:
        began = perf_counter()
        losses = functional.cross_entropy(
            think().flatten(0, 1), batch.labels.ids.flatten(), reduction="none"
        )
        losses.mean().backward()
        seconds = perf_counter() - began
    finally:
        counting.remove()
    found = [weight.grad for weight in model.parameters() if weight.grad is not None]
    gradient = torch.cat([one.flatten() for one in found])
    return Way(len(runs), seconds, losses.detach(), gradient)
