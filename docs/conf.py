"""Settings of Sphinx for `make docs`.

`python -m tools.pages` writes the sources of the site: the pages of this folder, those of the folder above, and the
generated ones.  Here stand the contents, and the formulas of the rules become MathML.  The site loads nothing from a
network.
"""

from __future__ import annotations

import re
from pathlib import Path

from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

from sonnx.language.printer import formula, mathml
from sonnx.profile import catalogue
from sonnx.profile.signature import every_rule

project = "sonnx"
author = "the authors of sonnx"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "sonnx"
html_copy_source = html_show_copyright = html_show_sphinx = False
myst_heading_anchors = 4

CONTENTS = {
    "Begin": ["above/README", "tutorial", "how-to-*"],
    "Use": [
        "verdicts",
        "reports",
        "deviations",
        "tailoring",
        "audit",
        "canonical-form",
        "comparing",
        "fix",
        "versioning",
    ],
    "Believe": ["trust", "values", "threat-model", "robustness", "qualification", "decisions/*"],
    "Build": ["profile-format", "rule-language", "cases", "reading-guide", "above/CONTRIBUTING", "above/SECURITY"],
    "Reference": ["operators/*", "theorems/*", "above/CHANGELOG", "*"],
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
    if page.startswith("operators/"):
        source[0] = _typeset(source[0])


def _typeset(text: str) -> str:
    """The page of an operator with the formulas of its rules in MathML."""
    name = re.search(r"^# (\w+)$", text, re.MULTILINE)
    described = catalogue.operator(name[1]) if name else None
    rules = every_rule(described) if described else ()
    texts = [each for rule in rules for each in (rule.require, rule.onnx, rule.when) if each is not None]
    known = {formula(each): mathml(each) for each in texts}

    def block(found: re.Match[str]) -> str:
        shown = known.get(found[1])
        return f'```{{raw}} html\n<div class="formula">{shown}</div>\n```' if shown else found[0]

    return re.sub(r"```text\n(.*?)\n```", block, text)


def _contents(folder: Path) -> list[str]:
    taken: set[str] = {"index"}
    parts = []
    for title, patterns in CONTENTS.items():
        found = [path for pattern in patterns for path in sorted(folder.glob(f"{pattern}.md"))]
        pages = [page for path in found if (page := path.relative_to(folder).with_suffix("").as_posix()) not in taken]
        taken.update(pages)
        parts.append("\n".join(["", "```{toctree}", f":caption: {title}", ":hidden:", "", *pages, "```", ""]))
    return parts
