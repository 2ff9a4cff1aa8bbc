"""CTranslate2 as a peer: a MarianMT converted for it, translating in a process of its own."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

SPECIAL = ("</s>", "<unk>")


@dataclass(frozen=True)
class Try:
    """Sentences as ids, to be translated into exactly so many tokens, so many times."""

    source: list[list[int]]
    beam: int
    length: int
    repeats: int


@dataclass(frozen=True)
class Converted:
    """A model in CTranslate2's form, and the surroundings its process needs."""

    folder: Path
    surroundings: dict[str, str]

    def translate(
        self, tries: Sequence[Try], *, dtype: str, device: str = "cuda"
    ) -> list[tuple[list[float], list[list[int]]]]:
        """For every try the seconds of each repeat, and what was said."""
        requests = {
            "model": str(self.folder),
            "dtype": dtype,
            "device": device,
            "tries": [asdict(one) for one in tries],
        }
        done = subprocess.run(
            [sys.executable, __file__],
            input=json.dumps(requests),
            capture_output=True,
            text=True,
            check=False,
            env=self.surroundings,
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-500:])
        return [(seconds, said) for seconds, said in json.loads(done.stdout)]


@contextmanager
def converted(model: Any, packed: Path | None) -> Iterator[Converted]:
    """This MarianMT as CTranslate2 has it; where that is not installed, from a tar of its wheel."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        surroundings = dict(os.environ)
        if find_spec("ctranslate2") is None and packed is not None and packed.exists():
            _unpack(packed, folder / "wheel")
            sys.path.insert(0, str(folder / "wheel"))
            paths = [str(folder / "wheel"), surroundings.get("PYTHONPATH", "")]
            surroundings["PYTHONPATH"] = ":".join(filter(None, paths))
        surroundings |= _cublas_12(folder)
        _convert(model, folder / "model")
        yield Converted(folder / "model", surroundings)


def _unpack(packed: Path, place: Path) -> None:
    """Write the plain files of a tar into a folder, and nothing else that it may hold."""
    inside = place.resolve()
    with tarfile.open(packed) as tar:
        for member in tar:
            path = (inside / member.name).resolve()
            file = tar.extractfile(member) if member.isreg() else None
            if file is None or inside not in path.parents:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with file, path.open("wb") as out:
                shutil.copyfileobj(file, out)


def _convert(model: Any, place: Path) -> None:
    from ctranslate2.converters.transformers import MarianMTLoader

    loader = MarianMTLoader()
    spec = loader.get_model_spec(model)
    loader.set_vocabulary(spec, [word(i) for i in range(model.config.vocab_size - 1)])
    spec.config.eos_token = spec.config.decoder_start_token = word(0)
    spec.config.unk_token = word(1)
    spec.validate()
    spec.optimize()
    place.mkdir()
    spec.save(str(place))


def word(id: int) -> str:
    """A made-up word for an id; the first two are the end and the unknown."""
    return SPECIAL[id] if id < len(SPECIAL) else f"w{id}"


def number(made: str) -> int:
    """The id of a made-up word."""
    return SPECIAL.index(made) if made in SPECIAL else int(made[1:])


def _cublas_12(folder: Path) -> dict[str, str]:
    """The CUDA 13 libraries that torch has loaded, under the names CTranslate2 asks for."""
    import torch

    if not torch.cuda.is_available():
        return {}
    torch.ones(8, 8, device="cuda") @ torch.ones(8, 8, device="cuda")
    mapped = set(Path("/proc/self/maps").read_text().split())
    links, places = folder / "links", []
    links.mkdir()
    for name in ("libcublas.so", "libcublasLt.so"):
        found = next(one for one in sorted(mapped) if Path(one).name.startswith(name))
        (links / f"{name}.12").symlink_to(found)
        places.append(str(Path(found).parent))
    before = os.environ.get("LD_LIBRARY_PATH", "")
    return {"LD_LIBRARY_PATH": ":".join(filter(None, [str(links), *places, before]))}


def _translated(requests: dict[str, Any]) -> list[tuple[list[float], list[list[int]]]]:
    """What the process of its own does: translate again and again, and tell the seconds."""
    import ctranslate2

    translator = ctranslate2.Translator(
        requests["model"], device=requests["device"], compute_type=requests["dtype"]
    )
    found = []
    for one in requests["tries"]:
        source = [[word(i) for i in row] for row in one["source"]]
        seconds, results = [], []
        for _ in range(one["repeats"] + 2):
            began = perf_counter()
            results = translator.translate_batch(
                source,
                beam_size=one["beam"],
                min_decoding_length=one["length"],
                max_decoding_length=one["length"],
                max_batch_size=0,
            )
            seconds.append(perf_counter() - began)
        said = [[number(made) for made in result.hypotheses[0]] for result in results]
        found.append((seconds[2:], said))
    return found


if __name__ == "__main__":
    json.dump(_translated(json.load(sys.stdin)), sys.stdout)
