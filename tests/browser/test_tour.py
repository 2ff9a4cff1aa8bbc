"""Guided tour: one word through the whole model, a question before each reveal."""

import re
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from dhyan.pretrained import model_folder
from dhyan.studio.export_model import export_model
from dhyan.studio.registry import ModelRegistry
from tests.browser.conftest import Studio, current_url, serving
from tests.studio.page_answers import unpack

TEXT = "The children are playing in the garden."
LONG_TEXT = "The old man gave his younger sister a very good book about birds in the park."
STEPS = {"en-hi-bahdanau": 11, "en-hi-luong": 11, "en-hi-transformer": 12}
ONE_QUICK = [  # the others in make test-all
    pytest.param(model, marks=[pytest.mark.soak] * (model != "en-hi-transformer"), id=model)
    for model in STEPS
]
ROWS = len(["The", "children", "are", "playing", "in", "the", "garden", ".", "</s>"])
GARDEN = 6  # its row
CHOICE, DOT = ".tour-choice", ".tour-dots a"
REVEALED = ".tour-after p"


@pytest.fixture(scope="module")
def pretrained():
    folders = [model_folder(name) for name in (*STEPS, "en-hi-no-attention")]
    with serving(ModelRegistry(folders)) as address:
        yield address


@pytest.fixture
def real(browser, pretrained):
    """The studio with pretrained models."""
    opened = Studio(browser, pretrained)
    yield opened
    opened.close()
    assert not opened.foreign
    assert not opened.wrong


def open_tour(real, model="en-hi-bahdanau", step=0, more="", **options):
    page = real.open(
        f"/tour?text={quote(TEXT)}&model={model}{more}"
        + (f"&tour_step={step}&target=2" if step else ""),
        **options,
    )
    page.wait_for_selector(f"{CHOICE}, {REVEALED}")
    return page


def at_step(page, step):
    expect(page.locator(f"{DOT}[aria-current=step]")).to_have_count(1)
    expect(page.locator(".tour-dots li").nth(step - 1).locator("a")).to_have_attribute(
        "aria-current", "step"
    )


def outside_picture(page):
    """How many blocks that are not dimmed lie outside the picture's own box."""
    return page.evaluate(
        """() => {
          const box = document.querySelector(".tour-svg").getBoundingClientRect();
          return [...document.querySelectorAll(".tour-block.main > .tour-frame, .whole .tour-frame")]
            .map((own) => own.getBoundingClientRect())
            .filter((own) => own.left < box.left || own.right > box.right
              || own.top < box.top || own.bottom > box.bottom).length;
        }"""
    )


def to_step(page, title):
    """Go on to the step of a title."""
    page.get_by_role("link", name=re.compile(f"Step .*: {title}")).click()


@pytest.mark.parametrize("model", STEPS)
def test_every_step_is_reached_by_next_and_asks_a_question(real, model):
    page = open_tour(real, model)
    count = page.locator(".tour-dots li").count()
    assert count == STEPS[model]
    assert 8 <= count <= 12
    titles = []
    for step in range(1, count + 1):
        at_step(page, step)
        titles.append(page.locator(".tour-head h2").inner_text())
        assert page.locator(CHOICE).count() in (2, 3)
        expect(page.locator(REVEALED)).to_have_count(0)
        expect(page.locator(f"[data-stage='{step}'].concealed").first).to_be_attached()
        show = page.get_by_role("button", name="Show me")
        (show if step > 1 else page.locator(CHOICE).first).click()
        expect(page.locator(REVEALED)).not_to_have_count(0)
        expect(page.locator(f"[data-stage='{step}'].concealed")).to_have_count(0)
        expect(page.locator("#status")).to_have_text(f"Step {step} of {count}: {titles[-1]}")
        if step < count:
            page.get_by_role("button", name="Next", exact=True).click()
    assert len(set(titles)) == count
    assert page.get_by_role("button", name="Next", exact=True).is_disabled()
    expect(page.locator(".tour-ending")).to_contain_text(re.compile("You predicted [01] of 1 "))


@pytest.mark.parametrize("model", STEPS)
def test_answers_are_checked_against_the_model(real, model):
    page = open_tour(real, model)
    trace = page.request.post(
        f"{real.address}/api/translate", data={"text": TEXT, "model": model}
    ).json()
    page.locator(CHOICE, has_text="one token after the other").click()
    expect(page.locator(".tour-verdict")).to_contain_text("Right.")
    expect(page.locator(".tour-verdict")).to_contain_text(trace["target"]["words"][0])
    to_step(page, "Tokens")
    count = str(len(trace["source"]["tokens"]))
    wrong = page.locator(CHOICE).filter(has_not_text=re.compile(f"^{count}$")).first
    wrong.click()
    expect(page.locator(".tour-verdict")).to_contain_text(f"Not quite. The answer is: {count}.")
    expect(page.locator(f"{CHOICE}.right")).to_have_text(f"✓ {count}")
    expect(page.locator(f"{CHOICE}.wrong")).to_have_count(1)
    to_step(page, "The text")  # an answer is kept
    expect(page.locator(".tour-verdict")).to_contain_text("Right.")


