"""Contact sheets of the studio: every view and tour step, three widths, two themes, two languages."""

import io
from collections.abc import Iterator
from itertools import accumulate, product
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from PIL import Image

from benchmarks.studio_page import launched_browser, running_studio

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SIZES = ((1440, 900), (1024, 768), (390, 844))
THEMES, LANGUAGES = ("light", "dark"), ("en", "hi")
SENTENCE = quote("My sister works in a hospital.")
LONG = quote(
    "When my grandmother was young she lived in a small village near the river, and every evening "
    "she told the children of the village a story about a king who wanted to become a farmer."
)
VIEWS = {
    "translate": f"/translate?text={SENTENCE}&model=en-hi-bahdanau",
    "ribbons": f"/translate?text={SENTENCE}&model=en-hi-luong&display=ribbons",
    "table": f"/translate?text={SENTENCE}&model=en-hi-transformer&display=table",
    "long": f"/translate?text={LONG}&model=en-hi-transformer",
    "no-attention": f"/translate?text={SENTENCE}&model=en-hi-no-attention",
    "two-models": f"/translate?text={SENTENCE}&model=en-hi-bahdanau&model2=en-hi-transformer",
    "word-swap": f"/translate?text={SENTENCE}&model=en-hi-bahdanau"
    f"&text2={SENTENCE.replace('sister', 'brother')}",
    "step": f"/inside?text={SENTENCE}&model=en-hi-bahdanau&target=2",
    "head": f"/inside?text={SENTENCE}&model=en-hi-transformer&target=2",
    "mask": f"/inside/mask?text={SENTENCE}&model=en-hi-transformer&masked=0",
    "layers": f"/inside/layers?text={SENTENCE}&model=en-hi-transformer",
    "heads": f"/heads?text={SENTENCE}&model=en-hi-transformer&role=cross&layer=2&head=3&ablated=1",
    "beam": f"/beam?text={SENTENCE}&model=en-hi-bahdanau",
    "training": "/learning",
    "length": "/learning/length?per_bucket=2",
    "playground": "/playground?toy=cat",
    "gravity": f"/playground/gravity?gravity_mode=model&text={SENTENCE}&model=en-hi-transformer",
    "scaling": "/playground/scaling",
    **{
        f"tour-{model}-{step}": f"/tour?text={SENTENCE}&model=en-hi-{model}&target=2&tour_step={step}"
        for model, steps in (("bahdanau", 11), ("luong", 11), ("transformer", 12))
        for step in range(1, steps + 1)
    },
}
SHOW_ANSWER = ".tour-skip"
SHEET, GAP = 1380, 6  # pixels: width of a sheet, and between its pictures
PHONE_SCREENS = 2  # of a long page
Look = tuple[tuple[int, int], str, str]


def page_pictures(folder: Path) -> Iterator[Path]:
    """Write the sheets into a folder: one for each width of a view, one for each step of the tour."""
    folder.mkdir(parents=True, exist_ok=True)
    with launched_browser() as browser, running_studio() as (address, _):
        for name, path in VIEWS.items():
            for sheet, looks in _sheets(name).items():
                pictures = [_picture(browser, f"{address}{path}", look) for look in looks]
                file = folder / f"{sheet}.png"
                _contact_sheet(pictures).save(file)
                yield file


def _sheets(name: str) -> dict[str, list[Look]]:
    """The sheets of a view, and the looks on each; each width, theme and language for a tour step."""
    if name.startswith("tour-"):
        wide, middle, narrow = SIZES
        return {
            name: [
                (wide, "light", "en"), (middle, "dark", "hi"),
                (narrow, "light", "hi"), (narrow, "dark", "en"),
            ]
        }  # fmt: skip
    looks = list(product(THEMES, LANGUAGES))
    return {f"{name}-{size[0]}": [(size, *look) for look in looks] for size in SIZES}


def _picture(browser: "Browser", address: str, look: Look) -> Image.Image:
    """The page once it has settled."""
    (width, height), theme, language = look
    context = browser.new_context(
        viewport={"width": width, "height": height}, reduced_motion="reduce"
    )
    page = context.new_page()
    separator = "&" if "?" in address else "?"
    page.goto(f"{address}{separator}theme={theme}&language={language}")
    page.wait_for_selector("#view h1")
    page.wait_for_load_state("networkidle", timeout=120_000)
    if page.locator(SHOW_ANSWER).count():
        page.locator(SHOW_ANSWER).first.click()
    picture = page.screenshot(full_page=width < SIZES[1][0])
    context.close()
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    return image.crop((0, 0, width, min(image.height, PHONE_SCREENS * height)))


def _contact_sheet(pictures: list[Image.Image]) -> Image.Image:
    """The pictures in rows, as many beside each other as stay legible."""
    rows: list[list[Image.Image]] = [[]]
    for image in pictures:
        cell = SHEET // 4 if image.width < SIZES[1][0] else SHEET // 2
        scaled = image.resize((cell - GAP, round(image.height * (cell - GAP) / image.width)))
        if sum(other.width + GAP for other in rows[-1]) + scaled.width > SHEET:
            rows.append([])
        rows[-1].append(scaled)
    heights = [max(image.height for image in row) + GAP for row in rows]
    sheet = Image.new("RGB", (SHEET, sum(heights)), "#888888")
    for row, top in zip(rows, accumulate(heights[:-1], initial=0), strict=True):
        left = 0
        for image in row:
            sheet.paste(image, (left, top))
            left += image.width + GAP
    return sheet
