"""Model cards: what a recipe says of its model, and nothing that it does not say."""

from pathlib import Path

import pytest

from dhyan.config import dump_recipe, load_recipe
from dhyan.studio import model_cards
from dhyan.studio.registry import ModelRegistry


@pytest.mark.parametrize("languages", [("", ""), ("en", ""), ("fr", "vi")])
def test_a_language_that_is_not_known_is_undetermined(tmp_path, monkeypatch, languages):
    settings = dict(zip(("data.source_language", "data.target_language"), languages, strict=True))
    (tmp_path / "recipe.toml").write_text(dump_recipe(load_recipe("bahdanau2015-small", settings)))
    monkeypatch.setattr(model_cards, "find_checkpoint", lambda folder: folder)
    card = model_cards.model_card("one", tmp_path)
    assert (card.source_language, card.target_language) == tuple(
        code or "und" for code in languages
    )


def test_the_model_of_the_demo_is_named_after_its_folder():
    registry = ModelRegistry([Path("runs/mine"), Path("demo/run")])
    assert [*registry.models] == ["mine", "demo-run"]
