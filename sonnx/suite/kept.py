"""The results of a run of a suite in a file, operator by operator, so that an interrupted run can continue.

The first line identifies the suite, the implementation, its limits and the program; each further line is the result of
one operator.  An incomplete last line is removed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from msgspec import Struct, json

from sonnx.base.errors import NOT_JSON, UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import regular_bytes, sha256, write_whole
from sonnx.base.resources import own_hash
from sonnx.suite.archive import Suite
from sonnx.suite.options import RunOptions
from sonnx.suite.result import OperatorRun

MAX_BYTES = 1 << 30
"""Bytes of the longest file that is read."""


class _Head(Struct, frozen=True, tag="suite run", tag_field="sonnx"):
    subject: str


class _Line(Struct, frozen=True):
    operator: str
    result: OperatorRun


class KeptRuns:
    """The results that a file has; `keep` adds one.

    Raises:
        UsageError: the file is about another suite, implementation or program, or is something else.
        OSError: it cannot be written.
    """

    def __init__(self, path: Path, suite: Suite, options: RunOptions, title: str) -> None:
        self.path, self.lock = path, Lock()
        self.known: dict[str, OperatorRun] = {}
        limits = [options.timeout, options.memory, options.fresh]
        subject = sha256(json.encode([suite.archives, suite.hypotheses, title, limits, own_hash()], order="sorted"))
        head = json.encode(_Head(subject)) + b"\n"
        if path.exists() and not path.is_file():
            raise UsageError(f"{quote(str(path))} is not a regular file; name another file")
        content = regular_bytes(path, MAX_BYTES) if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1].splitlines(keepends=True)
        if content and (not whole or whole[0] != head):
            raise UsageError(f"{quote(str(path))} {_why(content)}; name another file")
        if not content:
            write_whole(path, head)
            return
        for line in whole[1:]:
            try:
                read = json.decode(line, type=_Line)
            except NOT_JSON:
                continue
            self.known[read.operator] = read.result
        os.truncate(path, sum(map(len, whole)))

    def keep(self, operator: str, result: OperatorRun) -> None:
        """Add the result of an operator."""
        with self.lock:
            try:
                with self.path.open("ab") as file:
                    file.write(json.encode(_Line(operator, result)) + b"\n")
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(self.path)) from None


def _why(content: bytes) -> str:
    try:
        head = json.decode(content.partition(b"\n")[0])
    except NOT_JSON:
        head = None
    if isinstance(head, Mapping) and head.get("sonnx") == "suite run":
        return "was written for another suite, implementation or version"
    return "is not a file of --resume"
