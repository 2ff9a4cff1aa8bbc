"""Prediction: the likeliest word at every step, beside a beam that keeps several beginnings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path

import torch

from dhyan.batch import Tokens
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.search import StepModel, beam_search, greedy_search, next_logprobs
from dhyan.decoding.translator import TooLong, Translator
from dhyan.insight.blocks import Part, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_words
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.sequences.toy_corpus import PAIRS, toy_corpus
from dhyan.lessons.tiny_models import ProgressCallback
from dhyan.lessons.trained_model import load_translator
from dhyan.special_tokens import BOS, EOS

Model = Translator | str | Path
SAME = 1e-4  # log-probabilities nearer than this are one: searches run in single precision


@dataclass(frozen=True)
class Step:
    """What the decoder was fed, and the likeliest words to go on with, best first."""

    fed: str
    words: tuple[str, ...]
    chances: tuple[float, ...]


@dataclass(frozen=True)
class Hypothesis:
    """A whole sentence, its log-probability with its end, and whether it ended by itself."""

    text: str
    score: float
    finished: bool


@dataclass(frozen=True)
class GreedyDecoding(LessonResult):
    """Every step of greedy decoding, what it came to, and what a beam found, best first."""

    sentence: str
    steps: tuple[Step, ...]
    said: Hypothesis
    beam: tuple[Hypothesis, ...]
    width: int

    def page(self, text: Text) -> Page:
        """Step by step, then the whole sentences."""
        shown: list[Part] = [
            Words(text("greedy_decoding.been_read_step_likeliest", sentence=self.sentence))
        ]
        for number, step in enumerate(self.steps, 1):
            title, chances = f"{number}. {step.fed} →", torch.tensor(step.chances)
            shown.append(table(title, chances, (), step.words, kind="weights", digits=3))
        shown.append(Words(self._judged(text)))
        nothing = text("greedy_decoding.nothing")
        found = [("greedy", self.said)]
        found += [(f"beam {number}", one) for number, one in enumerate(self.beam, 1)]
        shown.append(
            table(
                text("greedy_decoding.whole_sentences"),
                [[one.score, exp(one.score)] for _, one in found],
                [
                    f"{name}: {one.text or nothing}{'' if one.finished else ' …'}"
                    for name, one in found
                ],
                ("ln p", "p"),
                digits=3,
            )
        )
        return Page(text("greedy_decoding.title"), tuple(shown))

    def _judged(self, text: Text) -> str:
        gain = self.beam[0].score - self.said.score
        if abs(gain) < SAME:
            return text(
                "greedy_decoding.product_steps_probabilities_sentence_beam", width=self.width
            )
        likelier = gain > 0
        times = exp(abs(gain))
        return text(
            "greedy_decoding.product_steps_probabilities_sentence",
            width=self.width,
            times=times,
            likelier=likelier,
        )


@dataclass(frozen=True)
class _SearchModel:
    """A model, what it reads, and how its ids are written."""

    model: StepModel
    source: Tokens
    name: Callable[[int], str]
    text: Callable[[Sequence[int]], str]
    limit: int


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

    Without one it is the toy corpus's LSTM, trained for so many steps in two seconds; stopped
    early, at 30 say, it is less sure, and greedy search may miss what a beam finds.
    """
    parse_words(sentence)
    parse_int("best", best)
    width = parse_int("beam", beam)
    if model is None:
        speaker = _toy_model(sentence, steps=steps, seed=seed, on_progress=on_progress)
    else:
        speaker = _trained_model(sentence, model)
    source, limit = speaker.source, speaker.limit
    with evaluation_mode(_module(speaker.model)):
        [said] = greedy_search(speaker.model, source, max_length=limit)
        [ranked] = beam_search(speaker.model, source, beam=width, max_length=limit)
        ids = [*said.ids, *([EOS] if said.finished else [])]
        walked = _walk(speaker, [BOS, *ids[:-1]], best)
    found = [Hypothesis(speaker.text(one.ids), one.score, one.finished) for one in (said, *ranked)]
    return GreedyDecoding(" ".join(sentence.split()), walked, found[0], tuple(found[1:]), width)


@torch.inference_mode()
def _walk(speaker: _SearchModel, fed: Sequence[int], best: int) -> tuple[Step, ...]:
    """The best words at each step; what may not be said has no chance, as in the search."""
    state, found, row = speaker.model.start(speaker.source), list[Step](), torch.zeros(1).long()
    told = torch.tensor(fed, device=speaker.source.ids.device)
    for place, word in enumerate(fed):
        logits, state = speaker.model.step(told[place : place + 1], state)
        said = torch.tensor([fed[: place + 1]])
        chances, ids = next_logprobs(logits.cpu(), said, row, ())[0].exp().sort(descending=True)
        count = min(best, int((chances > 0).sum()))
        names = tuple(speaker.name(token_id) for token_id in ids[:count].tolist())
        found.append(Step(speaker.name(word), names, tuple(chances[:count].tolist())))
    return tuple(found)


def _toy_model(
    sentence: str, *, steps: int, seed: int, on_progress: ProgressCallback | None
) -> _SearchModel:
    shown = toy_corpus(steps=steps, seed=seed, on_progress=on_progress)
    source = Tokens.pad([shown.source.ids(parse_words(sentence))])
    words = shown.target

    def name(one: int) -> str:
        return words.said([one])[0]

    def text(ids: Sequence[int]) -> str:
        return " ".join(words.said(ids))

    return _SearchModel(shown.model, source, name, text, limit=10)


def _trained_model(sentence: str, given: Model) -> _SearchModel:
    model = load_translator(given)
    target, ids = model.target, model.encode(sentence)
    if len(ids) - 1 > model.limits.source:
        raise TooLong(0, len(ids) - 1, model.limits.source)
    limit = 3 * (len(ids) - 1) + 50
    if model.limits.target is not None:
        limit = min(limit, model.limits.target)

    def name(one: int) -> str:
        return target.pieces([one])[0]

    return _SearchModel(
        model.ensemble, Tokens.pad([ids]).to(model.device), name, target.decode, limit
    )


def _module(model: StepModel) -> torch.nn.Module:
    assert isinstance(model, torch.nn.Module)
    return model
