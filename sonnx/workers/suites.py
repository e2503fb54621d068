"""Making the operators of a suite in child processes: the work of a child, and the run in the parent."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from msgspec import convert, to_builtins
from msgspec.structs import replace

from sonnx.base.errors import Unfinished
from sonnx.profile.definitions import OperatorDefinition
from sonnx.suite.archive import Part
from sonnx.suite.cases import OperatorSuite, operator_suite
from sonnx.suite.making import Keep, chosen_operators
from sonnx.suite.options import MakeOptions
from sonnx.workers.pools import as_completed, counted, word, worker_pool
from sonnx.workers.tasks import Answer, Work, WorkerTask, WorkPlace

# ------------------------------------------------------------------ in the parent process


def make_operators(chosen: Sequence[OperatorDefinition], options: MakeOptions, keep: Keep) -> None:
    """Make the part of each operator; those that take longest are begun first.

    Raises:
        Unfinished: a child process ended without an answer; the other operators were kept.
    """
    work = Work("sonnx.workers.suites", "made")
    tasks = [
        WorkerTask(described.name, {"options": replace(options, operator=(described.name,), resume=False).as_json()})
        for described in sorted(chosen, key=_size, reverse=True)
    ]
    words, failed = Counter[str](), list[str]()
    with (
        worker_pool(work, WorkPlace(jobs=options.jobs), len(tasks)) as pool,
        closing(as_completed(tasks, pool)) as completed,
    ):
        for task, made in completed:
            words[word(made)] += 1
            if "why" in made:
                failed.append(f"{task.name} {made['sentence']}")
            else:
                keep(task.name, OperatorSuite(
                    convert(made["parts"], tuple[Part, ...]), base64.b64decode(made["archive"])
                ))  # fmt: skip
            options.progress(f"{counted(words.total(), len(tasks), words)}  {task.name}")
    if failed:
        raise Unfinished(failed[0])


def _size(described: OperatorDefinition) -> int:
    """More for an operator with more rules, inputs and parameters: it has more classes."""
    return len(described.rules) * (len(described.inputs) + len(described.parameters))


# ------------------------------------------------------------------ in a child process


def prepare() -> None:
    """Nothing: a request names all it needs."""


def answer(request: Mapping[str, Any]) -> Answer:
    """The part of one operator as JSON."""
    options = MakeOptions.from_json(request["options"])
    (described,) = chosen_operators(options)
    part = operator_suite(described, options)
    archive = base64.b64encode(part.archive).decode("ascii")
    return {"word": "made", "parts": to_builtins(part.parts), "archive": archive}
