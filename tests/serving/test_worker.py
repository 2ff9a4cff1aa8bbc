"""The worker's errors: places in the request instead of what the client sent."""

from dataclasses import replace

import pytest

from dhyan import config
from dhyan.decoding.translator import Translator
from dhyan.errors import UnsupportedOption
from dhyan.models.build import build_model
from dhyan.serving.worker import TranslationWorker, check_glossary, error_without_terms
from dhyan.serving.worker_protocol import JobOptions
from dhyan.text.tokenizer import Tokenizer

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


def test_unknown_languages_are_undetermined():
    source, target = (Tokenizer.train([text], kind="words", size=30) for text in ("one", "two"))
    sizes = {"width": 16, "heads": 2, "feed_forward_width": 32, "layers": 1}
    recipe = config.Recipe(
        encoder=config.TransformerEncoder(**sizes), decoder=config.TransformerDecoder(**sizes)
    )
    translator = Translator(build_model(recipe, len(source), len(target)), source, target)
    worker = TranslationWorker(translator)
    assert worker.languages == ("und", "und")
    assert {"one", "two"} <= {*worker.known_words()["und"]}
    named = TranslationWorker(replace(translator, language="vi"))
    assert named.languages == ("und", "vi")
    assert named.unknown_languages() == ["data.source_language"]
    assert TranslationWorker(replace(translator, task="classify")).unknown_languages() == []
