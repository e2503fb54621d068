"""Settings of Sphinx for `make docs`.

`python -m tools.pages` writes the sources of the site: the pages of this folder, those of the folder above, and the
generated ones.  Here stand the contents, and the formulas of the rules become MathML.  The site loads nothing from a
network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

from sonnx.language.printer import formula, mathml
from sonnx.report.explain import explained_rules

project = "sonnx"
author = "the authors of sonnx"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "sonnx"
html_copy_source = html_show_copyright = html_show_sphinx = False
html_show_sourcelink = False
myst_heading_anchors = 4
highlight_language = "none"  # a block without a language is a transcript

html_static_path = ["static"]
templates_path = ["templates"]
html_sidebars = {"**": ["sidebar/brand.html", "sidebar/search.html", "sidebar/contents.html"]}
html_css_files = ["site.css"]

CONTENTS = {
    "Begin": ["above/README", "tutorial", "tasks", "gallery", "tutorial-*", "how-to-*"],
    "Rules and operators": ["rules/index", "operators/index"],
    "Use": [
        "verdicts",
        "reports",
        "fix",
        "fix-gallery",
        "deviations",
        "tailoring",
        "audit",
        "running",
        "suite",
        "properties",
        "bounds",
        "equivalence",
        "versioning",
    ],
    "Trust": [
        "trust",
        "theorems/index",
        "certificates",
        "traceability",
        "threat-model",
        "robustness",
        "measurements/index",
        "qualification",
        "objectives",
        "decisions/index",
    ],
    "Build": [
        "profile-format",
        "rule-language",
        "reading-guide",
        "flows",
        "above/CONTRIBUTING",
        "above/SECURITY",
        "releasing",
    ],
    "Reference": ["glossary", "above/CHANGELOG", "*"],
}
"""The contents, by what a reader wants; the last pattern takes all remaining pages."""


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    for name in ("rule", "reading", "refused"):
        app.add_lexer(name, PythonLexer if name == "rule" else TextLexer)
    app.connect("source-read", _read)


def _read(app: Sphinx, page: str, source: list[str]) -> None:
    """Add the contents to the first page, and formulas to the operators' pages."""
    if page == "index":
        source[0] += "".join(_contents(Path(app.srcdir)))
    if page.partition("/")[0] in ("operators", "rules"):
        source[0] = _typeset(source[0])


@cache
def _formulas() -> dict[str, str]:
    """The MathML of every formula of a rule, by its text."""
    texts = [each for rule in explained_rules().values() for each in (rule.require, rule.onnx, rule.when)]
    return {formula(each): mathml(each) for each in texts if each is not None}


def _typeset(text: str) -> str:
    """A page with the formulas of rules in MathML."""

    def block(found: re.Match[str]) -> str:
        shown = _formulas().get(found[1])
        return f'```{{raw}} html\n<div class="formula">{shown}</div>\n```' if shown else found[0]

    return re.sub(r"```text\n(.*?)\n```", block, text)


def _contents(folder: Path) -> list[str]:
    taken: set[str] = {"index"}
    parts = []
    for title, patterns in CONTENTS.items():
        found = dict.fromkeys(path for pattern in patterns for path in sorted(folder.glob(f"{pattern}.md")))
        pages = [page for path in found if (page := path.relative_to(folder).with_suffix("").as_posix()) not in taken]
        taken.update(pages)
        parts.append(_toctree(f":caption: {title}", pages))
    return parts


def _toctree(option: str, pages: Iterable[str]) -> str:
    return "\n".join(["", "```{toctree}", option, ":hidden:", "", *pages, "```", ""])
