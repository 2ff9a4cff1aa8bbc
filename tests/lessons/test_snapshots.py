"""What a lesson showed is kept as a file, and comes back as it was."""

from dataclasses import dataclass, fields

import pytest
import torch

import dhyan
from dhyan.errors import UserError
from dhyan.lessons.provenance import Provenance
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.snapshots import read_snapshot, write_snapshot

MADE = Provenance("dhyan train primer", "an abacus", "torch 2", "1234567", "2026-11-15")


def test_every_field_comes_back_and_the_story_says_where_it_is_from(tmp_path):
    shown = dhyan.lessons.gravity()
    write_snapshot(shown, "gravity", MADE, tmp_path)
    found = read_snapshot("gravity", tmp_path)
    assert type(found) is type(shown)
    assert torch.allclose(found.first.after, shown.first.after, rtol=1e-4)
    assert found.vectors.keys() == shown.vectors.keys()
    for one in fields(shown):
        assert (
            type(getattr(found, one.name)) is type(getattr(shown, one.name))
            or one.name == "provenance"
        )
    for lang in ("en", "hi"):
        before, after = shown.render(lang).blocks, found.render(lang).blocks
        assert len(after) == len(before) + 1
        assert all(part in after[-1].text for part in ("dhyan train primer", "abacus", "1234567"))


def test_a_missing_snapshot_is_an_error_with_advice(tmp_path):
    with pytest.raises(UserError, match="there is no snapshot of 'zebra': give model=RUN"):
        read_snapshot("zebra", tmp_path)


def test_only_lesson_results_are_written_as_snapshots(tmp_path):
    @dataclass(frozen=True)
    class Strange(LessonResult):
        """A value that no file should hold."""

        value: object

        def page(self, text):
            """Nothing."""
            return Page("", ())

    with pytest.raises(TypeError, match="not <class"):
        write_snapshot(Strange(object()), "strange", MADE, tmp_path)
