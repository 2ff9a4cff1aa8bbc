"""What a lesson showed is kept as a file, and comes back as it was."""

from dataclasses import dataclass, fields

import pytest
import torch

import dhyan
from dhyan.errors import UserError
from dhyan.lessons.keeping import keep, kept
from dhyan.lessons.origin import Origin
from dhyan.lessons.shown import Shown, Story

MADE = Origin("dhyan train primer", "an abacus", "torch 2", "1234567", "2026-11-15")


def test_every_field_comes_back_and_the_story_says_where_it_is_from(tmp_path):
    shown = dhyan.lessons.gravity()
    keep(shown, "gravity", MADE, tmp_path)
    found = kept("gravity", tmp_path)
    assert type(found) is type(shown)
    assert torch.allclose(found.first.after, shown.first.after, rtol=1e-4)
    assert found.vectors.keys() == shown.vectors.keys()
    for one in fields(shown):
        assert (
            type(getattr(found, one.name)) is type(getattr(shown, one.name)) or one.name == "origin"
        )
    for lang in ("en", "hi"):
        before, after = shown.told(lang).parts, found.told(lang).parts
        assert len(after) == len(before) + 1
        assert all(part in after[-1].text for part in ("dhyan train primer", "abacus", "1234567"))


def test_what_was_never_kept_is_said_with_what_to_do(tmp_path):
    with pytest.raises(UserError, match="nothing is kept of 'zebra': give model=RUN"):
        kept("zebra", tmp_path)


def test_what_is_not_a_lesson_of_ours_is_not_kept(tmp_path):
    @dataclass(frozen=True)
    class Strange(Shown):
        """A value that no file should hold."""

        value: object

        def story(self, say):
            """Nothing."""
            return Story("", ())

    with pytest.raises(TypeError, match="not <class"):
        keep(Strange(object()), "strange", MADE, tmp_path)
