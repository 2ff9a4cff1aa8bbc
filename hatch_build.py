"""Compile the C++ libraries: for hatchling when the package is built, or `python hatch_build.py`.

Without a C++ compiler the package is built without them: then PyTorch translates on CPUs, and BPE
dropout is sampled in Python.
"""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ENGINE, BPE_DROPOUT = Path("src/dhyan/cpu_engine"), Path("src/dhyan/text")
FLAGS = "-std=gnu++17 -O3 -g0 -shared -fPIC -fvisibility=hidden -pthread -w".split()
TARGETS = {
    "avx512": "-mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mavx2 -mfma",
    "avxvnni": "-mavx2 -mfma -mavxvnni",
    "avx2": "-mavx2 -mfma",
    "portable": "",
}  # the flags of each; which CPUs run it is in dhyan.cpu_engine.library
X86 = ("x86_64", "AMD64")


def compile_libraries(root: Path, extra: tuple[str, ...] = ()) -> list[Path]:
    """The libraries of all targets that the compiler knows; none without a compiler."""
    names = (os.environ.get("CXX"), "c++", "g++", "clang++")
    compiler = next((name for name in names if name and shutil.which(name)), None)
    targets = list(TARGETS) if platform.machine() in X86 else ["portable"]
    if compiler is None:
        return []
    release = sys.platform == "linux" and not extra
    static = ["-s", "-static-libgcc", "-static-libstdc++"] if release else []

    def compile_library(library: Path, source: Path, target: str) -> Path | None:
        partial = library.with_suffix(f".{os.getpid()}")
        command = [compiler, *FLAGS, *TARGETS[target].split(), *extra, str(source)]
        done = subprocess.run([*command, *static, "-o", str(partial)], capture_output=True)
        if done.returncode:
            partial.unlink(missing_ok=True)
            return None
        partial.replace(library)
        return library

    engine, bpe_dropout = root / ENGINE, root / BPE_DROPOUT
    jobs = [
        (engine / f"engine-{target}.so", engine / "csrc/engine.cpp", target) for target in targets
    ]
    source = bpe_dropout / "csrc/bpe_dropout.cpp"
    jobs.append((bpe_dropout / "bpe-dropout.so", source, "portable"))
    with ThreadPoolExecutor(2) as pool:
        libraries = pool.map(lambda job: compile_library(*job), jobs)
        return [library for library in libraries if library]


def libraries_there(root: Path) -> list[Path]:
    """The libraries that are compiled already, if none is older than a source."""
    libraries = [path for folder in (ENGINE, BPE_DROPOUT) for path in (root / folder).glob("*.so")]
    sources = [root / "hatch_build.py"]
    sources += [
        path for folder in (ENGINE, BPE_DROPOUT) for path in (root / folder / "csrc").iterdir()
    ]
    newest = max(path.stat().st_mtime for path in sources)
    fresh = len(libraries) > 1 and all(path.stat().st_mtime > newest for path in libraries)
    return libraries if fresh else []


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the compiled libraries to a wheel, which is then one for this platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files of a wheel are collected."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        libraries = libraries_there(root) or compile_libraries(root)
        if not libraries:
            self.app.display_warning(
                "no C++ compiler: the CPU engine and compiled BPE dropout are left out"
            )
            return
        tag = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag}"
        build_data["artifacts"] += [str(path.relative_to(self.root)) for path in libraries]


if __name__ == "__main__":
    compiled = compile_libraries(Path(__file__).parent, tuple(sys.argv[1:]))
    print(", ".join(path.name for path in compiled) or "no C++ compiler was found")
