"""A reader's trained model, and sentences of the primer of which it knows every word."""

from collections.abc import Callable, Iterator
from pathlib import Path

from dhyan.data.primer import SentencePair, generate_sentences
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.special_tokens import UNK

SEED, LONGEST, CORE = 1, 20, 0.3
PATIENCE = 500  # sentences in a row without a new one


def load_translator(model: str | Path | Translator) -> Translator:
    """The translator itself, or the one in a run's folder."""
    from dhyan.run import load

    return model if isinstance(model, Translator) else load(model)


def load_single_model(model: str | Path | Translator) -> Translator:
    """A translator of one model, so that its modules can be looked into."""
    translator = load_translator(model)
    if translator.other_models:
        raise UserError(
            f"this is an ensemble of {1 + len(translator.other_models)} models; give a single one"
        )
    return translator


def knows_every_word(translator: Translator, text: str) -> bool:
    """Whether every word of a text is in the model's vocabulary."""
    return UNK not in translator.encode(text)


def take_known(
    translator: Translator,
    twins: Iterator[SentencePair],
    count: int,
    accept: Callable[[SentencePair], bool] = lambda twin: True,
) -> list[SentencePair]:
    """At most `count` different sentences that are accepted and that the model knows the words of."""
    taken: dict[str, SentencePair] = {}
    since_last = 0
    for twin in twins:
        new = (
            twin.english not in taken
            and accept(twin)
            and knows_every_word(translator, twin.english)
        )
        if new:
            taken[twin.english] = twin
        since_last = 0 if new else since_last + 1
        if len(taken) == count or since_last == PATIENCE:
            break
    return list(taken.values())


def primer_sentences(
    translator: Translator,
    split: str,
    count: int,
    accept: Callable[[SentencePair], bool] = lambda twin: True,
) -> list[SentencePair]:
    """Sentences of a test set of the primer; an error if the model was not trained on it."""
    taken = take_known(
        translator, generate_sentences(split, seed=SEED, longest=LONGEST, core=CORE), count, accept
    )
    if not taken:
        raise UserError(
            "model: it knows the words of none of the primer's sentences; give one trained with "
            "data.task=primer"
        )
    return taken
