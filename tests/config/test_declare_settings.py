"""A setting is declared once: bounds, help, choices, dependencies, JSON schema."""

from dataclasses import dataclass
from typing import Literal

import pytest

from dhyan.config import MixedCorpus, Recipe
from dhyan.config.declare_settings import (
    REQUIRED,
    json_schema,
    paths_in,
    problems_in,
    section_types,
    setting,
    settings_of,
    unused_in,
    with_absolute_paths,
)


@dataclass(frozen=True, kw_only=True)
class Table:
    path: str = setting(REQUIRED, "Path.", is_path=True)
    weight: float = setting(1.0, "Weight.", low=0.5, high=2.0)


@dataclass(frozen=True, kw_only=True)
class Section:
    steps: int = setting(10, "Length.", low=1, high=100, unit="steps")
    schedule: Literal["constant", "cosine"] = setting("constant", "Schedule.")
    lowest: float = setting(0.0, "Lowest rate.", low=0.0, high=1.0, only_with="schedule=cosine")
    sample: bool = setting(False, "Sample.")
    top_k: int = setting(0, "Likeliest tokens.", low=0, only_with="sample")
    betas: tuple[float, ...] = setting((0.9, 0.98), "Betas.", low=0.0, high=1.0, lengths=(2,))
    tables: tuple[Table, ...] = setting((), "Tables.")
    folder: str = setting("", "Folder.", is_path=True)


def test_a_setting_has_its_name_type_and_help():
    steps = settings_of(Section)["steps"]
    assert (steps.name, steps.type, steps.default) == ("steps", int, 10)
    assert steps.help_line() == "Length (steps)."
    assert settings_of(Section)["schedule"].choices == ("constant", "cosine")


@pytest.mark.parametrize(
    ("values", "name", "problem"),
    [
        ({"steps": 0}, "steps", "0 is too small; give at least 1"),
        ({"steps": 101}, "steps", "101 is too large; give at most 100"),
        (
            {"top_k": 2**63},
            "top_k",
            "9.223e+18 is too large; give at most 9,223,372,036,854,775,807",
        ),
        ({"lowest": 1.5}, "lowest", "1.5 is not between 0 and 1"),
        ({"lowest": float("nan")}, "lowest", "nan is not between 0 and 1"),
        ({"betas": (0.5, 2.0)}, "betas", "2.0 is not between 0 and 1"),
        ({"betas": (0.5,)}, "betas", "expected 2 values, found 1"),
        (
            {"tables": (Table(path="a", weight=9.0),)},
            "tables.weight",
            "9.0 is not between 0.5 and 2",
        ),
    ],
)
def test_a_value_out_of_bounds_is_named_with_the_bound(values, name, problem):
    assert list(problems_in(Section(**values))) == [(name, problem)]


def test_a_setting_without_effect_is_named_with_what_it_depends_on():
    [(name, problem)] = unused_in(Section(lowest=0.5))
    assert name == "lowest"
    assert "no effect with schedule = 'constant', it is for 'cosine'" in problem
    [(name, problem)] = unused_in(Section(top_k=5))
    assert problem == "5 has no effect without sample; set sample, or leave this out"
    assert not list(unused_in(Section(schedule="cosine", lowest=0.5, sample=True, top_k=5)))
    assert not list(unused_in(Section(lowest=0.0))), "a default is not reported"


def test_json_schema_has_types_bounds_choices_and_defaults():
    schema = json_schema(Section, "steps", "schedule", "betas")
    assert schema["steps"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 100,
        "description": "Length (steps).",
        "default": 10,
    }
    assert schema["schedule"]["enum"] == ["constant", "cosine"]
    assert schema["betas"]["items"] == {"type": "number", "minimum": 0.0, "maximum": 1.0}
    assert "sample" in json_schema(Section)


def test_sections_are_found_with_their_paths():
    assert list(section_types(Section)) == [("", Section)]


def test_paths_become_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    section = Section(folder="runs/a", tables=(Table(path="b"), Table(path="/c")))
    assert list(paths_in(section)) == [
        ("tables.path", "b"),
        ("tables.path", "/c"),
        ("folder", "runs/a"),
    ]
    absolute = with_absolute_paths(section)
    assert [path for _, path in paths_in(absolute)] == [
        str(tmp_path / "b"),
        "/c",
        str(tmp_path / "runs" / "a"),
    ]
    assert with_absolute_paths(Section()) == Section(), "an empty path stays empty"


def test_every_file_of_a_recipe_is_a_path():
    """Fields whose value is a file or folder, by their help, are declared as paths."""
    keys = {
        f"{section}.{name}"
        for section, declared in section_types(Recipe)
        for name, declaration in settings_of(declared).items()
        if declaration.is_path
    }
    corpora = {f"data.{split}{side}" for split in ("", "valid_", "test_") for side in SIDES}
    vectors = {f"{part}.pretrained_embedding" for part in ("encoder", "decoder")}
    assert keys == {*corpora, *vectors, "data.prepared", "data.codebook", "training.init_from"}
    assert all(settings_of(MixedCorpus)[side].is_path for side in SIDES)


SIDES = ("source", "target")
