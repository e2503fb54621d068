"""`sonnx audit`: write an evidence pack, or verify one."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape
from sonnx.base.files import require_empty
from sonnx.base.progress import Progress
from sonnx.cli.arguments import with_date
from sonnx.cli.budget import add_budget_arguments, within_budget
from sonnx.cli.options import add_options, keywords_of, written_options
from sonnx.evidence.options import AuditOptions
from sonnx.evidence.signature import SIGNATURE, require_key
from sonnx.report.phrases import headline

CONTENT = "verified, content reproduced: model, rules, verdicts, theorems and statements are equal"
"""What is said of a pack whose content a fresh run gives again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", nargs="?", type=Path, metavar="MODEL", help="the model file")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("-o", "--output", type=Path, metavar="DIR", help="write the pack to this new or empty folder")
    kind.add_argument("--verify", type=Path, metavar="DIR", help="rebuild the pack in this folder and compare")
    add_options(parser, AuditOptions)
    add_budget_arguments(parser)
    add = parser.add_argument
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
    """Write a pack and return the exit code of its check; or verify one: 0, 1 for other content, 3 elsewhere."""
    return _verify(options) if options.verify is not None else _write(options)


def _verify(options: argparse.Namespace) -> int:
    if options.sign is not None or {*written_options(AuditOptions, options)} - {"--derived-from"}:
        raise UsageError("--verify excludes options of the pack, which states them")
    from sonnx.api.evidence import verify

    with Progress(f"making {options.verify} again", quiet=options.quiet):
        verified = verify(options.verify, options.model, options.signers, options.derived_from)
    name = escape(str(options.verify))
    lines = [f"NOT verified, {escape(sentence)}" for sentence in verified.content]
    if not verified.content:
        files = sum(path.is_file() for path in options.verify.rglob("*"))
        lines = [f"{CONTENT}, all {files} files match{_about_signature(options)}"]
        lines += [] if verified.environment else ["environment equal: packages, Python and host"]
    lines += [f"environment differs: {escape(sentence)}" for sentence in verified.environment]
    sys.stdout.write("".join(f"{name}: {line}\n" for line in lines))
    return verified.exit_code


def _about_signature(options: argparse.Namespace) -> str:
    if options.signers is not None:
        return f"; signed by a key in {escape(str(options.signers))}"
    signed = (options.verify / SIGNATURE).is_file()
    return "; its signature was not verified, which --signers does" if signed else ""


def _write(options: argparse.Namespace) -> int:
    from sonnx.api.evidence import audit
    from sonnx.evidence.pack import run_record

    if options.model is None:
        raise UsageError("name the model file")
    if options.signers is not None:
        raise UsageError("--signers requires --verify")
    if options.sign is not None:
        require_key(options.sign)
    chosen = with_date(keywords_of(AuditOptions, options))
    started = datetime.now(UTC)
    require_empty(options.output, "file of an older pack")
    with Progress(f"collecting evidence on {options.model}", quiet=options.quiet):
        pack = audit(options.model, **chosen)
    run = run_record(options.model, options.derived_from, started)
    pack.write(options.output, run, options.sign)
    files = len(pack.files) + 1 + (options.sign is not None)
    written = f"{escape(str(options.output))}: {files} files; start with index.html"
    about = [headline(pack.report), *([pack.about_original] if pack.about_original else []), written]
    sys.stdout.write("".join(f"{line}\n" for line in about))
    return pack.code
