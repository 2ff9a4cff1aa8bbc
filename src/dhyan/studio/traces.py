"""Translate a sentence for the studio and cache its trace; over-long sentences are refused."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dhyan.checkpoint import find_checkpoint
from dhyan.errors import UserError
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.request_job import check
from dhyan.studio.schemas import MAX_CHARACTERS, MAX_FRAMES, MAX_TOKENS, TranslateRequest

if TYPE_CHECKING:
    from dhyan.config.decoding import DecodingOptions
    from dhyan.decoding.translator import Translation, Translator
    from dhyan.insight.trace import Trace

OnTokens = Callable[[Sequence[str]], None]
"""Called with the tokens of the translation so far."""


def trace_of(
    registry: ModelRegistry, request: TranslateRequest, on_tokens: OnTokens | None = None
) -> "Trace":
    """The trace of a request's translation; `on_tokens` is called with its tokens so far."""
    model = registry.get(request.model)
    key = (model.name, request.text, request.beam, request.prefix)

    def make() -> "Trace":
        from dhyan.insight.trace import Trace, trace_translation
        from dhyan.insight.traced_media import traced_sound
        from dhyan.tasks import find_task

        if model.saved:
            return Trace.from_json(model.saved.json_of(request.text))
        with model.translator() as translator:
            translation = translate(translator, request, on_tokens)
            return trace_translation(
                translator,
                request.text,
                translation,
                model=model.name,
                figure=find_task(translator.task).figure,
                sound=traced_sound(find_checkpoint(model.path), translation.text),
            )

    return registry.cached_trace(key, make)


def trace_json(
    registry: ModelRegistry, request: TranslateRequest, on_tokens: OnTokens | None = None
) -> str:
    """The trace as JSON; that of a saved trace as it is in its file."""
    saved = registry.get(request.model).saved
    if saved:
        return saved.json_of(request.text)
    return trace_of(registry, request, on_tokens).to_json()


def translate(
    translator: "Translator", request: TranslateRequest, on_tokens: OnTokens | None = None
) -> "Translation":
    """The best translation of a sentence that is neither empty nor too long."""
    from dhyan.decoding.rules import observe

    check_length(translator, request.text)

    def send_tokens(token_ids: list[int]) -> None:
        check()
        if on_tokens:
            on_tokens(translator.target.pieces(token_ids))

    [translation] = translator(
        request.text,
        beam=request.beam,
        nbest=1,
        prefixes=request.prefix or None,
        rules=[observe(send_tokens)],
        max_length=longest_output(translator.options),
    )
    return translation


def longest_output(options: "DecodingOptions") -> int:
    """The most tokens of an output: as many as the model's recipe says, as far as a page can show."""
    return min(options.max_length, MAX_FRAMES) or MAX_TOKENS


def check_length(translator: "Translator", text: str) -> int:
    """The number of tokens or frames; UserError for a source that is empty or too long."""
    from dhyan.text.codec import source_length
    from dhyan.text.tokenizer import Tokenizer

    is_text = isinstance(translator.source, Tokenizer)
    if is_text and len(text) > MAX_CHARACTERS:
        raise UserError("a picture, but this model reads text: choose another model")
    length = source_length(translator.encode(text))
    if not length:
        raise UserError("the sentence is empty: write something to translate")
    if is_text and length > MAX_TOKENS:
        raise UserError(
            f"{length} tokens; the page takes at most {MAX_TOKENS}: write a shorter one"
        )
    if length > MAX_FRAMES:
        raise UserError(f"{length} frames; the page takes at most {MAX_FRAMES}: send a smaller one")
    return length
