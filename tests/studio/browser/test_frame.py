"""The page's frame: every view opens, fits its window, and is fit for everyone."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from dhyan.studio.pages import VIEWS

SENTENCE = "q=The+bank+of+the+river+is+far.&m=transformer"
LOOKS = [("light", "en"), ("dark", "en"), ("light", "hi")]


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_opens_without_a_fault(studio, view):
    page = studio.open(f"/{view}?{SENTENCE}")
    page.wait_for_load_state("networkidle")
    assert page.locator("main h1").count() == 1
