"""`check` and `check_models`: models in, reports out; most checks load neither numpy nor what runs processes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sonnx.base.errors import Unreadable, UsageError
from sonnx.base.escaping import quote
from sonnx.base.options import keyword_arguments
from sonnx.checker.checked_calls import CheckedCall
from sonnx.checker.conditions import settings_of
from sonnx.checker.options import BatchOptions, CheckOptions
from sonnx.checker.report import STANDARD_INPUT, BatchResult, NoVerdictSentence, Report
from sonnx.checker.request import check_model, open_model, unbound
from sonnx.model.files import is_one, models_of
from sonnx.model.ir import Model
from sonnx.model.sources import Source, name_of, path_or_bytes
from sonnx.model.symbols import bind_symbols
from sonnx.report.check import CheckReport

if TYPE_CHECKING:
    from sonnx.report.facts_json import FactsDocument


@keyword_arguments(CheckOptions)
def check(source: Source, options: CheckOptions) -> CheckReport:
    """Check a model against an edition of the profile.

    Of bytes and messages, the files of external data are not looked for. With a selection of rules the report is
    partial.

    Raises:
        UsageError: an unknown edition, rule, tag or symbol, a malformed file of the project, or arguments that exclude
            one another.
    """
    file = path_or_bytes(source)
    model, digest = open_model(file, options.reads_whole_file, options.limits)
    report = check_model(model, digest, options.request(), name_of(file, options.name), options.drawn)
    if options.box:
        report = _discharged(report, model, None if isinstance(file, bytes) else Path(file), options)
    [report] = _concluded([report], options)
    return CheckReport.of(report)


@keyword_arguments(BatchOptions)
def check_models(models: Sequence[str], options: BatchOptions) -> BatchResult:
    """Check models: several of them in child processes, of which one that fails or hangs does not stop the others.

    `models` are the paths of files, folders, of which every .onnx file at any depth is checked, and patterns; - is
    standard input.

    Raises:
        UsageError: options that cannot be met, or a folder or pattern without a model.
        OSError: the journal of `resume` cannot be read or written.
    """
    return check_files(models, models_of(models), options)


def check_files(
    models: Sequence[str], files: Sequence[str], options: BatchOptions, calls: list[CheckedCall] | None = None
) -> BatchResult:
    """See `check_models`; `files` are those that the paths, folders and patterns name.

    `calls` takes the calls of a single model that is checked in this process; see `facts_document`.
    """
    if options.box and (len(models) != 1 or not is_one(models[0]) or models[0] == "-"):
        raise UsageError("--box is about one model file")
    _concluded([], options)  # a malformed file is refused before the check
    if is_isolated(models, files, options):
        results = _in_child_processes(files, options)
    else:
        results = _in_this_process(files, options, calls)
    results.reports = _concluded(results.reports, options)
    return results


def facts_document(report: Report, calls: Sequence[CheckedCall]) -> FactsDocument:
    """The facts of the calls of a model that was checked, and the verdicts of their operators' rules."""
    from sonnx.report.facts_json import FactsDocument, call_facts  # most checks write no facts

    facts = tuple(map(call_facts, calls))
    return FactsDocument(model=report.name, sha256=report.sha256, edition=report.edition, calls=facts)


def is_isolated(models: Sequence[str], files: Sequence[str], options: BatchOptions) -> bool:
    """Whether child processes check the files that the models name: if there are several, or an option requires it."""
    if options.jobs is not None:
        return bool(options.jobs)
    return options.is_isolated or not all(map(is_one, models)) or len(files) > 1


def _concluded(reports: Sequence[Report], options: CheckOptions) -> list[Report]:
    """The reports with the conditions that no request of a check has, where justified failures are deviations."""
    settings = settings_of(options)
    if settings:
        reports = [replace(each, conditions=replace(each.conditions, settings=settings)) for each in reports]
    if options.deviations is not None and options.date is not None:
        from sonnx.checker import deviation_records  # most checks have none
        from sonnx.checker.deviations import apply

        reports = list(apply(reports, deviation_records.read(options.deviations), options.date))
    if options.baseline is not None:
        from sonnx.checker.baseline import compared  # most checks have none

        reports = compared(reports, options.baseline)
    return list(reports)


def _discharged(report: Report, model: Model, path: Path | None, options: CheckOptions) -> Report:
    """The report where an assumption that the box shows passes."""
    from sonnx.numerics.enclosures.options import DEFAULT_HYPOTHESES  # most checks have no box
    from sonnx.report.box_evidence import discharged

    sized = bind_symbols(model, options.bind, options.input_shapes)
    return discharged(report, sized, path, tuple(options.box), DEFAULT_HYPOTHESES)


def _in_child_processes(models: Sequence[str], options: BatchOptions) -> BatchResult:
    # A single model in this process needs neither threads nor processes, so their modules load here.
    from sonnx.workers import models as workers
    from sonnx.workers.tasks import WorkPlace

    place = WorkPlace(options.jobs, options.cluster, options.timeout, options.memory)
    results = workers.check_models(
        models, options.request(), options.tailoring, hashed=options.reads_whole_file, drawn=options.drawn,
        place=place, resume=options.resume, progress=options.progress,
    )  # fmt: skip
    if options.box and results.reports:
        model, digest = open_model(models[0], True, options.limits)
        if digest != results.reports[0].sha256:
            raise UsageError(f"{quote(models[0])} changed while it was checked")
        results.reports = [_discharged(results.reports[0], model, Path(models[0]), options)]
    return results


def _in_this_process(models: Sequence[str], options: BatchOptions, calls: list[CheckedCall] | None) -> BatchResult:
    results, request = BatchResult(), options.request()
    for name in models:
        try:
            source = sys.stdin.buffer.read() if name == "-" else name
            model, digest = open_model(source, options.reads_whole_file, request.limits)
        except Unreadable as reason:
            results.without_report[name] = NoVerdictSentence(str(reason))
            continue
        shown = STANDARD_INPUT if name == "-" else name
        if len(models) > 1 and (misfit := unbound(model, shown, request)):
            results.without_report[name] = NoVerdictSentence(misfit)
            continue
        report = check_model(model, digest, request, shown, options.drawn, calls)
        results.reports.append(_discharged(report, model, Path(name), options) if options.box else report)
    return results
