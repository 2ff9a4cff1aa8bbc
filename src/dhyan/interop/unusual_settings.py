"""What of a recipe goes beyond the Transformer that other toolkits have."""

from collections.abc import Iterator

from dhyan.config import Recipe, TransformerDecoder, TransformerEncoder


def unusual_settings(recipe: Recipe) -> Iterator[tuple[str, object]]:
    """Settings, with their values, that neither CTranslate2 nor transformers' translators have."""
    for side in ("encoder", "decoder"):
        section = getattr(recipe, side)
        if not isinstance(section, TransformerEncoder | TransformerDecoder):
            yield f"{side}.kind", section.kind
            return
        if section.positions in ("rotary", "alibi"):
            yield f"{side}.positions", section.positions
        if section.score != "scaled_dot":
            yield f"{side}.score", section.score
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
