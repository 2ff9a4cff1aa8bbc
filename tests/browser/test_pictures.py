"""Screenshots for README and docs: `make pictures` takes them with the pretrained models."""

import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest
from PIL import Image
from playwright.sync_api import TimeoutError

from dhyan.pretrained import model_folder, model_names
from dhyan.studio.registry import ModelRegistry
from tests.browser.conftest import Studio, serving

FOLDER = os.environ.get("PICTURES")  # without it the screenshots go to a temporary folder
PREFIX = "en-hi-" if FOLDER else ""  # of the models' names
BOAT = quote("Amit came to the bank and rowed the boat.")
RIVER = quote("The bank of the river is far.")
COOK = quote("My mother is cooking rice in the kitchen.")
APPLE = quote("Apple launched a new phone while I was eating an orange.")
SISTER = quote("My sister works in a hospital.")
SHOTS = {
    "translate": f"/translate?text={BOAT}&model={PREFIX}bahdanau&target=2&source=5",
    "ribbons": f"/translate?text={APPLE}&model={PREFIX}transformer&display=ribbons&target=6&theme=dark",
    "hindi": f"/translate?text={COOK}&model={PREFIX}luong&language=hi&target=6&source=4",
    "tour": f"/tour?text={SISTER}&model={PREFIX}bahdanau&target=4&tour_step=8",
    "beam": f"/beam?text={SISTER}&model={PREFIX}no-attention",
    "layers": f"/inside/layers?text={SISTER}&model={PREFIX}transformer&target=7",
    "step": f"/inside?text={BOAT}&model={PREFIX}bahdanau&target=2&source=5",
    "qkv": f"/inside/head?text={RIVER}&model={PREFIX}transformer&role=encoder_self"
    "&layer=1&head=1&target=2",
    "toy": "/playground?toy=cat",
    "heads": f"/heads?text={APPLE}&model={PREFIX}transformer&role=cross",
    "mask": f"/inside/mask?text={RIVER}&model={PREFIX}transformer",
    "gravity": "/playground/gravity",
    "scale": "/playground/scaling",
    "length": "/learning/length?theme=dark",
    "train": f"/learning?text={RIVER}&model=bahdanau",
    "compare": f"/translate?text={BOAT}&model={PREFIX}bahdanau&model2={PREFIX}luong",
}


@pytest.fixture
def gallery(browser, models, name):
    """The page with the pretrained models; that of training, which needs a run, with small ones."""
    pretrained = FOLDER and name != "train"
    folders = list(map(model_folder, model_names())) if pretrained else models
    with serving(ModelRegistry(folders)) as address:
        opened = Studio(browser, address)
        yield opened
        opened.close()


@pytest.mark.parametrize("name", SHOTS if FOLDER else ["translate", "toy"])
def test_screenshot_is_taken(gallery, name, tmp_path):
    size = {"width": 1440, "height": 900}
    page = gallery.open(SHOTS[name], viewport=size, device_scale_factor=1.25 if FOLDER else 1)
    page.wait_for_selector("#view h1")
    with suppress(TimeoutError):  # some views go on translating
        page.wait_for_load_state("networkidle", timeout=90_000 if FOLDER else 2_000)
    path = Path(FOLDER or tmp_path) / f"{name}.png"
    screenshot = page.screenshot(path=path)
    with Image.open(path) as image:  # 256 colours: half the size, and no visible difference
        image.convert("RGB").quantize(256).save(path, optimize=True)
    assert screenshot.startswith(b"\x89PNG")
    assert not gallery.wrong
    page.context.close()
