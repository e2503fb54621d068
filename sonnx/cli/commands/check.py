"""`sonnx check`: check models and print the report."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from sonnx.api import WHOLE_MODEL
from sonnx.base.errors import UsageError, worst_exit_code
from sonnx.base.escaping import escape, quote
from sonnx.base.files import deliver, fixed_path, require_empty, say_written, write_folder, write_whole
from sonnx.checker.report import STANDARD_INPUT, BatchResult, NoVerdictSentence
from sonnx.checker.request import CheckRequest, check_model, open_model, unbound
from sonnx.cli.arguments import add_check_arguments, amount, check_request, deviations_of, names, sizes_of
from sonnx.cli.project_table import FILE, TABLE, ProjectOptions, project_options
from sonnx.model.reader import Unreadable
from sonnx.numerics.enclosures.options import DEFAULT_HYPOTHESES
from sonnx.report.formats import DRAWN, FORMATS, HASHED, LINKED, CheckRun, FormatChoices, render

COLOURS = ("auto", "always", "never")
HELP = "check models"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("models", nargs="+", metavar="MODEL", help="a model file, a folder or a pattern; - is standard input")
    add_check_arguments(parser)
    for option, what in (("--select", "only"), ("--ignore", "all but")):
        add(option, action="append", default=[], metavar="RULE",
            help=f"check {what} the rules with these slugs, tags or operators, comma-separated")  # fmt: skip
    add("--format", choices=FormatChoices(FORMATS), action="append",
        help="the format of the report (default text); FORMAT=FILE, also repeated, writes it to a file")  # fmt: skip
    add(
        "--fix",
        action="store_true",
        help="rewrite each model into MODEL.fixed.onnx and print what was done and what is left",
    )
    brevity = parser.add_mutually_exclusive_group()
    brevity.add_argument("--full", action="store_true", help="print the whole report of each of several models")
    brevity.add_argument("--quiet", action="store_true", help="print one line for each model")
    brevity.add_argument("--statistics", action="store_true", help="print the rules with findings and their numbers")
    add("--color", choices=COLOURS, default="auto", help="colours on a terminal (default auto; NO_COLOR is respected)")
    add("--output", type=Path, metavar="FILE", help="write the report to a file")
    add("--pages", type=Path, metavar="DIR", help="write an HTML index and a page for each model to this new folder")
    add("--docs", default="", metavar="URL",
        help="link the pages of the rules on a site that make docs built (text, sarif, html)")  # fmt: skip
    several = parser.add_argument_group("many models")
    add = several.add_argument
    add("--jobs", type=amount("processes", least=0), metavar="N",
        help="processes for several models (default: the cores); 0: check in this process")  # fmt: skip
    add("--timeout", type=amount("seconds"), metavar="SECONDS", help="time limit for each model")
    add("--memory", type=amount("megabytes"), metavar="MB", help="memory limit for each model")
    add("--resume", type=Path, metavar="FILE", help="keep results in FILE, and take the results it has")
    add("--cluster", metavar="ADDRESS", help="check on the Dask cluster with this scheduler")
    parser.set_defaults(command=check_command)


def check_command(options: argparse.Namespace) -> int:
    """Check, print, and return the exit code; for several files the worst, in the order 4, 2, 1, 3, 0."""
    _require_effect(options)
    select, ignore = rules_named(options, "select"), rules_named(options, "ignore")
    project = project_options()
    table = project.table
    options.edition = table.edition if options.edition is None else options.edition
    if options.fix:
        return _fix(options, project)
    if options.box and (len(options.models) != 1 or not is_one(options.models[0]) or options.models[0] == "-"):
        raise UsageError("--box is about one model file")
    options.tailoring = table.tailoring if options.tailoring is None else options.tailoring
    ignore += [each.rule for each in table.ignore]
    if options.deviations is not None and (select or ignore):
        raise UsageError(WHOLE_MODEL)
    request, justified = check_request(options, select, ignore), deviations_of(options)
    outputs = outputs_of(options)
    if options.pages is not None:
        require_empty(options.pages, "page of an older run")
    formats = {name for name, _ in outputs}
    hashed, drawn = justified is not None or bool(formats & HASHED), bool(formats & DRAWN)
    models = models_of(options.models)
    for _, file in outputs:
        require_other_file(file, models)
    if _isolated(options, models):
        results = _in_child_processes(models, options, request, hashed, drawn)
    else:
        results = _in_this_process(models, request, hashed, drawn)
    if options.box and results.reports:
        from sonnx.report.box_evidence import discharged  # most checks have no box

        [report] = results.reports
        results.reports = [discharged(report, Path(models[0]), options.box, request, DEFAULT_HYPOTHESES)]
    if "text" in formats:
        for sentence in results.sentences():
            print(f"sonnx: {escape(sentence)}", file=sys.stderr)
    if justified is not None:
        from sonnx.checker import deviations  # most runs have none

        results.reports = list(deviations.apply(results.reports, *justified))
    results.reports = project.stated(results.reports)
    code = results.exit_code(options.accept_assumptions)
    run = CheckRun(results.reports, results.without_report, code, options.accept_assumptions, options.docs)
    if options.pages is not None:
        from sonnx.report.html import render_folder  # few runs write pages

        write_folder(options.pages, {name: text.encode("ascii") for name, text in render_folder(run).items()})
        say_written(options.pages)
    else:
        for name, file in outputs:
            deliver(_rendered(name, options, run, file), file)
    if results.interrupted:
        raise KeyboardInterrupt
    return code


def outputs_of(options: argparse.Namespace) -> list[tuple[str, Path | None]]:
    """The formats of the report, each with its file; None is standard output.

    Raises:
        UsageError: two reports have one place, or --output has no report to write.
        OSError: a folder does not exist.
    """
    if options.pages is not None:
        return [("html", None)]
    given = [each.partition("=") for each in options.format or ["text"]]
    outputs = [(name, Path(file) if file else options.output) for name, _, file in given]
    places = [file if file is None else file.resolve() for _, file in outputs]
    twice = next((file for file in places if places.count(file) > 1), "")
    if twice != "":
        where = "standard output" if twice is None else quote(str(twice))
        raise UsageError(f"--format writes two reports to {where}; name a file for each: --format FORMAT=FILE")
    absent = next((file for _, file in outputs if file is not None and not file.parent.is_dir()), None)
    if absent is not None:  # before any of the reports is written
        code = errno.ENOTDIR if absent.parent.exists() else errno.ENOENT
        raise OSError(code, os.strerror(code), str(absent))
    if options.output is not None and all(file for _, _, file in given):
        raise UsageError("--output has no report to write: each --format names a file; leave one of the two out")
    return outputs


def rules_named(options: argparse.Namespace, option: str) -> list[str]:
    """The names in --select or --ignore.

    Raises:
        UsageError: the option is given and names nothing, as an unset variable of a shell does.
    """
    given: list[str] = getattr(options, option)
    found = names(given)
    if given and not found:
        raise UsageError(f"--{option} names no rule; leave it out to check every rule")
    return found


def require_other_file(output: Path | None, models: Sequence[str]) -> None:
    """Refuse to write a report over a model.

    Raises:
        UsageError: the output is one of the models.
    """
    for name in models:
        if output is not None and output.exists() and Path(name).exists() and output.samefile(name):
            raise UsageError(f"{quote(str(output))} is the model itself; name another file for the report")


NOT_WITH_FIX = (
    "box", "ignore", "tailoring", "deviations", "date", "output", "pages", "docs", "resume", "cluster", "jobs",
    "timeout", "memory", "limit", "statistics", "quiet", "full",
)  # fmt: skip
BREVITY = ("full", "quiet", "statistics")
"""Options that shape the text for a terminal."""


def _require_effect(options: argparse.Namespace) -> None:
    """Refuse options that would have no effect."""
    values = [(name, getattr(options, name)) for name in NOT_WITH_FIX]
    given = [name for name, value in values if value not in ("", [], None) and value is not False]
    formats = {each.partition("=")[0] for each in options.format or ["text"]}
    given += ["format"] if formats != {"text"} or "=" in "".join(options.format or ()) else []
    given += ["color"] if options.color != "auto" else []
    if options.fix and given:
        raise UsageError(f"--fix does not go with --{given[0]}; use sonnx fix, then sonnx check")
    brief = [name for name in (*BREVITY, *(["color"] if options.color != "auto" else [])) if getattr(options, name)]
    if brief and ("text" not in formats or options.pages is not None):
        raise UsageError(
            f"--{brief[0]} shapes the text format and has no effect on the others; leave one of the two out"
        )
    if options.docs and not formats & LINKED and options.pages is None:
        raise UsageError(f"--docs links pages in {', '.join(sorted(LINKED))}, not in {', '.join(sorted(formats))}")
    if options.docs and not options.docs.startswith(("https://", "http://", "file://")):
        raise UsageError("--docs takes the address of a site: https://…, http://… or file://…")
    if options.pages is not None and (
        formats - {"text", "html"} or "=" in "".join(options.format or ()) or options.output
    ):
        raise UsageError("--pages writes HTML to a folder; leave out --format and --output")


def _fix(options: argparse.Namespace, project: ProjectOptions) -> int:
    """Rewrite the models; the worst exit code of their checks."""
    from sonnx.base.progress import clock  # most checks rewrite nothing
    from sonnx.rewriter.fix import fix

    codes = {0}
    for name in models_of(options.models):
        target = fixed_path(Path(name))
        if name == "-" or target.exists():
            raise UsageError(
                "--fix needs a file" if name == "-" else f"{quote(str(target))} exists; sonnx fix --force overwrites it"
            )
        with clock(f"rewriting {name}"):
            result = fix(
                name, options.edition, **sizes_of(options), select=names(options.select),
                strict_versions=options.strict_versions, name=name,
            )  # fmt: skip
        write_whole(target, result.model_bytes())
        sys.stdout.write(f"{result.to_text()}wrote {escape(str(target))}\n")
        codes.add(result.after.exit_code(options.accept_assumptions))
    if project.note:
        sys.stdout.write(f"note: of the table [{TABLE}] of {FILE} only the edition holds for --fix\n")
    return worst_exit_code(codes)


def _rendered(name: str, options: argparse.Namespace, run: CheckRun, file: Path | None) -> str:
    if name != "text":
        return render(name, run)
    from sonnx.report import check_text
    from sonnx.report.terminal import Style, terminal_style

    style = Style(docs=options.docs) if file is not None else terminal_style(options.color, options.docs)
    if options.statistics:
        return check_text.statistics(run.reports, style)
    if options.quiet:
        return "".join(f"{check_text.brief(report, style)}\n" for report in run.reports)
    if options.full:
        return check_text.render_full(run, style)
    return check_text.render_in(style, run)


def _isolated(options: argparse.Namespace, models: Sequence[str]) -> bool:
    """Whether child processes check the models: if there are several, or an option requires it."""
    required = [name for name in ("timeout", "memory", "resume", "cluster") if getattr(options, name) is not None]
    if options.jobs == 0 and required:
        raise UsageError(f"--{required[0]} needs a child process, and --jobs 0 allows none")
    if options.jobs is not None:
        return bool(options.jobs)
    return bool(required) or len(models) > 1 or not all(map(is_one, options.models))


def _in_child_processes(
    models: Sequence[str], options: argparse.Namespace, request: CheckRequest, hashed: bool, drawn: bool
) -> BatchResult:
    # A single model in this process needs neither threads nor processes, so their modules load here.
    from sonnx.base.progress import StatusLine
    from sonnx.workers.models import check_models
    from sonnx.workers.tasks import Place

    place = Place(options.jobs, options.cluster, options.timeout, options.memory)
    with StatusLine() as line:
        return check_models(
            models, request, options.tailoring, hashed=hashed, drawn=drawn, place=place, resume=options.resume,
            progress=line,
        )  # fmt: skip


def _in_this_process(models: Sequence[str], request: CheckRequest, hashed: bool, drawn: bool) -> BatchResult:
    results = BatchResult()
    for name in models:
        try:
            model, digest = open_model(sys.stdin.buffer.read() if name == "-" else name, hashed, request.limits)
        except Unreadable as reason:
            results.without_report[name] = NoVerdictSentence(str(reason))
        else:
            shown = STANDARD_INPUT if name == "-" else name
            if len(models) > 1 and (misfit := unbound(model, shown, request)):
                results.without_report[name] = NoVerdictSentence(misfit)
            else:
                results.reports.append(check_model(model, digest, request, shown, drawn))
    return results


# ------------------------------------------------------------------ the files that arguments name

SUFFIX = ".onnx"
MAGIC = frozenset("*?[")
"""The characters that make an argument a pattern."""


def models_of(arguments: Sequence[str]) -> list[str]:
    """The models that paths, folders and patterns name, each once; of a folder all .onnx files at any depth.

    Raises:
        UsageError: a folder or a pattern has no model.
    """
    found = (name for argument in arguments for name in _named(argument))
    return list(dict.fromkeys(found))


def is_one(argument: str) -> bool:
    """Whether an argument names a file, present or not, rather than a folder or a pattern."""
    path = Path(argument)
    try:
        return argument == "-" or path.is_file() or not (path.is_dir() or MAGIC.intersection(argument))
    except ValueError:  # not a possible file name
        return True


def _named(argument: str) -> list[str]:
    if is_one(argument):
        return [argument]
    folder = Path(argument)
    if folder.is_dir():
        names = sorted(str(path) for path in folder.rglob(f"*{SUFFIX}") if not path.is_dir())
        lacking = f"the folder {argument!r} has no {SUFFIX} file"
    else:
        import glob  # most arguments name files

        names = sorted(name for name in glob.glob(argument, recursive=True) if not Path(name).is_dir())  # noqa: PTH207
        lacking = f"no file matches {argument!r}"
    if not names:
        raise UsageError(lacking)
    return names
