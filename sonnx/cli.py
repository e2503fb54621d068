"""The command line: arguments in, text out, an exit code. Everything else is done by the library."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from sonnx import (
    audit_command,
    catalogue,
    check_command,
    compare_command,
    diff_edition_command,
    pages_command,
    prove_command,
    qualify_command,
    run_command,
)
from sonnx.misuse import Misuse
from sonnx.parse import Unreadable
from sonnx.quoting import escape
from sonnx.request import edition_help
from sonnx.stops import EXIT_CODES, USAGE

JUDGE = f"Judge models. Exit code: {'; '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}."


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
    check_command.add_arguments(commands.add_parser("check", help="judge models", description=JUDGE))
    explain = commands.add_parser("explain", help="explain a rule, tag, operator or erratum")
    explain.add_argument(
        "id", metavar="ID", help="a slug (Max.broadcastable), a tag (E1, R1@2025-10), an operator or an erratum"
    )
    explain.set_defaults(command=_explain)
    rules = commands.add_parser("rules", help="list the rules of an edition")
    rules.add_argument("--edition", default=None, help=edition_help())
    rules.add_argument("--format", choices=("text", "json"), default="text")
    rules.set_defaults(command=_rules)
    run_command.add_arguments(commands.add_parser("run", help="compute the exact values of a model"))
    compare_command.add_arguments(commands.add_parser("compare", help="compare a runtime with the exact values"))
    prove_command.add_arguments(commands.add_parser("prove", help="prove the theorems about the profile"))
    pages_command.add_arguments(commands.add_parser("pages", help="write the pages of operators and of traceability"))
    difference = commands.add_parser("diff-edition", help="what differs between two editions, and for given models")
    diff_edition_command.add_arguments(difference)
    audit_command.add_arguments(commands.add_parser("audit", help="write or verify an evidence pack on a model"))
    qualify_command.add_arguments(commands.add_parser("qualify", help="verify the tool in this environment"))
    selfcheck = commands.add_parser("selfcheck", help="check this installation: its rules, cases and data")
    selfcheck.set_defaults(command=_selfcheck)
    return made


def _explain(options: argparse.Namespace) -> int:
    from sonnx.report.explain import explain

    sys.stdout.write(explain(options.id))
    return 0


def _rules(options: argparse.Namespace) -> int:
    from sonnx.report.rules import as_json, as_text

    known = catalogue.editions()
    edition = options.edition or known.default
    if edition not in known.editions:
        raise Misuse(f"there is no edition {edition!r}; there are {', '.join(known.editions)}")
    sys.stdout.write(as_json(edition) if options.format == "json" else as_text(edition))
    return 0


def _selfcheck(options: argparse.Namespace) -> int:
    from sonnx.selfcheck import selfcheck

    lines, sound = selfcheck()
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0 if sound else 1
