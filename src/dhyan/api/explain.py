"""`dhyan.explain`: attention maps of a sentence and its translation, from a model or its folder."""

from pathlib import Path

from dhyan.api.train import TrainingResult
from dhyan.attention_maps import AttentionMap
from dhyan.decoding.translator import Translator
from dhyan.insight.explain import explain as explain_text
from dhyan.run import load


def explain(
    model: Translator | TrainingResult | str | Path,
    text: str,
    *,
    beam: int | None = None,
    words: bool = True,
) -> list[AttentionMap]:
    """Translate a sentence and return a map for every attention of the model.

    `model` is a translator, the result of `dhyan.train`, a model folder or the name of a pretrained
    model. The weights are read off a second, parallel pass over the finished translation, so they
    are exact after any search. Tokens are merged to words unless `words` is False: columns are summed
    over the tokens of a word, rows are averaged. A model without attention has no maps: the list is
    empty.

    >>> maps = dhyan.explain(run_folder, "seven nine")
    >>> maps[0].role, maps[0].source
    ('cross', ('seven', 'nine', '</s>'))
    """
    match model:
        case Translator():
            translator = model
        case TrainingResult():
            translator = model.translator
        case _:
            translator = load(model)
    return explain_text(translator, text, beam=beam, words=words)
