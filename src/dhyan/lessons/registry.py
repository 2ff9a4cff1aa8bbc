"""The lessons by section, in the order in which they build on one another.

A lesson is the function of its own name in `lessons/<section>/<name>.py`; its summary is in the
catalogue. Listing them imports none, so `dhyan lesson` answers without loading torch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from dhyan.errors import UserError
from dhyan.lessons.catalogue import Text

if TYPE_CHECKING:
    from dhyan.lessons.result import LessonResult

SECTIONS = {
    "sequences": (
        "variable_length",
        "unrolled_rnn",
        "vanishing_gradients",
        "one_hot",
        "teacher_forcing",
        "cross_entropy",
        "greedy_decoding",
        "rnn_layer_probes",
        "seq2seq_improvements",
        "seq2seq_training",
    ),
    "encoder_decoder": ("bottleneck", "context_vector", "bahdanau", "luong", "score_costs"),
    "word_vectors": ("bag_of_words", "word_embeddings", "static_vectors"),
    "self_attention": (
        "weighted_sum",
        "parameter_free",
        "word_order",
        "query_key_value",
        "idioms",
        "word_senses",
        "task_specific_vectors",
        "self_attention_by_hand",
        "scaled_dot_product",
        "gravity",
        "self_vs_cross_attention",
    ),
    "transformer_blocks": (
        "multi_head",
        "pp_attachment",
        "causal_mask",
        "causal_leak",
        "parallel_training",
        "training_without_mask",
        "cross_attention",
        "transformer",
        "summarization",
    ),
}


@dataclass(frozen=True)
class Lesson:
    """A lesson's name and the section it belongs to."""

    name: str
    section: str

    @property
    def module(self) -> str:
        """The module that defines it."""
        return f"dhyan.lessons.{self.section}.{self.name}"

    def summary(self, lang: str = "en") -> str:
        """A summary of one line."""
        return Text(lang)(f"{self.name}.summary")

    def load(self) -> "Callable[..., LessonResult]":
        """The function, which checks the types of its arguments first."""
        return _load(self.module, self.name)


LESSONS = tuple(Lesson(name, section) for section, names in SECTIONS.items() for name in names)


def find_lesson(name: str) -> Lesson:
    """The lesson of a name; `-` and `_` are the same."""
    for lesson in LESSONS:
        if lesson.name == name.replace("-", "_"):
            return lesson
    near = get_close_matches(name, [lesson.name for lesson in LESSONS], n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UserError(f"there is no lesson {name!r}{hint} `dhyan lesson` lists them")


@cache
def _load(module: str, name: str) -> "Callable[..., LessonResult]":
    from dhyan.lessons.argument_checks import check_arguments

    return check_arguments(getattr(import_module(module), name))
