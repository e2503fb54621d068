"""The reports of a command: in which formats they are, and to which files they go."""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import deliver
from sonnx.report.formats import RESULT_FORMATS, FormatChoices

if TYPE_CHECKING:
    from sonnx.report.rendered import Rendered


class ReportOutput(NamedTuple):
    """One report of a run."""

    format: str
    """The name of its format."""
    file: Path | None
    """Where it goes; None for standard output."""


def add_report_arguments(parser: argparse._ActionsContainer, formats: Iterable[str] = RESULT_FORMATS) -> None:
    """Add --format and --output."""
    add_format_argument(parser, formats)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the report to a file")


def add_format_argument(parser: argparse._ActionsContainer, formats: Iterable[str] = RESULT_FORMATS) -> None:
    """Add --format, for a command whose --output is not about its report."""
    parser.add_argument(
        "-f", "--format", choices=FormatChoices(formats), action="append", metavar="FORMAT",
        help=f"{', '.join(formats)}; FORMAT=FILE, also repeated, writes this report to a file",
    )  # fmt: skip


def outputs_of(parsed: argparse.Namespace, *read: str) -> list[ReportOutput]:
    """The reports that the arguments ask for; `read` are the files that the command reads.

    Raises:
        UsageError: two reports have one place, a file is one that is read, or --output has no report to write.
        OSError: a folder does not exist.
    """
    outputs = outputs_named(parsed.format, parsed.output, *read)
    if parsed.output is not None and all("=" in name for name in parsed.format or ["text"]):
        raise UsageError("--output has no report to write: each --format names a file; leave one of the two out")
    return outputs


def outputs_named(formats: Sequence[str] | None, usual: Path | None, *read: str) -> list[ReportOutput]:
    """The reports in the formats of `--format`, those without a file of their own to `usual`.

    Raises:
        UsageError: two reports have one place, or a file is one that is read.
        OSError: a folder does not exist.
    """
    choices = [name.partition("=") for name in formats or ["text"]]
    outputs = [ReportOutput(name, Path(file) if file else usual) for name, _, file in choices]
    places = [output.file and output.file.resolve() for output in outputs]
    twice = next((output for output, place in zip(outputs, places, strict=True) if places.count(place) > 1), None)
    if twice is not None:
        where = "standard output" if twice.file is None else quote(str(twice.file))
        raise UsageError(f"--format writes two reports to {where}; name a file for each: --format FORMAT=FILE")
    for file in (output.file for output in outputs if output.file is not None):
        require_writable(file, read)
    return outputs


def require_writable(file: Path, read: Iterable[str]) -> None:
    """Refuse a file in a folder that does not exist, or that the command reads, before the work begins.

    Raises:
        UsageError: the command reads it.
        OSError: its folder does not exist.
    """
    if not file.parent.is_dir():
        code = errno.ENOTDIR if file.parent.exists() else errno.ENOENT
        raise OSError(code, os.strerror(code), str(file))
    if file.exists() and any(Path(name).exists() and file.samefile(name) for name in read):
        raise UsageError(f"{quote(str(file))} is a file that the command reads; name another file for the report")


def has_format(outputs: Iterable[ReportOutput], formats: Collection[str]) -> bool:
    """Whether a report is in one of these formats."""
    return any(output.format in formats for output in outputs)


def deliver_report(report: Rendered, outputs: Iterable[ReportOutput]) -> None:
    """Print the report, or write it to its files."""
    for output in outputs:
        deliver(report.to_format(output.format), output.file)
