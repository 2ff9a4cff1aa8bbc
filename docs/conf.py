"""The site: `make docs` builds it into build/site, with every link checked.

The pages and figures of the lessons are built first, into docs/understand (not kept in git).
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.search.en import SearchEnglish
from sphinx.util import logging

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "src"))

from dhyan.insight.fonts import devanagari_file  # noqa: E402
from dhyan.lessons.catalogue import LESSONS, SECTIONS, Text  # noqa: E402
from dhyan.version import __version__  # noqa: E402

project = "dhyan"
author = copyright = "The dhyan contributors"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["renames.tsv"]
smartquotes = False  # "--source" in a sentence stays two hyphens
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types of other libraries have no page here
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
html_theme = "furo"
html_title = "dhyan"
html_static_path = ["_static", str(devanagari_file())]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "source_repository": "https://github.com/dhyan-nmt/dhyan/",
    "source_branch": "main",
    "source_directory": "docs/",
}
REPOSITORY = "https://github.com/dhyan-nmt/dhyan/blob/main"
PICTURE = re.compile(
    r'<picture>\s*<source [^>]*srcset="([^"]+)">\s*<img src="([^"]+)" alt="([^"]*)">\s*</picture>'
)
LINK = re.compile(r"(?<=\]\()(\.\.?/[^)\s#]+)(?=[)#])")
logger = logging.getLogger(__name__)


class Search(SearchEnglish):
    """Search whose words keep their vowel signs: Sphinx splits Hindi words at every mark."""

    js_splitter_code = (
        "var splitQuery = (query) => query"
        ".split(/[^\\p{Letter}\\p{Mark}\\p{Number}_\\u200c\\u200d]+/gu).filter((term) => term);"
    )

    def split(self, input: str) -> list[str]:  # noqa: A002
        """The words of a text."""
        return re.findall(
            r"[\w\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962-\u0963\u200c\u200d]+", input
        )


def setup(app: Sphinx) -> None:
    """Pages are written for the repository; `adapt` changes what the site needs otherwise."""
    app.add_config_value("lessons", [], "env", [list])  # -D lessons=one_hot,luong; else all
    app.add_search_language(Search)
    app.connect("config-inited", build_lessons)
    app.connect("source-read", adapt)


def build_lessons(app: Sphinx, config: Config) -> None:
    """Build the pages of the chosen lessons, where their inputs changed; leave out the others."""
    names = [lesson.name for lesson in LESSONS]
    config.lessons = [name for name in names if name in config.lessons] or names
    ignored = [f"understand/{name}.md" for name in names if name not in config.lessons]
    config.exclude_patterns = [*config.exclude_patterns, *ignored]
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    subprocess.run(
        [sys.executable, str(HERE / "understand" / "build.py"), *config.lessons],
        env={**os.environ, "PYTHONPATH": path},
        check=True,
    )


def adapt(app: Sphinx, name: str, source: list[str]) -> None:
    """Figures in the theme's colours; links to files outside docs/ lead to the repository."""
    folder = (HERE / name).parent

    def link(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / match[1]))
        if target.is_relative_to(HERE):
            return match[1]
        if not target.exists():
            logger.warning("no file %s", match[1], location=name)
        return f"{REPOSITORY}/{target.relative_to(ROOT)}"

    if name == "understand/index":
        source[0] += _lesson_tables(app.config.lessons)
    source[0] = LINK.sub(link, PICTURE.sub(_figures, source[0]))


def _lesson_tables(lessons: list[str]) -> str:
    """A table of the lessons of each section, and the pages' place in the navigation."""
    text, parts = Text("en"), [""]
    for section, names in SECTIONS.items():
        rows = [f"| [{n}]({n}.md) | {text(f'{n}.summary')} |" for n in names if n in lessons]
        if rows:
            table = ["| lesson | content |", "|---|---|", *rows]
            parts += [f"## {text(f'sections.{section}')}", "\n".join(table)]
    parts.append("\n".join(["```{toctree}", ":hidden:", "", *lessons, "```"]))
    return "\n\n".join(parts) + "\n"


def _figures(match: re.Match[str]) -> str:
    dark, light, text = match.groups()
    return "\n\n".join(
        f"```{{image}} {path}\n:class: {theme}\n:alt: {text}\n```"
        for path, theme in ((light, "only-light"), (dark, "only-dark"))
    )
