"""Cross-attention: queries from the output, keys and values from the input."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.attention import attend
from dhyan.batch import Batch, Tokens
from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Paragraph, heatmap, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, SeededVectors, lesson, parse_int, parse_words
from dhyan.lessons.seeded_vectors import WIDTH, seeded_vectors
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
Sentence = tuple[str, ...]


@dataclass(frozen=True)
class NextWordQuestion:
    """A source, a prefix of its translation, and the expected next word."""

    source: Sentence
    prefix: Sentence
    expected: str
    other: bool  # whether the source is another than the reader's

    @property
    def name(self) -> str:
        """Label of source and prefix."""
        return f"{' '.join(self.source)} | {' '.join((NAMES[BOS], *self.prefix))}"


@dataclass(frozen=True)
class NextWords:
    """Next-word probabilities for every question, over the expected words of all of them."""

    questions: tuple[NextWordQuestion, ...]
    words: Sentence
    probabilities: Float64[Tensor, "Q W"]
    predictions: Sentence
    loss: float

    @property
    def right(self) -> int:
        """How many predictions are the expected word."""
        pairs = zip(self.questions, self.predictions, strict=True)
        return sum(question.expected == word for question, word in pairs)

    def blocks(self, text: Text) -> Iterator[Block]:
        """The table and the verdict."""
        contrasts = sum(question.other for question in self.questions)
        first = text("next_word_probabilities")
        if self.right < len(self.questions):
            last = text("some_predicted", right=self.right, question_count=len(self.questions))
        elif contrasts:
            last = text("depends_on_source_and_prefix")
        else:
            last = text("depends_on_prefix")
        names = [question.name for question in self.questions]
        yield Paragraph(first)
        yield heatmap("", self.probabilities, names, self.words)
        yield Paragraph(last)


def next_words(
    source: Sentence,
    target: Sentence,
    *,
    steps: int,
    seed: int,
    on_progress: Callable[[str], None] = lambda line: None,
) -> NextWords:
    """Train on the pair and the lesson's own, then predict every next word of its translation.

    Where another pair shares a prefix and continues otherwise, that is predicted too.
    """
    steps, seed = parse_int("steps", steps), parse_int("seed", seed, least=0)
    own_pairs = [(tuple(first.split()), tuple(second.split())) for first, second in PAIRS]
    others = [pair for pair in own_pairs if pair[0] != source]
    pairs = [(source, target), *others]
    source_ids, target_ids = (
        number_words(first for first, _ in pairs),
        number_words(second for _, second in pairs),
    )
    model = tiny_transformer(len(source_ids), len(target_ids), seed=seed, layers=1)
    batch = Batch(
        Tokens.pad([[*(source_ids[word] for word in first), EOS] for first, _ in pairs]),
        Tokens.pad([[BOS, *(target_ids[word] for word in second), EOS] for _, second in pairs]),
    )
    loss = _train(model, batch, steps, on_progress)
    questions = _questions(source, target, others)
    answers = dict.fromkeys(question.expected for question in questions)
    ids_by_word = {**target_ids, NAMES[EOS]: EOS}
    rows = [
        _probabilities(
            model,
            [source_ids[word] for word in question.source],
            [target_ids[word] for word in question.prefix],
        )
        for question in questions
    ]
    words_by_id = {id: word for word, id in ids_by_word.items()}
    predictions = tuple(words_by_id.get(int(row.argmax()), "?") for row in rows)
    columns = [ids_by_word[word] for word in answers]
    return NextWords(questions, tuple(answers), torch.stack(rows)[:, columns], predictions, loss)


def _questions(
    source: Sentence, target: Sentence, others: Sequence[tuple[Sentence, Sentence]]
) -> tuple[NextWordQuestion, ...]:
    """Every prefix of the translation; then each with a source whose next word differs."""
    questions = [
        NextWordQuestion(source, target[:length], word, other=False)
        for length, word in enumerate((*target, NAMES[EOS]))
    ]
    for length in range(1, len(target) + 1):
        for other_source, other_target in others:
            if (
                other_target[:length] == target[:length]
                and other_target[length : length + 1] != target[length : length + 1]
            ):
                word = (*other_target, NAMES[EOS])[length]
                questions.append(NextWordQuestion(other_source, target[:length], word, other=True))
                break
    return tuple(questions)


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
# An axis for each idea; "are" and हैं also have a little of the subject, with which they agree.
SIDES = ("source_vectors", "target_vectors")
VECTORS: dict[str, tuple[Rows, Rows]] = {
    "we are friends": (((2, 0, 0), (1, 0, 2), (0, 2, 0)), ((2, 0, 0), (0, 2, 0), (1, 0, 2))),
    "I like eating pizza": (
        ((2, 0, 0, 0), (0, 2, 0, 0), (0, 0, 2, 0), (0, 0, 0, 2)),
        ((2, 0, 0, 0), (0, 0, 0, 2), (0, 0, 2, 0), (0, 2, 0, 0), (0, 1, 0, 0)),
    ),
}


@dataclass(frozen=True)
class CrossAttention(LessonResult):
    """Self-attention of the output, and its cross-attention over the input.

    `by_hand`: the vectors are the lesson's own, written by hand.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    source_vectors: Float64[Tensor, "S D"]
    target_vectors: Float64[Tensor, "T D"]
    queries: Float64[Tensor, "T K"]
    self_keys: Float64[Tensor, "T K"]
    self_values: Float64[Tensor, "T V"]
    keys: Float64[Tensor, "S K"]
    values: Float64[Tensor, "S V"]
    self_weights: Float64[Tensor, "T T"]
    self_outputs: Float64[Tensor, "T V"]
    cross_weights: Float64[Tensor, "T S"]
    cross_outputs: Float64[Tensor, "T V"]
    next_words: NextWords
    by_hand: bool = False

    def blocks(self, text: Text) -> Iterator[Block]:
        """Both tables side by side, then the next word."""
        source, target = self.source, self.target
        yield text.paragraph("definition")
        yield from self._origin(text)
        yield table(text("source_vectors"), self.source_vectors, source)
        yield table(text("target_vectors"), self.target_vectors, target)
        yield text.paragraph("weights", query_width=self.queries.shape[1])
        yield heatmap(text("self_attention"), self.self_weights, target, target, digits=3)
        yield heatmap(text("cross_attention"), self.cross_weights, target, source, digits=3)
        yield from self.next_words.blocks(text)

    def _origin(self, text: Text) -> Iterator[Block]:
        if not self.by_hand:
            return
        remark = text("vectors_by_hand")
        yield Paragraph(remark)


