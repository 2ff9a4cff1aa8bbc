"""How good every model is, by the length of the sentence: BLEU of held-out sentences of the primer.

A model translates them a few at a time, so that whoever else asks it something is soon answered.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from dhyan.errors import UserError
from dhyan.studio.registry import Book, Shelf
from dhyan.studio.schemas import LONGEST_TEXT, MOST_TOKENS, WIDEST_BEAM, Body, Name
from dhyan.studio.test_sentences import core_for, learned, recipe_of, trained_to

if TYPE_CHECKING:
    from dhyan.compare.test_sets import EvaluationExample
    from dhyan.config import Recipe
    from dhyan.decoding.translator import Translator
    from dhyan.evaluation.metrics import Counts

SHORTEST, LONGEST = 2, 50  # words of a sentence
AT_ONCE = 16  # hypotheses grown before others have their turn
ROUGHLY = 10  # tokens to which the size of a sentence is rounded up for its limit
SHOWN = 3  # of the best and of the worst of a group
FORWARDS, BACKWARDS = ("en", "hi"), ("hi", "en")

Event = tuple[str, dict[str, Any]]


class LengthQuestion(Body):
    """So many sentences of each group of lengths, for a model."""

    model: Name = ""
    each: Annotated[int, Field(ge=2, le=200)] = 40
    beam: Annotated[int, Field(ge=1, le=WIDEST_BEAM)] = 1


class Pool:
    """Sentences that have been drawn, what models have said of them, and how good that was."""

    def __init__(self) -> None:
        self.figures: dict[Any, dict[str, Any]] = {}
        self._cores: dict[tuple[str, ...], float] = {}
        self._drawn: dict[Any, list[EvaluationExample]] = {}
        self._said: dict[Any, str] = {}
        self._guard = threading.Lock()

    def core(self, shelf: Shelf) -> float:
        """The share of the primer's words that sentences for these models are made of."""
        names = tuple(shelf.books)
        with self._guard:
            if names not in self._cores:
                self._cores[names] = core_for(shelf)
            return self._cores[names]

    def drawn(self, group: tuple[int, int], each: int, **how: Any) -> "list[EvaluationExample]":
        """The first sentences of a group of lengths; none where the primer cannot make any."""
        from dhyan.compare.test_sets import Sizes, primer_tests

        key = (group, each, *sorted(how.items()))
        shortest, longest = group
        with self._guard:
            if key not in self._drawn:
                sizes = Sizes(each, 0, 0)
                try:
                    made = primer_tests(
                        shortest=shortest, longest=longest, sizes=sizes, splits=(), **how
                    )
                    self._drawn[key] = list(made.sets[0].examples)
                except UserError:
                    self._drawn[key] = []
            return [one for one in self._drawn[key] if len(one.source) <= LONGEST_TEXT]

    def translated(self, book: Book, beam: int, sources: Sequence[str]) -> Iterator[int]:
        """Translate what has not been yet; tells how many have been."""
        fresh = [one for one in sources if (book.name, beam, one) not in self._said]
        yield len(sources) - len(fresh)
        few, done = max(AT_ONCE // beam, 1), len(sources) - len(fresh)
        with book.opened() as translator:
            limits = {one: _limit(translator, one) for one in fresh}
        for limit, group in groupby(sorted(fresh, key=limits.__getitem__), limits.__getitem__):
            alike = list(group)
            for first in range(0, len(alike), few):
                some = alike[first : first + few]
                with book.opened() as translator:
                    found = translator(some, beam=beam, nbest=1, max_length=limit)
                for source, one in zip(some, found, strict=True):
                    self._said[book.name, beam, source] = one.text
                yield (done := done + len(some))

    def said(self, book: Book, beam: int, sources: Sequence[str]) -> list[str]:
        """What was said of sentences that have been translated."""
        return [self._said[book.name, beam, one] for one in sources]


def add(app: FastAPI, shelf: Shelf) -> None:
    """What the view `/length` draws: a stream for each model, with its progress."""
    pool = Pool()

    @app.post("/api/length")
    def length(asked: LengthQuestion) -> Response:
        return StreamingResponse(_told(shelf, pool, asked), media_type="text/event-stream")


def _told(shelf: Shelf, pool: Pool, asked: LengthQuestion) -> Iterator[str]:
    """Progress, then the figures, or what went wrong; nothing more is done for one who left."""
    try:
        for kind, data in _measured(shelf, pool, asked):
            yield _event(kind, **data)
    except UserError as fault:
        yield _event("error", code="invalid_request", message=str(fault))
    except Exception:  # the page is told; the terminal has the rest
        yield _event("error", code="internal_error", message="the model failed; see the terminal")
        raise


def _event(kind: str, **data: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _measured(shelf: Shelf, pool: Pool, asked: LengthQuestion) -> Iterator[Event]:
    book = shelf.book(asked.model)
    recipe = recipe_of(book)
    backwards = _direction(book.name, recipe) == BACKWARDS
    core = pool.core(shelf)
    key = (book.name, asked.each, asked.beam, core)
    if key in pool.figures:
        yield "done", pool.figures[key]
        return
    groups, questions, known = list(_groups()), list["EvaluationExample"](), learned(shelf)
    for place, group in enumerate(groups):
        yield "drawn", {"done": place, "of": len(groups)}
        made = pool.drawn(group, asked.each, core=core, backwards=backwards)
        questions += [one for one in made if one.source not in known]
    with book.opened() as translator:
        sizes = [len(translator.encode(one.source)) - 1 for one in questions]
        longest = min(translator.limits.source, MOST_TOKENS)
        ids = [token for one in questions for token in translator.source.encode(one.source)]
        language = translator.language
    taken = [one for one, size in zip(questions, sizes, strict=True) if size <= longest]
    if len(taken) < 2:
        raise UserError(f"{book.name} takes at most {longest} tokens: too few for these sentences")
    sources = [one.source for one in taken]
    for done in pool.translated(book, asked.beam, sources):
        yield "some", {"done": done, "of": len(taken)}
    pool.figures[key] = {
        "model": book.name,
        "beam": asked.beam,
        "core": core,
        "primer": recipe.data.task == "primer",
        "left_out": len(questions) - len(taken),
        "unknown": _unknown(ids),
        **_figures(
            taken,
            pool.said(book, asked.beam, sources),
            language,
            trained=trained_to(recipe),
        ),
    }
    yield "done", pool.figures[key]


def _figures(
    asked: "Sequence[EvaluationExample]", said: Sequence[str], language: str, *, trained: int
) -> dict[str, Any]:
    """BLEU over all, up to the lengths of training and beyond, and by groups of lengths."""
    from dhyan.evaluation.metrics import count
    from dhyan.evaluation.significance import Resampling
    from dhyan.evaluation.slices import LENGTHS, slice_rows

    references, others = [one.target for one in asked], [one.others for one in asked]
    bleu = count(said, references, others=others, language=language, metrics=("bleu",))["bleu"]
    sizes = [len(one.source.split()) for one in asked]
    like = [row for row, size in enumerate(sizes) if size <= trained]
    beyond = [row for row, size in enumerate(sizes) if size > trained]
    graded, how = _graded(asked, said, bleu)
    return {
        "signature": bleu.signature(Resampling().marks(paired=False)),
        "sentence_signature": how,
        "trained": trained,
        "all": _score(bleu, range(len(asked))),
        "like": _score(bleu, like) if trained else None,
        "beyond": _score(bleu, beyond) if trained else None,
        "parts": [
            {
                "least": part.least,
                "most": part.most or LONGEST,
                **(_score(bleu, part.rows) or {}),
                **_extremes([graded[row] for row in part.rows]),
            }
            for part in slice_rows(sizes, LENGTHS)
            if part.least <= LONGEST
        ],
    }


def _score(bleu: "Counts", rows: Sequence[int]) -> dict[str, Any] | None:
    """A score with the interval in which 95 % of resampled ones lie; none of no sentence."""
    from dhyan.evaluation.significance import Resampling

    if not rows:
        return None
    own = bleu.of(rows)
    found: dict[str, Any] = {"sentences": len(rows), "value": own.value()}
    if len(rows) > 1:
        sure = Resampling().interval(own)
        found |= {"low": sure.low, "high": sure.high}
    return found


def _graded(
    asked: "Sequence[EvaluationExample]", said: Sequence[str], bleu: "Counts"
) -> tuple[list[dict[str, Any]], str]:
    """Every sentence with its own BLEU, whose n-grams are as long as the sentence allows."""
    metric = copy(bleu.metric)
    metric.effective_order = True  # type: ignore[attr-defined]
    alone = replace(bleu, metric=metric)
    found = [
        {
            "source": one.source,
            "reference": one.target,
            "said": text,
            "score": alone.value([row]),
        }
        for row, (one, text) in enumerate(zip(asked, said, strict=True))
    ]
    return found, alone.signature()


def _extremes(graded: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The worst and the best, none of them twice."""
    ranked = sorted(graded, key=lambda one: (one["score"], one["source"]))
    shown = min(SHOWN, len(ranked) // 2)
    return {"worst": ranked[:shown], "best": ranked[::-1][:shown]}


def _groups() -> Iterator[tuple[int, int]]:
    """The shortest and the longest of each group of lengths."""
    from dhyan.evaluation.slices import LENGTHS

    for first, after in pairwise(LENGTHS):
        yield max(first, SHORTEST), after - 1


def _direction(name: str, recipe: "Recipe") -> tuple[str, str]:
    """From which language into which; a model of neither English nor Hindi has nothing to say."""
    data = recipe.data
    languages = data.source_language or "en", data.target_language or "hi"
    if data.task not in ("", "primer"):
        raise UserError(
            f"{name} learned the task {data.task!r}: it has no sentences to be asked here"
        )
    if languages not in (FORWARDS, BACKWARDS):
        raise UserError(f"{name} goes from {' to '.join(languages)}; these sentences are en and hi")
    return languages


def _limit(translator: "Translator", sentence: str) -> int:
    """The most tokens of a translation: one that has not come to an end by then will not."""
    size = len(translator.encode(sentence))
    return min(2 * ROUGHLY * -(-size // ROUGHLY) + 10, MOST_TOKENS)


def _unknown(ids: Sequence[int]) -> float:
    """The share of tokens that a vocabulary does not have."""
    from dhyan.special_tokens import UNK

    return sum(one == UNK for one in ids) / max(len(ids), 1)
