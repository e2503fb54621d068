"""`sonnx audit`: its arguments, the folder it writes, and the folder it verifies."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from datetime import UTC, date, datetime
from pathlib import Path

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape
from sonnx.base.files import write_folder
from sonnx.cli import check_options
from sonnx.report.text import headline

HELP = "write or verify an evidence pack on a model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", nargs="?", type=Path, metavar="MODEL", help="the model file")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--output", type=Path, metavar="DIR", help="the folder to make; it must not exist or be empty")
    kind.add_argument("--verify", type=Path, metavar="DIR", help="make the pack of a folder again and compare")
    check_options.add_arguments(parser)
    parser.add_argument(
        "--rewrites",
        type=Path,
        default=None,
        metavar="RECORD",
        help="the record that sonnx fix --report wrote of MODEL",
    )
    parser.set_defaults(command=audit_command)


def audit_command(options: argparse.Namespace) -> int:
    """Write a pack, with the exit code of a check; or verify one: 0 it comes out the same, 1 it differs.

    Raises:
        Misuse: options that cannot be met, or a folder that cannot be used.
        Unreadable: the model is no readable ONNX model.
        OSError: the folder cannot be written; nothing is left behind.
    """
    return _verify(options) if options.verify is not None else _write(options)


def _verify(options: argparse.Namespace) -> int:
    from sonnx.evidence.pack import differences

    given = (options.edition, options.tailoring, options.deviations, options.date, options.rewrites)
    if any(each is not None for each in given) or options.bind or options.strict_versions or options.accept_assumptions:
        raise UsageError("--verify takes what was asked from the pack: leave the options out")
    found = list(dict.fromkeys(differences(options.verify, options.model)))
    sys.stdout.write("".join(f"{escape(sentence)}\n" for sentence in found))
    if not found:
        sys.stdout.write(f"{escape(str(options.verify))}: the pack is whole and comes out the same\n")
    return 1 if found else 0


def _write(options: argparse.Namespace) -> int:
    from sonnx.evidence.pack import RUN, Wanted, as_bytes, pack

    if options.model is None:
        raise UsageError("name the model the evidence is on")
    start = datetime.now(UTC)
    require_free(options.output)
    if options.date is not None and options.deviations is None:
        raise UsageError("--date is the day deviations are judged on; there is no --deviations")
    day = options.date or date.today() if options.deviations is not None else None
    wanted = Wanted(
        options.model, options.model.name, check_options.asked(options), options.accept_assumptions, options.tailoring,
        options.deviations, day, options.rewrites,
    )  # fmt: skip
    files, report = pack(wanted)
    run = {
        "command": sys.argv,
        "folder": str(Path.cwd()),
        "model": str(options.model.resolve()),
        "started": start.isoformat(timespec="seconds"),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": platform.node(),
        "system": platform.platform(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "executable": sys.executable,
    }
    write_folder(options.output, {**files, RUN: as_bytes(run)})
    made = f"{escape(str(options.output))}: {len(files) + 1} files; begin with index.html"
    sys.stdout.write(f"{headline(report)}\n{made}\n")
    return report.exit_code(options.accept_assumptions)


def require_free(folder: Path) -> None:
    """Refuse a folder that has something in it already, or that cannot be made, before the work begins.

    Raises:
        Misuse: with the reason.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty: name a new folder, so that no file of an older pack stays")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder")
    parent = folder.absolute().parent
    if not parent.is_dir():
        raise UsageError(f"{parent} is no folder")
    if not os.access(parent, os.W_OK):
        raise UsageError(f"{parent} cannot be written to: name a folder elsewhere")
