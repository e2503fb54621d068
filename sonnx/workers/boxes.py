"""Parts of a box that are halved in child processes: the work of a child, and the run in the parent."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from typing import Any

from msgspec import convert, to_builtins

from sonnx.base.errors import Stop
from sonnx.bounds.split import BisectionProblem, Goal
from sonnx.bounds.sub_boxes import SubBox, decoded_part, encoded_part
from sonnx.numerics.enclosures.hypotheses import Hypotheses
from sonnx.workers.pools import as_completed, worker_pool
from sonnx.workers.tasks import Answer, Work, WorkerTask, WorkPlace

# ------------------------------------------------------------------ in a child process


def prepare() -> None:
    """Nothing: the first request has the model."""


def answer(request: Mapping[str, Any]) -> Answer:
    """The halves of a part; none where no interval can be halved."""
    halves = _problem(request["problem"]).halves(decoded_part(request["part"]))
    return {"word": "halved", "halves": [encoded_part(half) for half in halves]}


@lru_cache(maxsize=1)
def _problem(text: str) -> BisectionProblem:
    data = json.loads(text)
    return BisectionProblem(
        data["path"] if data["model"] is None else base64.b64decode(data["model"]),
        (data["bind"], data["input_shapes"]), convert(data["hypotheses"], Hypotheses), data["edition"],
        Goal(data["error"], [(first, second) for first, second in data["differences"]], data["argmax"]),
        data["limits"],
    )  # fmt: skip


# ------------------------------------------------------------------ in the parent process


def halved_in(
    place: WorkPlace, problem: BisectionProblem, parts: Iterable[SubBox]
) -> Iterator[tuple[SubBox, list[SubBox]]]:
    """Each part with its halves, in the order of completion; parts are taken as processes become free.

    Raises:
        UsageError: the cluster cannot be used.
        Stop: a process ended, or the cluster is lost.
    """
    text, running = _request(problem), dict[str, SubBox]()

    def task(part: SubBox) -> WorkerTask:
        running[part.path] = part
        return WorkerTask(part.path, {"problem": text, "part": encoded_part(part)})

    work = Work("sonnx.workers.boxes", "halved", packages=("numpy",))
    with worker_pool(work, place) as pool, closing(as_completed(map(task, parts), pool)) as completed:
        for done, answer in completed:
            if "halves" not in answer:
                raise Stop(f"a part of the box {answer['sentence']}; --resume keeps the parts")
            yield running.pop(done.name), [decoded_part(half) for half in answer["halves"]]


def _request(problem: BisectionProblem) -> str:
    model = base64.b64encode(problem.source).decode() if isinstance(problem.source, bytes) else None
    bind, input_shapes = problem.sizes
    return json.dumps({
        "path": problem.source if model is None else None, "model": model,
        "bind": dict(bind), "input_shapes": {name: list(shape) for name, shape in input_shapes.items()},
        "hypotheses": to_builtins(problem.hypotheses), "edition": problem.edition,
        "error": problem.goal.error, "differences": list(problem.goal.differences), "argmax": problem.goal.argmax,
        "limits": dict(problem.limits),
    })  # fmt: skip
