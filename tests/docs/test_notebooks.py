"""The notebooks run without a network; each cell has an output; texts are in two languages."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import nbformat
import pytest

from dhyan.lessons.catalogue import LESSONS

ROOT = Path(__file__).parents[2] / "notebooks"
LATIN, DEVANAGARI = re.compile("[A-Za-z]"), re.compile("[\u0900-\u097f]")
# A sitecustomize.py, which Python runs at its start: connections are refused.
NO_NETWORK = """
import socket

def refused(*_):
    raise OSError("a notebook asked for the network")

socket.socket.connect = socket.socket.connect_ex = refused
socket.getaddrinfo = socket.create_connection = refused
"""


def _builder():
    spec = importlib.util.spec_from_file_location("notebooks_build", ROOT / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD = _builder()
PAGES = pytest.mark.parametrize("page", BUILD.LECTURES, ids=lambda page: page.stem)
QUICK = ("02", "10")  # the others train, or take several seconds to begin
RUN = pytest.mark.parametrize(
    "page",
    [
        page if page.stem[:2] in QUICK else pytest.param(page, marks=pytest.mark.soak)
        for page in BUILD.LECTURES
    ],
    ids=lambda page: page.stem,
)


def read_notebook(page):
    return nbformat.read(ROOT / f"{page.stem}.ipynb", as_version=4)


def cells(notebook, cell_type):
    return [cell for cell in notebook.cells if cell.cell_type == cell_type]


def test_there_is_a_notebook_for_each_of_ten_lectures():
    names = [page.stem for page in BUILD.LECTURES]
    assert [int(name[:2]) for name in names] == list(range(1, 11))
    assert sorted(path.stem for path in ROOT.glob("*.ipynb")) == names
    assert (ROOT / "README.md").read_text(encoding="utf-8") == BUILD.index()


@PAGES
def test_a_notebook_is_built_from_its_page_without_outputs(page):
    notebook = read_notebook(page)
    nbformat.validate(notebook)
    assert notebook == BUILD.notebook(page)
    for cell in cells(notebook, "code"):
        assert cell.execution_count is None
        assert not cell.outputs
        assert not cell.metadata


@PAGES
def test_every_paragraph_in_english_is_followed_by_one_in_hindi(page):
    assert page.read_text(encoding="utf-8").startswith("# ")
    for cell in cells(read_notebook(page), "markdown"):
        heads = re.findall("^#.*", cell.source, re.MULTILINE)
        for head in heads:
            english, hindi = head.split(" · ")
            assert LATIN.search(english)
            assert not DEVANAGARI.search(english)
            assert DEVANAGARI.search(hindi)
        paragraphs = [
            paragraph for paragraph in cell.source.split("\n\n") if not paragraph.startswith("#")
        ]
        assert paragraphs
        assert len(paragraphs) % 2 == 0
        for english, hindi in zip(paragraphs[::2], paragraphs[1::2], strict=True):
            assert share(english) < 0.5 < share(hindi), english
            assert english[-1] in ".?:", english
            assert hindi[-1] in "।?:", hindi


def share(text):
    """How much of a text is in Devanagari; names and formulas stay as they are."""
    hindi, latin = (len(letters.findall(text)) for letters in (DEVANAGARI, LATIN))
    return hindi / (hindi + latin)


@PAGES
def test_a_notebook_has_a_figure_in_hindi_a_question_and_an_exercise(page):
    content = page.read_text(encoding="utf-8")
    assert '.figure(lang="hi")' in content
    assert "**Think.**" in content
    assert "**सोचिए।**" in content
    assert content.count("\n## Exercise · अभ्यास\n") == 1
    assert "assert " in content


def test_every_lesson_is_in_some_notebook():
    content = "".join(page.read_text(encoding="utf-8") for page in BUILD.LECTURES)
    called = set(re.findall(r"dhyan\.lessons\.(\w+)\(", content))
    assert called == {lesson.name for lesson in LESSONS}


def test_a_smaller_svg_has_the_same_content():
    svg = """<svg>
 <!-- x -->
 <metadata>
  <a/>
 </metadata>
 <path id="DejaVuSans-61" d="M 0 1
L 2 3"/>
 <use xlink:href="#DejaVuSans-61"/>
</svg>"""
    small = '<svg><path id="d61" d="M 0 1 L 2 3"/><use xlink:href="#d61"/></svg>'
    assert BUILD.minify_svg(svg) == small


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """Kernels without a network, and a home in which the name python3 stands for something else."""
    (tmp_path / "sitecustomize.py").write_text(NO_NETWORK)
    other = tmp_path / "kernels" / "python3" / "kernel.json"
    other.parent.mkdir(parents=True)
    other.write_text(json.dumps({"argv": ["false"], "display_name": "x", "language": "python"}))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))


@pytest.mark.slow
@RUN
def test_a_notebook_runs_without_a_network(page, alone):
    notebook = BUILD.execute(BUILD.notebook(page))
    for number, cell in enumerate(cells(notebook, "code"), 1):
        assert cell.execution_count == number
        assert cell.outputs, cell.source
        assert {output.output_type for output in cell.outputs} <= {"execute_result", "stream"}
        assert not [output for output in cell.outputs if output.get("name") == "stderr"]
        assert not cell.metadata
    outputs = [output for cell in cells(notebook, "code") for output in cell.outputs]
    assert any(BUILD.SVG in output.get("data", {}) for output in outputs)
    content = nbformat.writes(notebook)
    assert len(content) < 1.5e6
    assert str(ROOT.parent) not in content
    assert str(Path.home()) + "/" not in content


def test_the_kernel_is_this_python_with_this_package_and_no_network(tmp_path, alone):
    page = tmp_path / "00-page.md"
    page.write_text(
        "# A · अ\n\n```python\nimport sys, socket, dhyan\n"
        "print(sys.executable, dhyan.__file__, sep='\\n')\n```\n\n```python\n"
        "try:\n    socket.create_connection(('127.0.0.1', 9))\n"
        "except OSError as error:\n    print(error)\n```\n",
        encoding="utf-8",
    )
    where, refused = (cell.outputs for cell in cells(BUILD.execute(BUILD.notebook(page)), "code"))
    python, package = where[0].text.splitlines()
    assert python == sys.executable
    assert Path(package) == ROOT.parent / "src" / "dhyan" / "__init__.py"
    assert refused[0].text == "a notebook asked for the network\n"
