"""Cross-attention: the same function, asked by one sequence and answered by another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.attention import attend
from dhyan.batch import Batch, Tokens
from dhyan.errors import UserError
from dhyan.insight.blocks import Part, Words, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_words
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.tiny_models import number_words, tiny_transformer
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
class NextWordQuestion:
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

    asked: tuple[NextWordQuestion, ...]
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
    on_progress: Callable[[str], None] = lambda line: None,
) -> NextWords:
    """Learn the pair and the lesson's own, then ask for every next word of its translation.

    Where another pair begins alike and goes on otherwise, that is asked too.
    """
    steps, seed = parse_int("steps", steps), parse_int("seed", seed, least=0)
    own = [(tuple(one.split()), tuple(other.split())) for one, other in PAIRS]
    others = [pair for pair in own if pair[0] != source]
    pairs = [(source, target), *others]
    heard, said = number_words(one for one, _ in pairs), number_words(other for _, other in pairs)
    model = tiny_transformer(len(heard), len(said), seed=seed, layers=1)
    batch = Batch(
        Tokens.pad([[*(heard[word] for word in one), EOS] for one, _ in pairs]),
        Tokens.pad([[BOS, *(said[word] for word in other), EOS] for _, other in pairs]),
    )
    loss = _train(model, batch, steps, on_progress)
    asked = _questions(source, target, others)
    answers = dict.fromkeys(one.wanted for one in asked)
    names = {**said, NAMES[EOS]: EOS}
    rows = [
        _probabilities(
            model, [heard[word] for word in one.source], [said[word] for word in one.prefix]
        )
        for one in asked
    ]
    back = {id: word for word, id in names.items()}
    likeliest = tuple(back.get(int(row.argmax()), "?") for row in rows)
    columns = [names[word] for word in answers]
    return NextWords(asked, tuple(answers), torch.stack(rows)[:, columns], likeliest, loss)


def _questions(
    source: Saying, target: Saying, others: Sequence[tuple[Saying, Saying]]
) -> tuple[NextWordQuestion, ...]:
    """Every beginning of the translation; then, of each, another source's other way to go on."""
    found = [
        NextWordQuestion(source, target[:said], word, other=False)
        for said, word in enumerate((*target, NAMES[EOS]))
    ]
    for said in range(1, len(target) + 1):
        for one, other in others:
            if other[:said] == target[:said] and other[said : said + 1] != target[said : said + 1]:
                word = (*other, NAMES[EOS])[said]
                found.append(NextWordQuestion(one, target[:said], word, other=True))
                break
    return tuple(found)


def _train(model: Seq2Seq, batch: Batch, steps: int, on_progress: Callable[[str], None]) -> float:
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
            on_progress(f"step {step}, loss {last:.3f}")
    return last


@torch.inference_mode()
def _probabilities(model: Seq2Seq, source: list[int], prefix: list[int]) -> Float64[Tensor, " V"]:
    """The probability of every word after the prefix."""
    state = model.start(Tokens.pad([[*source, EOS]]))
    logits, _ = model.decoder(torch.tensor([[BOS, *prefix]]), state)
    return logits[0, -1].softmax(-1)


SENTENCE = "we are friends"
Rows = tuple[tuple[float, ...], ...]
# An axis for each idea; "are" and हैं also say a little of who it is, for they agree with it.
VECTORS: dict[str, tuple[Rows, Rows]] = {
    "we are friends": (((2, 0, 0), (1, 0, 2), (0, 2, 0)), ((2, 0, 0), (0, 2, 0), (1, 0, 2))),
    "I like eating pizza": (
        ((2, 0, 0, 0), (0, 2, 0, 0), (0, 0, 2, 0), (0, 0, 0, 2)),
        ((2, 0, 0, 0), (0, 0, 0, 2), (0, 0, 2, 0), (0, 2, 0, 0), (0, 1, 0, 0)),
    ),
}


