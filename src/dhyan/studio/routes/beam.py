"""HTTP routes: the tree of a beam search, and the prediction after every decoder layer."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI
from pydantic import Field

from dhyan.studio.registry import ModelRegistry
from dhyan.studio.request_job import check
from dhyan.studio.schemas import MAX_BEAM, MAX_TOKENS, TranslateRequest
from dhyan.studio.traces import check_length, translate

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translator
    from dhyan.insight.beam_tree import BeamTree
    from dhyan.insight.logit_lens import LogitLens
    from dhyan.text.tokenizer import Tokenizer

TOP_TOKENS = 5  # of each layer's prediction


class BeamRequest(TranslateRequest):
    """A sentence, and how many hypotheses are kept at each step."""

    beam: Annotated[int, Field(ge=1, le=MAX_BEAM)] = 4


def add(app: FastAPI, registry: ModelRegistry) -> None:
    """Add the routes."""

    @app.post("/api/beam")
    def beam(request: BeamRequest) -> dict[str, Any]:
        with registry.get(request.model).translator() as translator:
            return asdict(tree_of(translator, request))

    @app.post("/api/layers")
    def layers(request: TranslateRequest) -> dict[str, Any]:
        """The most probable tokens after each layer; `layers` is null where it does not apply."""
        from dhyan.insight.logit_lens import has_logit_lens, logit_lens

        with registry.get(request.model).translator() as translator:
            if not has_logit_lens(translator):
                return {"inputs": [], "outputs": [], "layers": None}
            translation = translate(translator, request)
            lens = logit_lens(translator, request.text, translation)
            return lens_json(lens, translator.target)


def tree_of(translator: "Translator", request: BeamRequest) -> "BeamTree":
    """The tree of a request's search, which stops at its next step when the client is gone."""
    from dhyan.decoding.rules import observe
    from dhyan.insight.beam_tree import beam_tree

    check_length(translator, request.text)
    options = translator.options.changed(beam=request.beam, nbest=1, max_length=MAX_TOKENS)
    rules = [observe(lambda ids: check())]
    return beam_tree(translator, request.text, options, prefix=request.prefix, rules=rules)


def lens_json(lens: "LogitLens", tokenizer: "Tokenizer") -> dict[str, Any]:
    """For each layer and position: the top tokens, and probability and rank of the output token."""
    import torch

    outputs = torch.tensor(lens.outputs).unsqueeze(-1)
    layers = []
    for logprobs in lens.logprobs:
        top = logprobs.topk(min(TOP_TOKENS, logprobs.shape[-1]))
        own = logprobs.gather(-1, outputs)
        ranks = (logprobs > own).sum(-1) + 1
        layers.append(
            [
                {
                    "top_tokens": list(zip(tokenizer.pieces(ids), probs, strict=True)),
                    "top_is_output": ids[0] == output,
                    "prob": prob,
                    "rank": rank,
                }
                for ids, probs, output, prob, rank in zip(
                    top.indices.tolist(),
                    top.values.exp().tolist(),
                    lens.outputs,
                    own.exp().flatten().tolist(),
                    ranks.tolist(),
                    strict=True,
                )
            ]
        )
    return {
        "inputs": tokenizer.pieces(lens.inputs),
        "outputs": tokenizer.pieces(lens.outputs),
        "layers": layers,
    }