def test_the_highest_score_is_the_right_answer(real):
    page = open_tour(real, step=6)
    page.locator(CHOICE, has_text="garden").click()
    expect(page.locator(".tour-verdict")).to_contain_text("Right. Its score is")
    scores = page.locator("[data-score]").evaluate_all(
        "all => all.map(one => Number(one.dataset.score))"
    )
    assert scores.index(max(scores)) == GARDEN


@pytest.mark.parametrize("model", STEPS)
def test_weights_and_probabilities_are_those_of_the_trace(real, model):
    page = open_tour(real, model, step=STEPS[model])
    trace = page.request.post(
        f"{real.address}/api/translate", data={"text": TEXT, "model": model}
    ).json()
    drawn = page.locator("[data-weight]").evaluate_all(
        "all => all.map(one => [Number(one.dataset.row), Number(one.dataset.weight)])"
    )
    assert [row for row, _ in drawn] == list(range(ROWS))
    weights = [weight for _, weight in drawn]
    assert sum(weights) == pytest.approx(1, abs=1e-6)
    heads = [
        table
        for block in trace["attention"]
        if block["role"] == "cross"
        for table in unpack(block).reshape(block["shape"])
    ]
    differences = [abs(table[1] - weights).max() for table in heads]
    assert min(differences) < 1e-6
    probs = page.locator("[data-prob]").evaluate_all(
        "all => all.map(one => Number(one.dataset.prob))"
    )
    expected = [prob for _, prob in trace["steps"][1]["top_tokens"]]
    assert probs[: len(expected)] == pytest.approx(expected, abs=1e-5)
    assert sum(probs) == pytest.approx(1, abs=1e-6)


def test_a_link_resumes_at_its_step_with_its_word(real):
    page = open_tour(real)
    expect(page.locator("#tour-follow")).to_have_value("2")  # बगीचे, which stands elsewhere
    for _ in range(3):
        page.get_by_role("button", name="Next", exact=True).click()
    page.locator("#tour-follow").select_option("4")
    at_step(page, 1)
    to_step(page, "Softmax")
    link = current_url(page).removeprefix(real.address)
    assert "tour_step=7" in link
    assert "target=4" in link
    other = real.open(link)
    other.wait_for_selector(CHOICE)
    at_step(other, 7)
    expect(other.locator("#tour-follow")).to_have_value("4")
    expect(other.locator("[data-stage='6'].concealed")).to_have_count(0)
    expect(other.locator("[data-stage='7']:not(.concealed)")).to_have_count(0)


def test_phrases_light_the_picture_and_the_picture_lights_phrases(real):
    page = open_tour(real, step=7)
    page.get_by_role("button", name="Show me").click()
    phrase = page.locator(".tour-phrase[data-part='weights-best']")
    phrase.hover()
    lit = page.locator(".tour-part.lit")
    expect(lit).to_have_count(1)
    expect(lit).to_contain_text("garden")
    page.locator(".tour-head h2").hover()
    expect(lit).to_have_count(0)
    phrase.focus()
    expect(lit).to_have_count(1)
    phrase.blur()
    page.locator(f"[data-parts~='weights-{GARDEN}'] text").first.hover()
    expect(phrase).to_have_class(re.compile("lit"))
    expect(lit).to_have_count(1)
    page.locator("[data-parts~='weight-sum'] text").hover()
    expect(page.locator(".tour-phrase.lit")).to_have_attribute("data-part", "weight-sum")


@pytest.mark.parametrize("model", ONE_QUICK)
@pytest.mark.parametrize(("text", "target"), [(TEXT, 2), (TEXT, 8), (LONG_TEXT, 4)])
def test_every_phrase_is_about_a_part_of_the_picture(real, model, text, target):
    page = real.open(f"/tour?text={quote(text)}&model={model}&tour_step=1&target={target}")
    page.wait_for_selector(CHOICE)
    for step in range(1, STEPS[model] + 1):
        page.locator(DOT).nth(step - 1).click()
        page.get_by_role("button", name="Show me").click()
        missing = page.evaluate(
            """() => [...document.querySelectorAll(".tour-phrase")].map(own => own.dataset.part)
              .filter(name => !document.querySelector(`[data-parts~="${name}"]`))"""
        )
        assert missing == [], step


