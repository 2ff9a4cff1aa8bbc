"""A translator that knows the words of the primer's small world, and has learned nothing else."""

from functools import cache
from itertools import islice

import torch

from dhyan import config
from dhyan.config import DecodingOptions
from dhyan.data.primer import generate_sentences
from dhyan.decoding.translator import Translator
from dhyan.lessons.trained_model import CORE, LONGEST
from dhyan.models.build import build_model
from dhyan.text.tokenizer import Tokenizer


@cache
def words():
    """The vocabularies of sentences that hold attachments, contexts and all kinds of things."""
    twins = [
        twin
        for split, count in (("attachment", 400), ("context", 200), ("random", 150))
        for twin in islice(generate_sentences(split, longest=LONGEST, core=CORE), count)
    ]
    sides = [one.english for one in twins], [one.hindi for one in twins]
    return tuple(Tokenizer.train(side, kind="words", size=3000) for side in sides)


def reader(heads=2, *, layers=2, seed=0, encoder=None):
    """An untrained Transformer, or another encoder before its decoder."""
    source, target = words()
    sizes = {"width": 16, "heads": heads, "feed_forward_width": 32, "layers": layers}
    recipe = config.Recipe(
        encoder=encoder or config.TransformerEncoder(**sizes),
        decoder=config.TransformerDecoder(**sizes),
    )
    torch.manual_seed(seed)
    model = build_model(recipe, len(source), len(target)).eval()
    options = DecodingOptions(beam=1, max_length=8)
    return Translator(model, source, target, language="hi", source_language="en", options=options)
