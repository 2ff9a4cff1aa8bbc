"""What of a recipe goes beyond the Transformer that other toolkits have."""

from collections.abc import Collection, Iterator

from dhyan.config import Recipe, TransformerDecoder, TransformerEncoder

ONLY = {  # what other toolkits have of each of these settings
    "embedding_norm": (False,),
    "normalization": ("layer",),
    "positions": ("sinusoidal", "learned", "none"),
    "score": ("scaled_dot",),
}


def unusual_settings(recipe: Recipe, activations: Collection[str]) -> Iterator[tuple[str, object]]:
    """Settings, with their values, that a toolkit with these activations has not."""
    for side in ("encoder", "decoder"):
        section = getattr(recipe, side)
        if not isinstance(section, TransformerEncoder | TransformerDecoder):
            yield f"{side}.kind", section.kind
            return
        for name, possible in {**ONLY, "activation": activations}.items():
            if (value := getattr(section, name)) not in possible:
                yield f"{side}.{name}", str(value).lower() if value is True else value
        if section.kv_heads not in (0, section.heads):
            yield f"{side}.kv_heads", section.kv_heads
    if (
        isinstance(recipe.encoder, TransformerEncoder)
        and recipe.encoder.self_attention != "learned"
    ):
        yield "encoder.self_attention", recipe.encoder.self_attention
    if recipe.decoder.copy_mechanism:
        yield "decoder.copy_mechanism", "true"
    if recipe.text.placeholders:
        yield "text.placeholders", ", ".join(recipe.text.placeholders)
