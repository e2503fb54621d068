"""Running the cases of a suite on a runtime or a command, and judging outputs made elsewhere.

A runtime gives the outputs of a data set twice: in the order of the archive, and in a new process in another order.
Where the two differ, that is a deviation of its own.  Operators do not share a process, so that equal results come of
any number of jobs and of a run that was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from math import prod
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event
from typing import Protocol

import numpy as np

from sonnx.base.budget import RuntimeLimits
from sonnx.base.errors import BadInput, Stop, UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import sha256
from sonnx.checker.conditions import settings_of
from sonnx.executor.class_runs import alternative_of, errata_of
from sonnx.executor.isolation import IsolatedRuntime
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.runtimes import Failure, Fault
from sonnx.model.reader import Unreadable, read
from sonnx.numerics.formats import Array, format_of, widened
from sonnx.numerics.value_classes import ClassCase
from sonnx.suite.archive import EXACT, Case, Stored, Suite, read_cases, read_suite
from sonnx.suite.cases import SEED, specs_of
from sonnx.suite.expected import Ends
from sonnx.suite.judge import ACCEPTED, FAULT, REFUSED, TIMES, JudgedDifference, differences
from sonnx.suite.kept_results import KeptResults
from sonnx.suite.options import RunOptions
from sonnx.suite.program import Answer, Program, outputs_in
from sonnx.suite.result import Counts, Deviation, OperatorRun, SuiteRun


class Implementation(Protocol):
    """What gives outputs."""

    title: str

    def load(self, stored: Stored) -> Answer:
        """The outputs of a case as a function.

        Raises:
            Failure: it refuses the model.
        """
        ...

    def identity(self) -> Mapping[str, str]:
        """What its outputs depend on besides the suite, as names with a version or a hash each."""
        ...

    def restart(self) -> bool:
        """Begin again in a new process; whether a second run can differ from the first one."""
        ...


class _Runtime:
    def __init__(self, options: RunOptions) -> None:
        self.inner = IsolatedRuntime(options.runtime, RuntimeLimits(options.timeout, options.memory))
        self.title = self.inner.title

    def load(self, stored: Stored) -> Answer:
        loaded = self.inner.load(stored.model, None)
        names = [output.name for output in read(stored.model).graph.outputs]

        def answer(inputs: Mapping[str, Array], number: int) -> dict[int, Array]:
            values = loaded(inputs)
            return {place: values[name] for place, name in enumerate(names) if name in values}

        return answer

    def identity(self) -> Mapping[str, str]:
        return self.inner.identity()

    def restart(self) -> bool:
        self.inner.close()
        return True


class _Recorded:
    """Outputs that were made elsewhere: CASE/test_data_set_N/output_K.pb."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.title, self.has_outputs = folder, f"outputs in {folder}", False

    def load(self, stored: Stored) -> Answer:
        folder = self.folder / stored.case.id
        if not folder.is_dir():
            raise Failure("there are no outputs of it")
        self.has_outputs = True

        def answer(inputs: Mapping[str, Array], number: int) -> dict[int, Array]:
            if not (folder / f"test_data_set_{number}").is_dir():
                raise Failure("there are no outputs of it")
            return outputs_in(folder / f"test_data_set_{number}")

        return answer

    def identity(self) -> Mapping[str, str]:
        return {}  # nothing of outputs made elsewhere is kept

    def restart(self) -> bool:
        return False


def run_suite(folder: Path, options: RunOptions, progress: Callable[[str], None] = lambda text: None) -> SuiteRun:
    """Run the cases of a suite and judge the outputs.

    Raises:
        BadInput: the folder is not a suite, or the file of --resume is of another run.
        UsageError: an unknown runtime, a program that cannot be started, or an unknown operator.
    """
    if options.jobs < 1:
        raise UsageError("--jobs is 1 or more")
    suite = read_suite(folder)
    names = _chosen(suite, options.operator)
    first = implementation(options)
    kept = None if options.resume is None else KeptResults(options.resume, suite, options, first.identity())
    known = {} if kept is None else {name: result for name, result in kept.results.items() if name in names}
    idle: SimpleQueue[Implementation] = SimpleQueue()
    ended = Event()
    idle.put(first)

    def run(name: str) -> OperatorRun:
        try:
            used = idle.get_nowait()
        except Empty:
            used = implementation(options)
        progress(name)
        result = _Run(suite, used, options.fresh, ended).operator(name)
        idle.put(used)
        if kept is not None:
            kept.keep(name, result)
        return result

    executor = ThreadPoolExecutor(options.jobs)
    try:
        running = {name: executor.submit(run, name) for name in names if name not in known}
        results = {name: known[name] if name in known else running[name].result() for name in names}
    finally:
        ended.set()
        executor.shutdown(wait=True, cancel_futures=True)
    return _result(suite, first.title, results, settings_of(options))


