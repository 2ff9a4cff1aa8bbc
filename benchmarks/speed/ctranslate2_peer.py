"""CTranslate2 for comparison: a converted MarianMT that translates in its own process."""

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
class TranslationJob:
    """Source token ids, beam, output length, and the number of timed repeats."""

    source: list[list[int]]
    beam: int
    length: int
    repeats: int


@dataclass(frozen=True)
class ConvertedModel:
    """A model in CTranslate2's format, and the environment variables of its process."""

    folder: Path
    environment: dict[str, str]

    def translate(
        self, jobs: Sequence[TranslationJob], *, dtype: str, device: str = "cuda"
    ) -> list[tuple[list[float], list[list[int]]]]:
        """The seconds of each repeat and the output token ids, per job."""
        requests = {
            "model": str(self.folder),
            "dtype": dtype,
            "device": device,
            "jobs": [asdict(job) for job in jobs],
        }
        process = subprocess.run(
            [sys.executable, __file__],
            input=json.dumps(requests),
            capture_output=True,
            text=True,
            check=False,
            env=self.environment,
        )
        if process.returncode:
            raise RuntimeError(process.stderr[-500:])
        return [(seconds, outputs) for seconds, outputs in json.loads(process.stdout)]


@contextmanager
def convert_model(model: Any, archive: Path | None) -> Iterator[ConvertedModel]:
    """Convert a MarianMT; where CTranslate2 is not installed, it is read from a tar of its wheel."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = dict(os.environ)
        if find_spec("ctranslate2") is None and archive is not None and archive.exists():
            _unpack(archive, folder / "wheel")
            sys.path.insert(0, str(folder / "wheel"))
            paths = [str(folder / "wheel"), environment.get("PYTHONPATH", "")]
            environment["PYTHONPATH"] = ":".join(filter(None, paths))
        environment |= _cublas_12(folder)
        _convert(model, folder / "model")
        yield ConvertedModel(folder / "model", environment)


def _unpack(archive: Path, destination: Path) -> None:
    """Extract the regular files of a tar that lie inside the folder; skip everything else."""
    inside = destination.resolve()
    with tarfile.open(archive) as tar:
        for member in tar:
            path = (inside / member.name).resolve()
            file = tar.extractfile(member) if member.isreg() else None
            if file is None or inside not in path.parents:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with file, path.open("wb") as out:
                shutil.copyfileobj(file, out)


def _convert(model: Any, folder: Path) -> None:
    from ctranslate2.converters.transformers import MarianMTLoader

    loader = MarianMTLoader()
    spec = loader.get_model_spec(model)
    loader.set_vocabulary(spec, [word_of(i) for i in range(model.config.vocab_size - 1)])
    spec.config.eos_token = spec.config.decoder_start_token = word_of(0)
    spec.config.unk_token = word_of(1)
    spec.validate()
    spec.optimize()
    folder.mkdir()
    spec.save(str(folder))


def word_of(id: int) -> str:
    """A generated word for a token id; the first two are </s> and <unk>."""
    return SPECIAL[id] if id < len(SPECIAL) else f"w{id}"


def token_id(word: str) -> int:
    """The token id of a generated word."""
    return SPECIAL.index(word) if word in SPECIAL else int(word[1:])


def _cublas_12(folder: Path) -> dict[str, str]:
    """The CUDA 13 libraries that torch has loaded, under the names that CTranslate2 loads."""
    import torch

    if not torch.cuda.is_available():
        return {}
    torch.ones(8, 8, device="cuda") @ torch.ones(8, 8, device="cuda")
    mapped = set(Path("/proc/self/maps").read_text().split())
    links, folders = folder / "links", []
    links.mkdir()
    for name in ("libcublas.so", "libcublasLt.so"):
        library = next(path for path in sorted(mapped) if Path(path).name.startswith(name))
        (links / f"{name}.12").symlink_to(library)
        folders.append(str(Path(library).parent))
    before = os.environ.get("LD_LIBRARY_PATH", "")
    return {"LD_LIBRARY_PATH": ":".join(filter(None, [str(links), *folders, before]))}


def _translate_jobs(requests: dict[str, Any]) -> list[tuple[list[float], list[list[int]]]]:
    """Translate every job several times; its seconds and outputs. Runs in its own process."""
    import ctranslate2

    translator = ctranslate2.Translator(
        requests["model"], device=requests["device"], compute_type=requests["dtype"]
    )
    measurements = []
    for job in requests["jobs"]:
        source = [[word_of(i) for i in row] for row in job["source"]]
        seconds, results = [], []
        for _ in range(job["repeats"] + 2):
            start = perf_counter()
            results = translator.translate_batch(
                source,
                beam_size=job["beam"],
                min_decoding_length=job["length"],
                max_decoding_length=job["length"],
                max_batch_size=0,
            )
            seconds.append(perf_counter() - start)
        outputs = [[token_id(word) for word in result.hypotheses[0]] for result in results]
        measurements.append((seconds[2:], outputs))
    return measurements


if __name__ == "__main__":
    json.dump(_translate_jobs(json.load(sys.stdin)), sys.stdout)
