"""The verification procedures: command lines with what they must print, from procedures.toml beside this file."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sonnx import cli
from sonnx.facts import frozen
from sonnx.qualification.models import from_text

DATA = Path(__file__).with_name("procedures.toml")


@dataclass(frozen=True, slots=True)
class Procedure:
    """One command line: the requirements it verifies, the exit code, and texts its output must have."""

    command: str
    verifies: tuple[str, ...]
    exit: int
    prints: tuple[str, ...] = ()
    """Texts that stand in the standard output."""
    says: tuple[str, ...] = ()
    """Texts that stand in the standard error."""
    writes: tuple[str, ...] = ()
    """Files that are there afterwards."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether a procedure or case came out as expected, and how not."""

    id: str
    verifies: tuple[str, ...]
    passed: bool
    actual: str = ""


@cache
def procedures() -> tuple[Procedure, ...]:
    """All procedures, in the order of the file."""
    return tuple(Procedure(**{key: frozen(value) for key, value in each.items()}) for each in _data()["procedure"])


def _data() -> Mapping[str, Any]:
    return tomllib.loads(DATA.read_text("utf-8"))


def perform() -> Iterator[Outcome]:
    """Run every procedure in a folder of its own that holds the models and arrays of the file."""
    before = Path.cwd()
    for procedure in procedures():
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                _lay_out(_data())
                yield _performed(procedure)
            finally:
                os.chdir(before)


def _lay_out(data: Mapping[str, Any]) -> None:
    for name, text in data["models"].items():
        Path(f"{name}.onnx").write_bytes(from_text(text))
    for name, text in data["texts"].items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    if data["arrays"]:
        import numpy as np

        for name, values in data["arrays"].items():
            np.save(f"{name}.npy", np.array(values, np.float32))


def _performed(procedure: Procedure) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = cli.run(shlex.split(procedure.command))
        except SystemExit as end:  # argparse ends the program where the command line is wrong
            code = end.code if isinstance(end.code, int) else 1
    wrong = [f"exit code {code}, not {procedure.exit}"] if code != procedure.exit else []
    wrong += [f"does not print {text!r}" for text in procedure.prints if text not in out.getvalue()]
    wrong += [f"does not say {text!r}" for text in procedure.says if text not in err.getvalue()]
    wrong += [f"does not write {name}" for name in procedure.writes if not Path(name).is_file()]
    return Outcome(procedure.command, procedure.verifies, not wrong, "; ".join(wrong))
