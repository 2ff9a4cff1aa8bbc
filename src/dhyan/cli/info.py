"""`dhyan info`: the card of a model, without loading it."""

import json
import math
import tomllib
from typing import Any

import typer

from dhyan.cli.options import AsJson, Model


def info(model: Model, as_json: AsJson = False) -> None:
    """What a model is: recipe, parameters, scores, hashes.

    Every file is compared with its hash on the way.

    Example: dhyan info runs/bahdanau2015-small
    """
    from dhyan.checkpoint import find_checkpoint, read_checkpoint, read_manifest

    folder = find_checkpoint(model)
    needed = ("recipe.toml", "model.safetensors", "training.json")
    files, manifest = read_checkpoint(folder, *needed), read_manifest(folder)
    recipe = tomllib.loads(files["recipe.toml"].decode())
    progress = json.loads(files["training.json"])
    card = {
        "folder": str(folder),
        "about": recipe["about"],
        "languages": f"{recipe['data']['source_language']} → {recipe['data']['target_language']}",
        "encoder": _brief(recipe["encoder"]),
        "decoder": _brief(recipe["decoder"]),
        "attention": _brief(recipe["decoder"].get("attention", {"kind": "multihead"})),
        "parameters": _parameters(files["model.safetensors"]),
        "vocabulary": recipe["text"],
        "step": progress["step"],
        "scores": progress["scores"],
        "made with": manifest["versions"],
        "data": manifest["data"],
        "files": {name: listed["sha256"] for name, listed in manifest["files"].items()},
    }
    if as_json:
        typer.echo(json.dumps(card, ensure_ascii=False, indent=1))
        return
    for key, value in card.items():
        typer.echo(f"{key:<11} {_spoken(value)}")


def _brief(table: dict[str, Any]) -> str:
    rest = {k: v for k, v in table.items() if k not in ("kind", "attention")}
    return ", ".join([table["kind"], *(f"{key} {value}" for key, value in rest.items())])


def _parameters(data: bytes) -> int:
    """Counted from the safetensors header: its length in eight bytes, then JSON."""
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return sum(math.prod(t["shape"]) for name, t in header.items() if name != "__metadata__")


def _spoken(value: object) -> str:
    if isinstance(value, dict):
        parts = [f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in value.items()]
        long = any(len(part) > 60 for part in parts)
        return (f"\n{'':<12}" if long else ", ").join(parts) or "none yet"
    return f"{value:,}" if isinstance(value, int) else str(value)
