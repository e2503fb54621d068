"""The command line: arguments in, text out, an exit code. Everything else is done by the library."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sonnx import catalogue, limits, prove_command, run_command
from sonnx.files import write_whole
from sonnx.misuse import Misuse
from sonnx.model_files import STANDARD_INPUT, is_one, models_of
from sonnx.parse import Unreadable
from sonnx.quoting import escape
from sonnx.report.formats import FORMATS, HASHED, render
from sonnx.request import Request, judge_request
from sonnx.results import Results, Unjudged

JUDGE = (
    "Judge models. Exit code: 0 conforming, 1 a rule fails, 2 unreadable or misuse, 3 not decided, 4 the tool failed."
)
USAGE = 2


def run(arguments: Sequence[str]) -> int:
    """Run one command; the exit code."""
    options = _parser().parse_args(arguments)
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sonnx", description="Check ONNX models against SONNX, the safety-related profile of ONNX."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
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
    prove_command.add_arguments(commands.add_parser("prove", help="prove the theorems about the profile"))
    selfcheck = commands.add_parser("selfcheck", help="check this installation: its rules, cases and data")
    selfcheck.set_defaults(command=_selfcheck)
    return parser


def _edition_help() -> str:
    known = catalogue.editions()
    return f"one of {', '.join(known.editions)} (default {known.default})"


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "models", nargs="+", metavar="MODEL", help="a model file, a folder, or a pattern; - is standard input"
    )
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
    add = parser.add_argument
    add("--jobs", type=_whole, default=None, metavar="N",
        help="processes that judge several models (default: the cores); 0: judge in this process")  # fmt: skip
    add("--timeout", type=_positive, default=None, metavar="SECONDS", help="how long one model may take")
    add("--memory", type=_positive, default=None, metavar="MB", help="how much memory one model may take")
    add("--resume", type=Path, default=None, metavar="FILE", help="keep answers in FILE and take those it has")
    limits.add_argument(parser)
    parser.set_defaults(command=_check)


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of nine digits at most")
    return int(text)


def _positive(text: str) -> int:
    number = _whole(text)
    if not number:
        raise argparse.ArgumentTypeError("0 is not allowed")
    return number


def _names(values: Sequence[str]) -> list[str]:
    return [name for value in values for name in value.split(",") if name]


def _bindings(values: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in _names(values):
        symbol, equals, number = item.rpartition("=")
        if not equals or not symbol or not number.isascii() or not number.isdecimal():
            raise Misuse(f"--bind takes SYMBOL=NUMBER, not {item!r}")
        if symbol in found and found[symbol] != int(number):
            raise Misuse(f"--bind gives {symbol} two values, {found[symbol]} and {number}")
        found[symbol] = int(number)
    return found


def _check(options: argparse.Namespace) -> int:
    models = models_of(options.models)
    if _isolated(options, models):
        from sonnx import many_command  # processes and threads: a single model needs none

        results = many_command.run(models, options, _request(options))
    else:
        results = _in_this_process(models, _request(options))
    if options.format == "text":
        for sentence in results.unjudged.values():
            print(f"sonnx: {escape(sentence)}", file=sys.stderr)
    code = results.exit_code(options.accept_assumptions)
    text = render(options.format, results.reports, results.unjudged, code, options.accept_assumptions, results.hashes)
    _emit(text, options.output)
    if results.interrupted:
        raise KeyboardInterrupt
    return code


def _isolated(options: argparse.Namespace, models: Sequence[str]) -> bool:
    """Whether models are judged in child processes: several are, and one where that is asked for."""
    asked = [name for name in ("timeout", "memory", "resume") if getattr(options, name) is not None]
    if options.jobs == 0 and asked:
        raise Misuse(f"--{asked[0]} needs a child process, and --jobs 0 asks for none")
    if options.jobs is not None:
        return bool(options.jobs)
    return bool(asked) or len(models) > 1 or not all(map(is_one, options.models))


def _request(options: argparse.Namespace) -> Request:
    return Request(
        edition=options.edition,
        bind=tuple(_bindings(options.bind).items()),
        select=tuple(_names(options.select)),
        ignore=tuple(_names(options.ignore)),
        strict_versions=options.strict_versions,
        limits=tuple(limits.limits_of(options.limit).items()),
        hashed=options.format in HASHED,
    )


def _in_this_process(models: Sequence[str], request: Request) -> Results:
    results = Results()
    for model in models:
        source = sys.stdin.buffer.read() if model == "-" else model
        try:
            report, digest = judge_request(request, source, STANDARD_INPUT if model == "-" else model)
        except Unreadable as reason:
            results.unjudged[model] = Unjudged(str(reason))
        else:
            results.reports.append(report)
            results.hashes.append(digest)
    return results


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
