"""The options of `sonnx check` for many models, and what they do; nothing of it is loaded for a single model."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence

from sonnx.isolation import Bounds, Task
from sonnx.many import Progress, judge_all
from sonnx.model_files import STANDARD_INPUT
from sonnx.quoting import escape
from sonnx.request import Request
from sonnx.results import Results
from sonnx.resuming import Journal


def run(models: Sequence[str], options: argparse.Namespace, request: Request) -> Results:
    """Judge the models, each as the request says.

    Raises:
        Misuse: what is asked for cannot be met.
        OSError: the file of --resume cannot be read or written.
    """
    bounds = Bounds(options.timeout or Bounds.timeout, options.memory or Bounds.memory)
    journal = Journal(options.resume, request) if options.resume else None
    tasks = [_task(model, request) for model in models]
    jobs = min(options.jobs or os.cpu_count() or 1, len(models))
    return judge_all(tasks, jobs, bounds, journal=journal, progress=_progress())


def _task(model: str, request: Request) -> Task:
    return Task(STANDARD_INPUT, request, sys.stdin.buffer.read()) if model == "-" else Task(model, request)


def _progress() -> Progress | None:
    """A line on a terminal, rewritten; nothing where nobody looks."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, of: int, verdicts: Counter[str], model: str) -> None:
        numbers = ", ".join(f"{number} {word}" for word, number in sorted(verdicts.items()))
        line = "" if done == of else f"{done}/{of}  {numbers}  {escape(model)[-50:]}"
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()

    return show