@dataclass(frozen=True)
class CrossAttention(LessonResult):
    """The weights of an output within itself, and of the same output over the input.

    `by_hand` says that vectors are the lesson's own, which nothing has learned.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    source_vectors: Float64[Tensor, "S D"]
    target_vectors: Float64[Tensor, "T D"]
    queries: Float64[Tensor, "T K"]
    own_keys: Float64[Tensor, "T K"]
    own_values: Float64[Tensor, "T V"]
    keys: Float64[Tensor, "S K"]
    values: Float64[Tensor, "S V"]
    self_weights: Float64[Tensor, "T T"]
    self_outputs: Float64[Tensor, "T V"]
    cross_weights: Float64[Tensor, "T S"]
    cross_outputs: Float64[Tensor, "T V"]
    following: NextWords
    by_hand: bool = False

    def page(self, text: Text) -> Page:
        """Both tables side by side, then the next word."""
        source, target = self.source, self.target
        return Page(
            text("cross_attention.title"),
            (
                Words(text("cross_attention.queries_come_output_sentence")),
                *self._origin(text),
                table(text("cross_attention.input_x"), self.source_vectors, source),
                table(text("cross_attention.output_y"), self.target_vectors, target),
                Words(
                    text("cross_attention.weights_softmax_q_k", query_width=self.queries.shape[1])
                ),
                table(
                    text("cross_attention.self_y_asks_y"),
                    self.self_weights,
                    target,
                    target,
                    kind="weights",
                    digits=3,
                ),
                table(
                    text("cross_attention.cross_y_asks_x"),
                    self.cross_weights,
                    target,
                    source,
                    kind="weights",
                    digits=3,
                ),
                *self.following.parts(text),
            ),
        )

    def _origin(self, text: Text) -> tuple[Words, ...]:
        if not self.by_hand:
            return ()
        told = text("cross_attention.vectors_below_written_hand")
        return (Words(told),)


def cross_attention(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    target: str | Sequence[str] | None = None,
    source_vectors: Matrix | None = None,
    target_vectors: Matrix | None = None,
    w_query: Matrix | None = None,
    w_key: Matrix | None = None,
    w_value: Matrix | None = None,
    steps: int = 120,
    seed: int = 1,
    on_progress: Callable[[str], None] = lambda line: None,
) -> CrossAttention:
    """Attention of an output within itself and over its input, from a vector for each word.

    A small Transformer then learns the pair, beside a few others like it, in a few seconds, and
    tells the next word of every beginning.

    >>> [round(one, 3) for one in cross_attention(steps=1).cross_weights[1].tolist()]
    [0.083, 0.083, 0.834]
    """
    source = parse_words(sentence)
    plain = " ".join(source)
    said = parse_words(_own_translation(plain) if target is None else target)
    given = [
        _vectors(plain, side, one) for side, one in enumerate((source_vectors, target_vectors))
    ]
    x = parse_matrix("source_vectors", given[0], rows=len(source), of=f"the words of {plain!r}")
    width, of = x.shape[1], f"the words of {' '.join(said)!r}"
    y = parse_matrix("target_vectors", given[1], rows=len(said), columns=width, of=of)
    unit = torch.eye(width, dtype=torch.float64)
    maps = {
        name: unit
        if one is None
        else parse_matrix(name, one, rows=width, of="the numbers of a vector")
        for name, one in (("w_query", w_query), ("w_key", w_key), ("w_value", w_value))
    }
    if maps["w_query"].shape != maps["w_key"].shape:
        raise UserError(
            "w_query and w_key must be equally wide: a query meets keys of its own width"
        )
    queries = y @ maps["w_query"]
    own_keys, keys = (one @ maps["w_key"] for one in (y, x))
    own_values, values = (one @ maps["w_value"] for one in (y, x))
    within, across = attend(queries, own_keys, own_values), attend(queries, keys, values)
    return CrossAttention(
        source,
        said,
        x,
        y,
        queries,
        own_keys,
        own_values,
        keys,
        values,
        self_weights=within.weights,
        self_outputs=within.context,
        cross_weights=across.weights,
        cross_outputs=across.context,
        following=next_words(source, said, steps=steps, seed=seed, on_progress=on_progress),
        by_hand=source_vectors is None or target_vectors is None,
    )


def _own_translation(sentence: str) -> str:
    """The translation of one of the lesson's own sentences."""
    for source, target in PAIRS:
        if source == sentence:
            return target
    raise UserError(f"target: what does {sentence!r} become? Give its translation")


def _vectors(sentence: str, side: int, given: Matrix | None) -> Matrix:
    """The vectors given, or those of one of the lesson's own examples."""
    if given is not None:
        return given
    if sentence in VECTORS:
        return VECTORS[sentence][side]
    name = ("source_vectors", "target_vectors")[side]
    raise UserError(f"{name}: give a row of numbers for each word, such as [[2, 0], [0, 2]]")
