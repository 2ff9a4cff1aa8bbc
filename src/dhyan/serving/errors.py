"""HTTP errors of the translation server, by code: unauthorized, overloaded, deadline exceeded …"""

from dhyan.web.connection import shutting_down
from dhyan.web.errors import ApiError, invalid_request

__all__ = [
    "ApiError", "deadline_exceeded", "invalid_request", "model_not_found", "model_not_ready",
    "overloaded", "rate_limited", "shutting_down", "unauthorized",
]  # fmt: skip


def unauthorized() -> ApiError:
    """The API key is missing or unknown."""
    message = "API key missing or unknown; send Authorization: Bearer KEY."
    return ApiError(401, "unauthorized", message)


def overloaded(seconds: float) -> ApiError:
    """The queue is full, or too long for the request's deadline."""
    message = "The queue is too long for this request; retry later."
    return ApiError(429, "overloaded", message, retry_after=max(seconds, 1.0))


def rate_limited(seconds: float) -> ApiError:
    """The client has used up its rate limit."""
    message = "Rate limit of this client reached; retry later."
    return ApiError(429, "rate_limited", message, retry_after=max(seconds, 1.0))


def model_not_found(message: str) -> ApiError:
    """The server has no model of that name or language pair."""
    return ApiError(404, "model_not_found", message)


def model_not_ready(reason: str) -> ApiError:
    """No worker can translate at the moment."""
    message = reason or "The model is loading; retry soon."
    return ApiError(503, "model_not_ready", message, retry_after=1.0)


def deadline_exceeded() -> ApiError:
    """The deadline passed before the translation was done."""
    return ApiError(
        504, "deadline_exceeded", "The deadline passed before the translation was done."
    )
