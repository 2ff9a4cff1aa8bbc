"""T5 folders with weights at random, around a tokenizer of our sentences."""

import torch
import transformers

from tests.interop.spm_models import SENTENCES, TRAINED_ON, trained_on

T5 = {  # the seeds give models that end most of their sentences
    "relu": {"width": 32, "heads": 4, "hidden": 64, "layers": (2, 2), "seed": 1},
    "gated-gelu-unscaled": {
        "width": 24, "heads": 3, "hidden": 40, "layers": (3, 2), "activation": "gated-gelu",
        "scaled": False, "seed": 26,
    },
    "few-buckets-tokenizer-json": {
        "width": 32, "heads": 2, "hidden": 48, "layers": (3, 3), "buckets": 8, "distance": 12,
        "sentencepiece": False, "seed": 34,
    },
}  # fmt: skip


def t5_folder(
    folder, *, width, heads, hidden, layers, activation="relu", scaled=True, buckets=32,
    distance=128, sentencepiece=True, seed=1,
):  # fmt: skip
    """A folder of T5, the model, and its tokenizer."""
    folder.mkdir(parents=True)
    ids = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    (folder / "spiece.model").write_bytes(
        trained_on(SENTENCES[:TRAINED_ON] * 5, "unigram", size=200, **ids)
    )
    tokenizer = transformers.T5Tokenizer.from_pretrained(folder)
    tokenizer.save_pretrained(folder)
    settings = transformers.T5Config(
        vocab_size=len(tokenizer) + 5, d_model=width, d_kv=width // heads, num_heads=heads,
        d_ff=hidden, num_layers=layers[0], num_decoder_layers=layers[1],
        feed_forward_proj=activation, relative_attention_num_buckets=buckets,
        relative_attention_max_distance=distance, decoder_start_token_id=0,
    )  # fmt: skip
    settings.scale_decoder_outputs = scaled
    model = transformers.T5ForConditionalGeneration(settings).eval()
    randomize(model, seed)
    model.save_pretrained(folder)
    if not sentencepiece:
        (folder / "spiece.model").unlink()
    return model, tokenizer


def randomize(model, seed):
    """Weights that say different things of different sentences."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2:
                weight.normal_(std=1.0 if "bias" in name else 0.3)
            else:  # RMS norms
                weight.add_(torch.randn_like(weight) * 0.1)
        model.shared.weight *= 4 if model.config.scale_decoder_outputs else 1
        model.shared.weight[1] *= 2