def test_the_tour_works_by_keyboard(real):
    page = open_tour(real)
    page.keyboard.press("ArrowRight")
    at_step(page, 2)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    at_step(page, 2)
    page.locator(CHOICE).first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".tour-verdict p")).to_be_visible()
    page.locator("#sentence").focus()
    page.keyboard.press("ArrowRight")  # moves in the text
    at_step(page, 2)
    page.locator("#tour-follow").focus()
    page.keyboard.press("ArrowLeft")
    at_step(page, 2 if page.locator("#tour-follow").input_value() == "2" else 1)


def test_the_tour_is_reached_by_keyboard_and_from_the_rooms(real):
    page = real.open(f"/translate?text={quote(TEXT)}&model=en-hi-luong")
    page.locator("#navigation").get_by_role("link", name="Guided tour").click()
    page.wait_for_selector(CHOICE)
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url(re.compile("/translate"))
    page.locator("h1").first.wait_for()
    page.keyboard.press("g")
    page.keyboard.press("o")
    page.wait_for_url(re.compile("/tour"))
    at_step(page, 1)


def test_another_sentence_begins_another_tour(real):
    page = open_tour(real, step=5)
    page.locator("#sentence").fill("My brother lives in Delhi.")
    page.keyboard.press("Enter")
    expect(page.locator("[data-block=tokens]")).to_contain_text("Delhi")
    at_step(page, 1)


def test_without_a_sentence_the_tour_brings_one(real):
    page = real.open("/tour?model=en-hi-transformer")
    page.wait_for_selector(CHOICE)
    expect(page.locator("#sentence")).to_have_value(TEXT)


def test_a_model_without_attention_offers_models_that_have_it(real):
    page = real.open(f"/tour?text={quote(TEXT)}&model=en-hi-no-attention")
    expect(page.locator(".tour-message")).to_contain_text("has no attention")
    page.get_by_role("link", name="The same tour with en-hi-luong").click()
    page.wait_for_selector(CHOICE)


def test_the_ending_leads_to_the_same_step_with_every_number(real):
    page = open_tour(real, step=11)
    page.get_by_role("button", name="Show me").click()
    page.get_by_role("link", name="This step with every number").click()
    page.wait_for_selector(".flow")
    assert "target=2" in current_url(page)
    assert "source=7" in current_url(page)


@pytest.mark.parametrize("model", ONE_QUICK)
@pytest.mark.parametrize("width", [390, 1440])
def test_steps_in_hindi_fit_the_window_and_are_accessible(real, model, width):
    page = open_tour(
        real, model, more="&language=hi&theme=dark", viewport={"width": width, "height": 844}
    )
    for step in range(1, STEPS[model] + 1):
        page.locator(DOT).nth(step - 1).click()
        page.locator(".tour-skip").click()
        text = page.locator(".tour-panel").inner_text()
        assert re.search("[\u0900-\u097f]", text)
        assert not re.search(r"undefined|NaN|\[\[|\{\d|[\ue000\ue001]", text), text
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    report = Axe().run(page)
    assert report.violations_count == 0, report.generate_report()


@pytest.mark.parametrize("model", ONE_QUICK)
def test_steps_in_english_are_accessible(real, model):
    page = open_tour(real, model)
    for step in (1, 4, 6):
        page.locator(DOT).nth(step - 1).click()
        report = Axe().run(page)
        assert report.violations_count == 0, report.generate_report()


PLACE = "document.querySelector('.tour-svg').getBoundingClientRect().left"
GO_ON = f"""() => {{
  const before = {PLACE};
  document.querySelector(".tour-next").click();
  return [before, {PLACE}];
}}"""


def test_the_camera_moves_at_once_with_reduced_motion_and_else_glides(real):
    before, after = open_tour(real, reduced_motion="reduce").evaluate(GO_ON)
    assert before != after
    page = open_tour(real, reduced_motion="no-preference")
    assert page.evaluate(GO_ON) == pytest.approx([before, before], abs=1)
    arrived = page.evaluate(
        f"""async () => {{
          await Promise.all(document.getAnimations().map((animation) => animation.finished));
          return {PLACE};
        }}"""
    )
    assert arrived == pytest.approx(after, abs=0.5)


