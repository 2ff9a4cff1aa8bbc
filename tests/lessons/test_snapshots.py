"""A result is written to a file and read back unchanged."""

from dataclasses import dataclass, fields

import pytest
import torch

import dhyan
from dhyan.errors import UserError
from dhyan.lessons.lesson import LessonResult, Provenance
from dhyan.lessons.snapshots import read_snapshot, write_snapshot

PROVENANCE = Provenance("dhyan train primer", "an abacus", "torch 2", "1234567", "2026-11-15")


def test_every_field_is_restored_and_the_page_names_its_provenance(tmp_path):
    result = dhyan.lessons.gravity()
    write_snapshot(result, "gravity", PROVENANCE, tmp_path)
    restored = read_snapshot("gravity", type(result), tmp_path)
    assert torch.allclose(restored.first.after, result.first.after, rtol=1e-4)
    assert restored.vectors.keys() == result.vectors.keys()
    for field in fields(result):
        values = (getattr(restored, field.name), getattr(result, field.name))
        assert type(values[0]) is type(values[1]) or field.name == "provenance"
    for lang in ("en", "hi"):
        before, after = result.render(lang).blocks, restored.render(lang).blocks
        assert len(after) == len(before) + 1
        assert all(part in after[-1].text for part in ("dhyan train primer", "abacus", "1234567"))


def test_a_missing_snapshot_is_an_error_with_advice(tmp_path):
    with pytest.raises(UserError, match="there is no snapshot of 'zebra': give model=RUN"):
        read_snapshot("zebra", LessonResult, tmp_path)


def test_a_snapshot_of_another_result_is_an_error():
    with pytest.raises(UserError, match="the snapshot 'idioms' is not one of Gravity"):
        read_snapshot("idioms", type(dhyan.lessons.gravity()))


def test_only_lesson_results_are_written_as_snapshots(tmp_path):
    @dataclass(frozen=True)
    class Strange(LessonResult):
        """A value that no file should hold."""

        value: object

        def blocks(self, text):
            """Nothing."""
            yield from ()

    with pytest.raises(TypeError, match="not <class"):
        write_snapshot(Strange(object()), "strange", PROVENANCE, tmp_path)
