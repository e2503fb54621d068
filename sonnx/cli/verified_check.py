"""`sonnx check --verified`: the program that is extracted from the specification checks the same files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from sonnx.base.errors import USAGE, UsageError
from sonnx.base.escaping import escape
from sonnx.checker.extracted_check import (
    PROGRAM,
    extracted_answer,
    program_differences,
    program_digest,
    required_program,
)
from sonnx.checker.options import BatchOptions
from sonnx.checker.report import BatchResult
from sonnx.cli.options import written_options
from sonnx.profile import catalogue

_WITHOUT_EFFECT = ("edition", "accept_assumptions", "jobs", "timeout", "memory", "resume", "cluster")
"""The options that change no verdict, and the edition, which the program knows."""


class ProgramComparison(Struct, frozen=True):
    """The program, and the files that it checks under an edition."""

    program: Path
    files: Sequence[str]
    edition: str

    def sentences(self, results: BatchResult) -> tuple[list[str], bool]:
        """What to say of the comparison with these results, and whether a verdict or a finding differs.

        Raises:
            UsageError: the program fails.
            Unfinished: it takes too long.
        """
        differing = list(self._differences(results))
        names = {name for name, _ in differing}
        about = f"{PROGRAM} (SHA-256 {program_digest(self.program)}) says the same of"
        same = f"{about} {len(self.files) - len(names)} of {len(self.files)} files"
        return [*(f"{escape(name)}: {escape(sentence)}" for name, sentence in differing), same], bool(differing)

    def _differences(self, results: BatchResult) -> Iterator[tuple[str, str]]:
        """The name of a file and a sentence on each difference."""
        checked = [name for name in self.files if name not in results.without_report]
        for name, report in zip(checked, results.reports, strict=False):  # an interrupted run has fewer reports
            answer = extracted_answer(self.program, Path(name), self.edition)
            for sentence in program_differences(answer, report):
                yield name, sentence
        for name, reason in results.without_report.items():
            if int(reason.why) == USAGE:
                code = extracted_answer(self.program, Path(name), self.edition).code
                if code != USAGE:
                    yield name, f"{PROGRAM} reads the file and ends with {code}, the check does not read it"


def comparison_with_program(
    parsed: argparse.Namespace, files: Sequence[str], values: Mapping[str, Any]
) -> ProgramComparison:
    """The comparison that --verified asks for.

    Raises:
        UsageError: the program is not built, or the verdict is not that of a file without options.
    """
    others = written_options(BatchOptions, parsed, _WITHOUT_EFFECT)
    if others:
        raise UsageError(f"--verified excludes {others[0]}: {PROGRAM} checks a file as it is, by the edition alone")
    if values["tailoring"] is not None or values["ignore"]:
        raise UsageError(f"--verified excludes the tailoring and the ignored rules of the project: {PROGRAM} has none")
    if "-" in files:
        raise UsageError("--verified needs a file, not standard input")
    return ProgramComparison(required_program(), files, catalogue.edition_named(values["edition"]).name)