@lesson
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
    """Self-attention of an output and cross-attention to its input, from a vector for each word.

    A small Transformer is then trained on the pair and a few others like it, in a few seconds, and
    predicts the next word of every prefix. The words of a sentence other than the lesson's own, of
    which the `target` must be given, have random vectors, from the seed, unless these are given.

    >>> [round(value, 3) for value in cross_attention(steps=1).cross_weights[1].tolist()]
    [0.083, 0.083, 0.834]
    """
    source = parse_words(sentence)
    plain = " ".join(source)
    target_words = parse_words(_own_translation(plain) if target is None else target)
    own = VECTORS.get(plain, (None, None))
    given = [
        usual if argument is None else argument
        for usual, argument in zip(own, (source_vectors, target_vectors), strict=True)
    ]
    missing = [name for name, rows in zip(SIDES, given, strict=True) if rows is None]
    width = next((len(rows[0]) for rows in given if rows is not None and len(rows)), WIDTH)
    vectors = [
        seeded_vectors(words, seed=seed, width=width) if rows is None else rows
        for words, rows in zip((source, target_words), given, strict=True)
    ]
    x = parse_matrix("source_vectors", vectors[0], rows=len(source), of=f"the words of {plain!r}")
    width, of = x.shape[1], f"the words of {' '.join(target_words)!r}"
    y = parse_matrix("target_vectors", vectors[1], rows=len(target_words), columns=width, of=of)
    unit = torch.eye(width, dtype=torch.float64)
    maps = {
        name: unit
        if argument is None
        else parse_matrix(name, argument, rows=width, of="the numbers of a vector")
        for name, argument in (("w_query", w_query), ("w_key", w_key), ("w_value", w_value))
    }
    if maps["w_query"].shape != maps["w_key"].shape:
        raise UserError(
            "w_query and w_key must be equally wide: a query meets keys of its own width"
        )
    queries = y @ maps["w_query"]
    self_keys, keys = (states @ maps["w_key"] for states in (y, x))
    self_values, values = (states @ maps["w_value"] for states in (y, x))
    self_attended, cross_attended = (
        attend(queries, self_keys, self_values),
        attend(queries, keys, values),
    )
    return CrossAttention(
        source,
        target_words,
        x,
        y,
        queries,
        self_keys,
        self_values,
        keys,
        values,
        self_weights=self_attended.weights,
        self_outputs=self_attended.context,
        cross_weights=cross_attended.weights,
        cross_outputs=cross_attended.context,
        next_words=next_words(
            source, target_words, steps=steps, seed=seed, on_progress=on_progress
        ),
        by_hand=plain in VECTORS and (source_vectors is None or target_vectors is None),
        seeded=SeededVectors(" and ".join(missing), seed) if missing else None,
    )


def _own_translation(sentence: str) -> str:
    """The translation of one of the lesson's own sentences."""
    for source, target in PAIRS:
        if source == sentence:
            return target
    raise UserError(f"target: what does {sentence!r} become? Give its translation")
