"""Write the notebooks, one for each page of `lectures/`, and run them into `build/notebooks`.

`make notebooks` does it for all, `python notebooks/build.py 3` for the third. The notebooks in
this folder have no outputs, which keeps the repository small; `--no-run` writes only these.
"""

import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from traitlets.config import Config

HERE = Path(__file__).parent
EXECUTED = HERE.parent / "build" / "notebooks"
LECTURES = tuple(sorted((HERE / "lectures").glob("*.md")))
FENCE = re.compile(r"^```python\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
SVG = "image/svg+xml"
METADATA = re.compile(r"<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL)
SHORT_FONT_NAMES = {
    "NotoSansDevanagari-Regular-": "n",
    "DejaVuSans-": "d",
}  # by the font, then a number
SECONDS = 300  # for a cell


class ThisPython(AsyncKernelManager):
    """Starts the interpreter that runs this, whatever kernels are installed."""

    @property
    def kernel_spec(self) -> KernelSpec:
        """The kernel specification, without warnings."""
        start = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=[*start, "--log-level=ERROR"], language="python")


def build(numbers: list[str], *, run: bool = True) -> None:
    """Write these notebooks, or all, and the list of them; run each into `build/notebooks`."""
    EXECUTED.mkdir(parents=True, exist_ok=True)
    for page in LECTURES:
        if not numbers or str(int(page.stem[:2])) in numbers:
            print(page.stem, file=sys.stderr, flush=True)
            name = f"{page.stem}.ipynb"
            write(notebook(page), HERE / name)
            if run:
                write(execute(notebook(page)), EXECUTED / name)
    (HERE / "README.md").write_text(index(), encoding="utf-8")


def notebook(page: Path) -> NotebookNode:
    """A notebook without outputs: each program of the page is a code cell, the rest is text."""
    texts = FENCE.split(page.read_text(encoding="utf-8"))
    make = (nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell)
    cells = [make[index % 2](text.strip()) for index, text in enumerate(texts) if text.strip()]
    for index, cell in enumerate(cells, 1):
        cell.id = f"{page.stem[:2]}-{index:02}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return nbformat.v4.new_notebook(cells=cells, metadata=about)


def execute(notebook_node: NotebookNode, **environment: str) -> NotebookNode:
    """The notebook after running every cell, in one thread, without times and paths."""
    about = dict(notebook_node.metadata)
    with TemporaryDirectory() as settings:
        kernel_environment = {
            "IPYTHONDIR": settings,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": _paths(),
        }
        sockets = {"transport": "ipc", "ip": f"{settings}/kernel"}  # ports may be taken meanwhile
        client = NotebookClient(
            notebook_node,
            timeout=SECONDS,
            kernel_manager_class=ThisPython,
            coalesce_streams=True,
            config=Config(ThisPython=sockets),
        )
        client.resources = {"metadata": {"path": str(HERE)}}
        client.execute(env={**os.environ, **kernel_environment, **environment})
    notebook_node.metadata = nbformat.from_dict(about)
    for cell in notebook_node.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):
            if SVG in output.get("data", {}):
                output.data = {SVG: minify_svg(output.data[SVG])}  # its text repeats the numbers
    return notebook_node


def minify_svg(svg: str) -> str:
    """A minified SVG: one line, short glyph names, no metadata."""
    for name, short in SHORT_FONT_NAMES.items():
        svg = svg.replace(name, short)
    return " ".join(METADATA.sub("", svg).split()).replace("> <", "><")


def write(notebook_node: NotebookNode, path: Path) -> None:
    """Write a notebook; equal cells and outputs give equal bytes."""
    nbformat.validate(notebook_node)
    nbformat.write(notebook_node, path)


def index() -> str:
    """The README: a table of the notebooks, and how to use them."""
    rows = [f"| [{page.stem}]({page.stem}.ipynb) | {_title(page)} |" for page in LECTURES]
    head = """# Ten lectures

Notebooks for classes of 45 minutes, in English and Hindi. Each has an idea, lessons that compute
its numbers, questions, and an exercise at the end. They need no network. Their outputs are not
stored: run the cells, or `make notebooks`, which writes executed copies to `build/notebooks`.

हर नोटबुक 45 मिनट की एक कक्षा के लिए है, अंग्रेज़ी और हिंदी में: एक विचार, उसकी संख्याएँ दिखाने वाले पाठ, प्रश्न, और अंत में
एक अभ्यास। इंटरनेट की ज़रूरत नहीं है। आउटपुट यहाँ नहीं रखे जाते: सेल चलाइए, या `make notebooks`, जो चली हुई प्रतियाँ
`build/notebooks` में लिखता है।

| notebook | title |
|---|---|"""
    tail = """
To change a notebook, edit its page in `lectures/` and run `make notebooks`, or
`python notebooks/build.py 3` for the third alone. Python programs become code cells, the text
between them text cells. Every English paragraph is followed by its Hindi translation. Times in
notebooks 3, 5 and 8 are measured and differ from run to run.
"""
    return "\n".join([head, *rows, tail])


def _title(page: Path) -> str:
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _paths() -> str:
    """Where the kernel finds the package: in this checkout, before any other place."""
    return os.pathsep.join(
        filter(None, [str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")])
    )


if __name__ == "__main__":
    numbers = [number for number in sys.argv[1:] if number != "--no-run"]
    build(numbers, run="--no-run" not in sys.argv)
