"""The worker's errors: places in the request instead of what the client sent."""

import pytest

from dhyan.errors import UnsupportedOption
from dhyan.serving.worker import check_glossary, error_without_terms
from dhyan.serving.worker_protocol import JobOptions

OPTIONS = JobOptions(prefix="pre", glossary=(("a", "b"), ("c", "d")))


@pytest.mark.parametrize(
    ("term", "place"),
    [
        ("pre", "the prefix"), ("c", "the source term of glossary[1]"),
        ("b", "the target term of glossary[0]"), ("unknown", "a term"),
    ],
)  # fmt: skip
def test_an_error_names_the_place_of_a_term(term, place):
    error = UnsupportedOption("{prefixes}: the model cannot write {term!r}", term=term)
    assert error_without_terms(error, OPTIONS) == f"prefix: the model cannot write {place}"


def test_two_target_terms_of_a_source_term_are_refused():
    check_glossary((("a", "b"), ("A", "b"), ("c", "d")))
    pairs = (("a", "b"), (" A", "c"))
    with pytest.raises(UnsupportedOption) as error:
        check_glossary(pairs)
    assert error_without_terms(error.value, JobOptions(glossary=pairs)) == (
        "the glossary has both the target term of glossary[0] and the target term of glossary[1] "
        "for the source term of glossary[1]: keep one"
    )
