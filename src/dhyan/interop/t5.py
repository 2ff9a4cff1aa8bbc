"""Hugging Face folders of T5 (Raffel et al., 2020), T5 1.1 and Flan-T5.

A source says what is wanted: `translate English to German: The lamp is old.`
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from dhyan import config
from dhyan.errors import UserError
from dhyan.interop.foreign_folder import ForeignFolder, Settings
from dhyan.interop.huggingface import LEARNING_RATE, SIDES, WEIGHTS, read_tensors
from dhyan.interop.tokenizer_json import read_pieces
from dhyan.interop.vocabulary import Roles, Vocabulary
from dhyan.interop.write_model import ImportedModel
from dhyan.safe_io.json_toml import safe_repr
from dhyan.text.sentencepiece import SentencePiece
from dhyan.text.sentencepiece_file import SentencePieceFile
from dhyan.text.tokenizer import Tokenizer

SPECIAL = ("<pad>", "</s>", "<unk>")  # the first ids
SENTINELS = 100
UNUSED = "unused"  # rows of the tables that no token has
SENTENCEPIECE = "spiece.model"
EPSILON = 1e-6  # of RMS norm
ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "silu": "silu",
    "gated-gelu": "geglu",
    "gated-silu": "swiglu",
}
PARTS = {
    "SelfAttention.q": "self_attention.query",
    "SelfAttention.k": "self_attention.key",
    "SelfAttention.v": "self_attention.value",
    "SelfAttention.o": "self_attention.output",
    "SelfAttention.relative_attention_bias": "self_attention.score.bias.table",
    "EncDecAttention.q": "cross_attention.query",
    "EncDecAttention.k": "cross_attention.key",
    "EncDecAttention.v": "cross_attention.value",
    "EncDecAttention.o": "cross_attention.output",
    "DenseReluDense.wi": "feed_forward.up",
    "DenseReluDense.wi_0": "feed_forward.gate",
    "DenseReluDense.wi_1": "feed_forward.up",
    "DenseReluDense.wo": "feed_forward.down",
}
NORMS = {  # of the sub-layers of each side, in their order
    "encoder": ("self_attention_norm", "feed_forward_norm"),
    "decoder": ("self_attention_norm", "cross_attention_norm", "feed_forward_norm"),
}
WITHOUT_BIAS = ("query", "key", "value", "output", "up", "gate", "down")
NOT_USED = "EncDecAttention.relative_attention_bias.weight"  # of the first models
SHARED, LM_HEAD = "shared.weight", "lm_head.weight"
EMBEDDINGS = [f"{side}.embed_tokens.weight" for side in SIDES]


def read_t5(folder: ForeignFolder) -> ImportedModel:
    """The model of a folder with config.json, model.safetensors and spiece.model."""
    settings = folder.settings("config.json")
    width, heads = settings.size("d_model"), settings.size("num_heads")
    if settings.size("d_kv", 64) * heads != width:
        raise settings.error("d_kv", f"{heads} heads of {width // heads} are what can be imported")
    if settings.number("layer_norm_epsilon", EPSILON) != EPSILON:
        raise settings.error("layer_norm_epsilon", f"{EPSILON} is what can be imported")
    vocabulary, file = _read_vocabulary(folder, settings)
    tensors = read_tensors(folder)
    weights = _weights(folder, settings, tensors, vocabulary)
    tied = torch.equal(
        weights["decoder.output.weight"], weights["decoder.embedding.token_embedding.weight"]
    )
    recipe = _recipe(folder, settings, len(vocabulary.tokens), tied=tied)
    tokenizer = Tokenizer(SentencePiece.from_file(file, vocabulary.tokens))
    return ImportedModel("huggingface-t5", recipe, weights, tokenizer, tokenizer)


def _read_vocabulary(
    folder: ForeignFolder, settings: Settings
) -> tuple[Vocabulary, SentencePieceFile]:
    size = settings.size("vocab_size")
    file, table = read_pieces(folder, SENTENCEPIECE)
    sentinels = [f"<extra_id_{number}>" for number in reversed(range(SENTINELS))]
    tokens = table.tokens() if table else [*SPECIAL, *file.pieces, *sentinels]
    if tuple(tokens[: len(SPECIAL)]) != SPECIAL:
        raise UserError(f"{folder.path}: its ids do not begin with {', '.join(SPECIAL)}")
    if len(tokens) > size:
        raise settings.error("vocab_size", f"there are {len(tokens):,} tokens")
    tokens += [f"{UNUSED}{number:04}" for number in range(size - len(tokens))]
    start = settings.id("decoder_start_token_id", 0)
    if start != 0:
        raise settings.error("decoder_start_token_id", "T5 starts with padding, 0")
    roles = Roles(pad=0, bos=start, eos=1, unk=2)
    return Vocabulary.arrange(tokens, roles, place=str(folder.path)), file


def _weights(
    folder: ForeignFolder, settings: Settings, tensors: dict[str, Tensor], vocabulary: Vocabulary
) -> dict[str, Tensor]:
    path = folder.path / WEIGHTS
    found = next((tensors[name] for name in (SHARED, *EMBEDDINGS) if name in tensors), None)
    if found is None or found.dim() != 2 or len(found) != vocabulary.size:
        raise UserError(f"{path}: has no {SHARED!r} of {vocabulary.size:,} tokens")
    output = tensors.get(LM_HEAD, found)
    if output.shape != found.shape:
        raise UserError(f"{path}: {LM_HEAD!r} is of shape {safe_repr(tuple(output.shape))}")
    embedding = vocabulary.rearranged(found)
    weights = {
        "encoder.embedding.token_embedding.weight": embedding,
        "decoder.embedding.token_embedding.weight": embedding,
        "decoder.output.weight": vocabulary.rearranged(output),
        "decoder.output.bias": vocabulary.output_bias(
            torch.zeros(vocabulary.size), padding_is_possible=True
        ),
    }
    for name, tensor in tensors.items():
        if name not in {SHARED, LM_HEAD, *EMBEDDINGS} and not name.endswith(NOT_USED):
            ours = _our_name(name, path)
            weights[ours] = tensor
            if ours.rsplit(".", 2)[1] in WITHOUT_BIAS:
                weights[ours.replace(".weight", ".bias")] = torch.zeros(len(tensor))
    scaled = settings.flag("scale_decoder_outputs", settings.flag("tie_word_embeddings", True))
    if scaled and "decoder.final_norm.weight" in weights:  # the output is scaled: so is its input
        weights["decoder.final_norm.weight"] = (
            weights["decoder.final_norm.weight"] * settings.size("d_model") ** -0.5
        )
    return weights


def _our_name(name: str, path: object) -> str:
    """encoder.block.0.layer.0.SelfAttention.q.weight → encoder.layers.0.self_attention.query.weight."""
    match name.split("."):
        case ["encoder" | "decoder" as side, "final_layer_norm", kind]:
            return f"{side}.final_norm.{kind}"
        case ["encoder" | "decoder" as side, "block", number, "layer", at, "layer_norm", kind] if (
            number.isdecimal() and at in map(str, range(len(NORMS[side])))
        ):
            return f"{side}.layers.{number}.{NORMS[side][int(at)]}.{kind}"
        case ["encoder" | "decoder" as side, "block", number, "layer", _, *part, kind] if (
            number.isdecimal() and ".".join(part) in PARTS
        ):
            return f"{side}.layers.{number}.{PARTS['.'.join(part)]}.{kind}"
    raise UserError(f"{path}: {safe_repr(name)} is no weight of a T5 model")


def _recipe(
    folder: ForeignFolder, settings: Settings, vocabulary_size: int, *, tied: bool
) -> config.Recipe:
    generation = folder.settings("generation_config.json")
    layers = settings.size("num_layers")
    both: Mapping[str, Any] = {
        "width": settings.size("d_model"),
        "heads": settings.size("num_heads"),
        "score": "dot",
        "feed_forward_width": settings.size("d_ff"),
        "activation": settings.choice("feed_forward_proj", ACTIVATIONS, "relu"),
        "norm": "pre",
        "normalization": "rms",
        "positions": "relative",
        "position_buckets": settings.size("relative_attention_num_buckets", 32),
        "position_max_distance": settings.size("relative_attention_max_distance", 128),
        "scale_embedding": False,
        "dropout": min(settings.number("dropout_rate", 0.1), 0.99),
    }
    return config.Recipe(
        about=f"A T5 model of Hugging Face, imported from {folder.path.absolute().name}.",
        data=config.Data(max_tokens=510),
        text=config.Text(
            tokenizer="sentencepiece",
            source_vocabulary_size=vocabulary_size,
            target_vocabulary_size=vocabulary_size,
            shared_vocabulary=True,
        ),
        encoder=config.TransformerEncoder(**both, layers=layers),
        decoder=config.TransformerDecoder(
            **both,
            layers=settings.size("num_decoder_layers", layers),
            tie_embeddings=tied,
            share_source_embedding=True,
        ),
        training=config.Training(learning_rate=LEARNING_RATE),
        decoding=config.DecodingOptions(
            beam=min(generation.size("num_beams", settings.size("num_beams", 4)), 1000),
            length_penalty=min(generation.number("length_penalty", 1.0), 10.0),
        ),
    )
