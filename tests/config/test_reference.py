"""The committed reference page is what the declarations give."""

from pathlib import Path

from dhyan.config.reference import reference_page
from dhyan.config.toml import KEYS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


def test_the_committed_page_is_made_from_the_declarations():
    """To renew it: python -m dhyan.config.reference > docs/reference/settings.md."""
    assert PAGE.read_text(encoding="utf-8") == reference_page()


def test_every_key_stands_on_the_page():
    page = reference_page()
    for key in KEYS:
        path, _, name = key.rpartition(".")
        assert f"`{name}`" in page or name == "kind", key
        assert not path or f"[{path}]" in page, key
