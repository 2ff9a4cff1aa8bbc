"""Reference page of all settings, from their declarations: `python -m dhyan.config.reference`."""

from collections.abc import Iterator
from dataclasses import MISSING
from math import inf

from dhyan.config.declare_settings import Setting, section_types, settings_of, shortened, to_toml
from dhyan.config.recipe import Recipe
from dhyan.config.sections import Data, MixedCorpus

INTRODUCTION = """\
# Settings

Every key of a recipe, its default and its range. This page is made from the declarations in
`src/dhyan/config`: `python -m dhyan.config.reference > docs/reference/settings.md`.

A recipe is a TOML file with the sections below. A key can be overridden on the command line:

```sh
dhyan recipe numbers --set training.steps=500 --set decoder.attention.heads=2
```

An unknown key is an error with a suggestion. So is a value out of range, a setting that has no
effect beside the others, and any other contradiction; all of them are named at once.
"""


def reference_page() -> str:
    """The page as Markdown."""
    parts = [INTRODUCTION]
    for path, section in section_types(Recipe):
        kind = settings_of(section).get("kind")
        title = f"[{path}]" + (f' kind = "{kind.default}"' if kind else "")
        parts.append(_table(f"`{title}`" if path else "Top level", section))
        if section is Data:
            parts.append(_table("`[[data.mix]]`", MixedCorpus))
    unique = dict.fromkeys(parts)  # two decoders have the same section of attention
    return "\n".join(unique)


def _table(title: str, section: type) -> str:
    rows = [_row(setting) for name, setting in settings_of(section).items() if name != "kind"]
    lines = [f"## {title}", "", (section.__doc__ or "").partition("\n\n")[0], ""]
    lines += ["| key | default | range | meaning |", "|---|---|---|---|", *rows, ""]
    return "\n".join(lines)


def _row(setting: Setting) -> str:
    default = "required" if setting.default is MISSING else f"`{to_toml(setting.default)}`"
    meaning = " ".join(_sentences(setting)).replace("|", "\\|")
    return f"| `{setting.name}` | {default} | {_range(setting)} | {meaning} |"


def _sentences(setting: Setting) -> Iterator[str]:
    yield setting.help_line()
    if setting.allowed_with:
        values = " or ".join(f'`"{value}"`' for value in setting.allowed_with)
        yield f"Only with `{setting.depends_on}` = {values}."
    elif setting.only_with:
        yield f"Only with `{setting.depends_on}`."


def _range(setting: Setting) -> str:
    if setting.choices:
        return " ".join(f'`"{choice}"`' for choice in setting.choices)
    if setting.low is None:
        return ""
    if setting.high in (None, inf):
        return f"≥ {_number(setting.low)}"
    return f"{_number(setting.low)} to {_number(setting.high or 0)}"


def _number(value: float) -> str:
    return f"{value:.10g}" if isinstance(value, float) else shortened(value)


if __name__ == "__main__":
    print(reference_page(), end="")
