"""The results of a run of a suite in the file of `--resume`, operator by operator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import ValidationError, convert, to_builtins

from sonnx.base.files import sha256
from sonnx.suite.archive import Suite
from sonnx.suite.options import RunOptions
from sonnx.suite.result import OperatorRun
from sonnx.supervise.identity import Identity, tool_identity, value_hash
from sonnx.supervise.journal import Journal

KIND = "suite run"


class KeptResults:
    """The results that a file has; `keep` adds one.

    Args:
        path: the file.
        suite: the suite, whose archives are identified by their hashes.
        options: of the run.
        implementation: what the implementation's outputs depend on besides the suite.
        must_pass: the SHA-256 of the must-pass list, "" without one.

    Raises:
        BadInput: the file is of another suite, implementation or program, or is something else.
        OSError: it cannot be read or written.
    """

    def __init__(
        self, path: Path, suite: Suite, options: RunOptions, implementation: Identity, must_pass: str = ""
    ) -> None:
        limits = {
            "must-pass list": must_pass,
            "timeout": options.timeout,
            "memory": options.memory,
            "fresh": options.fresh,
        }
        self.journal = Journal(path, KIND, {
            "suite": value_hash([suite.archives, _archives(suite), suite.hypotheses]), **implementation,
            "set of options": value_hash(limits), **tool_identity(("numpy",)),
        })  # fmt: skip

    @property
    def results(self) -> Mapping[str, OperatorRun]:
        """The results by operator; a damaged one is left out."""
        results = {}
        for operator, data in self.journal.values.items():
            try:
                results[operator] = convert(data, OperatorRun)
            except ValidationError:
                continue
        return results

    def keep(self, operator: str, result: OperatorRun) -> None:
        """Add the result of an operator.

        Raises:
            OSError: the file cannot be written.
        """
        self.journal.update({operator: to_builtins(result)})


def _archives(suite: Suite) -> dict[str, str]:
    """The SHA-256 of each archive in the folder, which may be another one than suite.json states; "" without one."""
    hashes = {}
    for name in suite.archives:
        try:
            hashes[name] = sha256(Path(suite.folder) / name)
        except (FileNotFoundError, ValueError):
            hashes[name] = ""
    return hashes
