"""Running the cases of a suite on a runtime or a command, and judging outputs made elsewhere.

A runtime gives the outputs of a data set twice: in the order of the archive, and in a new process in another order.
Where the two differ, that is a deviation of its own.  Operators do not share a process, so that equal results come of
any number of jobs and of a run that was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event
from typing import Protocol

from sonnx.base.budget import RuntimeLimits
from sonnx.base.errors import BadInput, Stop, Unreadable, UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import sha256
from sonnx.checker.conditions import settings_of
from sonnx.executor.class_runs import alternative_of, errata_of, text_of_input
from sonnx.executor.isolation import IsolatedRuntime
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.runtimes import Failure, Fault
from sonnx.model.reader import read
from sonnx.numerics.formats import Array
from sonnx.numerics.value_classes import ClassCase
from sonnx.suite.accepted_runs import with_known
from sonnx.suite.archive import EXACT, StoredCase, Suite, read_cases, read_suite, require_whole
from sonnx.suite.cases import specs_of
from sonnx.suite.constants import SEED
from sonnx.suite.expected import Ends
from sonnx.suite.judge import ACCEPTED, FAULT, REFUSED, TIMES, JudgedDifference, differences
from sonnx.suite.kept_results import KeptResults
from sonnx.suite.known_deviations import KnownDeviations, read_known
from sonnx.suite.must_pass import MustPassList, read_must_pass
from sonnx.suite.networks import NETWORKS
from sonnx.suite.options import JudgeOptions, RunOptions
from sonnx.suite.other_reading import (
    DemandedOutput,
    has_nan_of_minus_infinity_alone,
    is_value_by_another_reading,
    is_value_by_onnx,
)
from sonnx.suite.program import Answer, Program
from sonnx.suite.recorded_outputs import RecordedOutputs
from sonnx.suite.result import Counts, Deviation, OperatorRun, SuiteRun

MAX_WRITTEN = 4096
"""Elements of an input that a deviation has in full."""


class Implementation(Protocol):
    """What a suite runs: a runtime, a program, or recorded outputs."""

    title: str

    def load(self, stored: StoredCase) -> Answer:
        """The outputs of a case as a function.

        Raises:
            Failure: it refuses the model.
        """
        ...

    def identity(self) -> Mapping[str, str]:
        """What its outputs depend on besides the suite, as names with a version or a hash each."""
        ...

    def restart(self) -> bool:
        """Continue in a new process, if it has one; returns whether a second run can differ from the first one."""
        ...


class _Runtime:
    def __init__(self, options: RunOptions) -> None:
        self.inner = IsolatedRuntime(options.runtime, RuntimeLimits(options.timeout, options.memory))
        self.title = self.inner.title

    def load(self, stored: StoredCase) -> Answer:
        loaded = self.inner.load(stored.model, None)
        names = [output.name for output in read(stored.model).graph.outputs]

        def answer(inputs: Mapping[str, Array], number: int) -> dict[int, Array]:
            values = loaded(inputs)
            return {place: values[name] for place, name in enumerate(names) if name in values}

        return answer

    def identity(self) -> Mapping[str, str]:
        return self.inner.identity()

    def restart(self) -> bool:
        if self.inner.models:  # a process that has loaded none is as a new one
            self.inner.close()
        return True


def run_suite(folder: Path, options: RunOptions, progress: Callable[[str], None] = lambda text: None) -> SuiteRun:
    """Run the cases of a suite and judge the outputs.

    Raises:
        BadInput: the folder is not the suite that suite.json declares, or the file of --resume is of another run.
        UsageError: an unknown runtime, a program that cannot be started, or an unknown operator.
    """
    if options.jobs < 1:
        raise UsageError("--jobs is 1 or more")
    task = _task(folder, options.operator, options)
    suite, names, listed = task.suite, task.names, task.must_pass
    first = implementation(options)
    kept = None
    if options.resume is not None:
        kept = KeptResults(options.resume, suite, options, first.identity(), task.must_pass_sha256)
    before = {} if kept is None else {name: result for name, result in kept.results.items() if name in names}
    idle: SimpleQueue[Implementation] = SimpleQueue()
    ended = Event()
    idle.put(first)

    def run(name: str) -> OperatorRun:
        try:
            used = idle.get_nowait()
        except Empty:
            used = implementation(options)
        progress(name)
        result = _Run(suite, used, listed, options.fresh, ended).operator(name)
        idle.put(used)
        if kept is not None and not result.problems:  # an archive that could not be read is read again
            kept.keep(name, result)
        return result

    executor = ThreadPoolExecutor(options.jobs)
    try:
        running = {name: executor.submit(run, name) for name in names if name not in before}
        results = {name: before[name] if name in before else running[name].result() for name in names}
    finally:
        ended.set()
        executor.shutdown(wait=True, cancel_futures=True)
    return task.result(first.title, results, options)


def judge_outputs(folder: Path, outputs: Path, options: JudgeOptions = JudgeOptions()) -> SuiteRun:  # noqa: B008  (frozen)
    """Judge outputs made elsewhere.

    Raises:
        BadInput: one of the folders is not there, or no suite, or has no outputs of a case.
        UsageError: the file of known deviations cannot be used.
    """
    if not outputs.is_dir():
        raise BadInput(f"{quote(str(outputs))} is not a folder")
    task = _task(folder, (), options)
    used = RecordedOutputs(outputs, task.suite)
    results = {name: _Run(task.suite, used, task.must_pass).operator(name) for name in task.names}
    result = task.result(used.title, results, options)
    if not used.has_outputs and not result.problems:
        raise BadInput(f"{quote(str(outputs))} has no outputs of a case of the suite; name the folder of outputs")
    return result


@dataclass(frozen=True, slots=True)
class _Task:
    """What is run or judged: the operators of a suite, the cases, and the deviations that are known."""

    suite: Suite
    names: Sequence[str]
    must_pass: MustPassList | None
    known: KnownDeviations | None

    @property
    def must_pass_sha256(self) -> str:
        """The SHA-256 of the must-pass list, "" without one."""
        return "" if self.must_pass is None else self.must_pass.sha256

    def result(self, title: str, runs: Mapping[str, OperatorRun], options: JudgeOptions) -> SuiteRun:
        """The results of all operators, with the known deviations accepted."""
        suite = self.suite
        unfinished = (f"{name}.zip is not made: sonnx suite make --resume makes it" for name in suite.unfinished)
        run = SuiteRun(
            implementation=title, edition=suite.edition, suite_sha256=sha256(Path(suite.folder) / "suite.json"),
            settings=settings_of(options), must_pass_sha256=self.must_pass_sha256 or None,
            hypotheses=suite.hypotheses, suite=suite.folder,
            operators={name: run.counts for name, run in runs.items()},
            deviations=tuple(deviation for run in runs.values() for deviation in run.deviations),
            problems=(*unfinished, *(problem for run in runs.values() for problem in run.problems)),
        )  # fmt: skip
        return run if self.known is None or options.date is None else with_known(run, self.known, options.date)


def _task(folder: Path, operators: Sequence[str], options: JudgeOptions) -> _Task:
    """The suite in a folder, and the files of the options, read before the work begins."""
    suite = read_suite(folder)
    names = _chosen(suite, operators)
    require_whole(suite, names)
    known = None if options.deviations is None else read_known(options.deviations)
    if options.must_pass is None:
        return _Task(suite, names, None, known)
    listed = read_must_pass(options.must_pass, suite, names)
    return _Task(suite, [name for name in names if name in listed.operators], listed, known)


def implementation(options: RunOptions) -> Implementation:
    """The implementation that the options name.

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


