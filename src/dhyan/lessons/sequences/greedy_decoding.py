"""Greedy decoding, the most probable word at every step, compared with beam search."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path

import torch

from dhyan.batch import Tokens
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.search import StepModel, beam_search, greedy_search, next_logprobs
from dhyan.decoding.translator import TooLong, Translator
from dhyan.insight.lesson_blocks import Block, Paragraph, heatmap, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, ProgressCallback, lesson, parse_int, parse_words
from dhyan.lessons.sequences.seq2seq_training import PAIRS, seq2seq_training
from dhyan.lessons.trained_model import load_translator
from dhyan.special_tokens import BOS, EOS

Model = Translator | str | Path
SAME = 1e-4  # log-probabilities nearer than this are equal: searches run in single precision


@dataclass(frozen=True)
class Step:
    """One decoder step: its input token and the most probable next words, best first."""

    input_token: str
    words: tuple[str, ...]
    probs: tuple[float, ...]


@dataclass(frozen=True)
class Hypothesis:
    """An output sentence, its log-probability with <end>, and whether it reached <end>."""

    text: str
    score: float
    finished: bool


@dataclass(frozen=True)
class GreedyDecoding(LessonResult):
    """Every step of greedy decoding, its hypothesis, and those of beam search, best first."""

    sentence: str
    steps: tuple[Step, ...]
    greedy: Hypothesis
    beam: tuple[Hypothesis, ...]
    width: int

    def blocks(self, text: Text) -> Iterator[Block]:
        """The steps, then the hypotheses."""
        blocks: list[Block] = [text.paragraph("steps")]
        for number, step in enumerate(self.steps, 1):
            title, probs = f"{number}. {step.input_token} →", torch.tensor(step.probs)
            blocks.append(heatmap(title, probs, (), step.words, digits=3))
        blocks.append(Paragraph(self._verdict(text)))
        nothing = text("empty_output")
        hypotheses = [("greedy", self.greedy)]
        hypotheses += [
            (f"beam {number}", hypothesis) for number, hypothesis in enumerate(self.beam, 1)
        ]
        blocks.append(
            table(
                text("hypotheses"),
                [[hypothesis.score, exp(hypothesis.score)] for _, hypothesis in hypotheses],
                [
                    f"{name}: {hypothesis.text or nothing}{'' if hypothesis.finished else ' …'}"
                    for name, hypothesis in hypotheses
                ],
                ("ln p", "p"),
                digits=3,
            )
        )
        yield from blocks

    def _verdict(self, text: Text) -> str:
        gain = self.beam[0].score - self.greedy.score
        if abs(gain) < SAME:
            return text("same_hypothesis")
        likelier = gain > 0
        times = exp(abs(gain))
        return text("different_hypothesis", times=times, likelier=likelier)


@dataclass(frozen=True)
class _SearchModel:
    """A model with its source sentence, and functions from token ids to text."""

    model: StepModel
    source: Tokens
    name: Callable[[int], str]
    text: Callable[[Sequence[int]], str]
    limit: int


@lesson
def greedy_decoding(
    sentence: str = PAIRS[0][0],
    *,
    model: Model | None = None,
    best: int = 3,
    beam: int = 3,
    steps: int = 200,
    seed: int = 1,
    on_progress: ProgressCallback | None = None,
) -> GreedyDecoding:
    """Greedy decoding of a trained model, given as a Translator or a run's folder.

    Without one it is the toy corpus's LSTM, trained for `steps` updates in two seconds. After few
    updates, such as 30, greedy search may miss a better hypothesis that beam search finds.
    """
    parse_words(sentence)
    parse_int("best", best)
    width = parse_int("beam", beam)
    if model is None:
        search_model = _toy_model(sentence, steps=steps, seed=seed, on_progress=on_progress)
    else:
        search_model = _trained_model(sentence, model)
    source, limit = search_model.source, search_model.limit
    with evaluation_mode(_module(search_model.model)):
        [greedy] = greedy_search(search_model.model, source, max_length=limit)
        [ranked] = beam_search(search_model.model, source, beam=width, max_length=limit)
        ids = [*greedy.ids, *([EOS] if greedy.finished else [])]
        greedy_steps = _walk(search_model, [BOS, *ids[:-1]], best)
    hypotheses = [
        Hypothesis(search_model.text(hypothesis.ids), hypothesis.score, hypothesis.finished)
        for hypothesis in (greedy, *ranked)
    ]
    return GreedyDecoding(
        " ".join(sentence.split()), greedy_steps, hypotheses[0], tuple(hypotheses[1:]), width
    )


@torch.inference_mode()
def _walk(search_model: _SearchModel, input_ids: Sequence[int], best: int) -> tuple[Step, ...]:
    """The best words at each step; tokens that the search excludes have probability 0."""
    state, steps, row = (
        search_model.model.start(search_model.source),
        list[Step](),
        torch.zeros(1).long(),
    )
    inputs = torch.tensor(input_ids, device=search_model.source.ids.device)
    for index, token in enumerate(input_ids):
        logits, state = search_model.model.step(inputs[index : index + 1], state)
        prefix = torch.tensor([input_ids[: index + 1]])
        probs, ids = next_logprobs(logits.cpu(), prefix, row, ())[0].exp().sort(descending=True)
        count = min(best, int((probs > 0).sum()))
        names = tuple(search_model.name(token_id) for token_id in ids[:count].tolist())
        steps.append(Step(search_model.name(token), names, tuple(probs[:count].tolist())))
    return tuple(steps)


def _toy_model(
    sentence: str, *, steps: int, seed: int, on_progress: ProgressCallback | None
) -> _SearchModel:
    corpus = seq2seq_training(steps=steps, seed=seed, on_progress=on_progress)
    source = Tokens.pad([corpus.source.ids(parse_words(sentence))])
    target = corpus.target

    def name(token_id: int) -> str:
        return target.words_of([token_id])[0]

    def text(ids: Sequence[int]) -> str:
        return " ".join(target.words_of(ids))

    return _SearchModel(corpus.model, source, name, text, limit=10)


def _trained_model(sentence: str, run: Model) -> _SearchModel:
    model = load_translator(run)
    target, ids = model.target, model.encode(sentence)
    if len(ids) - 1 > model.limits.source:
        raise TooLong(0, len(ids) - 1, model.limits.source)
    limit = 3 * (len(ids) - 1) + 50
    if model.limits.target is not None:
        limit = min(limit, model.limits.target)

    def name(token_id: int) -> str:
        return target.pieces([token_id])[0]

    return _SearchModel(
        model.ensemble, Tokens.pad([ids]).to(model.device), name, target.decode, limit
    )


def _module(model: StepModel) -> torch.nn.Module:
    assert isinstance(model, torch.nn.Module)
    return model
