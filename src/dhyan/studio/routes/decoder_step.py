"""Route of the step view: every decoder step of a recurrent model with all its operands."""

from typing import Any

from fastapi import FastAPI

from dhyan.studio.registry import ModelRegistry
from dhyan.studio.schemas import TranslateRequest
from dhyan.studio.tensor_json import to_json
from dhyan.studio.traces import translate


def add(app: FastAPI, registry: ModelRegistry) -> None:
    """Add the route; it returns all steps at once."""

    @app.post("/api/step")
    def step(request: TranslateRequest) -> dict[str, Any]:
        from dhyan.insight.decoder_steps import decoder_steps, recurrent_decoder

        with registry.get(request.model).translator() as translator:
            recurrent_decoder(translator)
            translation = translate(translator, request)
            steps: dict[str, Any] = to_json(decoder_steps(translator, request.text, translation))
            return steps