class _Run:
    """The run of one operator of a suite.

    Args:
        suite: the suite.
        used: what is run.
        must_pass: the list of the cases that are run; None for all.
        fresh: each case of the second run has a process of its own.
        ended: set when the results are no longer wanted.
    """

    def __init__(
        self,
        suite: Suite,
        used: Implementation,
        must_pass: MustPassList | None,
        fresh: bool = False,
        ended: Event | None = None,
    ) -> None:
        self.suite, self.used, self.fresh, self.ended = suite, used, fresh, ended or Event()
        self.must_pass = must_pass
        self.counts = Counts()
        self.deviations: dict[tuple[str, ...], Deviation] = {}
        self.problems: list[str] = []

    def operator(self, name: str) -> OperatorRun:
        """The results of the cases of an operator."""
        stored_cases: list[StoredCase] = []
        for read_case in read_cases(self.suite, name):
            if isinstance(read_case, str):
                self.problems.append(read_case)
            elif self.must_pass is None or read_case.case.id in self.must_pass.ids:
                stored_cases.append(read_case)
        self.used.restart()  # what an operator gives does not depend on the operators before it
        first = {stored.case.id: [*self._outputs(stored)] for stored in stored_cases}
        for stored in stored_cases:
            self._judge(stored, first[stored.case.id])
        if self.used.restart():
            for stored in sorted(stored_cases, key=lambda each: sha256(each.case.id.encode())):
                self._compare(stored, first[stored.case.id], [*self._outputs(stored)])
                if self.fresh:
                    self.used.restart()
        return OperatorRun(self.counts, tuple(self.deviations.values()), tuple(self.problems))

    def _outputs(self, stored: StoredCase) -> Iterator[dict[int, Array] | Failure]:
        """The outputs, or the failure, for each data set; a call that ONNX forbids is run once, on ordinary inputs."""
        if self.ended.is_set():
            raise CancelledError
        if stored.case.broken and not stored.case.invalid:
            return
        sets = len(stored.case.sets)
        try:
            inputs_of_sets = [stored.inputs(number) for number in range(sets)] or [_ordinary(stored)]
            answer = self.used.load(stored)
        except (Failure, Stop, Unreadable) as failure:
            yield from [failure if isinstance(failure, Failure) else Failure(str(failure))] * max(1, sets)
            return
        for number, inputs in enumerate(inputs_of_sets):
            try:
                yield answer(inputs, number)
            except Failure as failure:
                yield failure

    def _judge(self, stored: StoredCase, answers: Sequence[dict[int, Array] | Failure]) -> None:
        for number, outputs in enumerate(answers):
            if stored.case.broken:
                if not isinstance(outputs, Failure) and outputs:
                    self._add(stored, number, JudgedDifference(ACCEPTED, 0, (), "a refusal", "outputs"))
                elif isinstance(outputs, Fault):
                    self._add(stored, number, JudgedDifference(FAULT, 0, (), "a refusal", str(outputs)))
                continue
            if isinstance(outputs, Failure):
                kind = FAULT if isinstance(outputs, Fault) else REFUSED
                self._count(**{"faults" if kind == FAULT else "refused": 1})
                self._add(stored, number, JudgedDifference(kind, 0, (), "outputs", str(outputs)))
                continue
            judged = self._differences(stored, number, outputs)
            for difference in judged:
                self._add(stored, number, difference, outputs)
            part = stored.case.sets[number]
            self._count(outside=bool(judged), within=not judged, without_bound=any(
                output not in (EXACT, "derived") for output in part.outputs
            ))  # fmt: skip

    def _differences(self, stored: StoredCase, number: int, outputs: Mapping[int, Array]) -> list[JudgedDifference]:
        lower, upper = stored.arrays(number, "lower"), stored.arrays(number, "upper")
        judged = []
        for place, expected in stored.arrays(number, "output").items():
            ends = Ends(lower[place], upper[place]) if place in lower else None
            judged += differences(place, outputs.get(place), expected, ends)
        return judged

    def _compare(self, stored: StoredCase, first: Sequence[object], again: Sequence[object]) -> None:
        for number, (before, after) in enumerate(zip(first, again, strict=True)):
            if _text(before) != _text(after):
                self._count(nondeterministic=1)
                self._add(stored, number, JudgedDifference(TIMES, 0, (), "equal outputs of two runs", "other outputs"))

    def _count(self, **more: int) -> None:
        self.counts = self.counts.plus(more)

    def _add(
        self, stored: StoredCase, number: int, difference: JudgedDifference, outputs: Mapping[int, Array] | None = None
    ) -> None:
        """Record a deviation; of each kind, operator, element type and explanation the smallest example is kept."""
        case = stored.case
        inputs = stored.inputs(number) if case.sets else {}
        part = case.sets[number] if case.sets else None
        errata = dict(errata_of(case.operator, difference.stated_kind))
        actual = (outputs or {}).get(difference.output)
        explained = explanation(stored, number, difference, inputs, actual)
        size = sum(prod(array.shape) for array in inputs.values())
        element = case.call.partition("(")[2].partition(" ")[0]
        broken = case.broken if difference.kind == ACCEPTED else ""
        key = (case.operator, difference.kind, element, explained or "", broken)
        known = self.deviations.get(key)
        written_inputs = {name: text_of_elements(array) for name, array in inputs.items()}
        new = Deviation(
            operator=case.operator, kind=difference.kind, element=element, number=1, case=case.id, data_set=number,
            call=case.call, value_class=part.value_class if part else "", broken=case.broken or None,
            difference=difference, inputs=written_inputs, errata=tuple(errata), explained=explained,
            data_sets=sha256(f"{case.id}/{number}/{difference.output}".encode()), required=self.must_pass is not None,
            size=size,
        )  # fmt: skip
        self.deviations[key] = new if known is None else known.with_another(new)