def judge_outputs(folder: Path, outputs: Path) -> SuiteRun:
    """Judge outputs made elsewhere.

    Raises:
        BadInput: one of the folders is not there, or no suite, or has no outputs of a case.
    """
    if not outputs.is_dir():
        raise BadInput(f"{quote(str(outputs))} is not a folder")
    suite, used = read_suite(folder), _Recorded(outputs)
    result = _result(suite, used.title, {name: _Run(suite, used).operator(name) for name in _chosen(suite, ())})
    if not used.has_outputs and not result.problems:
        raise BadInput(f"{quote(str(outputs))} has no outputs of a case of the suite; name the folder of outputs.py")
    return result


def implementation(options: RunOptions) -> Implementation:
    """What the options name.

    Raises:
        UsageError: they name a runtime and a program, or one that cannot be used.
    """
    if options.program is not None and options.runtime != RunOptions().runtime:
        raise UsageError("--runtime and --command exclude each other")
    return _Runtime(options) if options.program is None else Program(options)


def _chosen(suite: Suite, operators: Sequence[str]) -> list[str]:
    known = [name.removesuffix(".zip") for name in suite.archives]
    for name in operators:
        if name not in known:
            raise UsageError(f"the suite has no operator {name!r}; it has {', '.join(known)}")
    return [*dict.fromkeys(operators)] or known


def _result(
    suite: Suite, title: str, found: Mapping[str, OperatorRun], settings: tuple[str, ...] = ()
) -> SuiteRun:  # fmt: skip
    return SuiteRun(
        implementation=title, edition=suite.edition, suite_sha256=sha256(Path(suite.folder) / "suite.json"),
        settings=settings, hypotheses=suite.hypotheses, suite=suite.folder,
        operators={name: operator_run.counts for name, operator_run in found.items()},
        deviations=tuple(far for operator_run in found.values() for far in operator_run.deviations),
        problems=tuple(problem for operator_run in found.values() for problem in operator_run.problems),
    )  # fmt: skip


