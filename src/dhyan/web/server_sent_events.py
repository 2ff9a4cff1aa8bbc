"""Server-sent events: the wire format of one event."""

import json
from typing import Any


def server_sent_event(name: str, data: Any) -> str:
    """An event with JSON data."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
