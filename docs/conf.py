"""The site: `make docs` builds it into build/site, with every link checked."""

import os
import re
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish
from sphinx.util import logging

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "src"))

from dhyan.insight.fonts import devanagari_file  # noqa: E402
from dhyan.version import __version__  # noqa: E402

project = "dhyan"
author = copyright = "The dhyan contributors"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["renames.tsv"]
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
    app.add_search_language(Search)
    app.connect("source-read", adapt)


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

    if name == "understand/README":
        lessons = re.findall(r"\]\((\w+)\.md\)", source[0])
        source[0] += "\n".join(["\n```{toctree}", ":hidden:", "", *dict.fromkeys(lessons), "```\n"])
    source[0] = LINK.sub(link, PICTURE.sub(_figures, source[0]))


def _figures(match: re.Match[str]) -> str:
    dark, light, text = match.groups()
    return "\n\n".join(
        f"```{{image}} {path}\n:class: {theme}\n:alt: {text}\n```"
        for path, theme in ((light, "only-light"), (dark, "only-dark"))
    )
