"""Compile the CPU engine: for hatchling when the package is built, or `python hatch_build.py`.

Without a C++ compiler the package is built without the engine, and translates by PyTorch.
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

FOLDER = Path("src/dhyan/cpu_engine")
SOURCE = "csrc/engine.cpp"
FLAGS = "-std=gnu++17 -O3 -g0 -shared -fPIC -fvisibility=hidden -pthread -w".split()
TARGETS = {
    "avx512": "-mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mavx2 -mfma",
    "avxvnni": "-mavx2 -mfma -mavxvnni",
    "avx2": "-mavx2 -mfma",
    "portable": "",
}  # the flags of each; which CPUs run it is in dhyan.cpu_engine.library
X86 = ("x86_64", "AMD64")


def compile_engine(root: Path, extra: tuple[str, ...] = ()) -> list[Path]:
    """The libraries of all targets that the compiler knows; none without a compiler."""
    names = (os.environ.get("CXX"), "c++", "g++", "clang++")
    compiler = next((name for name in names if name and shutil.which(name)), None)
    targets = list(TARGETS) if platform.machine() in X86 else ["portable"]
    if compiler is None:
        return []
    release = sys.platform == "linux" and not extra
    static = ["-s", "-static-libgcc", "-static-libstdc++"] if release else []

    def compile_target(target: str) -> Path | None:
        library = root / FOLDER / f"engine-{target}.so"
        partial = library.with_suffix(f".{os.getpid()}")
        command = [compiler, *FLAGS, *TARGETS[target].split(), *extra, str(root / FOLDER / SOURCE)]
        done = subprocess.run([*command, *static, "-o", str(partial)], capture_output=True)
        if done.returncode:
            partial.unlink(missing_ok=True)
            return None
        partial.replace(library)
        return library

    with ThreadPoolExecutor(2) as pool:
        return [library for library in pool.map(compile_target, targets) if library]


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the compiled libraries to a wheel, which is then one for this platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files of a wheel are collected."""
        if self.target_name != "wheel":
            return
        libraries = compile_engine(Path(self.root))
        if not libraries:
            self.app.display_warning("no C++ compiler: the CPU engine is left out")
            return
        tag = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag}"
        build_data["artifacts"] += [str(path.relative_to(self.root)) for path in libraries]


if __name__ == "__main__":
    compiled = compile_engine(Path(__file__).parent, tuple(sys.argv[1:]))
    print(", ".join(path.name for path in compiled) or "no C++ compiler was found")
