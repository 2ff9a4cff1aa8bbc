"""Write an imported model as a folder of ours, and check it like any model of unknown origin."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor

from dhyan import atomic_folder
from dhyan.atomic_folder import check_writable
from dhyan.checkpoint import tensors_to_bytes
from dhyan.config import Recipe, dump_recipe
from dhyan.errors import UserError
from dhyan.model_check import read_model
from dhyan.model_check.checkpoint_contents import check_shapes, weight_shapes
from dhyan.run.environment import versions
from dhyan.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class ImportedModel:
    """A recipe, weights under our names, and tokenizers; `format` says where it comes from.

    A table that is shared or tied has its rows under each of its names.
    """

    format: str
    recipe: Recipe
    weights: Mapping[str, Tensor]
    source: Tokenizer
    target: Tokenizer

    def in_languages(self, source: str, target: str) -> "ImportedModel":
        """The model with these languages; an empty one stays as it is."""
        data = self.recipe.data
        data = replace(
            data,
            source_language=source or data.source_language,
            target_language=target or data.target_language,
        )
        return replace(self, recipe=replace(self.recipe, data=data))


def write_model(model: ImportedModel, out: Path) -> Path:
    """Write the folder, complete and checked, or not at all."""
    check_out(out)
    sizes = len(model.source), len(model.target)
    model.recipe.check()
    shapes = weight_shapes(model.recipe, sizes)
    weights = {name: model.weights[name] for name in shapes if name in model.weights}
    check_shapes({name: tuple(weight.shape) for name, weight in weights.items()}, shapes)
    files = {
        "recipe.toml": dump_recipe(model.recipe).encode(),
        "model.safetensors": tensors_to_bytes({n: w.float().clone() for n, w in weights.items()}),
        "source.json": model.source.to_json().encode(),
        "target.json": model.target.to_json().encode(),
    }
    facts = {
        "step": 0,
        "data_fingerprint": "",
        "device": "cpu",
        "threads": 0,
        "versions": versions(),
        "imported_from": model.format,
    }
    checksums = {name: atomic_folder.checksum(data) for name, data in files.items()}
    with atomic_folder.atomic_folder(out) as folder:
        for name, data in files.items():
            (folder / name).write_bytes(data)
        atomic_folder.write_manifest(folder, facts, checksums)
        read_model(folder)
    return out


def check_out(out: Path) -> None:
    """Refuse an output folder that exists or cannot be written."""
    check_writable(out)
    if out.exists():
        raise UserError(f"{out}: exists already; name another folder")
