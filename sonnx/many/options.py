"""The options of `sonnx check` for many models, and what they do; nothing of it is loaded for a single model."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from sonnx.asked import Asked
from sonnx.many.isolation import Bounds, Task
from sonnx.many.judging import judge_all
from sonnx.many.resuming import Journal
from sonnx.model_files import STANDARD_INPUT
from sonnx.progress import Line
from sonnx.results import Results


def run(models: Sequence[str], options: argparse.Namespace, asked: Asked, hashed: bool, drawn: bool) -> Results:
    """Judge the models, each as asked.

    Raises:
        Misuse: what is asked for cannot be met.
        OSError: the file of --resume cannot be read or written.
    """
    bounds = Bounds(options.timeout or Bounds.timeout, options.memory or Bounds.memory)
    tailoring = None if options.tailoring is None else str(options.tailoring)
    tasks = [
        Task(
            model=STANDARD_INPUT if model == "-" else model,
            asked=asked,
            tailoring=tailoring,
            hashed=hashed,
            drawn=drawn,
            content=sys.stdin.buffer.read() if model == "-" else None,
        )
        for model in models
    ]
    journal = Journal(options.resume, tasks[0]) if options.resume else None
    jobs = min(options.jobs or os.cpu_count() or 1, len(models))
    with Line() as line:
        return judge_all(tasks, jobs, bounds, journal=journal, progress=line)
