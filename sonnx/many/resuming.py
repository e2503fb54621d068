"""Answers kept in a file while a run goes on, so that an interrupted run need not begin again.

The first line says for what the answers hold: this program, its rules, and how models are judged.  Each further line
is the answer on one file of a certain size and time; a line that was not finished counts for nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sonnx.data import folder
from sonnx.many.isolation import Answer, Task
from sonnx.misuse import Misuse
from sonnx.results import Why


def fingerprint(task: Task) -> str:
    """The hash of all that an answer depends on besides its model."""
    made = hashlib.sha256(json.dumps(task.options(), sort_keys=True).encode())
    if task.tailoring is not None:
        made.update(Path(task.tailoring).read_bytes())
    code, rules = Path(__file__).parent, folder("restrictions")
    for path in sorted([*code.rglob("*.py"), *rules.rglob("*.toml")]):
        made.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return made.hexdigest()


_ENTRY = {"model", "file", "answer"}


class Journal:
    """A file of answers, written line by line."""

    def __init__(self, path: Path, task: Task) -> None:
        """Open the file, or begin it; all tasks of the run have the options of this one.

        Raises:
            Misuse: the file is none of this program, or its answers hold for another program, rules or options.
            OSError: it cannot be written.
        """
        self.path = path
        self.identities: dict[str, list[int] | None] = {}
        first = {"sonnx": "answers", "for": fingerprint(task)}
        content = path.read_bytes() if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1].splitlines(keepends=True)
        head = _read(whole[0]) if whole else None
        if content and head != first:
            ours = isinstance(head, dict) and "sonnx" in head
            what = "was written for another version or other options" if ours else "is no file of --resume"
            raise Misuse(f"{str(path)!r} {what}; name another file")
        self.kept = [entry for entry in map(_read, whole[1:]) if isinstance(entry, dict) and entry.keys() >= _ENTRY]
        if not content:
            self._write([first], "w")
        else:  # a line that was not finished is cut off
            os.truncate(path, sum(map(len, whole)))

    def answers(self, tasks: Sequence[Task]) -> dict[str, Answer]:
        """The answers the file has on models that have not changed; what was stopped or failed is asked again."""
        # Looked at before the models are read: a file that changes meanwhile is asked again.
        self.identities = {task.model: _identity(task.model) for task in tasks if task.content is None}
        found = {}
        for entry in self.kept:
            identity, answer = self.identities.get(entry["model"]), entry["answer"]
            if identity and identity == entry["file"] and answer.get("why", Why.UNREADABLE) == Why.UNREADABLE:
                found[entry["model"]] = answer
        return found

    def keep(self, task: Task, answer: Answer) -> None:
        """Write one answer."""
        if self.identities.get(task.model):
            entry = {"model": task.model, "file": self.identities[task.model], "answer": answer}
            self._write([entry], "a")

    def _write(self, entries: list[dict[str, Any]], mode: str) -> None:
        with self.path.open(mode, encoding="ascii") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in entries)


def _identity(model: str) -> list[int] | None:
    """Size and time of a file, by which a changed one is told; None where there is none."""
    try:
        status = Path(model).stat()
    except (OSError, ValueError):
        return None
    return [status.st_size, status.st_mtime_ns]


def _read(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
