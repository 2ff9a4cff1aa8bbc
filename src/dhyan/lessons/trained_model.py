"""Trained model of a lesson: loads it, and selects generated sentences whose words it knows."""

from collections.abc import Callable, Iterator
from pathlib import Path

from dhyan.data.primer import SentencePair, generate_sentences
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.special_tokens import UNK

SEED, LONGEST, CORE = 1, 20, 0.3
PATIENCE = 500  # sentences in a row without a new one


def load_translator(model: str | Path | Translator) -> Translator:
    """A translator, loaded if it is given as a run's folder."""
    from dhyan.run import load

    return model if isinstance(model, Translator) else load(model)


def load_single_model(model: str | Path | Translator) -> Translator:
    """A translator of a single model, whose modules can be inspected."""
    translator = load_translator(model)
    if translator.other_models:
        raise UserError(
            f"this is an ensemble of {1 + len(translator.other_models)} models; give a single one"
        )
    return translator


def knows_every_word(translator: Translator, text: str) -> bool:
    """Whether every word of a text is in the model's vocabulary."""
    return UNK not in translator.encode(text)


def select_known_sentences(
    translator: Translator,
    pairs: Iterator[SentencePair],
    count: int,
    accept: Callable[[SentencePair], bool] = lambda pair: True,
) -> list[SentencePair]:
    """At most `count` distinct sentences that are accepted and have no unknown word."""
    selected: dict[str, SentencePair] = {}
    since_last = 0
    for pair in pairs:
        new = (
            pair.english not in selected
            and accept(pair)
            and knows_every_word(translator, pair.english)
        )
        if new:
            selected[pair.english] = pair
        since_last = 0 if new else since_last + 1
        if len(selected) == count or since_last == PATIENCE:
            break
    return list(selected.values())


def primer_sentences(
    translator: Translator,
    split: str,
    count: int,
    accept: Callable[[SentencePair], bool] = lambda pair: True,
) -> list[SentencePair]:
    """Sentences of a primer test set; an error if the model was not trained on the primer."""
    selected = select_known_sentences(
        translator,
        generate_sentences(split, seed=SEED, max_words=LONGEST, core_share=CORE),
        count,
        accept,
    )
    if not selected:
        raise UserError(
            "model: it knows the words of none of the primer's sentences; give one trained with "
            "data.synthetic=primer"
        )
    return selected
