"""Answers kept in a file while a run goes on, so that an interrupted run need not begin again.

The first line says for what the answers hold: this program, its rules, and what is asked.  Each further line is the
answer to one task; where the task is about a file, one of a certain size and time.  A line that was not finished counts
for nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.base.resources import own_hash
from sonnx.checker.report import Why
from sonnx.workers.tasks import Answer, Task, Work

Identity = Sequence[Any] | None
"""By what a changed subject of a task is told; None where its answer cannot be kept."""


def file_identity(task: Task) -> Identity:
    """Size and time of the file a task is named after; None where there is none."""
    if task.content is not None:
        return None
    try:
        status = Path(task.name).stat()
    except (OSError, ValueError):
        return None
    return [status.st_size, status.st_mtime_ns]


_ENTRY = {"task", "identity", "answer"}


class Journal:
    """A file of answers, written line by line."""

    def __init__(
        self, path: Path, work: Work, asked: Mapping[str, Any], identify: Callable[[Task], Identity] = file_identity
    ) -> None:
        """Open the file, or begin it.

        Args:
            path: the file.
            work: what is done.
            asked: what all tasks of the run ask for.
            identify: tells a changed subject of a task.

        Raises:
            Misuse: the file is none of this program, or its answers hold for another program, rules or options.
            OSError: it cannot be written.
        """
        self.path, self.identify = path, identify
        self.identities: dict[str, Identity] = {}
        rests_on = json.dumps([work.module, asked, identity(work.packages)], sort_keys=True)
        first = {"sonnx": "answers", "for": hashlib.sha256(rests_on.encode()).hexdigest()}
        content = path.read_bytes() if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1].splitlines(keepends=True)
        head = _read(whole[0]) if whole else None
        if content and head != first:
            ours = isinstance(head, dict) and "sonnx" in head
            what = "was written for another version or other options" if ours else "is no file of --resume"
            raise UsageError(f"{str(path)!r} {what}; name another file")
        self.kept = [entry for entry in map(_read, whole[1:]) if isinstance(entry, dict) and entry.keys() >= _ENTRY]
        if not content:
            self._write([first], "w")
        else:  # a line that was not finished is cut off
            os.truncate(path, sum(map(len, whole)))

    def answers(self, tasks: Sequence[Task]) -> dict[str, Answer]:
        """The answers to tasks whose subject has not changed; what was stopped or failed is asked again."""
        # Looked at before the files are read: one that changes meanwhile is asked again.
        self.identities = {task.name: self.identify(task) for task in tasks}
        found = {}
        for entry in self.kept:
            known = self.identities.get(entry["task"])
            if known is not None and known == entry["identity"] and _lasts(entry["answer"]):
                found[entry["task"]] = entry["answer"]
        return found

    def keep(self, task: Task, answer: Answer) -> None:
        """Write one answer, if it would be given again."""
        if self.identities.get(task.name) is not None and _lasts(answer):
            self._write([{"task": task.name, "identity": self.identities[task.name], "answer": answer}], "a")

    def _write(self, entries: list[dict[str, Any]], mode: str) -> None:
        with self.path.open(mode, encoding="ascii") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in entries)


def _lasts(answer: Answer) -> bool:
    return "misuse" not in answer and answer.get("why", Why.UNREADABLE) == Why.UNREADABLE


def _read(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


# ------------------------------------------------------------------
# What answers depend on besides what is asked: the program with its rules, and the packages it rests on.


ToolIdentity = Mapping[str, str]
"""Versions by names; that of sonnx is the hash of all its files."""


def identity(packages: tuple[str, ...]) -> ToolIdentity:
    """The program as it stands on the disk of this machine, from where child processes take it."""
    python = ".".join(map(str, sys.version_info[:2]))
    return {"sonnx": own_hash(), "Python": python, **{name: _version(name) for name in packages}}


def unlike(theirs: ToolIdentity, ours: ToolIdentity) -> str:
    """What differs, where something does: two versions of one package."""
    name = next(name for name in ours if theirs.get(name) != ours[name])
    if name == "sonnx":
        return "another version of sonnx, or other rules"
    return f"{name} {theirs.get(name) or '(not installed)'}, not {ours[name] or 'none'} as here"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
