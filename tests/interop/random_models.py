"""Transformers with weights at random, one for each combination of settings that exports know."""

import torch

import dhyan
from dhyan import config
from dhyan.interop.write_model import ImportedModel, write_model
from dhyan.models.build import build_model
from dhyan.run.load import weights_of
from dhyan.special_tokens import BOS, EOS, PAD
from dhyan.text.tokenizer import Tokenizer
from tests.interop.spm_models import SENTENCES

WIDTH = {"width": 24, "heads": 3, "feed_forward_width": 40, "layers": 2}
TEXTS = [text for text in SENTENCES if text.strip(" ▁")]
FAMILY = {
    "default": ({}, {}),
    "post-gelu-untied": (
        {"norm": "post"}, {"norm": "post", "activation": "gelu", "tie_embeddings": False},
    ),
    "swiglu-learned": ({"activation": "swiglu"}, {"activation": "swiglu", "positions": "learned"}),
    "marian-like": (
        {"norm": "post", "activation": "silu", "sinusoids": "halves", "scale_embedding": False},
        {"norm": "post", "sinusoids": "tensor2tensor", "positions": "sinusoidal", "layers": 1},
    ),
    "no-positions-no-eos": ({"positions": "none", "reads_eos": False}, {"positions": "none"}),
    "shared": ({"layers": 3}, {"share_source_embedding": True}),
}  # fmt: skip


def random_model(folder, name, *, family=FAMILY, kind="bpe"):
    """A model of the family with weights at random, which often ends, and rarely with nothing."""
    encoder, decoder = family[name]
    shared = decoder.get("share_source_embedding", False)
    tokenizers = [Tokenizer.train(TEXTS * 2, kind=kind, size=360)] * 2
    recipe = config.Recipe(
        data=config.Data(max_tokens=200),
        text=config.Text(tokenizer=kind, shared_vocabulary=shared),
        encoder=config.TransformerEncoder(**{**WIDTH, **encoder}),
        decoder=config.TransformerDecoder(**{**WIDTH, **decoder}),
    )
    torch.manual_seed(3)
    model = build_model(recipe, *map(len, tokenizers))
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.3)
        model.decoder.output.bias[[PAD, BOS]] = -100.0
        model.decoder.output.bias[EOS] += 3.0
    write_model(ImportedModel("random", recipe, weights_of(model), *tokenizers), folder)
    return dhyan.load(folder, device="cpu")
