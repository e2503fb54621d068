"""`sonnx audit`: write an evidence pack, or verify one."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path

from sonnx.api import audit, verify
from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape
from sonnx.base.files import json_value, require_empty
from sonnx.base.progress import clock
from sonnx.cli.arguments import DATE_WITHOUT_DEVIATIONS, add_check_arguments, sizes_of
from sonnx.cli.budget import add_budget_arguments, within_budget
from sonnx.evidence.signature import SIGNATURE, require_key
from sonnx.model.limits import parse_limits
from sonnx.report.phrases import headline

HELP = "write or verify an evidence pack on a model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", nargs="?", type=Path, metavar="MODEL", help="the model file")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--output", type=Path, metavar="DIR", help="write the pack to this folder, a new or empty one")
    kind.add_argument("--verify", type=Path, metavar="DIR", help="rebuild the pack in this folder and compare")
    add_check_arguments(parser)
    add_budget_arguments(parser)
    add = parser.add_argument
    add("--rewrites", type=Path, metavar="RECORD", help="the record of MODEL that sonnx fix --report wrote")
    add("--proofs", type=Path, metavar="DIR", help="a folder of certificates that sonnx prove --proofs wrote")
    add("--since", type=Path, metavar="DIR", help="an earlier pack: say what changed and which evidence stands")
    add("--derived-from", type=Path, metavar="ORIGINAL",
        help="the model file that MODEL was made from: say whether both are the same function")  # fmt: skip
    add("--property", type=Path, metavar="FILE", action="append", default=[],
        help="a .vnnlib file with its certificate, a .json file of the same name, beside it; repeatable")  # fmt: skip
    add("--suite", type=Path, metavar="REPORT", action="append", default=[],
        help="a JSON report of sonnx suite run about the implementation; repeatable")  # fmt: skip
    add("--sign", type=Path, metavar="KEY", help="an OpenSSH key that signs the manifest (ssh-keygen -Y sign)")
    add(
        "--signers",
        type=Path,
        metavar="FILE",
        help="with --verify: the keys of which one must have signed, as OpenSSH lists them",
    )
    parser.set_defaults(command=audit_command)


@within_budget("audited")
def audit_command(options: argparse.Namespace) -> int:
    """Write a pack and return the exit code of its check; or verify one: 0 if it is reproducible, else 1."""
    return _verify(options) if options.verify is not None else _write(options)


def _verify(options: argparse.Namespace) -> int:
    given = (
        options.edition, options.tailoring, options.deviations, options.date, options.rewrites, options.proofs,
        options.since, options.sign,
    )  # fmt: skip
    if (
        any(each is not None for each in given)
        or options.bind
        or options.input_shape
        or options.box
        or options.limit
        or options.property
        or options.suite
        or options.strict_versions
        or options.accept_assumptions
    ):
        raise UsageError("--verify takes the options from the pack: leave them out")
    with clock(f"making {options.verify} again"):
        found = verify(options.verify, options.model, options.signers, options.derived_from)
    name = escape(str(options.verify))
    if not found:
        files = sum(path.is_file() for path in options.verify.rglob("*"))
        sys.stdout.write(f"{name}: verified, all {files} files match{_about_signature(options)}\n")
        return 0
    sys.stdout.write("".join(f"{name}: NOT verified, {escape(sentence)}\n" for sentence in found))
    return 1


def _about_signature(options: argparse.Namespace) -> str:
    if options.signers is not None:
        return f"; signed by a key in {escape(str(options.signers))}"
    signed = (options.verify / SIGNATURE).is_file()
    return "; its signature was not verified, which --signers does" if signed else ""


def _write(options: argparse.Namespace) -> int:
    if options.model is None:
        raise UsageError("name the model file")
    if options.signers is not None:
        raise UsageError("--signers requires --verify")
    if options.sign is not None:
        require_key(options.sign)
    if options.date is not None and options.deviations is None:
        raise UsageError(DATE_WITHOUT_DEVIATIONS)
    started = datetime.now(UTC)
    require_empty(options.output, "file of an older pack")
    with clock("collecting evidence"):
        pack = audit(
            options.model, options.edition, **sizes_of(options), strict_versions=options.strict_versions,
            accept_assumptions=options.accept_assumptions, tailoring=options.tailoring, deviations=options.deviations,
            date=(options.date or date.today()) if options.deviations is not None else None, rewrites=options.rewrites,
            proofs=options.proofs, box=options.box, since=options.since,
            derived_from=options.derived_from, properties=options.property, suites=options.suite,
            limits=parse_limits(options.limit),
        )  # fmt: skip
    run = {
        "command": sys.argv,
        "folder": str(Path.cwd()),
        "model": str(options.model.resolve()),
        **({"derived_from": str(options.derived_from.resolve())} if options.derived_from is not None else {}),
        "started": started.isoformat(timespec="seconds"),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": platform.node(),
        "system": platform.platform(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "executable": sys.executable,
    }
    pack.write(options.output, run, options.sign)
    files = len(pack.files) + 1 + (options.sign is not None)
    written = f"{escape(str(options.output))}: {files} files; start with index.html"
    derived = "" if options.derived_from is None else f"{_about_original(pack.files, options.derived_from.name)}\n"
    sys.stdout.write(f"{headline(pack.report)}\n{derived}{written}\n")
    return pack.code


def _about_original(files: Mapping[str, bytes], name: str) -> str:
    """The answer of the comparison with the original, in one line."""
    answer = json_value(files["audit.json"])["derived_from"]["answer"]
    return f"{escape(name)}, which it was derived from: {answer}"
