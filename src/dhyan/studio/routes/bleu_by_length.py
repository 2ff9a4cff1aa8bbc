"""BLEU by source length on held-out generated sentences: HTTP routes of the studio.

A model translates a few sentences at a time, so that other requests are not accepted waiting.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from dhyan.errors import UserError
from dhyan.studio.registry import ModelRegistry, RegisteredModel
from dhyan.studio.schemas import MAX_BEAM, MAX_CHARACTERS, MAX_TOKENS, Name, StrictModel
from dhyan.studio.training_coverage import (
    BACKWARDS,
    core_share_for,
    is_measured,
    recipe_of,
    trained_length,
    training_sentences,
)
from dhyan.web.body_format import server_sent_event

if TYPE_CHECKING:
    from dhyan.compare.test_sets import EvaluationExample
    from dhyan.decoding.translator import Translator
    from dhyan.evaluation.metrics import Counts

MIN_WORDS, MAX_WORDS = 2, 50  # of a sentence
HYPOTHESES_PER_CALL = 16  # before other requests have their turn
LENGTH_STEP = 10  # tokens to which a length is rounded up, so that limits agree
EXAMPLES = 3  # of the best and of the worst sentences of a bucket

Event = tuple[str, dict[str, Any]]


class LengthRequest(StrictModel):
    """How many sentences of each bucket of lengths a model translates."""

    model: Name = ""
    per_bucket: Annotated[int, Field(ge=2, le=200)] = 40
    beam: Annotated[int, Field(ge=1, le=MAX_BEAM)] = 1


class LengthCache:
    """Test sentences, their translations by each model, and the finished results."""

    def __init__(self) -> None:
        self.results: dict[Any, dict[str, Any]] = {}
        self._core_shares: dict[tuple[str, ...], float] = {}
        self._sentences: dict[Any, list[EvaluationExample]] = {}
        self._translations: dict[Any, str] = {}
        self._lock = threading.Lock()

    def core_share(self, registry: ModelRegistry) -> float:
        """The share of the primer's vocabulary that the test sentences use."""
        names = tuple(registry.models)
        with self._lock:
            if names not in self._core_shares:
                self._core_shares[names] = core_share_for(registry)
            return self._core_shares[names]

    def sentences(
        self, bucket: tuple[int, int], count: int, **options: Any
    ) -> "list[EvaluationExample]":
        """Test sentences of a bucket of lengths; none where the primer cannot make any."""
        from dhyan.compare.test_sets import Sizes, primer_tests

        key = (bucket, count, *sorted(options.items()))
        shortest, longest = bucket
        with self._lock:
            if key not in self._sentences:
                sizes = Sizes(count, 0, 0)
                try:
                    tests = primer_tests(
                        shortest=shortest, longest=longest, sizes=sizes, splits=(), **options
                    )
                    self._sentences[key] = list(tests.sets[0].examples)
                except UserError:
                    self._sentences[key] = []
            return [
                sentence
                for sentence in self._sentences[key]
                if len(sentence.source) <= MAX_CHARACTERS
            ]

    def translate(self, model: RegisteredModel, beam: int, sources: Sequence[str]) -> Iterator[int]:
        """Translate the sentences that are not cached; yields how many are done."""
        missing = [
            source for source in sources if (model.name, beam, source) not in self._translations
        ]
        done = len(sources) - len(missing)
        yield done
        chunk_size = max(HYPOTHESES_PER_CALL // beam, 1)
        with model.translator() as translator:
            limits = {source: _max_length(translator, source) for source in missing}
        by_limit = sorted(missing, key=limits.__getitem__)
        for limit, group in groupby(by_limit, limits.__getitem__):
            same_limit = list(group)
            for first in range(0, len(same_limit), chunk_size):
                chunk = same_limit[first : first + chunk_size]
                with model.translator() as translator:
                    translations = translator(chunk, beam=beam, nbest=1, max_length=limit)
                for source, translation in zip(chunk, translations, strict=True):
                    self._translations[model.name, beam, source] = translation.text
                yield (done := done + len(chunk))

    def translations(self, model: RegisteredModel, beam: int, sources: Sequence[str]) -> list[str]:
        """The cached translations of sentences."""
        return [self._translations[model.name, beam, source] for source in sources]


def add(app: FastAPI, registry: ModelRegistry) -> None:
    """Add the route: a stream for each model, with its progress."""
    cache = LengthCache()

    @app.post("/api/length")
    def length(request: LengthRequest) -> Response:
        events = _events(registry, cache, request)
        return StreamingResponse(events, media_type="text/event-stream")


def _events(registry: ModelRegistry, cache: LengthCache, request: LengthRequest) -> Iterator[str]:
    """Progress, then the result or an error; work ends when the client disconnects."""
    try:
        for name, data in _evaluate(registry, cache, request):
            yield server_sent_event(name, data)
    except UserError as error:
        yield server_sent_event("error", {"code": "invalid_request", "message": str(error)})
    except Exception:
        message = "the model failed; see the terminal"
        yield server_sent_event("error", {"code": "internal_error", "message": message})
        raise


def _evaluate(
    registry: ModelRegistry, cache: LengthCache, request: LengthRequest
) -> Iterator[Event]:
    model = registry.get(request.model)
    recipe = recipe_of(model)
    if not is_measured(recipe):
        yield "done", {"model": model.name, "unsuited": True}
        return
    backwards = recipe.data.source_language == BACKWARDS[0]
    core_share = cache.core_share(registry)
    key = (model.name, request.per_bucket, request.beam, core_share)
    if key in cache.results:
        yield "done", cache.results[key]
        return
    buckets, sentences = list(_buckets()), list["EvaluationExample"]()
    trained_on = training_sentences(registry)
    for done, bucket in enumerate(buckets):
        yield "sampling", {"done": done, "of": len(buckets)}
        candidates = cache.sentences(
            bucket, request.per_bucket, core=core_share, backwards=backwards
        )
        sentences += [sentence for sentence in candidates if sentence.source not in trained_on]
    with model.translator() as translator:
        tokenizer = translator.source_tokenizer
        lengths = [len(translator.encode(sentence.source)) - 1 for sentence in sentences]
        longest = min(translator.limits.source, MAX_TOKENS)
        ids = [id for sentence in sentences for id in tokenizer.encode(sentence.source)]
        language = translator.language
    pairs = zip(sentences, lengths, strict=True)
    accepted = [sentence for sentence, length in pairs if length <= longest]
    if len(accepted) < 2:
        raise UserError(f"{model.name} takes at most {longest} tokens: too few for these sentences")
    sources = [sentence.source for sentence in accepted]
    for done in cache.translate(model, request.beam, sources):
        yield "translating", {"done": done, "of": len(accepted)}
    translations = cache.translations(model, request.beam, sources)
    cache.results[key] = {
        "model": model.name,
        "beam": request.beam,
        "core_share": core_share,
        "on_primer": recipe.data.synthetic == "primer",
        "skipped": len(sentences) - len(accepted),
        "unknown_share": _unknown_share(ids),
        **_scores(accepted, translations, language, trained_words=trained_length(recipe)),
    }
    yield "done", cache.results[key]


def _scores(
    sentences: "Sequence[EvaluationExample]",
    translations: Sequence[str],
    language: str,
    *,
    trained_words: int,
) -> dict[str, Any]:
    """BLEU over all sentences, up to the length of training and beyond, and by bucket."""
    from dhyan.evaluation.metrics import count
    from dhyan.evaluation.sacrebleu_metrics import bleu_tokenizer, sentence_bleu
    from dhyan.evaluation.significance import Resampling
    from dhyan.evaluation.slices import LENGTHS, slice_rows

    references = [sentence.target for sentence in sentences]
    others = [sentence.others for sentence in sentences]
    bleu = count(translations, references, others=others, language=language, metrics=("bleu",))[
        "bleu"
    ]
    words = [len(sentence.source.split()) for sentence in sentences]
    within = [row for row, count in enumerate(words) if count <= trained_words]
    beyond = [row for row, count in enumerate(words) if count > trained_words]
    tokenizer = bleu_tokenizer(language, references)
    by_sentence = replace(bleu, metric=sentence_bleu(tokenizer))
    scored, sentence_signature = _sentence_scores(sentences, translations, by_sentence)
    return {
        "signature": bleu.signature(Resampling().marks(paired=False)),
        "sentence_signature": sentence_signature,
        "trained_words": trained_words,
        "all": _score(bleu, range(len(sentences))),
        "within": _score(bleu, within) if trained_words else None,
        "beyond": _score(bleu, beyond) if trained_words else None,
        "buckets": [
            {
                "min_words": bucket.least,
                "max_words": bucket.most or MAX_WORDS,
                **(_score(bleu, bucket.rows) or {}),
                **_extremes([scored[row] for row in bucket.rows]),
            }
            for bucket in slice_rows(words, LENGTHS)
            if bucket.least <= MAX_WORDS
        ],
    }


def _score(bleu: "Counts", rows: Sequence[int]) -> dict[str, Any] | None:
    """BLEU of some sentences with its 95 % bootstrap interval; None of no sentence."""
    from dhyan.evaluation.significance import Resampling

    if not rows:
        return None
    counts = bleu.of(rows)
    score: dict[str, Any] = {"sentences": len(rows), "value": counts.value()}
    if len(rows) > 1:
        interval = Resampling().interval(counts)
        score |= {"low": interval.low, "high": interval.high}
    return score


def _sentence_scores(
    sentences: "Sequence[EvaluationExample]", translations: Sequence[str], bleu: "Counts"
) -> tuple[list[dict[str, Any]], str]:
    """Every sentence with its own BLEU, of n-grams as long as the sentence allows."""
    scored = [
        {
            "source": sentence.source,
            "reference": sentence.target,
            "translation": translation,
            "score": bleu.value([row]),
        }
        for row, (sentence, translation) in enumerate(zip(sentences, translations, strict=True))
    ]
    return scored, bleu.signature()


def _extremes(scored: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The worst and the best sentences, none of them twice."""
    ranked = sorted(scored, key=lambda sentence: (sentence["score"], sentence["source"]))
    count = min(EXAMPLES, len(ranked) // 2)
    return {"worst": ranked[:count], "best": ranked[::-1][:count]}


def _buckets() -> Iterator[tuple[int, int]]:
    """The fewest and the most words of each bucket."""
    from dhyan.evaluation.slices import LENGTHS

    for first, after in pairwise(LENGTHS):
        yield max(first, MIN_WORDS), after - 1


def _max_length(translator: "Translator", sentence: str) -> int:
    """Maximum length of a translation; one that is longer does not end."""
    length = len(translator.encode(sentence))
    return min(2 * LENGTH_STEP * -(-length // LENGTH_STEP) + 10, MAX_TOKENS)


def _unknown_share(ids: Sequence[int]) -> float:
    """The share of unknown tokens."""
    from dhyan.special_tokens import UNK

    return sum(id == UNK for id in ids) / max(len(ids), 1)
