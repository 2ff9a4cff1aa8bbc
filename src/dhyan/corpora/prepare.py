"""Preparing a corpus once, as ids in files, so that training needs no memory for it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dhyan.config import Recipe
from dhyan.corpora.gather import TextCorpus, read_corpus, with_languages
from dhyan.corpora.interface import Say
from dhyan.corpora.prepared import (
    FORMAT,
    MANIFEST,
    TOKENIZERS,
    VALIDATION,
    check_files,
    compare,
    read_manifest,
    settings_of,
)
from dhyan.corpora.sources import Told
from dhyan.corpora.vocabulary import Part, pour
from dhyan.data.mixture import Mixture
from dhyan.data.store import digest, new_store
from dhyan.faults import Fault
from dhyan.version import __version__
from dhyan.whole import whole_folder


@dataclass(frozen=True)
class Prepared:
    """A prepared folder, and how many pairs it holds to train on and to validate on."""

    folder: Path
    training: int
    validation: int


def prepare(recipe: Recipe, out: Path, say: Say = lambda line: None) -> Prepared:
    """Write the recipe's pairs as ids into the folder `out`, or find them there already.

    The files are read as streams, several times over; few pairs are ever in memory.
    """
    recipe = with_languages(recipe)
    if recipe.data.prepared:
        raise Fault(f"data.prepared: {recipe.data.prepared} is prepared already; train with it")
    if recipe.data.task:
        raise Fault(f"data.task: {recipe.data.task!r} makes its own pairs; name --source FILE")
    corpus = read_corpus(recipe, say, stream=True)
    if (out / MANIFEST).exists():
        return _already(out, recipe, corpus, say)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise Fault(f"{out}: holds something else already; name another --out")
    with whole_folder(out) as folder:
        manifest = _write(folder, recipe, corpus, say)
    return _told(out, manifest)


def _write(folder: Path, recipe: Recipe, corpus: TextCorpus, say: Say) -> dict[str, Any]:
    tokenizers = corpus.learn(recipe, say)
    for name, tokenizer in zip(TOKENIZERS, tokenizers, strict=True):
        tokenizer.save(folder / name)
    with open(folder / VALIDATION, "w", encoding="utf-8") as file:
        for pair in corpus.validation:
            file.write(json.dumps(asdict(pair), ensure_ascii=False) + "\n")
    with new_store(folder) as writer:
        parts = [_spoken_of(part, say) for part in corpus.parts]
        longest = recipe.data.longest
        mixture = pour(parts, *tokenizers, writer.add, text=recipe.text, longest=longest, say=say)
    manifest = _manifest(folder, recipe, corpus, mixture, writer.tokens)
    (folder / MANIFEST).write_text(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n")
    return manifest


def _manifest(
    folder: Path,
    recipe: Recipe,
    corpus: TextCorpus,
    mixture: Mixture,
    tokens: Mapping[str, int],
) -> dict[str, Any]:
    files = {
        path.name: {"sha256": digest(path), "bytes": path.stat().st_size}
        for path in sorted(folder.iterdir())
    }
    return {
        "format": FORMAT,
        "dhyan": __version__,
        "sizes": list(mixture.sizes),
        "weights": list(mixture.weights),
        "validation": len(corpus.validation),
        "tokens": dict(tokens),
        "fingerprint": corpus.fingerprint,
        "sample": corpus.sample,
        **settings_of(recipe),
        "files": files,
    }


def _already(out: Path, recipe: Recipe, corpus: TextCorpus, say: Say) -> Prepared:
    """What lies there, if it is what would be written."""
    manifest = read_manifest(out)
    weights = [part.weight for part in corpus.parts]
    if (manifest["fingerprint"], manifest["weights"]) != (corpus.fingerprint, weights):
        raise Fault(f"{out}: was prepared from other pairs; name another --out")
    compare(out, manifest, _anywhere(recipe))
    check_files(out, manifest)
    say(f"{out}: already prepared, and nothing has changed")
    return _told(out, manifest)


def _anywhere(recipe: Recipe) -> Recipe:
    """The recipe without its files, which are known by their fingerprint wherever they lie."""
    data = replace(recipe.data, source="", target="", valid_source="", valid_target="")
    return replace(recipe, data=replace(data, columns=(), mix=()))


def _spoken_of(part: Part, say: Say) -> Part:
    return replace(part, pairs=Told(part.pairs, lambda n: say(f"encoded {n:,} pairs")))


def _told(out: Path, manifest: Mapping[str, Any]) -> Prepared:
    return Prepared(out, sum(manifest["sizes"]), manifest["validation"])
