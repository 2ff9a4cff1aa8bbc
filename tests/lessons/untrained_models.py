"""Translators with untrained models: enough to take their numbers apart."""

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
from tests.laws.family import DECODERS, ENCODERS

ENGLISH = ["turn off the lights", "turn the lights on"]
HINDI = ["लाइट बंद करो", "लाइट जला दो"]


def untrained_translator(encoder, decoder):
    """Any encoder and decoder of the laws, with a few words."""
    torch.manual_seed(0)
    recipe = config.Recipe(
        encoder=ENCODERS[encoder], decoder=DECODERS[decoder], data=config.Data(max_tokens=40)
    )
    source, target = (
        Tokenizer.train(sentences, kind="words", size=30) for sentences in (ENGLISH, HINDI)
    )
    model = build_model(recipe, len(source), len(target)).eval()
    return Translator(
        model, source, target, options=DecodingOptions(max_length=5, min_length=3, beam=1)
    )


@cache
def primer_tokenizers():
    """The vocabularies of sentences that hold attachments, contexts and all kinds of things."""
    pairs = [
        pair
        for split, count in (("attachment", 400), ("context", 200), ("random", 150))
        for pair in islice(generate_sentences(split, max_words=LONGEST, core_share=CORE), count)
    ]
    sides = [pair.english for pair in pairs], [pair.hindi for pair in pairs]
    return tuple(Tokenizer.train(side, kind="words", size=3000) for side in sides)


def primer_translator(heads=2, *, layers=2, seed=0, encoder=None):
    """An untrained Transformer, or another encoder before its decoder."""
    source, target = primer_tokenizers()
    sizes = {"width": 16, "heads": heads, "feed_forward_width": 32, "layers": layers}
    recipe = config.Recipe(
        encoder=encoder or config.TransformerEncoder(**sizes),
        decoder=config.TransformerDecoder(**sizes),
    )
    torch.manual_seed(seed)
    model = build_model(recipe, len(source), len(target)).eval()
    options = DecodingOptions(beam=1, max_length=8)
    return Translator(model, source, target, language="hi", source_language="en", options=options)
