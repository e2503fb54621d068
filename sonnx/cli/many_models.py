"""The options of `sonnx check` for many models, and what they do; nothing of it is loaded for a single model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from sonnx.base.progress import Line
from sonnx.checker.report import BatchResult
from sonnx.checker.request import CheckRequest
from sonnx.cli.model_paths import STANDARD_INPUT
from sonnx.workers.crews import crew_of
from sonnx.workers.journal import Journal
from sonnx.workers.models import judge_all, request_of, with_hashes
from sonnx.workers.tasks import Bounds, Task, Work

TIMEOUT, MEMORY = 300, 4096
"""Seconds and megabytes one model may take where nothing else is asked for."""


def run(
    models: Sequence[str], options: argparse.Namespace, asked: CheckRequest, hashed: bool, drawn: bool
) -> BatchResult:
    """Judge the models, each as asked.

    Raises:
        Misuse: what is asked for cannot be met.
        OSError: the file of --resume cannot be read or written.
    """
    work = Work(
        "sonnx.workers.models",
        "judged",
        packages=("onnx", "protobuf"),
        bounds=Bounds(options.timeout or TIMEOUT, options.memory or MEMORY),
    )
    request = request_of(asked, None if options.tailoring is None else str(options.tailoring), hashed, drawn)
    tasks = [_task(model, request) for model in models]
    journal = Journal(options.resume, work, request) if options.resume else None
    with crew_of(work, options.cluster, options.jobs, len(tasks)) as crew, Line() as line:
        prepare = with_hashes if options.cluster else iter
        return judge_all(tasks, crew, prepare, tailoring=asked.tailoring, journal=journal, progress=line)


def _task(model: str, request: dict[str, Any]) -> Task:
    if model != "-":
        return Task(model, {"model": model, "inline": False, **request})
    return Task(STANDARD_INPUT, {"model": STANDARD_INPUT, "inline": True, **request}, content=sys.stdin.buffer.read())
