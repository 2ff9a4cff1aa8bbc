"""No source runs untrusted code, unpacks archives without checks or writes HTML from strings."""

import ast
import io
import json
import re
import tarfile
from pathlib import Path

import pytest

from benchmarks.speed.ctranslate2_peer import _unpack

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "benchmarks", "experiments", "tests", "examples", "notebooks", "docs")
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
SUSPECT = re.compile(  # a text without any of these is not parsed
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
    """Every Python source of the project: files and notebook cells."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path, path.read_text(encoding="utf-8")
        for path in sorted((ROOT / folder).rglob("*.ipynb")):
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


def violations_in(text):
    """Every banned import or call in a Python text, by line."""
    if not SUSPECT.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.Import(names=names):
                for alias in names:
                    if alias.name.partition(".")[0] in MODULES:
                        yield line, alias.name
            case ast.ImportFrom(module=str(module), names=names):
                full = {f"{module}.{alias.name}" for alias in names}
                if module.partition(".")[0] in MODULES or full & METHODS:
                    yield line, module
                yield from ((line, alias.name) for alias in names if alias.name in ANYWHERE)
            case ast.Call():
                yield from ((line, call) for call in banned_calls(node))


def banned_calls(node):
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
    files, violations = 0, []
    for path, text in python_sources():
        files += 1
        violations += [
            f"{path.relative_to(ROOT)}:{line}: {what}" for line, what in violations_in(text)
        ]
    assert files > 500
    assert not violations, "\n".join(violations)


def test_unpacking_writes_regular_files_inside_the_folder_only(tmp_path):
    archive, folder = tmp_path / "wheel.tar", tmp_path / "wheel"
    with tarfile.open(archive, "w") as tar:
        for name in ("inner/good.py", "../beside.py", str(tmp_path / "absolute.py")):
            member = tarfile.TarInfo(name)
            member.size = 4
            tar.addfile(member, io.BytesIO(b"good"))
        for name, member_type in (("link", tarfile.SYMTYPE), ("same", tarfile.LNKTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = member_type, "/etc/passwd"
            tar.addfile(member)
    _unpack(archive, folder)
    files = [path for path in tmp_path.rglob("*") if not path.is_dir()]
    assert sorted(files) == [folder / "inner" / "good.py", archive]
    assert (folder / "inner" / "good.py").read_bytes() == b"good"


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
    assert list(violations_in(text))


@pytest.mark.parametrize("text", ["import json", "re.compile('a')", "run(x, shell=False)"])
def test_harmless_calls_are_not(text):
    assert not list(violations_in(text))


def pages():
    for folder in ("src", "docs", "examples"):
        for end in ("*.js", "*.html"):
            yield from sorted((ROOT / folder).rglob(end))


def test_no_page_writes_html_from_strings():
    paths = list(pages())
    assert len(paths) > 20
    violations = []
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if SINKS.search(line):
                violations.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert not violations, "\n".join(violations)


@pytest.mark.parametrize(
    "line", ["box.innerHTML = said", "eval(text)", "new Function(text)", "x.srcdoc = y"]
)
def test_each_html_sink_is_detected(line):
    assert SINKS.search(line)
