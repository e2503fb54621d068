"""Tables that a narrow screen shows as one cell below the other, each with the head of its column.

The templates write plain tables; a style sheet stacks those of the class `stacks` and shows the attribute `data-head`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

TAG = re.compile(r"<(?P<end>/?)(?P<name>table|tr|th|td)\b(?P<attributes>[^>]*)>(?P<text>[^<]*)")
"""The tags of tables; an attribute of a page has no > in its value, since that is escaped."""
QUOTE = '"'
WIDE = "matrix"
"""The class of tables that stay tables."""


class _Table:
    """A table that is open: its heads, and the next column."""

    def __init__(self, stacked: bool) -> None:
        self.stacked = stacked
        self.heads: list[str] = []
        self.column = 0


def stacked(page: str) -> str:
    """The page with the head of its column in each cell of a table that has heads."""
    return "".join(_parts(page))


def _parts(page: str) -> Iterator[str]:
    tables: list[_Table] = []
    end = 0
    for found in TAG.finditer(page):
        name, attributes = found["name"], found["attributes"]
        yield page[end : found.start()]
        end = found.start("text")
        tag = page[found.start() : end]
        if name == "table" and not found["end"]:
            is_stacked = page.startswith("<thead>", found.end()) and WIDE not in attributes
            tables.append(_Table(is_stacked))
            yield _with_class(attributes) if is_stacked else tag
        elif name == "table":
            tables.pop()
            yield tag
        elif found["end"] or not tables[-1].stacked:
            yield tag
        else:
            yield _labelled(tables[-1], name, attributes, found["text"])
    yield page[end:]


def _labelled(table: _Table, name: str, attributes: str, text: str) -> str:
    """An opening tag inside a table, with the head of its column where it is a cell."""
    if name == "th":
        table.heads.append(text)
    elif name == "tr":
        table.column = 0
    else:
        head = table.heads[table.column]
        table.column += 1
        return f'<td data-head="{head}"{attributes}>'
    return f"<{name}{attributes}>"


def _with_class(attributes: str) -> str:
    if "class=" not in attributes:
        return f'<table{attributes} class="stacks">'
    return f"<table{attributes.replace('class=' + QUOTE, f'class={QUOTE}stacks ')}>"
