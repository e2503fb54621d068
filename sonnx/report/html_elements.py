"""Elements of a page; only here text becomes HTML, so no name in a model can act as markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape as entities
from pathlib import Path

from sonnx.base.escaping import escape
from sonnx.checker.verdicts import Verdict

STYLE = Path(__file__).with_name("html.css")


POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class Markup(str):
    """Text that is HTML already; all other text is escaped when it is inserted."""

    __slots__ = ()


def safe(text: str) -> Markup:
    """A text as HTML: unprintable characters are written as escapes, and nothing acts as markup."""
    return text if isinstance(text, Markup) else Markup(entities(escape(text)))


def plain(text: str) -> Markup:
    """A sentence of the report as HTML; names from a model in it are escaped already."""
    return Markup(entities(text))


def join(parts: Iterable[str], between: str = "\n") -> Markup:
    """The pieces in sequence."""
    return Markup(between.join(safe(part) for part in parts))


def element(name: str, *parts: str, **attributes: str) -> Markup:
    """An element; `class_` is the attribute class, and attributes with an empty value are omitted."""
    said = "".join(f' {key.rstrip("_")}="{safe(value)}"' for key, value in attributes.items() if value)
    return Markup(f"<{name}{said}>{join(parts, '')}</{name}>")


def code(text: str) -> Markup:
    """Text of a file, or an expression of a rule."""
    return element("code", text)


def table(head: Iterable[str], rows: Iterable[Iterable[str]], class_: str = "") -> Markup:
    """A table; a column whose head begins with # contains numbers."""
    heads = list(head)
    kinds = ["number" if name.startswith("#") else "" for name in heads]
    top = join((element("th", name.lstrip("#"), class_=kind) for name, kind in zip(heads, kinds, strict=True)), "")
    body = join(
        element("tr", *(element("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True)))
        for row in rows
    )
    return element("table", element("thead", element("tr", top)), element("tbody", body), class_=class_)


def terms(pairs: Iterable[tuple[str, str]]) -> Markup:
    """A list of terms with their texts; terms without a text are omitted."""
    return element("dl", *(join((element("dt", term), element("dd", text)), "") for term, text in pairs if text))


def folding(summary: str, *inside: str, class_: str = "", start: bool = False, id_: str = "") -> Markup:
    """A part that can be folded, without a script."""
    shown = element("summary", summary) + element("div", *inside, class_="inside")
    named = "".join(f' {key}="{value}"' for key, value in (("class", class_), ("id", id_)) if value)
    return Markup(f"<details{named}{' open' if start else ''}>{shown}</details>")


def colour(verdict: Verdict) -> str:
    """The class of a verdict: fail, open or pass."""
    if verdict is Verdict.FAIL:
        return "fail"
    return "pass" if verdict in (Verdict.PASS, Verdict.NOT_APPLICABLE, Verdict.DEVIATED) else "open"


def badge(verdict: Verdict) -> Markup:
    """A verdict as a coloured word."""
    return element("span", verdict.value, class_=f"badge {colour(verdict)}")


def whole_page(title: str, body: Iterable[str]) -> str:
    """A whole page, ASCII only, ending in a line feed; it has no script and loads nothing."""
    head = (
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>\n{STYLE.read_text('utf-8')}</style>",
    )
    top = join((*map(Markup, head), element("title", title)))
    page = f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{top}\n</head>\n<body>\n{join(body)}\n</body>\n</html>\n'
    return page.encode("ascii", "xmlcharrefreplace").decode("ascii")
