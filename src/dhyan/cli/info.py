"""`dhyan info`: the card of a model, without loading it."""

import json
import math
import tomllib

import typer

from dhyan.cli.options import AsJson, Model

SIDES = ("source", "target")
UNSAID: tuple[object, ...] = ("", "none", False, [])  # settings that say nothing


def info(model: Model, as_json: AsJson = False) -> None:
    """What a model is: recipe, parameters, scores, hashes.

    Every file is compared with its hash on the way.

    Example: dhyan info runs/bahdanau2015-small
    """
    from dhyan.checkpoint import find_checkpoint, read_checkpoint, read_manifest

    folder = find_checkpoint(model)
    needed = ("recipe.toml", "model.safetensors", "training.json", "source.json", "target.json")
    files, manifest = read_checkpoint(folder, *needed), read_manifest(folder)
    recipe = tomllib.loads(files["recipe.toml"].decode())
    progress = json.loads(files["training.json"])
    card = {
        "folder": str(folder),
        "about": recipe["about"],
        "languages": {side: recipe["data"][f"{side}_language"] or "unknown" for side in SIDES},
        "encoder": recipe["encoder"],
        "decoder": recipe["decoder"],
        "parameters": _parameters(files["model.safetensors"]),
        "vocabulary": {
            "kind": recipe["text"]["kind"],
            **{side: len(json.loads(files[f"{side}.json"])["model"]["vocab"]) for side in SIDES},
        },
        "step": progress["step"],
        "scores": progress["scores"],
        "made_with": manifest["versions"],
        "data": manifest["data"],
        "files": {name: listed["sha256"] for name, listed in manifest["files"].items()},
    }
    if as_json:
        typer.echo(json.dumps(card, ensure_ascii=False, indent=1))
        return
    for key, value in card.items():
        typer.echo(f"{key:<11} {_spoken(value)}")


def _parameters(data: bytes) -> int:
    """Counted from the safetensors header: its length in eight bytes, then JSON."""
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return sum(math.prod(t["shape"]) for name, t in header.items() if name != "__metadata__")


def _spoken(value: object) -> str:
    if isinstance(value, dict):
        parts = [f"{k} {_spoken(inner)}" for k, inner in value.items() if inner not in UNSAID]
        long = any(len(part) > 60 for part in parts)
        return (f"\n{'':<12}" if long else ", ").join(parts) or "none yet"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
