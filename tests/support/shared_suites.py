"""Suites that several tests use: each is made once by all processes of a run, and a small one is a part of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from sonnx.base.files import sha256
from sonnx.base.reported import json_text
from sonnx.suite.archive import StoredCase, Suite, archive_of, read_cases, read_suite
from sonnx.suite.making import make_suite
from sonnx.suite.must_pass import must_pass_name, must_pass_text
from sonnx.suite.options import MakeOptions


def made_once(path: Path, make: Callable[[Path], object]) -> Path:
    """A file or folder that the first process to ask makes; the others wait for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            part = path.with_name(f"{path.name}.part")
            make(part)
            part.rename(path)
    return path


def shared_suite(folder: Path, operator: str) -> Suite:
    """The suite of an operator in a folder that the processes of a run share; nobody may change it."""
    made = made_once(folder / "suites" / operator, lambda path: make_suite(path, MakeOptions(operator=(operator,))))
    return read_suite(made)


def with_few_cases(suite: Suite, folder: Path, every: int) -> Suite:
    """A suite of one operator with one of so many cases, in a new folder."""
    [part] = suite.parts
    cases = [each for each in read_cases(suite, part.operator) if isinstance(each, StoredCase)][::every]
    folder.mkdir()
    archive = archive_of(cases)
    (folder / f"{part.operator}.zip").write_bytes(archive)
    broken = sum(1 for stored in cases if stored.case.broken)
    sets = sum(len(stored.case.sets) for stored in cases)
    fewer = replace(part, positive=len(cases) - broken, negative=broken, sets=sets)
    small = replace(suite, parts=(fewer,), archives={f"{part.operator}.zip": sha256(archive)}, folder=str(folder))
    (folder / "suite.json").write_text(json_text(small), "utf-8")
    (folder / must_pass_name(small)).write_text(must_pass_text(small), "utf-8")
    return read_suite(folder)
