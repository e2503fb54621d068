"""The options of `sonnx check` for many models, and what they do; nothing of it is loaded for a single model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from sonnx.asked import Asked
from sonnx.many.crews import crew_of
from sonnx.many.judging import judge_all
from sonnx.many.models import request_of, with_hashes
from sonnx.many.resuming import Journal
from sonnx.many.work import Bounds, Task, Work
from sonnx.model_files import STANDARD_INPUT
from sonnx.progress import Line
from sonnx.results import Results

TIMEOUT, MEMORY = 300, 4096
"""Seconds and megabytes one model may take where nothing else is asked for."""


def run(models: Sequence[str], options: argparse.Namespace, asked: Asked, hashed: bool, drawn: bool) -> Results:
    """Judge the models, each as asked.

    Raises:
        Misuse: what is asked for cannot be met.
        OSError: the file of --resume cannot be read or written.
    """
    work = Work(
        "sonnx.many.models",
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
