"""`dhyan info`: print the model card (recipe, parameters, scores) without building the model."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from dhyan.cli.options import AsJson, Model

SIDES = ("source", "target")
CODECS = ("source_codec", "target_codec")  # named where they are not the tokenizer
EMPTY: tuple[object, ...] = ("", "none", False, [])


def info(model: Model, as_json: AsJson = False) -> None:
    """Print the model card: recipe, parameters, scores, checksums.

    Every file is compared with its checksum; the model is not built.

    Example: dhyan info en-hi
    """
    from dhyan.checkpoint import read_manifest
    from dhyan.model_check import read_without_torch
    from dhyan.open_translator import describe_cpu_engine

    checked = read_without_torch(model)
    recipe, manifest = asdict(checked.recipe), read_manifest(checked.folder)
    progress = _progress(checked.folder, manifest)
    card = {
        "folder": str(checked.folder),
        "about": recipe["about"],
        "task": recipe["task"],
        "languages": {side: recipe["data"][f"{side}_language"] or "unknown" for side in SIDES},
        "encoder": recipe["encoder"],
        "decoder": recipe["decoder"],
        "parameters": sum(map(math.prod, checked.shapes.values())),
        "vocabulary": {
            "tokenizer": recipe["text"]["tokenizer"],
            **{key: codec for key in CODECS if (codec := recipe["text"][key])},
            **dict(zip(SIDES, checked.sizes, strict=True)),
        },
        "step": progress["step"],
        "scores": progress["scores"],
        "cpu": describe_cpu_engine(checked),
        "versions": manifest["versions"],
        "fingerprint": manifest["data_fingerprint"],
        "files": {name: listed["sha256"] for name, listed in manifest["files"].items()},
    }
    if as_json:
        typer.echo(json.dumps(card, ensure_ascii=False, indent=1))
        return
    del card["fingerprint"]  # a hash to compare runs by, not to read
    for key, value in card.items():
        typer.echo(f"{key:<11} {_format(value)}")


def _progress(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Step and scores of the checkpoint."""
    from dhyan import atomic_folder
    from dhyan.checkpoint import REMEDY
    from dhyan.pretrained.card import CARD, read_card
    from dhyan.safe_io.json_toml import read_json

    name = "training.json"
    if name not in manifest["files"]:  # a slim model has none; a pretrained one has a card
        scores = read_card(folder).scores if CARD in manifest["files"] else {}
        return {
            "step": manifest["step"],
            "scores": {key: score.value for key, score in scores.items()},
        }
    try:
        data = atomic_folder.read_files(folder, manifest, [name], remedy=REMEDY)[name]
        progress = read_json(data, finite=False)
        return {key: progress[key] for key in ("step", "scores")}
    except atomic_folder.DamagedFolder:
        raise
    except (ValueError, KeyError, TypeError):
        raise atomic_folder.DamagedFolder(
            f"{folder / name}: cannot be understood; {REMEDY}"
        ) from None


def _format(value: object) -> str:
    if isinstance(value, dict):
        parts = [f"{k} {_format(inner)}" for k, inner in value.items() if inner not in EMPTY]
        long = any(len(part) > 60 for part in parts)
        return (f"\n{'':<12}" if long else ", ").join(parts) or "none yet"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
