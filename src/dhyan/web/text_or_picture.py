"""The length of a text in a request; a picture as a data URI has a limit of its own."""

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from dhyan.safe_io.data_uri import is_data_uri


def text_or_picture(max_characters: int, max_picture_characters: int) -> AfterValidator:
    """Refuse texts and data URIs of more characters than these."""

    def check(text: str) -> str:
        limit = max_picture_characters if is_data_uri(text) else max_characters
        if len(text) > limit:
            raise PydanticCustomError(
                "string_too_long", "String should have at most {max_length} characters",
                {"max_length": limit},
            )  # fmt: skip
        return text

    return AfterValidator(check)
