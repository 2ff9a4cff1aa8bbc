"""A whole model in one HTML page: weights, tokenizers and the page, without server or network.

The page's engine (`static/js/engine`) computes what the models compute, from the same int8 weights.
What the engine does not do is refused here.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from dhyan.config import (
    AttentiveDecoder,
    BahdanauDecoder,
    DecodingOptions,
    Recipe,
    TransformerDecoder,
    TransformerEncoder,
)
from dhyan.errors import UserError
from dhyan.insight.colors import weight_colors
from dhyan.model_check import CheckedModel, read_model
from dhyan.pretrained.card import CARD, read_card
from dhyan.quantization import QUANTIZED
from dhyan.studio.examples import examples
from dhyan.studio.export_html import safe_json, standalone_page, worker_url
from dhyan.studio.model_cards import ModelCard, model_card

WORKER = "engine/worker.js"
WEIGHTS = "model.safetensors"
SCORES = ("additive", "concat", "dot", "scaled_dot", "general", "bottleneck")
HEAD_SCORES = ("dot", "scaled_dot")
POSITIONS = ("sinusoidal", "learned", "none")
ACTIVATIONS = ("relu", "swiglu")
ONLY = {
    "normalization": "layer",
    "sinusoids": "interleaved",
    "scale_embedding": True,
    "embedding_norm": False,
}
PLAIN_SEARCH = ("coverage_penalty", "min_length", "no_repeat_ngram", "sample")
NEED_SERVER = ("training", "length")  # a run on the disk, and test sets
DEVANAGARI = "".join(map(chr, range(0x900, 0x980)))


def export_model(model: str | Path) -> str:
    """The page of a model: a run folder, a checkpoint or a pretrained model."""
    checked = read_model(model)
    check_supported(checked.recipe, checked.name)
    card = page_card(checked)
    responses = {
        "/api/models": [asdict(card)],
        "/api/colors": weight_colors(),
        "/api/examples": _examples(card),
        "/api/card": _details(checked),
    }
    blocks = {
        "model-facts": safe_json({**engine_facts(checked), "worker": worker_url(WORKER)}),
        "model-weights": base64.b64encode(int8_weights(checked)).decode(),
    }
    return standalone_page(
        responses, card.views, title=card.name, shown_text=DEVANAGARI, blocks=blocks, worker=True
    )


def page_card(checked: CheckedModel) -> ModelCard:
    """The model card, with the views that the page can fill without a server."""
    folder = checked.folder
    name = folder.parent.name if folder.name.startswith("step-") else folder.name
    card = model_card(name, folder)
    return replace(card, views=tuple(view for view in card.views if view not in NEED_SERVER))


def check_supported(recipe: Recipe, name: str) -> None:
    """An error if the page's engine cannot run a model of this recipe."""
    for setting, value in _unsupported(recipe):
        raise UserError(f"{name}: a page cannot run a model with {setting} = {value}")


def _unsupported(recipe: Recipe) -> Iterator[tuple[str, object]]:
    """The settings that the engine does not support."""
    if recipe.text.tokenizer != "bpe":
        yield "text.tokenizer", recipe.text.tokenizer
    if recipe.text.placeholders:
        yield "text.placeholders", ", ".join(recipe.text.placeholders)
    if recipe.decoder.copy_mechanism:
        yield "decoder.copy_mechanism", "true"
    for side in ("encoder", "decoder"):
        settings = getattr(recipe, side)
        transformer = isinstance(settings, TransformerEncoder | TransformerDecoder)
        unsupported = _unsupported_layers(settings) if transformer else _one_hot(settings)
        yield from ((f"{side}.{name}", value) for name, value in unsupported)
    if isinstance(recipe.decoder, AttentiveDecoder):
        attention = recipe.decoder.attention
        if attention.score not in SCORES:
            yield "decoder.attention.score", attention.score
        if isinstance(recipe.decoder, BahdanauDecoder) and recipe.decoder.query != "top":
            yield "decoder.query", recipe.decoder.query
        if attention.heads != 1:
            yield "decoder.attention.heads", attention.heads
        if attention.window != "none":
            yield "decoder.attention.window", attention.window
    yield from _unsupported_search(recipe.decoding)


def _one_hot(settings: Any) -> Iterator[tuple[str, object]]:
    if settings.input == "one_hot":
        yield "input", settings.input


def _unsupported_layers(
    settings: TransformerEncoder | TransformerDecoder,
) -> Iterator[tuple[str, object]]:
    if settings.kv_heads not in (0, settings.heads):
        yield "kv_heads", settings.kv_heads
    if settings.score not in HEAD_SCORES:
        yield "score", settings.score
    if settings.positions not in POSITIONS:
        yield "positions", settings.positions
    for name, value in ONLY.items():
        if (other := getattr(settings, name)) != value:
            yield name, str(other).lower()
    if settings.activation not in ACTIVATIONS:
        yield "activation", settings.activation
    if isinstance(settings, TransformerEncoder):
        if settings.self_attention != "learned":
            yield "self_attention", settings.self_attention
        if not settings.reads_eos:
            yield "reads_eos", "false"


def _unsupported_search(options: DecodingOptions) -> Iterator[tuple[str, object]]:
    for name in PLAIN_SEARCH:
        if value := getattr(options, name):
            yield f"decoding.{name}", str(value).lower()
    if options.beam_groups > 1:
        yield "decoding.beam_groups", options.beam_groups


def engine_facts(checked: CheckedModel) -> dict[str, Any]:
    """What the engine needs beside the weights."""
    recipe, positions = checked.recipe, checked.recipe.data.max_tokens + 2
    longest = {
        side: positions if getattr(getattr(recipe, side), "positions", "") == "learned" else None
        for side in ("encoder", "decoder")
    }
    most, sentences = recipe.decoding.max_source_length, checked.training_sentences
    return {
        "encoder": asdict(recipe.encoder),
        "decoder": asdict(recipe.decoder),
        "decoding": {
            name: getattr(recipe.decoding, name) for name in ("max_length", "length_penalty")
        },
        "limits": {
            "source": min(most, longest["encoder"] - 1) if longest["encoder"] else most,
            "target": longest["decoder"],
        },
        "training_sentences": (
            base64.b64encode(sentences.to_bytes()).decode() if sentences is not None else ""
        ),
        **{side: json.loads(checked.files[f"{side}.json"]) for side in ("source", "target")},
    }


def int8_weights(checked: CheckedModel) -> bytes:
    """The weights in int8, as they are in the folder if they are stored so."""
    if any(entry.dtype == QUANTIZED for entry in checked.header.tensors.values()):
        return checked.files[WEIGHTS]
    from dhyan.checkpoint import tensors_to_bytes, weights_from_bytes
    from dhyan.quantization import quantize

    return tensors_to_bytes(quantize(weights_from_bytes(checked.files[WEIGHTS]), "int8"))


def _examples(card: ModelCard) -> list[dict[str, Any]]:
    """The examples of the model's synthetic corpus or language."""
    fitting = (
        example
        for example in examples()
        if (
            example.synthetic == card.synthetic
            if card.synthetic
            else example.language == card.source_language
        )
    )
    return list(map(asdict, fitting))


def _details(checked: CheckedModel) -> dict[str, Any] | None:
    """Data, licences, scores and limits of a pretrained model."""
    return read_card(checked.folder).to_json() if CARD in checked.manifest["files"] else None
