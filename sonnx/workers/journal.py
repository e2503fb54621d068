"""The journal of --resume: answers are kept in a file during a run, so that an interrupted run can continue.

The first line identifies the program, its rules and the options.  Each further line is the answer to one task, with the
size and time of its file.  An incomplete last line is ignored.
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
from sonnx.base.files import json_value, regular_bytes
from sonnx.base.resources import own_hash
from sonnx.checker.report import NoVerdict
from sonnx.workers.tasks import Answer, Work, WorkerTask

Identity = Sequence[Any] | None
"""Changes if the subject of a task changes; None if its answer cannot be kept."""


def file_identity(task: WorkerTask) -> Identity:
    """Size and time of the file a task is named after; None without such a file."""
    try:
        status = Path(task.name).stat()
    except (OSError, ValueError):
        return None
    return [status.st_size, status.st_mtime_ns]


MAX_BYTES = 1 << 30
"""Bytes of the longest file of answers that is read."""


class Journal:
    """A file of answers, written line by line."""

    def __init__(
        self,
        path: Path,
        work: Work,
        options: Mapping[str, Any],
        identify: Callable[[WorkerTask], Identity] = file_identity,
        understood: Callable[[Answer], bool] = lambda answer: "word" in answer,
    ) -> None:
        """Open the file, or create it.

        Args:
            path: the file.
            work: what is done.
            options: the options that all tasks share.
            identify: gives the identity of the subject of a task.
            understood: whether a kept answer has a result; a damaged one is ignored, and its task is done again.

        Raises:
            UsageError: the file is not a journal, or belongs to another version, other rules or other options.
            OSError: it cannot be written.
        """
        if path.exists() and not path.is_file():
            raise UsageError(f"{str(path)!r} is not a regular file; name another file")
        self.path, self.identify = path, identify
        self.identities: dict[str, Identity] = {}
        rests_on = json.dumps([work.module, options, identity(work.packages)], sort_keys=True)
        first = {"sonnx": "answers", "for": hashlib.sha256(rests_on.encode()).hexdigest()}
        content = regular_bytes(path, MAX_BYTES) if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1].splitlines(keepends=True)
        if len(content) == MAX_BYTES:
            raise UsageError(f"{str(path)!r} has {MAX_BYTES} bytes or more; name another file")
        head = _read(whole[0]) if whole else None
        if content and head != first:
            ours = isinstance(head, dict) and "sonnx" in head
            what = "was written for another version or other options" if ours else "is not a --resume journal"
            raise UsageError(f"{str(path)!r} {what}; name another file")
        self.kept = [entry for entry in map(_read, whole[1:]) if _is_entry(entry, understood)]
        if not content:
            self._write([first], "w")
        else:  # remove an incomplete last line
            os.truncate(path, sum(map(len, whole)))

    def answers(self, tasks: Sequence[WorkerTask]) -> dict[str, Answer]:
        """The kept answers to tasks whose subject has not changed; stopped and failed tasks have none."""
        # Taken before the files are read, so that a file that changes during the run is checked again.
        self.identities = {task.name: self.identify(task) for task in tasks}
        found = {}
        for entry in self.kept:
            known = self.identities.get(entry["task"])
            if known is not None and known == entry["identity"]:
                found[entry["task"]] = entry["answer"]
        return found

    def keep(self, task: WorkerTask, answer: Answer) -> None:
        """Write one answer, unless it depends on limits, defects, or the external data of a model."""
        if self.identities.get(task.name) is not None and _is_final(answer):
            self._write([{"task": task.name, "identity": self.identities[task.name], "answer": answer}], "a")

    def _write(self, entries: list[dict[str, Any]], mode: str) -> None:
        with self.path.open(mode, encoding="ascii") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in entries)


def _is_entry(entry: Any, understood: Callable[[Answer], bool]) -> bool:
    """Whether a line has a task and an answer to keep."""
    if not isinstance(entry, dict) or not isinstance(entry.get("task"), str) or "identity" not in entry:
        return False
    answer = entry.get("answer")
    if not isinstance(answer, dict) or not _is_final(answer):
        return False
    return isinstance(answer.get("sentence"), str) if "why" in answer else understood(answer)


def _is_final(answer: Answer) -> bool:
    if answer.get("other_files"):  # their identity is not kept
        return False
    return "misuse" not in answer and answer.get("why", NoVerdict.UNREADABLE) == NoVerdict.UNREADABLE


def _read(line: bytes) -> Any:
    try:
        return json_value(line)
    except ValueError:
        return None


# ------------------------------------------------------------------ what answers depend on


ToolIdentity = Mapping[str, str]
"""Versions by name; that of sonnx is the hash of all its files."""


def identity(packages: tuple[str, ...]) -> ToolIdentity:
    """The program on the disk of this machine, from which child processes load it."""
    python = ".".join(map(str, sys.version_info[:2]))
    return {"sonnx": own_hash(), "Python": python, **{name: _version(name) for name in packages}}


def difference(theirs: ToolIdentity, ours: ToolIdentity) -> str:
    """The first difference between two identities that differ."""
    name = next(name for name in ours if theirs.get(name) != ours[name])
    if name == "sonnx":
        return "another version of sonnx, or other rules"
    return f"{name} {theirs.get(name) or '(not installed)'}, not {ours[name] or 'none'} as here"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
