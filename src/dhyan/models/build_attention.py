"""From what a recipe calls an attention to the attention."""

import torch

from dhyan import config
from dhyan.attention import (
    AdditiveScore,
    AlibiScore,
    Attention,
    CoverageScore,
    DotScore,
    GeneralScore,
    LocationScore,
    MultiHeadAttention,
    PredictedWindow,
    RotaryScore,
    Score,
    Sight,
    SingleHeadAttention,
    bottleneck,
    everything,
    mechanisms,
    near_the_step,
    plain,
    registered,
)
from dhyan.config import suggestion
from dhyan.models.interface import Encoder

NAMED = "attention.score"


def build_attention(
    chosen: config.Attention, width: int, encoder: Encoder, longest: int
) -> Attention:
    """The attention of a recurrent decoder so wide to an encoder's states."""
    if chosen.score == "bottleneck":
        return bottleneck(sees=encoder.last)
    if chosen.heads == 1:
        made = build_score(chosen, width, encoder.width, longest)
        if isinstance(made, Attention):
            return _whole(chosen, made)
        sees = build_sight(chosen, width)
        return SingleHeadAttention(made, sees=sees, dropout=chosen.dropout)
    narrow = width // chosen.heads
    made = build_score(chosen, narrow, narrow, longest)
    if isinstance(made, Attention):
        return _whole(chosen, made)
    return MultiHeadAttention(
        width,
        chosen.heads,
        kv_heads=chosen.kv_heads or None,
        memory_width=encoder.width,
        score=made,
        sees=build_sight(chosen, narrow),
        dropout=chosen.dropout,
    )


def build_score(
    chosen: config.Attention, query_width: int, key_width: int, longest: int
) -> Score | Attention:
    """Any score between vectors of these widths; what a user registered may be an attention."""
    match chosen.score:
        case "additive" | "concat":
            return AdditiveScore(query_width, key_width, chosen.score_width)
        case "general":
            return GeneralScore(query_width, key_width)
        case "location":
            return LocationScore(query_width, longest + 1)
        case "coverage":
            return CoverageScore(
                query_width,
                key_width,
                chosen.score_width,
                filters=chosen.coverage_filters,
                reach=chosen.coverage_filter_radius,
            )
        case "dot" | "scaled_dot":
            return DotScore(scaled=chosen.score == "scaled_dot")
        case _:
            return _registered(chosen.score, query_width, key_width)


def build_sight(chosen: config.Attention, query_width: int) -> Sight:
    """What a look may see of the source."""
    match chosen.window:
        case "monotonic":
            return near_the_step(chosen.window_radius)
        case "predicted":
            return PredictedWindow(query_width, chosen.window_radius)
        case _:
            return everything


def build_heads(
    chosen: config.TransformerEncoder | config.TransformerDecoder,
    longest: int,
    *,
    sees: Sight = everything,
    memory_width: int | None = None,
) -> MultiHeadAttention:
    """One of a Transformer's attentions; relative positions count within one sequence only."""
    width = chosen.width // chosen.heads
    positions = chosen.positions if memory_width is None else "none"
    scaled = chosen.score == "scaled_dot"
    score: Score | Attention
    if positions == "rotary":
        score = RotaryScore(width, scaled=scaled)
    elif positions == "alibi":
        score = AlibiScore(chosen.heads, scaled=scaled)
    else:
        score = build_score(
            config.Attention(score=chosen.score, score_width=width), width, width, longest
        )
    if isinstance(score, Attention):
        raise ValueError(
            f"{chosen.score!r} is a whole attention: a Transformer's heads need a score"
        )
    return MultiHeadAttention(
        chosen.width,
        chosen.heads,
        kv_heads=chosen.kv_heads or None,
        memory_width=memory_width,
        score=score,
        sees=sees,
        dropout=chosen.attention_dropout,
    )


def build_self_attention(chosen: config.TransformerEncoder, longest: int) -> Attention | None:
    """How an encoder's words look at each other, if they do."""
    if chosen.self_attention == "learned":
        return build_heads(chosen, longest)
    return plain() if chosen.self_attention == "parameter_free" else None


def context_width(attention: Attention, query_width: int, memory_width: int) -> int:
    """How wide an attention's answers are, found by asking it once."""
    with torch.no_grad():
        states, query = torch.zeros(1, 1, memory_width), torch.zeros(1, 1, query_width)
        memory = attention.remember(states, torch.ones(1, 1, dtype=torch.bool))
        return attention(query, memory).context.shape[-1]


def _registered(kind: str, query_width: int, key_width: int) -> Score | Attention:
    make = registered(kind)
    if make is None:
        known = mechanisms()
        hint = suggestion(kind, known) or "; one of your own is made known with --plugin FILE"
        raise ValueError(f"no attention is called {kind!r} (there are {', '.join(known)}){hint}")
    made = make(query_width, key_width)
    if not isinstance(made, Score | Attention):
        raise ValueError(
            f"what is registered as {kind!r} is neither a Score (keys, and a call with query and "
            f"memory) nor an Attention (remember, and a call): it is a {type(made).__name__}"
        )
    _try_out(kind, made, query_width, key_width)
    return made


def _try_out(kind: str, made: Score | Attention, query_width: int, key_width: int) -> None:
    """Ask a user's mechanism once, so that its mistakes are found before any data are read."""
    attention = made if isinstance(made, Attention) else SingleHeadAttention(made, fuse=False)
    query, states = torch.zeros(2, 2, query_width), torch.zeros(2, 3, key_width)
    try:
        with torch.no_grad():
            memory = attention.remember(states, torch.ones(2, 3, dtype=torch.bool))
            found = attention(query, memory)
    except Exception as error:  # whatever a user's code may raise
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(
            f"{kind!r} fails when 2 queries ask 3 states ({type(error).__name__}: {reason})"
        ) from error
    if found.weights is not None and found.weights.shape[-2:] != (2, 3):
        raise ValueError(f"{kind!r} gives {tuple(found.weights.shape)} for 2 queries and 3 states")


def _whole(chosen: config.Attention, attention: Attention) -> Attention:
    """A user's own attention, which no setting of ours can change."""
    plain = config.Attention(score=chosen.score)
    for key in ("heads", "kv_heads", "window", "dropout"):
        if getattr(chosen, key) != getattr(plain, key):
            raise ValueError(
                f"{chosen.score!r} is a whole attention: attention.{key} has no effect"
            )
    return attention
