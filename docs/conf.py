"""The documentation as a site: `make docs`.

The pages are the Markdown files of this folder, readable without any site; what the site needs beside them (where the
pages stand in its contents, the files of the folder above) is made here.  Nothing is loaded from a network.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

from sonnx.language.printer import formula, mathml
from sonnx.profile import catalogue
from sonnx.profile.signature import every_rule

HERE = Path(__file__).parent
ABOVE = ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")
"""Pages of the folder above; the site has them in `above/`."""

project = "sonnx"
author = "the authors of sonnx"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "sonnx"
html_copy_source = html_show_copyright = html_show_sphinx = False
exclude_patterns = ["_build"]
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
"""The contents by what a reader wants; the last pattern takes every page that no other one does."""


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    for name in ("rule", "reading", "refused"):
        app.add_lexer(name, PythonLexer if name == "rule" else TextLexer)
    app.connect("config-inited", lambda app, config: _copy_pages_above())
    app.connect("source-read", _read)
    app.connect("build-finished", lambda app, error: shutil.rmtree(HERE / "above"))


def _copy_pages_above() -> None:
    folder = HERE / "above"
    folder.mkdir(exist_ok=True)
    for name in ABOVE:
        text = (HERE.parent / f"{name}.md").read_text("utf-8")
        text = re.sub(r"\]\(docs/", "](../", text)
        text = re.sub(rf"\]\((?!\.\./|https?:|#|(?:{'|'.join(ABOVE)})\.md)", "](../../", text)
        (folder / f"{name}.md").write_text(text, "utf-8")


def _read(app: Sphinx, page: str, source: list[str]) -> None:
    """Links to pages above, and the contents on the first page."""
    up = "../" * page.count("/")
    for name in ABOVE:
        source[0] = re.sub(rf"\]\((?:\.\./)+{name}\.md", f"]({up}above/{name}.md", source[0])
    if page == "index":
        source[0] += "".join(_contents())
    if page.startswith("operators/"):
        source[0] = _typeset(source[0])


def _typeset(text: str) -> str:
    """The page of an operator with the formulas of its rules as MathML."""
    name = re.search(r"^# (\w+)$", text, re.MULTILINE)
    described = catalogue.operator(name[1]) if name else None
    rules = every_rule(described) if described else ()
    texts = [each for rule in rules for each in (rule.require, rule.onnx, rule.when) if each is not None]
    known = {formula(each): mathml(each) for each in texts}

    def block(found: re.Match[str]) -> str:
        shown = known.get(found[1])
        return f'```{{raw}} html\n<div class="formula">{shown}</div>\n```' if shown else found[0]

    return re.sub(r"```text\n(.*?)\n```", block, text)


def _contents() -> list[str]:
    taken: set[str] = {"index"}
    parts = []
    for title, patterns in CONTENTS.items():
        found = [path for pattern in patterns for path in sorted(HERE.glob(f"{pattern}.md"))]
        pages = [page for path in found if (page := path.relative_to(HERE).with_suffix("").as_posix()) not in taken]
        taken.update(pages)
        parts.append("\n".join(["", "```{toctree}", f":caption: {title}", ":hidden:", "", *pages, "```", ""]))
    return parts
