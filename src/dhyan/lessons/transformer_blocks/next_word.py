"""What comes next follows from what was said and from the source: a small Transformer shows it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.batch import Batch, Tokens
from dhyan.insight.blocks import Part, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int
from dhyan.lessons.transformer_blocks.tiny import numbered, transformer
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import BOS, EOS, NAMES
from dhyan.training.loss import cross_entropy

PAIRS = (
    ("we are friends", "हम दोस्त हैं"),
    ("we are happy", "हम ख़ुश हैं"),
    ("we were friends", "हम दोस्त थे"),
    ("you are friends", "तुम दोस्त हो"),
    ("you are happy", "तुम ख़ुश हो"),
    ("I like eating pizza", "मुझे पिज़्ज़ा खाना पसंद है"),
    ("I like eating mangoes", "मुझे आम खाना पसंद है"),
    ("I like making pizza", "मुझे पिज़्ज़ा बनाना पसंद है"),
)
RATE, EVERY = 5e-3, 20
Saying = tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """A source and what has been said of it, with the word that should come next."""

    source: Saying
    prefix: Saying
    wanted: str
    other: bool  # whether the source is another than the reader's

    @property
    def name(self) -> str:
        """Both as one label."""
        return f"{' '.join(self.source)} | {' '.join((NAMES[BOS], *self.prefix))}"


@dataclass(frozen=True)
class NextWords:
    """For every question the probabilities of the words that are an answer to one of them."""

    asked: tuple[Asked, ...]
    words: Saying
    chances: Float64[Tensor, "Q W"]
    likeliest: Saying
    loss: float

    @property
    def right(self) -> int:
        """How many questions have the wanted word as their likeliest."""
        pairs = zip(self.asked, self.likeliest, strict=True)
        return sum(one.wanted == word for one, word in pairs)

    def parts(self, text: Text) -> tuple[Part, ...]:
        """The table, and what it shows."""
        contrasts = sum(one.other for one in self.asked)
        first = text("cross_attention.next_word_row_source")
        if self.right < len(self.asked):
            last = text(
                "cross_attention.finds_more_steps_find",
                right=self.right,
                asked_count=len(self.asked),
            )
        elif contrasts:
            last = text("cross_attention.source_but_more_said")
        else:
            last = text("cross_attention.source_but_more_said_another")
        names = [one.name for one in self.asked]
        return Words(first), table("", self.chances, names, self.words, kind="weights"), Words(last)


def next_words(
    source: Saying,
    target: Saying,
    *,
    steps: int,
    seed: int,
    hear: Callable[[str], None] = lambda line: None,
) -> NextWords:
    """Learn the pair and the lesson's own, then ask for every next word of its translation.

    Where another pair begins alike and goes on otherwise, that is asked too.
    """
    steps, seed = parse_int("steps", steps), parse_int("seed", seed, least=0)
    own = [(tuple(one.split()), tuple(other.split())) for one, other in PAIRS]
    others = [pair for pair in own if pair[0] != source]
    pairs = [(source, target), *others]
    heard, said = numbered(one for one, _ in pairs), numbered(other for _, other in pairs)
    model = transformer(len(heard), len(said), seed=seed, layers=1)
    batch = Batch(
        Tokens.pad([[*(heard[word] for word in one), EOS] for one, _ in pairs]),
        Tokens.pad([[BOS, *(said[word] for word in other), EOS] for _, other in pairs]),
    )
    loss = _learn(model, batch, steps, hear)
    asked = _questions(source, target, others)
    answers = dict.fromkeys(one.wanted for one in asked)
    names = {**said, NAMES[EOS]: EOS}
    rows = [
        _chances(model, [heard[word] for word in one.source], [said[word] for word in one.prefix])
        for one in asked
    ]
    back = {id: word for word, id in names.items()}
    likeliest = tuple(back.get(int(row.argmax()), "?") for row in rows)
    columns = [names[word] for word in answers]
    return NextWords(asked, tuple(answers), torch.stack(rows)[:, columns], likeliest, loss)


def _questions(
    source: Saying, target: Saying, others: Sequence[tuple[Saying, Saying]]
) -> tuple[Asked, ...]:
    """Every beginning of the translation; then, of each, another source's other way to go on."""
    found = [
        Asked(source, target[:said], word, other=False)
        for said, word in enumerate((*target, NAMES[EOS]))
    ]
    for said in range(1, len(target) + 1):
        for one, other in others:
            if other[:said] == target[:said] and other[said : said + 1] != target[said : said + 1]:
                word = (*other, NAMES[EOS])[said]
                found.append(Asked(one, target[:said], word, other=True))
                break
    return tuple(found)


def _learn(model: Seq2Seq, batch: Batch, steps: int, hear: Callable[[str], None]) -> float:
    """Adam on all pairs at once; the last loss per word."""
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    last = 0.0
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        loss = cross_entropy(model(batch), batch.labels, smoothing=0.0) / batch.labels.count
        loss.backward()
        optimizer.step()
        last = float(loss.detach())
        if step % EVERY == 0:
            hear(f"step {step}, loss {last:.3f}")
    return last


@torch.inference_mode()
def _chances(model: Seq2Seq, source: list[int], prefix: list[int]) -> Float64[Tensor, " V"]:
    """The probability of every word after the prefix."""
    state = model.start(Tokens.pad([[*source, EOS]]))
    logits, _ = model.decoder(torch.tensor([[BOS, *prefix]]), state)
    return logits[0, -1].softmax(-1)