class _Run:
    """The run of one operator of a suite.

    Args:
        suite: the suite.
        used: what is run.
        fresh: each case of the second run has a process of its own.
        ended: set when the results are no longer wanted.
    """

    def __init__(self, suite: Suite, used: Implementation, fresh: bool = False, ended: Event | None = None) -> None:
        self.suite, self.used, self.fresh, self.ended = suite, used, fresh, ended or Event()
        self.counts = Counts()
        self.deviations: dict[tuple[str, ...], Deviation] = {}
        self.problems: list[str] = []

    def operator(self, name: str) -> OperatorRun:
        """The results of the cases of an operator."""
        stored: list[Stored] = []
        for read_case in read_cases(self.suite, name):
            if isinstance(read_case, str):
                self.problems.append(read_case)
            else:
                stored.append(read_case)
        self.used.restart()  # what an operator gives does not depend on the operators before it
        first = {each.case.id: [*self._outputs(each)] for each in stored}
        for row in stored:
            self._judge(row, first[row.case.id])
        if self.used.restart():
            for row in sorted(stored, key=lambda one: sha256(one.case.id.encode())):
                self._compare(row, first[row.case.id], [*self._outputs(row)])
                if self.fresh:
                    self.used.restart()
        return OperatorRun(self.counts, tuple(self.deviations.values()), tuple(self.problems))

    def _outputs(self, stored: Stored) -> Iterator[dict[int, Array] | Failure]:
        """What is given for each data set; of a call that breaks a rule for ordinary inputs."""
        if self.ended.is_set():
            raise CancelledError
        if stored.case.broken and not stored.case.invalid:
            return
        sets = len(stored.case.sets)
        try:
            inputs = [stored.inputs(number) for number in range(sets)] or [_ordinary(stored)]
            answer = self.used.load(stored)
        except (Failure, Stop, Unreadable) as failure:
            yield from [failure if isinstance(failure, Failure) else Failure(str(failure))] * max(1, sets)
            return
        for number, given in enumerate(inputs):
            try:
                yield answer(given, number)
            except Failure as failure:
                yield failure

    def _judge(self, stored: Stored, outputs: Sequence[dict[int, Array] | Failure]) -> None:
        for number, given in enumerate(outputs):
            if stored.case.broken:
                if not isinstance(given, Failure) and given:
                    self._add(stored, number, JudgedDifference(ACCEPTED, 0, (), "a refusal", "outputs"))
                elif isinstance(given, Fault):
                    self._add(stored, number, JudgedDifference(FAULT, 0, (), "a refusal", str(given)))
                continue
            if isinstance(given, Failure):
                kind = FAULT if isinstance(given, Fault) else REFUSED
                self._count(**{"faults" if kind == FAULT else "refused": 1})
                self._add(stored, number, JudgedDifference(kind, 0, (), "outputs", str(given)))
                continue
            far = self._differences(stored, number, given)
            for judged_difference in far:
                self._add(stored, number, judged_difference)
            part = stored.case.sets[number]
            self._count(outside=bool(far), within=not far, without_bound=any(
                output not in (EXACT, "derived") for output in part.outputs
            ))  # fmt: skip

    def _differences(self, stored: Stored, number: int, given: Mapping[int, Array]) -> list[JudgedDifference]:
        lower, upper = stored.arrays(number, "lower"), stored.arrays(number, "upper")
        found = []
        for place, expected in stored.arrays(number, "output").items():
            ends = Ends(lower[place], upper[place]) if place in lower else None
            found += differences(place, given.get(place), expected, ends)
        return found

    def _compare(self, stored: Stored, first: Sequence[object], again: Sequence[object]) -> None:
        for number, (one, other) in enumerate(zip(first, again, strict=True)):
            if _text(one) != _text(other):
                self._count(nondeterministic=1)
                self._add(stored, number, JudgedDifference(TIMES, 0, (), "equal outputs of two runs", "other outputs"))

    def _count(self, **more: int) -> None:
        self.counts = self.counts.plus(more)

    def _add(self, stored: Stored, number: int, difference: JudgedDifference) -> None:
        """A deviation; of a kind, an operator, an element type and an explanation the smallest example is kept."""
        case = stored.case
        given = stored.inputs(number) if case.sets else {}
        part = case.sets[number] if case.sets else None
        errata = dict(errata_of(case.operator, difference.kind))
        explained = explanation(case, number, difference, given)
        size = sum(prod(array.shape) for array in given.values())
        element = case.call.partition("(")[2].partition(" ")[0]
        broken = case.broken if difference.kind == ACCEPTED else ""
        key = (case.operator, difference.kind, element, explained or "", broken)
        known = self.deviations.get(key)
        shown = {name: str(array.tolist()) for name, array in given.items()}
        new = Deviation(
            operator=case.operator, kind=difference.kind, element=element, number=1, case=case.id, data_set=number,
            call=case.call, value_class=part.value_class if part else "", broken=case.broken or None,
            difference=difference, inputs=shown, errata=tuple(errata), explained=explained, size=size,
        )  # fmt: skip
        self.deviations[key] = new if known is None else known.with_another(new)


def explanation(case: Case, number: int, difference: JudgedDifference, inputs: Mapping[str, Array]) -> str | None:
    """The erratum by whose other reading an implementation gives this for a data set; None if there is none."""
    chosen = case.sets[number].value_class if case.sets else None
    return next(
        (name for name, named in errata_of(case.operator, difference.kind)
         if chosen in named or is_instead(case.operator, name, difference, inputs)), None
    )  # fmt: skip


def is_instead(operator: str, erratum: str, difference: JudgedDifference, inputs: Mapping[str, Array]) -> bool:
    """Whether an implementation that reads the text another way gives this, and only such a one."""
    match alternative_of(operator, erratum):
        case "NaN":
            return difference.actual.startswith("nan")
        case "number without NaN":
            return not difference.actual.startswith("nan") and not any(
                np.isnan(_floats(operand)).any() for operand in inputs.values()
            )
        case "any":
            return True
        case _:
            return False


def _floats(values: Array) -> Array:
    return widened(values) if format_of(values.dtype) is not None else np.zeros(())


def _ordinary(stored: Stored) -> dict[str, Array]:
    model = read(stored.model)
    wanted = {required_input.name for required_input in required_inputs(model)}
    specs = {name: spec for name, spec in specs_of(model).items() if name in wanted}
    return ClassCase("ordinary", "", {}).drawn(specs, SEED)


def _text(given: object) -> object:
    """The same for equal outputs, bit for bit; of a failure its kind."""
    if isinstance(given, dict):
        return [
            (place, str(array.dtype), array.shape, str(array.tolist()) if array.dtype == object else array.tobytes())
            for place, array in given.items()
        ]
    return type(given)
