"""A translator whose model has learned nothing: enough to take its numbers apart."""

import torch

from dhyan import config
from dhyan.config import DecodingOptions
from dhyan.decoding.translator import Translator
from dhyan.models.build import build_model
from dhyan.text.tokenizer import Tokenizer
from tests.laws.family import DECODERS, ENCODERS

ENGLISH = ["turn off the lights", "turn the lights on"]
HINDI = ["लाइट बंद करो", "लाइट जला दो"]


def translator_of(encoder, decoder):
    """Any encoder and decoder of the laws, with a few words."""
    torch.manual_seed(0)
    recipe = config.Recipe(
        encoder=ENCODERS[encoder], decoder=DECODERS[decoder], data=config.Data(max_tokens=40)
    )
    source, target = (Tokenizer.train(one, kind="words", size=30) for one in (ENGLISH, HINDI))
    model = build_model(recipe, len(source), len(target)).eval()
    return Translator(
        model, source, target, options=DecodingOptions(max_length=5, min_length=3, beam=1)
    )
