"""Build attention mechanisms from their settings in a recipe."""

import torch

from dhyan import config
from dhyan.attention import (
    AdditiveScore,
    AlibiBias,
    Attention,
    BiasedScore,
    CoverageScore,
    DotScore,
    GeneralScore,
    LocalWindow,
    LocationScore,
    Mask,
    MultiHeadAttention,
    PredictedWindow,
    RelativePositionBias,
    RotaryScore,
    Score,
    SingleHeadAttention,
    all_positions,
    bottleneck,
    mechanism_names,
    parameter_free_attention,
    registered_factory,
)
from dhyan.config import suggestion
from dhyan.errors import spell
from dhyan.models.interface import Encoder

NAMED = "attention.score"


def build_attention(
    settings: config.Attention, width: int, encoder: Encoder, max_length: int
) -> Attention:
    """The attention from a recurrent decoder of this width to an encoder's states."""
    if settings.score == "bottleneck":
        return bottleneck(mask=encoder.final_state_mask)
    if settings.heads == 1:
        mechanism = build_score(settings, width, encoder.width, max_length)
        if isinstance(mechanism, Attention):
            return _check_whole(settings, mechanism)
        mask = build_mask(settings, width)
        return SingleHeadAttention(mechanism, mask=mask, dropout=settings.dropout)
    head_width = width // settings.heads
    mechanism = build_score(settings, head_width, head_width, max_length)
    if isinstance(mechanism, Attention):
        return _check_whole(settings, mechanism)
    return MultiHeadAttention(
        width,
        settings.heads,
        kv_heads=settings.kv_heads or None,
        memory_width=encoder.width,
        score=mechanism,
        mask=build_mask(settings, head_width),
        dropout=settings.dropout,
    )


def build_score(
    settings: config.Attention, query_width: int, key_width: int, max_length: int
) -> Score | Attention:
    """Any score between vectors of these widths; what a user registered may be an attention."""
    match settings.score:
        case "additive" | "concat":
            return AdditiveScore(query_width, key_width, settings.score_width)
        case "general":
            return GeneralScore(query_width, key_width)
        case "location":
            return LocationScore(query_width, max_length + 1)
        case "coverage" | "location_aware":
            return CoverageScore(
                query_width,
                key_width,
                settings.score_width,
                filters=settings.coverage_filters,
                radius=settings.coverage_filter_radius,
                last_weights=settings.score == "location_aware",
            )
        case "dot" | "scaled_dot":
            return DotScore(scaled=settings.score == "scaled_dot")
        case _:
            return _registered(settings.score, query_width, key_width)


def build_mask(settings: config.Attention, query_width: int) -> Mask:
    """Which positions of the source a query may attend to."""
    match settings.window:
        case "monotonic":
            return LocalWindow(settings.window_radius)
        case "predicted":
            return PredictedWindow(query_width, settings.window_radius)
        case _:
            return all_positions


def build_heads(
    settings: config.TransformerEncoder | config.TransformerDecoder,
    max_length: int,
    *,
    mask: Mask = all_positions,
    memory_width: int | None = None,
    bias: RelativePositionBias | None = None,
) -> MultiHeadAttention:
    """One of a Transformer's attentions; relative positions count within one sequence only."""
    width = settings.width // settings.heads
    positions = settings.positions if memory_width is None else "none"
    scaled = settings.score == "scaled_dot"
    score: Score | Attention
    if positions == "rotary":
        score = RotaryScore(width, scaled=scaled)
    elif bias is not None:
        score = BiasedScore(bias, scaled=scaled)
    elif positions == "alibi":
        score = BiasedScore(AlibiBias(settings.heads), scaled=scaled)
    else:
        score = build_score(
            config.Attention(score=settings.score, score_width=width), width, width, max_length
        )
    if isinstance(score, Attention):
        raise ValueError(
            f"{settings.score!r} is a whole attention: a Transformer's heads need a score"
        )
    return MultiHeadAttention(
        settings.width,
        settings.heads,
        kv_heads=settings.kv_heads or None,
        memory_width=memory_width,
        score=score,
        mask=mask,
        dropout=settings.attention_dropout,
    )


def build_position_bias(
    settings: config.TransformerEncoder | config.TransformerDecoder, *, causal: bool
) -> RelativePositionBias | None:
    """The relative position bias of all layers; None with other positions."""
    if settings.positions != "relative":
        return None
    return RelativePositionBias(
        settings.heads,
        buckets=settings.position_buckets,
        max_distance=settings.position_max_distance,
        causal=causal,
    )


def build_self_attention(
    settings: config.TransformerEncoder, max_length: int, bias: RelativePositionBias | None
) -> Attention | None:
    """The self-attention of an encoder layer; None if it has none."""
    if settings.self_attention == "learned":
        return build_heads(settings, max_length, bias=bias)
    return parameter_free_attention() if settings.self_attention == "parameter_free" else None


def context_width(attention: Attention, query_width: int, memory_width: int) -> int:
    """The width of an attention's context, as it declares it, or else found by one call of it."""
    declared = attention.context_width(memory_width)
    if declared is not None:
        return declared
    with torch.no_grad():
        states, query = torch.zeros(1, 1, memory_width), torch.zeros(1, 1, query_width)
        memory = attention.remember(states, torch.ones(1, 1, dtype=torch.bool))
        return attention(query, memory).context.shape[-1]


def _registered(name: str, query_width: int, key_width: int) -> Score | Attention:
    make = registered_factory(name)
    if make is None:
        known = mechanism_names()
        remedy = spell(command_line="--plugin FILE", python="dhyan.register")
        hint = suggestion(name, known) or f"; load a mechanism of your own with {remedy}"
        raise ValueError(f"no attention is called {name!r} (there are {', '.join(known)}){hint}")
    mechanism = make(query_width, key_width)
    if not isinstance(mechanism, Score | Attention):
        raise ValueError(
            f"what is registered as {name!r} is neither a Score nor an Attention but a "
            f"{type(mechanism).__name__}: inherit from dhyan.attention.Score and define keys and "
            f"forward, or from dhyan.attention.Attention and define remember and forward"
        )
    _check_call(name, mechanism, query_width, key_width)
    return mechanism


def _check_call(name: str, mechanism: Score | Attention, query_width: int, key_width: int) -> None:
    """Call a user's mechanism once, so that its mistakes are found before any data are read."""
    attention = (
        mechanism
        if isinstance(mechanism, Attention)
        else SingleHeadAttention(mechanism, need_weights=True)
    )
    query, states = torch.zeros(2, 2, query_width), torch.zeros(2, 3, key_width)
    try:
        with torch.no_grad():
            memory = attention.remember(states, torch.ones(2, 3, dtype=torch.bool))
            weights = attention(query, memory).weights
    except Exception as error:  # whatever a user's code may raise
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(
            f"{name!r} fails with 2 queries and 3 states ({type(error).__name__}: {reason})"
        ) from error
    if weights is not None and weights.shape[-2:] != (2, 3):
        raise ValueError(f"{name!r} gives {tuple(weights.shape)} for 2 queries and 3 states")


def _check_whole(settings: config.Attention, attention: Attention) -> Attention:
    """A user's own attention: an error if a setting is given that cannot change it."""
    default = config.Attention(score=settings.score)
    for key in ("heads", "kv_heads", "window", "dropout"):
        if getattr(settings, key) != getattr(default, key):
            raise ValueError(
                f"{settings.score!r} is a whole attention: attention.{key} has no effect"
            )
    return attention
