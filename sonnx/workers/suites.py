"""Making the operators of a suite in child processes: the work of a child, and the run in the parent."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import convert, to_builtins
from msgspec.structs import replace

from sonnx.base.errors import Unfinished
from sonnx.profile.definitions import OperatorDefinition
from sonnx.suite.archive import Part
from sonnx.suite.cases import OperatorSuite, chosen_operators, operator_suite
from sonnx.suite.options import MakeOptions
from sonnx.workers.pools import answers_to
from sonnx.workers.tasks import Answer, Work, WorkerTask, WorkPlace

# ------------------------------------------------------------------ in the parent process


def make_operators(chosen: Sequence[OperatorDefinition], options: MakeOptions) -> Mapping[str, OperatorSuite]:
    """The part of each operator; those that take longest are begun first.

    Raises:
        Unfinished: a child process ended without an answer.
        KeyboardInterrupt: the run was interrupted.
    """
    work = Work("sonnx.workers.suites", "made")
    tasks = [
        WorkerTask(described.name, {"options": replace(options, operator=(described.name,)).as_json()})
        for described in sorted(chosen, key=_size, reverse=True)
    ]
    answers, interrupted = answers_to(tasks, work, WorkPlace(jobs=options.jobs), progress=options.progress)
    if interrupted:
        raise KeyboardInterrupt
    for name, answer in answers.items():
        if "why" in answer:
            raise Unfinished(f"{name} {answer['sentence']}")
    return {described.name: _decoded(answers[described.name]) for described in chosen}


def _size(described: OperatorDefinition) -> int:
    """More for an operator with more rules, inputs and parameters: it has more classes."""
    return len(described.rules) * (len(described.inputs) + len(described.parameters))


def _decoded(answer: Answer) -> OperatorSuite:
    return OperatorSuite(convert(answer["parts"], tuple[Part, ...]), base64.b64decode(answer["archive"]))


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
