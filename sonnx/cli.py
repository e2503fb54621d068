"""The command line: arguments in, text out, an exit code. Everything else is done by the library."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from sonnx import catalogue, compare_command, fix_command, pages_command, prove_command, qualify_command, run_command
from sonnx.api import check
from sonnx.binding import bindings
from sonnx.files import sha256, write_whole
from sonnx.misuse import Misuse
from sonnx.parse import Unreadable
from sonnx.quoting import escape
from sonnx.report.formats import FORMATS, HASHED, render
from sonnx.verdict import Report

TOOL_FAILED = 4
EXIT_CODES = {
    0: "every rule holds",
    1: "a rule fails",
    2: "the file is no readable model, or the command is wrong",
    3: "something is undecided, assumed or not checked",
    TOOL_FAILED: "the tool failed",
}
JUDGE = f"Judge models. Exit code: {'; '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}."
USAGE = 2
_SEVERITY = (TOOL_FAILED, 2, 1, 3, 0)
"""The exit code of several files is the first of these that one of them has."""


def run(arguments: Sequence[str]) -> int:
    """Run one command; the exit code."""
    options = parser().parse_args(arguments)
    try:
        code: int = options.command(options)
    except (Misuse, Unreadable, OSError) as error:
        return _refuse(_sentence(error))
    return code


class _Version(argparse.Action):
    """Asks for the version only when it is printed."""

    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:
        from sonnx.report.json import tool_version

        print(f"sonnx {tool_version()}")
        parser.exit()


def _refuse(sentence: str) -> int:
    print(f"sonnx: {escape(sentence)}", file=sys.stderr)
    return USAGE


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'output'}: {error.strerror}"
    return str(error)


def parser() -> argparse.ArgumentParser:
    """The command line: every command with its options."""
    made = argparse.ArgumentParser(
        prog="sonnx", description="Check ONNX models against SONNX, the safety-related profile of ONNX."
    )
    made.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = made.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_check(commands.add_parser("check", help="judge models", description=JUDGE))
    explain = commands.add_parser("explain", help="explain a rule, tag, operator or erratum")
    explain.add_argument(
        "id", metavar="ID", help="a slug (Max.broadcastable), a tag (E1, R1@2025-10), an operator or an erratum"
    )
    explain.set_defaults(command=_explain)
    rules = commands.add_parser("rules", help="list the rules of an edition")
    rules.add_argument("--edition", default=None, help=_edition_help())
    rules.add_argument("--format", choices=("text", "json"), default="text")
    rules.set_defaults(command=_rules)
    run_command.add_arguments(commands.add_parser("run", help="compute the exact values of a model"))
    compare_command.add_arguments(commands.add_parser("compare", help="compare a runtime with the exact values"))
    prove_command.add_arguments(commands.add_parser("prove", help="prove the theorems about the profile"))
    fix_command.add_arguments(commands.add_parser("fix", help="rewrite a model without changing a value"))
    qualify_command.add_arguments(commands.add_parser("qualify", help="verify the tool in this environment"))
    pages_command.add_arguments(commands.add_parser("pages", help="write the pages of operators and of traceability"))
    selfcheck = commands.add_parser("selfcheck", help="check this installation: its rules, cases and data")
    selfcheck.set_defaults(command=_selfcheck)
    return made


def _edition_help() -> str:
    known = catalogue.editions()
    return f"one of {', '.join(known.editions)} (default {known.default})"


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", nargs="+", metavar="MODEL", help="a model file; - is standard input")
    parser.add_argument("--edition", default=None, help=_edition_help())
    parser.add_argument(
        "--select",
        action="append",
        default=[],
        metavar="RULE",
        help="only these slugs, tags or operators, comma-separated",
    )
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="RULE",
        help="without these slugs, tags or operators, comma-separated",
    )
    parser.add_argument(
        "--bind", action="append", default=[], metavar="N=1,H=224", help="judge for these values of symbolic dimensions"
    )
    parser.add_argument(
        "--accept-assumptions", action="store_true", help="exit 0 where only assumptions on run-time values are open"
    )
    parser.add_argument(
        "--strict-versions", action="store_true", help="admit only the operator version a text specifies"
    )
    parser.add_argument("--format", choices=tuple(FORMATS), default="text", help="the format of the report")
    parser.add_argument("--output", type=Path, default=None, metavar="FILE", help="write the report to a file")
    parser.set_defaults(command=_check)


def _names(values: Sequence[str]) -> list[str]:
    return [name for value in values for name in value.split(",") if name]


def _check(options: argparse.Namespace) -> int:
    reports: list[Report] = []
    hashes: list[str] = []
    unreadable: dict[str, str] = {}
    for model in _with_progress(options.models):
        try:
            source = sys.stdin.buffer.read() if model == "-" else model
            reports.append(_check_one(source, options))
            if options.format in HASHED:
                hashes.append(sha256(source if isinstance(source, bytes) else Path(source)))
        except Unreadable as reason:
            unreadable[model] = str(reason)
            if options.format == "text":
                print(f"sonnx: {escape(str(reason))}", file=sys.stderr)
    codes = {report.exit_code(options.accept_assumptions) for report in reports} | ({USAGE} if unreadable else set())
    code = next(each for each in _SEVERITY if each in codes)
    text = render(options.format, reports, unreadable, code, options.accept_assumptions, hashes)
    _emit(text, options.output)
    return code


def _check_one(source: str | bytes, options: argparse.Namespace) -> Report:
    return check(
        source,
        options.edition,
        bind=bindings(options.bind),
        select=_names(options.select),
        ignore=_names(options.ignore),
        strict_versions=options.strict_versions,
        name="standard input" if isinstance(source, bytes) else source,
    )


def _with_progress(models: Sequence[str]) -> Iterator[str]:
    """The models, with a line on the terminal that says how far the run is."""
    shown = len(models) > 1 and sys.stderr.isatty()
    for number, model in enumerate(models, 1):
        if shown:
            print(f"\r\x1b[K{number}/{len(models)} {escape(model)[:60]}", end="", file=sys.stderr, flush=True)
        yield model
    if shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _emit(text: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(text)
    else:
        write_whole(output, text)


def _explain(options: argparse.Namespace) -> int:
    from sonnx.report.explain import explain

    _emit(explain(options.id), None)
    return 0


def _rules(options: argparse.Namespace) -> int:
    from sonnx.report.rules import as_json, as_text

    known = catalogue.editions()
    edition = options.edition or known.default
    if edition not in known.editions:
        raise Misuse(f"there is no edition {edition!r}; there are {', '.join(known.editions)}")
    _emit(as_json(edition) if options.format == "json" else as_text(edition), None)
    return 0


def _selfcheck(options: argparse.Namespace) -> int:
    from sonnx.selfcheck import selfcheck

    lines, sound = selfcheck()
    _emit("".join(f"{line}\n" for line in lines), None)
    return 0 if sound else 1
