"""Parts of the box of a property, decided in child processes: the work of a child, and the run in the parent."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from sonnx.base.errors import UsageError
from sonnx.model.reader import read
from sonnx.properties.chain_search import ChainPart, ChainTask, decide_chain
from sonnx.properties.chains import Chain
from sonnx.properties.property import Atom, Task
from sonnx.properties.search import Decision, Sets, Witness
from sonnx.supervise.search import SearchLimit
from sonnx.workers.pools import answers_to
from sonnx.workers.tasks import Answer, Work, WorkerTask, WorkPlace

GROUPS = 2
"""Groups of parts for each process and round: one that ends early takes another."""
TRIED_POINTS = 4
"""Points that seem to violate the property, and for which a group of parts is left early."""
JOBS_OF_CLUSTER = 16
"""Processes for which a cluster gets groups, where --jobs does not say."""


# ------------------------------------------------------------------ in a child process


def prepare() -> None:
    """Nothing: the first request has the model."""


def answer(request: Mapping[str, Any]) -> Answer:
    """What is known of parts after some seconds: their trees, and a point that seems to violate the property."""
    chain = _chain(request["model"])
    unsafe = tuple(tuple(_atom(atom) for atom in atoms) for atoms in request["unsafe"])
    points: list[Any] = []

    def candidate(point: Any) -> Witness | None:
        points.append(point)
        return Witness({}, 0) if request["searching"] else None

    nothing = np.zeros(0)
    task = ChainTask(
        chain, {"": (chain.inputs,)}, nothing, nothing, Sets(Task({}, unsafe), (chain.outputs_count,)), candidate
    )  # fmt: skip
    parts = [ChainPart(stage, -1.0, _numbers(low), _numbers(high), {}) for stage, low, high in request["parts"]]
    decision = decide_chain(task, SearchLimit.after(request["seconds"]), parts)
    return {
        "word": "bounded", "trees": [part.tree for part in parts], "parts": decision.parts,
        "margin": repr(decision.margin), "waiting": decision.waiting, "point": _texts(points[0]) if points else None,
    }  # fmt: skip


@lru_cache(maxsize=1)
def _chain(model: str) -> Chain:
    return Chain(read(base64.b64decode(model)))


def _atom(data: Sequence[Any]) -> Atom:
    coefficients, bound = data
    return Atom(tuple((index, Fraction(factor)) for index, factor in coefficients), Fraction(bound))


def _numbers(texts: Sequence[str]) -> Any:
    return np.array([float.fromhex(text) for text in texts])


# ------------------------------------------------------------------ in the parent process


class PartsElsewhere:
    """Decides parts of a task in child processes or on a cluster."""

    def __init__(self, data: bytes, task: Task, place: WorkPlace) -> None:
        """Prepare the requests.

        Args:
            data: the bytes of the model.
            task: the box and the unsafe sets.
            place: where parts are decided.
        """
        self.place, self.work = place, Work("sonnx.workers.properties", "bounded", packages=("numpy", "msgspec"))
        self.unsafe = [
            [[[[index, str(factor)] for index, factor in atom.coefficients], str(atom.bound)] for atom in atoms]
            for atoms in task.unsafe
        ]
        self.model = base64.b64encode(data).decode()
        self.refuted = 0

    def __call__(self, task: ChainTask, parts: Sequence[ChainPart], seconds: float) -> Decision:
        """Decide the parts for some seconds.

        Raises:
            UsageError: the cluster cannot be used, or a process failed.
        """
        jobs = self.place.jobs or (JOBS_OF_CLUSTER if self.place.cluster else 1)
        ranked = sorted(parts, key=lambda part: part.rank)
        groups = [ranked[first :: GROUPS * jobs] for first in range(min(len(ranked), GROUPS * jobs))]
        tasks = [
            WorkerTask(str(number), {
                "model": self.model, "unsafe": self.unsafe, "seconds": seconds / GROUPS,
                "searching": self.refuted < TRIED_POINTS,
                "parts": [[part.stage, _texts(part.low), _texts(part.high)] for part in group],
            })
            for number, group in enumerate(groups)
        ]  # fmt: skip
        answers, interrupted = answers_to(tasks, self.work, self.place)
        if interrupted:
            raise KeyboardInterrupt
        decision = Decision()
        for number, group in enumerate(groups):
            answer = answers[str(number)]
            if "trees" not in answer:
                raise UsageError(f"a group of parts {answer['sentence']}")
            decision.parts += answer["parts"]
            decision.waiting += answer["waiting"]
            decision.margin = min(decision.margin, float(answer["margin"]))
            for part, tree in zip(group, answer["trees"], strict=True):
                part.tree.clear()
                part.tree.update(tree)
            if answer["point"] is not None and decision.witness is None and self.refuted < TRIED_POINTS:
                decision.witness = task.confirmed(_numbers(answer["point"]))
                self.refuted += decision.witness is None
        return decision


def _texts(numbers: Any) -> list[str]:
    return [number.hex() for number in numbers.tolist()]
