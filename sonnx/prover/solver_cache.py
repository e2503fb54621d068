"""Answers of solvers kept between runs, by the hash of the text and the version of the solver."""

from __future__ import annotations

import hashlib
import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

LATEST = 200
"""How many texts are remembered in a run: theorems that stand together often have the same hypotheses."""


def usual_folder() -> Path:
    """Where a user's programs keep what they can make again."""
    base = os.environ.get("XDG_CACHE_HOME") or ""
    return (Path(base) if base else Path.home() / ".cache") / "sonnx"


class Answers:
    """A folder of answers; None keeps nothing.  A file that cannot be read or written is as if it were not there."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.latest: dict[tuple[str, str], Any] = {}
        self.solving: Any = import_module("sonnx.prover.solvers")

    def ask(self, solver: str, text: str) -> Any:
        """The answer kept, or else the solver's; the latest texts are remembered without a folder too."""
        answer = self.latest.get((solver, text)) or self.recall(solver, text)
        if answer is None:
            answer = self.solving.ask(solver, text)
            self.keep(solver, text, answer)
        if len(self.latest) >= LATEST:
            self.latest.clear()
        self.latest[solver, text] = answer
        return answer

    def recall(self, solver: str, text: str) -> Any:
        """The answer given before, None where there is none."""
        if self.folder is None:
            return None
        try:
            kept = json.loads(self._path(solver, text).read_text())
            return self.solving.Answer(**{**kept, "values": tuple((name, value) for name, value in kept["values"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def keep(self, solver: str, text: str, answer: Any) -> None:
        """Write the answer, if it decides; an undecided question is asked again."""
        if self.folder is None or answer.result not in ("sat", "unsat"):
            return
        path = self._path(solver, text)
        part = path.with_suffix(f".{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(answer._asdict()))
            part.replace(path)
        except OSError:
            return

    def _path(self, solver: str, text: str) -> Path:
        key = f"{solver} {self.solving.installed(solver)} {self.solving.EFFORT}\n{text}"
        name = hashlib.sha256(key.encode()).hexdigest()
        return (self.folder or Path()) / name[:2] / f"{name}.json"
