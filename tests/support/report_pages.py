"""Readers of reports: workflow commands, Markdown and HTML pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser

COMMAND = re.compile(r"::(error|notice) (?:file=([^:,]*),line=1,)?title=([^:,]*)::([^\r\n]*)")


def unescaped(text: str) -> str:
    for code, character in (("%3A", ":"), ("%2C", ","), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, character)
    return text


def outside_code(text: str) -> str:
    """The text without its code spans, as CommonMark reads them."""
    return re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


VOID = {"meta", "input"}


class Page(HTMLParser):
    """The elements of a page, each closed where it must be; the text outside the style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.used: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.used.append((tag, dict(attrs)))
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)
