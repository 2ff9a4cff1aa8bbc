"""M2M100, NLLB and mBART-50 folders with weights at random, around a tokenizer of our sentences."""

import json

import torch
import transformers
from transformers.models.mbart50 import tokenization_mbart50 as mbart50

from tests.interop.spm_models import pieces_of, sentencepiece_model, trained_on

LANGUAGES = {
    "m2m100": {"en": "__en__", "hi": "__hi__"},
    "nllb": {"en": "eng_Latn", "hi": "hin_Deva"},
    "mbart50": {"en": "en_XX", "hi": "hi_IN"},
}
END = 2.5  # how much every output leans to EOS, so that most sentences end
TOKENIZERS = {
    "m2m100": transformers.M2M100Tokenizer,
    "nllb": transformers.NllbTokenizer,
    "mbart50": transformers.MBart50Tokenizer,
}
LISTED = {  # of NLLB some; transformers itself knows the 52 of mBART-50
    "nllb": ["ben_Beng", "eng_Latn", "fra_Latn", "hin_Deva", "zho_Hans", "zho_Hant"],
    "mbart50": mbart50.FAIRSEQ_LANGUAGE_CODES,
}
MULTILINGUAL = {  # the seeds give models that end most of their sentences
    "m2m100": {
        "kind": "m2m100", "width": 32, "heads": (4, 2), "hidden": (64, 48), "layers": (2, 1),
        "seed": 19,
    },
    "m2m100-gelu-unscaled": {
        "kind": "m2m100", "width": 24, "heads": (2, 3), "hidden": (40, 56), "layers": (1, 3),
        "activation": "gelu", "scaled": False, "seed": 11,
    },
    "nllb": {
        "kind": "nllb", "width": 32, "heads": (2, 4), "hidden": (64, 64), "layers": (2, 2),
        "seed": 8,
    },
    "nllb-tokenizer-json": {
        "kind": "nllb", "width": 16, "heads": (4, 4), "hidden": (32, 64), "layers": (3, 1),
        "sentencepiece": False, "seed": 17,
    },
    "mbart50": {
        "kind": "mbart50", "width": 32, "heads": (4, 4), "hidden": (64, 64), "layers": (2, 2),
        "activation": "gelu", "seed": 12,
    },
    "mbart50-tokenizer-json": {
        "kind": "mbart50", "width": 48, "heads": (3, 2), "hidden": (32, 48), "layers": (1, 2),
        "activation": "relu", "sentencepiece": False, "scaled": False,
        "seed": 22,
    },
}  # fmt: skip


def multilingual_folder(
    folder, *, kind, width, heads, hidden, layers, activation="relu", scaled=True, sentencepiece=True,
    seed=1, sentences=(),
):  # fmt: skip
    """A folder of such a model, the model, and its tokenizer from English into Hindi.

    The tokenizer is trained on these sentences, or else on ours.
    """
    folder.mkdir(parents=True)
    algorithm = "unigram" if kind == "mbart50" else "bpe"
    data = (
        trained_on(sentences, algorithm) if sentences else sentencepiece_model(algorithm, size=200)
    )
    tokenizer = _tokenizer(folder, kind, data)
    last = tokenizer.get_lang_id("zu") if kind == "m2m100" else max(tokenizer.get_vocab().values())
    size = last + 1 + 3  # with rows that no token has
    common = {
        "vocab_size": size, "d_model": width, "encoder_layers": layers[0],
        "decoder_layers": layers[1], "encoder_attention_heads": heads[0],
        "decoder_attention_heads": heads[1], "encoder_ffn_dim": hidden[0],
        "decoder_ffn_dim": hidden[1], "activation_function": activation,
        "scale_embedding": scaled, "max_position_embeddings": 128, "decoder_start_token_id": 2,
        "forced_eos_token_id": None,
    }  # fmt: skip
    if kind == "mbart50":
        settings = transformers.MBartConfig(**common)
        model = transformers.MBartForConditionalGeneration(settings).eval()
    else:
        settings = transformers.M2M100Config(**common)
        model = transformers.M2M100ForConditionalGeneration(settings).eval()
    _randomize(model, seed)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    if not sentencepiece:
        (folder / "sentencepiece.bpe.model").unlink()
    return model, tokenizer


def _randomize(model, seed):
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2:
                weight.normal_(std=0.5 if "attn" in name else 0.3)
            else:  # biases and layer norms
                weight.add_(torch.randn_like(weight) * 0.1)
        if "final_logits_bias" in dict(model.named_buffers()):
            model.final_logits_bias.normal_()
        end = model.model.shared.weight[2]
        model.model.decoder.layer_norm.bias += END * end / end.norm()


def _tokenizer(folder, kind, data):
    (folder / "sentencepiece.bpe.model").write_bytes(data)
    if kind == "m2m100":
        tokens = ["<s>", "<pad>", "</s>", "<unk>", *pieces_of(data)]
        ids = {token: id for id, token in enumerate(tokens)}
        (folder / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    else:
        listed = {"additional_special_tokens": LISTED[kind]}
        (folder / "tokenizer_config.json").write_text(json.dumps(listed))
    source, target = LANGUAGES[kind]["en"], LANGUAGES[kind]["hi"]
    return TOKENIZERS[kind].from_pretrained(
        folder, src_lang=source.strip("_"), tgt_lang=target.strip("_")
    )
