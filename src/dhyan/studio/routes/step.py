"""Every step of a recurrent decoder, all operands of it."""

from typing import Any

from fastapi import FastAPI

from dhyan.studio.registry import Shelf
from dhyan.studio.schemas import Question
from dhyan.studio.tensor_json import plain
from dhyan.studio.traces import translated


def add(app: FastAPI, shelf: Shelf) -> None:
    """The steps of the view `/step`: all at once, so that the slider need not ask again."""

    @app.post("/api/step")
    def step(asked: Question) -> dict[str, Any]:
        from dhyan.insight.decoder_steps import decoder_steps, recurrent_decoder

        with shelf.book(asked.model).opened() as translator:
            recurrent_decoder(translator)
            said = translated(translator, asked)
            found: dict[str, Any] = plain(decoder_steps(translator, asked.text, said))
            return found
