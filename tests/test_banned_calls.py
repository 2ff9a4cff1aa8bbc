"""What runs foreign code or unpacks without bounds stands nowhere in the sources."""

import ast
import io
import json
import re
import tarfile
from pathlib import Path

import pytest

from benchmarks.speed.ctranslate2_peer import _unpack

ROOT = Path(__file__).parents[1]
ROOMS = ("src", "benchmarks", "experiments", "tests", "examples", "notebooks", "docs")
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "joblib", "yaml"}
NAMES = {"eval", "exec", "compile", "__import__"}
METHODS = {
    "torch.load", "torch.save", "torch.hub.load", "np.load", "numpy.load",
    "os.system", "os.popen", "os.startfile", "runpy.run_path",
    "code.interact", "pandas.read_pickle", "pd.read_pickle",
}  # fmt: skip
ANYWHERE = {
    "extractall", "unpack_archive", "recv_object", "broadcast_object_list", "all_gather_object",
    "gather_object", "scatter_object_list", "read_pickle", "from_pickle", "to_pickle",
}  # fmt: skip
TRUE_MEANS = {"shell", "allow_pickle", "trust_remote_code"}
SUSPECT = re.compile(  # a text without any of these words is not looked at further
    "|".join(
        {
            *MODULES, *ANYWHERE, *TRUE_MEANS, "weights_only", "popen", "startfile", "run_path",
            "interact", r"\bsystem\b", "hub", r"(?:torch|np|numpy)[^\n]*\b(?:load|save)\b",
            r"(?<![.\w])(?:eval|exec|compile|__import__)\(",
        }
    )
)  # fmt: skip
SINKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\s*\(|new\s+Function\s*\("
    r"|setTimeout\s*\(\s*[\"'`]|\.srcdoc\b|javascript:|createContextualFragment|v-html"
    r"|dangerouslySetInnerHTML"
)


def python_sources():
    """Every Python text of the project: its files, and the cells of its notebooks."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            yield path, path.read_text(encoding="utf-8")
        for path in sorted((ROOT / room).rglob("*.ipynb")):
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            for cell in cells:
                if cell["cell_type"] == "code":
                    yield path, re.sub(r"(?m)^\s*[%!].*$", "", "".join(cell["source"]))


def dotted(node):
    """`a.b.c` as it is written, or nothing."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def offences(text):
    """Every forbidden thing in a Python text, by line."""
    if not SUSPECT.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.Import(names=names):
                for one in names:
                    if one.name.partition(".")[0] in MODULES:
                        yield line, one.name
            case ast.ImportFrom(module=str(module), names=names):
                full = {f"{module}.{one.name}" for one in names}
                if module.partition(".")[0] in MODULES or full & METHODS:
                    yield line, module
                yield from ((line, one.name) for one in names if one.name in ANYWHERE)
            case ast.Call():
                yield from ((line, found) for found in calls(node))


def calls(node):
    name = dotted(node.func)
    last = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if name in NAMES or name in METHODS or last in ANYWHERE:
        yield name or last
    if last == "import_module" and str(getattr(node.args[0], "value", "")) in MODULES:
        yield f"{last}({node.args[0].value!r})"
    for keyword in node.keywords:
        if keyword.arg in TRUE_MEANS and not is_false(keyword.value):
            yield f"{name}({keyword.arg}=…)"
        if keyword.arg == "weights_only" and is_false(keyword.value):
            yield f"{name}(weights_only=False)"


def is_false(node):
    return isinstance(node, ast.Constant) and node.value in (False, None)


def test_no_python_source_runs_foreign_code():
    read, found = 0, []
    for path, text in python_sources():
        read += 1
        found += [f"{path.relative_to(ROOT)}:{line}: {what}" for line, what in offences(text)]
    assert read > 500
    assert not found, "\n".join(found)


def test_unpacking_writes_regular_files_inside_the_folder_only(tmp_path):
    packed, place = tmp_path / "wheel.tar", tmp_path / "wheel"
    with tarfile.open(packed, "w") as tar:
        for name in ("inner/good.py", "../beside.py", str(tmp_path / "absolute.py")):
            member = tarfile.TarInfo(name)
            member.size = 4
            tar.addfile(member, io.BytesIO(b"good"))
        for name, kind in (("link", tarfile.SYMTYPE), ("same", tarfile.LNKTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            tar.addfile(member)
    _unpack(packed, place)
    files = [path for path in tmp_path.rglob("*") if not path.is_dir()]
    assert sorted(files) == [place / "inner" / "good.py", packed]
    assert (place / "inner" / "good.py").read_bytes() == b"good"


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from pickle import loads",
        "import torch\ntorch.load('x')",
        "from torch import load",
        "import yaml",
        "eval('1')",
        "exec(text)",
        "compile('1', '', 'eval')",
        "import subprocess\nsubprocess.run('ls', shell=True)",
        "subprocess.run('ls', shell=wanted)",
        "import os\nos.system('ls')",
        "box.extractall(place)",
        "numpy.load('x', allow_pickle=True)",
        "import marshal",
        "import shelve as s",
        "from importlib import import_module\nimportlib.import_module('pickle')",
        "dist.all_gather_object(a, b)",
        "shutil.unpack_archive('x')",
        "load('x', weights_only=False)",
        "AutoModel.from_pretrained('x', trust_remote_code=True)",
    ],
)
def test_each_banned_call_is_detected(text):
    assert list(offences(text))


@pytest.mark.parametrize("text", ["import json", "re.compile('a')", "run(x, shell=False)"])
def test_harmless_calls_are_not(text):
    assert not list(offences(text))


def pages():
    for room in ("src", "docs", "examples"):
        for end in ("*.js", "*.html"):
            yield from sorted((ROOT / room).rglob(end))


def test_no_page_writes_html_from_strings():
    read = list(pages())
    assert len(read) > 20
    found = []
    for path in read:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if SINKS.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "line", ["box.innerHTML = said", "eval(text)", "new Function(text)", "x.srcdoc = y"]
)
def test_each_html_sink_is_detected(line):
    assert SINKS.search(line)
