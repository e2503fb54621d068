"""Answers of solvers kept between runs, by the hash of the question and the version of the solver."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from msgspec.structs import asdict

from sonnx.base.files import whole_bytes, write_whole
from sonnx.prover import solvers
from sonnx.prover.results import SolverAnswer

MAX_RECENT_ANSWERS = 200
"""Answers kept in memory: neighbouring theorems often have the same hypotheses."""


def usual_folder() -> Path:
    """The folder for cached files in the user's home."""
    base = os.environ.get("XDG_CACHE_HOME") or ""
    return (Path(base) if base else Path.home() / ".cache") / "sonnx"


class SolverCache:
    """Asks solvers, and keeps their answers in a folder; without a folder it keeps the most recent ones in memory.

    A file that cannot be read or written counts as absent.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.recent: dict[str, SolverAnswer] = {}

    def ask(self, solver: str, text: str, small: bool = True) -> SolverAnswer:
        """The cached answer, else the solver's; without `small`, counterexamples have no values."""
        key = f"{solver} {solvers.installed(solver)} {solvers.EFFORT}{'' if small else ' any values'}\n{text}"
        name = hashlib.sha256(key.encode()).hexdigest()
        answer = self.recent.get(name) or self.recall(name)
        if answer is None:
            answer = solvers.ask(solver, text, small)
            self.keep(name, answer)
        if len(self.recent) >= MAX_RECENT_ANSWERS:
            self.recent.clear()
        self.recent[name] = answer
        return answer

    def recall(self, name: str) -> SolverAnswer | None:
        """The answer in the folder, None if there is none."""
        if self.folder is None:
            return None
        try:
            kept = json.loads(whole_bytes(self._path(name)))
            return SolverAnswer(**{**kept, "values": tuple((name, value) for name, value in kept["values"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def keep(self, name: str, answer: SolverAnswer) -> None:
        """Write the answer if it decides the question; an undecided question is asked again."""
        if self.folder is None or answer.result not in ("sat", "unsat"):
            return
        path = self._path(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, json.dumps(asdict(answer)))
        except OSError:
            return

    def _path(self, name: str) -> Path:
        return (self.folder or Path()) / name[:2] / f"{name}.json"