def text_of_elements(array: Array) -> str:
    """The elements of an input; of one that is large only its shape and the elements that are not ordinary."""
    if array.size <= MAX_WRITTEN:
        return str(array.tolist())
    return text_of_input("", array).strip()


def explanation(
    stored: StoredCase, number: int, difference: JudgedDifference, inputs: Mapping[str, Array], actual: Array | None
) -> str | None:
    """The erratum whose other reading explains a difference of a data set; None if no erratum does."""
    case = stored.case
    value_class = case.sets[number].value_class if case.sets else None
    expected = demanded_output(stored, number, difference.output) if case.sets else None
    of_network = case.operator == NETWORKS
    used = {node.operator for node in read(stored.model).graph.nodes} if of_network else {case.operator}
    return next(
        (erratum for operator in sorted(used) for erratum, value_classes in errata_of(operator, difference.stated_kind)
         if (value_class in value_classes if alternative_of(operator, erratum) is None
             else is_instead(operator, erratum, difference, inputs, stored.model, actual, expected, case.edition))),
        None,
    )  # fmt: skip


def demanded_output(stored: StoredCase, number: int, output: int) -> DemandedOutput | None:
    """What is expected of an output of a data set; None where the data set does not have it."""
    exact, lower, upper = (stored.arrays(number, role).get(output) for role in ("output", "lower", "upper"))
    if exact is None:
        return None
    return DemandedOutput(output, exact, None if lower is None or upper is None else Ends(lower, upper))


