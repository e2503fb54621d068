"""Checking many models in child processes, several at a time: the work of a child, and the run in the parent."""

from __future__ import annotations

import base64
import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from sonnx.base.errors import Unreadable, UsageError
from sonnx.base.files import sha256
from sonnx.checker.report import STANDARD_INPUT, BatchResult, NoVerdict, NoVerdictSentence, Report
from sonnx.checker.report_data import report_as_data, report_from_data
from sonnx.checker.request import CheckRequest, check_model, open_model, unbound
from sonnx.checker.tailoring import Tailoring
from sonnx.model.reader import map_file, read
from sonnx.model.scopes import stored_tensors
from sonnx.workers.kept_answers import SUBJECT, KeptAnswers
from sonnx.workers.pools import answers_to
from sonnx.workers.tasks import HERE, Answer, Work, WorkerTask, WorkPlace


def request_data(request: CheckRequest, tailoring: str | None, hashed: bool, drawn: bool) -> dict[str, Any]:
    """The request of a task as JSON, without the model.

    Args:
        request: the options of the check.
        tailoring: the tailoring file, which the child reads again.
        hashed: whether the report states the hash of the file.
        drawn: whether the report has the outline of the graph.
    """
    read_again = [tailoring, request.tailoring.sha256] if tailoring and request.tailoring else None
    options = to_builtins(replace(request, tailoring=None, limits=dict(request.limits)))
    return {**options, "tailoring": read_again, "hashed": hashed, "drawn": drawn}


def prepare() -> None:
    """Load the rules, which does not count as time of the first model."""
    CheckRequest()


def answer(request: Mapping[str, Any]) -> Answer:
    """The report, or why there is none.

    Besides the keys of `request_data`, a request has `model`, a path, or with `inline`, the bytes in base64, their
    name; and optionally `sha256`, the hash that the file must have, and `identified`, whether the answer states the
    hash of what was read.

    Raises:
        UsageError: options that cannot be met.
    """
    rest = dict(request)
    name, inline, hashed, drawn, tailoring = map(rest.pop, ("model", "inline", "hashed", "drawn", "tailoring"))
    expected, identified = rest.pop("sha256", None), rest.pop("identified", False)
    check = CheckRequest(**rest, tailoring=_tailoring(tailoring))
    subject: dict[str, Any] = {}
    try:
        source = name if inline is None else base64.b64decode(inline)
        if isinstance(source, bytes) or not (identified or expected is not None):
            model, digest = open_model(source, hashed, check.limits)
        else:
            data = map_file(source, repr(source))
            subject = {SUBJECT: sha256(data)}
            if expected not in (None, subject[SUBJECT]):
                sentence = "was not checked: the worker has another file of this name, by its SHA-256"
                return {"sentence": sentence, "why": NoVerdict.STOPPED}
            digest = subject[SUBJECT] if hashed else ""
            model = read(data, repr(source), check.limits, Path(source).parent)
    except Unreadable as error:
        return {"sentence": str(error), "why": NoVerdict.UNREADABLE, **subject}
    if reason := unbound(model, name, check):
        return {"sentence": reason, "why": NoVerdict.UNREADABLE, **subject}
    report = check_model(model, digest, check, name, drawn)
    other_files = any(stored_tensor.external for stored_tensor in stored_tensors(model))
    report_data = report_as_data(replace(report, tailoring=None))  # the parent adds it
    return {"word": report.verdict, "report": report_data, "other_files": other_files, **subject}


def with_hashes(tasks: Iterable[WorkerTask]) -> Iterator[WorkerTask]:
    """The tasks with the hashes of their files, for workers that may see other files; "" if a file cannot be read."""
    for task in tasks:
        if task.request["inline"] is None:
            request = {**task.request, "sha256": _sha256(task.name)}
            yield dataclasses.replace(task, request=request)
        else:
            yield task


def _sha256(path: str) -> str:
    try:
        return sha256(map_file(path, repr(path)))
    except Unreadable:
        return ""


def _tailoring(file: Sequence[str] | None) -> Any:
    if file is None:
        return None
    from sonnx.checker import tailoring  # most runs have none

    path, expected = file
    read_again = tailoring.read(path)
    if read_again.sha256 != expected:
        raise UsageError(f"{path} is not the file with which the run began")
    return read_again


# ------------------------------------------------------------------ in the parent process


ModelResult = NoVerdictSentence | Report
"""The report on a model, or the sentence on a model without one."""

Progress = Callable[[str], None]
"""Called after each task with the progress, the results so far, and the name of the task."""


TIMEOUT_SECONDS, MEMORY_MEGABYTES = 300, 4096
"""The default limits of one model."""


def check_models(
    models: Sequence[str],
    request: CheckRequest,
    tailoring: Path | None = None,
    *,
    hashed: bool = False,
    drawn: bool = False,
    place: WorkPlace = HERE,
    resume: Path | None = None,
    progress: Progress = lambda _: None,
) -> BatchResult:
    """Check models in child processes; one that fails or hangs does not stop the others.

    Args:
        models: paths; "-" is standard input.
        request: the options of the check.
        tailoring: the file of the tailoring in the request.
        hashed: state the SHA-256 of each file.
        drawn: add the outline of each graph.
        place: where they are checked, and the limits of each (300 seconds, 4096 megabytes by default).
        resume: the file that keeps answers.
        progress: called after each model.

    Raises:
        UsageError: options that cannot be met.
        BadInput: the file that keeps answers is something else, or of another check.
        OSError: it cannot be read or written.
    """
    bounds = place.bounds(TIMEOUT_SECONDS, MEMORY_MEGABYTES)
    work = Work("sonnx.workers.models", "checked", packages=("onnx", "protobuf", "msgspec"), bounds=bounds)
    data = request_data(request, None if tailoring is None else str(tailoring), hashed, drawn)
    tasks = [_task(model, data, identified=resume is not None) for model in models]
    kept = KeptAnswers(resume, work, data, _subject, _is_report) if resume else None
    prepare = with_hashes if place.cluster else iter
    answers, interrupted = answers_to(tasks, work, place, kept=kept, prepare=prepare, progress=progress)
    batch_result = BatchResult(interrupted=interrupted)
    for task in tasks:
        result = _result(task, answers.pop(task.name), request.tailoring)
        if isinstance(result, NoVerdictSentence):
            batch_result.without_report[task.name] = result
        else:
            batch_result.reports.append(result)
    return batch_result


def _task(model: str, data: Mapping[str, Any], *, identified: bool) -> WorkerTask:
    if model != "-":
        return WorkerTask(model, {"model": model, "inline": None, "identified": identified, **data})
    inline = base64.b64encode(sys.stdin.buffer.read()).decode()
    return WorkerTask(STANDARD_INPUT, {"model": STANDARD_INPUT, "inline": inline, **data})


def _subject(task: WorkerTask) -> str | None:
    return _sha256(task.name) or None if task.request["inline"] is None else None


def _is_report(answer: Answer) -> bool:
    try:
        return answer.get("word") == report_from_data(answer.get("report")).verdict
    except ValueError:
        return False


def _result(task: WorkerTask, answer: Answer, tailoring: Tailoring | None) -> ModelResult:
    if "why" not in answer:
        return replace(report_from_data(answer["report"]), tailoring=tailoring)
    why = NoVerdict(answer["why"])
    sentence = answer["sentence"] if why is NoVerdict.UNREADABLE else f"{task.name!r} {answer['sentence']}"
    return NoVerdictSentence(sentence, why)