@pytest.mark.parametrize("width", [390, 1440])
def test_the_blocks_of_each_step_are_inside_the_picture(real, width):
    page = open_tour(real, "en-hi-transformer", viewport={"width": width, "height": 844})
    for step in range(1, STEPS["en-hi-transformer"] + 1):
        page.locator(DOT).nth(step - 1).click()
        outside = page.evaluate(
            """() => {
              const frame = document.querySelector(".tour-canvas").getBoundingClientRect();
              return [...document.querySelectorAll(".tour-block.main > .tour-frame")]
                .map((own) => own.getBoundingClientRect())
                .filter((own) => own.left < frame.left - 1 || own.right > frame.right + 1
                  || own.top < frame.top - 1 || own.bottom > frame.bottom + 1).length;
            }"""
        )
        assert outside == 0, step


def test_a_long_sentence_shows_its_largest_weights_and_the_sum_of_the_others(real):
    page = real.open(f"/tour?text={quote(LONG_TEXT)}&model=en-hi-bahdanau&tour_step=8&target=3")
    page.wait_for_selector(CHOICE)
    drawn = page.locator("[data-weight]").evaluate_all(
        "all => all.map(one => Number(one.dataset.weight))"
    )
    assert len(drawn) == 11
    assert 0.5 < sum(drawn) < 1
    block = page.locator("[data-block=weights]")
    expect(block).to_contain_text("others")
    expect(block).to_contain_text("Σ 1.000")


@pytest.mark.parametrize("step", [1, 11])
def test_the_question_mark_covers_no_word(real, step):
    page = real.open(
        f"/tour?text=Good+morning!&model=en-hi-bahdanau&target=6&tour_step={step}",
        viewport={"width": 390, "height": 844},
    )
    page.wait_for_selector(CHOICE)
    covered = page.evaluate(
        """() => {
          const mark = document.querySelector(".tour-unknown:not(.concealed)").getBoundingClientRect();
          return [...document.querySelectorAll(".tour-block.main .tour-word")]
            .filter((own) => !own.closest(".concealed"))
            .map((own) => own.getBoundingClientRect())
            .filter((own) => own.bottom > mark.top && own.top < mark.bottom
              && own.right > mark.left && own.left < mark.right).length;
        }"""
    )
    assert covered == 0


def test_a_sentence_that_is_too_long_is_explained(real):
    page = real.open(f"/tour?text={quote('a b c d e f ' * 24)}&model=en-hi-bahdanau&tour_step=1")
    expect(page.locator(".tour-message")).to_contain_text("write a shorter one")
    page.wait_for_load_state("networkidle")
    real.wrong.clear()  # the browser reports the refused requests


def test_a_translation_that_is_probably_wrong_has_a_warning(real):
    page = real.open("/tour?text=Blorp+snerd+quixle.&model=en-hi-bahdanau&tour_step=1")
    expect(page.locator(".tour .quality-notice")).to_contain_text("unknown")


def test_the_tour_goes_on_with_the_next_token(real):
    page = open_tour(real, step=11)
    page.get_by_role("button", name="Show me").click()
    page.get_by_role("link", name="Follow the next token, “में”").click()
    at_step(page, 1)
    expect(page.locator("#tour-follow")).to_have_value("3")


def test_a_block_of_the_whole_machine_leads_to_its_step(real):
    page = open_tour(real, step=9)
    assert outside_picture(page) == 0
    page.get_by_role("button", name="Whole machine").click()
    expect(page.locator(".tour-block.dim")).to_have_count(0)
    assert outside_picture(page) == 0  # which is what an export shows
    page.locator("[data-block=tokens] > .tour-title").click()
    at_step(page, 2)
    expect(page.locator(".tour-whole")).to_have_attribute("aria-pressed", "false")


@pytest.mark.slow
@pytest.mark.parametrize("model", ["en-hi-luong", "en-hi-transformer"])
def test_the_tour_works_in_a_page_with_the_model_inside(browser, tmp_path, model):
    (tmp_path / "page.html").write_text(export_model(model), encoding="utf-8")
    opened = Studio(browser, tmp_path.as_uri())
    page = opened.open(f"/page.html#/tour?text={quote(TEXT)}&tour_step=7&target=2")
    page.wait_for_selector(CHOICE)
    at_step(page, 7)
    for step in range(1, STEPS[model] + 1):
        page.locator(DOT).nth(step - 1).click()
        page.get_by_role("button", name="Show me").click()
        expect(page.locator(REVEALED).first).to_be_visible()
    weights = page.locator("[data-weight]").evaluate_all(
        "all => all.map(one => Number(one.dataset.weight))"
    )
    assert weights.index(max(weights)) == GARDEN
    assert sum(weights) == pytest.approx(1, abs=1e-5)
    opened.close()
    assert not opened.foreign
    assert not opened.wrong