def is_instead(
    operator: str,
    erratum: str,
    difference: JudgedDifference,
    inputs: Mapping[str, Array],
    model: bytes,
    actual: Array | None,
    expected: DemandedOutput | None = None,
    edition: str | None = None,
) -> bool:
    """Whether an output can only come from an implementation that follows the other reading of an erratum.

    Args:
        operator: which has the erratum.
        erratum: its identifier.
        difference: of the output from what is expected.
        inputs: of the call.
        model: the bytes of the model.
        actual: the output.
        expected: what is expected of the output.
        edition: the edition of the model, the newest one if none is named.
    """
    match alternative_of(operator, erratum):
        case "NaN":
            return difference.actual.startswith("nan")
        case "NaN of -inf alone":
            return actual is not None and has_nan_of_minus_infinity_alone(
                read(model), inputs, difference.output, actual
            )
        case "value by ONNX":
            return actual is not None and is_value_by_onnx(read(model), inputs, difference.output, actual)
        case "value by another reading":
            return actual is not None and expected is not None and is_value_by_another_reading(
                read(model), operator, erratum, edition, inputs, expected, actual
            )  # fmt: skip
        case "any":
            return True
        case _:
            return False


def _ordinary(stored: StoredCase) -> dict[str, Array]:
    """Ordinary inputs for a case without data sets."""
    model = read(stored.model)
    required = {required_input.name for required_input in required_inputs(model)}
    specs = {name: spec for name, spec in specs_of(model).items() if name in required}
    return ClassCase("ordinary", "", {}).drawn(specs, SEED)


def _text(outputs: object) -> object:
    """What is compared between two runs: the bits of all outputs, or the kind of the failure."""
    if isinstance(outputs, dict):
        return [
            (place, str(array.dtype), array.shape, str(array.tolist()) if array.dtype == object else array.tobytes())
            for place, array in outputs.items()
        ]
    return type(outputs)
