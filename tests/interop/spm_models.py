"""SentencePiece models trained on sentences of our own, and Marian folders around them."""

import io
import json
from functools import cache

import sentencepiece
import torch
import transformers

SENTENCES = [
    "The lamp on the table is old, but it still gives light.",
    "My grandmother’s garden has forty-two trees and a well.",
    "दादी की कहानी सुनकर बच्चे सो गए।",
    "क्या आपने ज़मीन पर पड़ा हुआ काग़ज़ देखा?",
    "Le train de nuit arrive à Nîmes vers six heures : « enfin » !",
    "Größere Straßen führen nicht immer schneller ans Ziel.",
    "ｆｕｌｌ－ｗｉｄｔｈ letters, ligatures ﬁ ﬂ, fractions ½ and ① circles",
    "decomposed: cafe\u0301, a\u0308pfel, क\u093cलम, \u1100\u1161\u11a8",
    "emoji 👩‍🚀 and flags 🇮🇳, zero\u200bwidth and non\u200djoiners",
    "tabs\tand  many   spaces , dots … and ▁ marks",
    "</s> <unk> <pad> <s> are no special tokens in a text",
    "日本語のテキストも、ここに あります。",
    "a", "", "   ", "´acute at first", "trailing space ", "▁", "|●□",
]  # fmt: skip
TRAINED_ON = 10  # of the sentences: characters of the others are unknown


@cache
def sentencepiece_model(algorithm: str, *, side: str = "source", size: int = 160, **settings):
    """The bytes of a model that was trained on our own sentences."""
    sentences = SENTENCES[:TRAINED_ON] if side == "source" else SENTENCES[2:TRAINED_ON:2]
    return trained_on(sentences * 5, algorithm, size=size, **settings)


def trained_on(sentences, algorithm, *, size=8000, **settings):
    """The bytes of a model that was trained on these sentences."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_writer=model, vocab_size=size,
        model_type=algorithm, hard_vocab_limit=False, minloglevel=2, num_threads=1,
        **{"normalization_rule_name": "nmt_nfkc", **settings},
    )  # fmt: skip
    return model.getvalue()


def pieces_of(data):
    """Its pieces, without the control symbols."""
    model = sentencepiece.SentencePieceProcessor(model_proto=data)
    return [
        model.id_to_piece(id)
        for id in range(model.get_piece_size())
        if not (model.is_control(id) or model.is_unknown(id))
    ]


SHAPES = {  # the seeds give models that end most of their sentences, and not all alike
    "square": {
        "width": 32, "heads": (4, 4), "hidden": (64, 64), "layers": (2, 2), "seed": 18,
    },
    "deep-shallow-gelu": {
        "width": 24, "heads": (2, 3), "hidden": (40, 56), "layers": (3, 1), "activation": "gelu",
        "seed": 11,
    },
    "relu-unscaled": {
        "width": 48, "heads": (1, 1), "hidden": (96, 48), "layers": (1, 3), "activation": "relu",
        "scaled": False, "seed": 8,
    },
    "separate-embeddings": {
        "width": 32, "heads": (2, 4), "hidden": (64, 32), "layers": (1, 2), "shared": False,
        "seed": 21,
    },
    "separate-vocabularies-untied": {
        "width": 16, "heads": (2, 2), "hidden": (32, 32), "layers": (2, 1), "shared": False,
        "separate": True, "tied": False, "seed": 6,
    },
}  # fmt: skip


def marian_folder(
    folder, *, width, heads, hidden, layers, activation="swish", scaled=True, shared=True,
    tied=True, separate=False, seed,
):  # fmt: skip
    """A MarianMT folder with weights at random, and the model."""
    spm = {
        side: sentencepiece_model("unigram", side=side, size=size)
        for side, size in (("source", 160), ("target", 110))
    }
    sides = {side: pieces_of(data) for side, data in spm.items()}
    if separate:
        tables = {
            "vocab.json": ["</s>", "<unk>", *sides["source"][3:], "<pad>"],
            "target_vocab.json": ["</s>", "<unk>", *sides["target"]],
        }
        pad = len(tables["vocab.json"]) - 1
        rest = tables["target_vocab.json"]
        if len(rest) > pad:
            rest.insert(pad, "<pad>")
        else:
            rest += [f"unused{at}" for at in range(pad - len(rest))] + ["<pad>"]
    else:
        both = list(dict.fromkeys([*sides["source"][3:], *sides["target"]]))
        tables = {"vocab.json": ["</s>", "<unk>", *both, "<pad>"]}
        pad = len(both) + 2
    sizes = [len(table) for table in tables.values()]
    settings = transformers.MarianConfig(
        vocab_size=sizes[0], decoder_vocab_size=sizes[-1], d_model=width,
        encoder_layers=layers[0], decoder_layers=layers[1], encoder_attention_heads=heads[0],
        decoder_attention_heads=heads[1], encoder_ffn_dim=hidden[0], decoder_ffn_dim=hidden[1],
        activation_function=activation, scale_embedding=scaled, max_position_embeddings=128,
        pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad, forced_eos_token_id=None,
        share_encoder_decoder_embeddings=shared, tie_word_embeddings=tied,
    )  # fmt: skip
    model = transformers.MarianMTModel(settings).eval()
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2 and "embed_positions" not in name:
                weight.normal_(std=0.5 if "attn" in name else 0.3)
            elif weight.ndim == 1:  # biases and layer norms
                weight.add_(torch.randn_like(weight) * 0.1)
        model.final_logits_bias.normal_()
        model.final_logits_bias[0, 0] = 6.0
    model.save_pretrained(folder)
    (folder / "generation_config.json").write_text(
        json.dumps({"num_beams": 4, "bad_words_ids": [[pad]], "decoder_start_token_id": pad})
    )
    for side, data in spm.items():
        (folder / f"{side}.spm").write_bytes(data)
    for name, table in tables.items():
        ids = {token: id for id, token in enumerate(table)}
        (folder / name).write_text(json.dumps(ids), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"source_lang": "eng", "target_lang": "hin", "separate_vocabs": separate})
    )
    return model
