"""What `sonnx fix` makes of the models of `benchmarks.real_models`: python -m benchmarks.fix_exports FOLDER [--write].

Each model is rewritten with as few options as it needs, at the sizes that its check proposes.  The result is rewritten
again, which must change nothing, and compared with the original for all inputs; the forecast of a check is compared
with what is left.  Both models run in onnxruntime with one thread, in turns; the ratio is that of the least times.
`fix` is timed against a check and one exact run of the same model.  `--write` puts the table into docs/measurements.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import msgspec
import numpy as np

from benchmarks.fix import left
from benchmarks.measurements import write
from sonnx import check, fix, run
from sonnx.base.errors import NotExecutable, Stop, UsageError
from sonnx.base.files import sha256
from sonnx.equivalence.result import Answer
from sonnx.report.fix_forecast import Forecast, ForecastRequest
from sonnx.report.fix_record import Grade
from sonnx.rewriter.fix import FixResult
from sonnx.rewriter.forecast import forecast_of

HEAD = """| model | nodes | after | grade | for all inputs | announced | twice | time ratio | fix | check, run | left |
|---|---|---|---|---|---|---|---|---|---|---|
"""
OPTIONS: tuple[dict[str, bool], ...] = ({}, {"within_bound": True}, {"approximate": True})
MOST_COMPARED = 400
"""Nodes of the largest result that is compared for all inputs and by a run."""


class Outcome(NamedTuple):
    """What becomes of one model."""

    name: str
    nodes: int
    after: int
    grade: Grade | None
    """None where it does not conform."""
    confirmed: str
    announced: bool
    """Whether the forecast has the numbers of findings that are left."""
    again: bool
    """Whether a second rewriting gives the same bytes."""
    left: str
    seconds: float
    ratio: float | None = None
    """The time of the result in onnxruntime by that of the original; None where it was not measured."""
    base: float | None = None
    """Seconds of a run of the original in onnxruntime."""
    own: float | None = None
    """Seconds of `fix` with its comparison."""
    other: float | None = None
    """Seconds of a check and one exact run; None where the model was not run."""
    megabytes: float = 0.0

    @property
    def causes(self) -> set[str]:
        """What is left, without its numbers."""
        return {cause.strip(" 0123456789") for cause in self.left.split(",")}

    def __str__(self) -> str:
        words = self.grade or "does not conform", self.confirmed, _yes(self.announced), _yes(self.again), self.left
        *words, left = words
        times = [f"{number:.2f}" if number is not None else "" for number in (self.ratio, self.own, self.other)]
        return f"| {self.name} | {self.nodes} | {self.after} | {' | '.join([*words, *times, left])} |\n"


TURNS, MOST_SECONDS = 200, 2.0
"""At most so many runs of each model, for so long."""


def inputs_of(model: bytes) -> dict[str, Any]:
    """Ordinary numbers for each input of a model whose shapes are known."""
    import onnx

    graph, random = onnx.ModelProto.FromString(model).graph, np.random.default_rng(0)
    constants = {tensor.name for tensor in graph.initializer}
    given = {}
    for value in graph.input:
        if value.name not in constants:
            kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            given[value.name] = random.standard_normal(shape).astype(kind)
    return given


def runtime_seconds(path: Path, result: bytes) -> tuple[float, float] | None:
    """The least times of a run of the original and of the result, which take turns; None where one does not run."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    given, least = inputs_of(result), [float("inf"), float("inf")]
    try:
        sessions = [
            onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            for model in (str(path), result)
        ]
        for session in sessions:
            session.run(None, given)
    except Exception:  # noqa: BLE001  whatever the runtime raises
        return None
    end = time.perf_counter() + MOST_SECONDS
    for _ in range(TURNS):
        for index, session in enumerate(sessions):
            start = time.process_time()
            session.run(None, given)
            least[index] = min(least[index], time.process_time() - start)
        if time.perf_counter() > end:
            break
    return least[0], least[1]


def seconds_of_run(model: bytes) -> float | None:
    """Seconds of one exact run of the result, which every model has; None where it does not run."""
    start = time.perf_counter()
    try:
        run(model, inputs_of(model), unchecked=True)
    except (Stop, NotExecutable):
        return None
    return time.perf_counter() - start


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def outcome(path: Path) -> Outcome:
    """The model at the sizes that its check proposes, with as few options as it needs."""
    start, before = time.perf_counter(), check(path)
    found = forecast_of(ForecastRequest(str(path), before.edition, False, {}, {}))
    forecast = found.forecast
    if forecast is None:
        return refused(path, before.coverage.nodes, found)
    try:
        results = [fix(path, samples=0, input_shapes=forecast.shapes, **option) for option in OPTIONS[:2]]
        if results[1].after.exit_code():
            results.append(fix(path, samples=0, input_shapes=forecast.shapes, approximate=True))
        chosen = next((index for index, each in enumerate(results) if not each.after.exit_code()), len(results) - 1)
        result = results[chosen]
        numbers = [len(each.after.roots) for each in results[:2]]
        announced = [sum(forecast.left.values()), sum(forecast.left_within_bound.values())] == numbers
        data, compares = result.model_bytes(), result.after.coverage.nodes <= MOST_COMPARED
        again = fix(result.model_bytes(), samples=0, **OPTIONS[chosen]).model_bytes() == result.model_bytes()
        confirmed, begun = "not compared: large", time.perf_counter()
        compared = fix(path, samples=int(compares), input_shapes=forecast.shapes, **OPTIONS[chosen])
        own = time.perf_counter() - begun
        if compares:
            confirmed = str(compared.validation.for_all_inputs)
        begun = time.perf_counter()
        check(path)
        checked, ran = time.perf_counter() - begun, seconds_of_run(data) if compares else None
        runs = runtime_seconds(path, data)
    except (Stop, UsageError) as reason:
        return refused(path, before.coverage.nodes, Forecast(reason=str(reason)))
    grade = None if result.after.exit_code() else GRADES[chosen]
    return Outcome(
        path.stem, before.coverage.nodes, result.after.coverage.nodes, grade, confirmed, announced, again,
        causes(result), time.perf_counter() - start, None if runs is None else runs[1] / runs[0],
        None if runs is None else runs[0], own,
        None if ran is None else checked + ran, path.stat().st_size / 1e6,
    )  # fmt: skip


GRADES = (Grade.SAME_BITS, Grade.SAME_IDEAL_VALUE, Grade.APPROXIMATED)


def refused(path: Path, nodes: int, forecast: Forecast) -> Outcome:
    """A model that `fix` refuses."""
    sentence = f"refused: {forecast.reason[:120]}".replace("|", "\\|")
    return Outcome(path.stem, nodes, 0, None, "", True, True, sentence, 0.0)


def causes(result: FixResult) -> str:
    """The operators that are left, else the rules."""
    names = Counter(each.where.operator for each in result.after.roots if each.rule == "operator-in-profile")
    return ", ".join(f"{name} {number}" for name, number in names.most_common()) or left(result)


def summary(found: Sequence[Outcome]) -> str:
    """How many conform, by grade; how many are confirmed and announced; what keeps the others outside."""
    grades, number = Counter(each.grade for each in found), len(found)
    conform = [each for each in found if each.grade]
    compared = [each for each in conform if not each.confirmed.startswith("not compared")]
    confirmed = sum(each.confirmed in (Answer.IDENTICAL, Answer.ROUNDING) for each in compared)
    shares = ", ".join(f"{each} {grades[each]} ({100 * grades[each] // number} %)" for each in GRADES)
    outside = Counter(name for each in found if not each.grade for name in each.causes)
    return (
        f"\nOf {number} models {len(conform)} conform ({100 * len(conform) // number} %): {shares}. Of {len(compared)} "
        f"that were compared for all inputs and on a run, {confirmed} are confirmed, and none differs. A check "
        f"announces what is left of {sum(each.announced for each in found)}, and a second rewriting changes nothing "
        f"of {sum(each.again for each in found)}.\n\n{costs(conform)}\n\nWhat keeps models outside: "
        f"{'; '.join(f'{name} ({count})' for name, count in outside.most_common()) or 'nothing'}.\n"
    )


LONG_RUN = 1e-3
"""Seconds of a run, from which the cost of a call of the runtime does not count."""


def costs(conform: Sequence[Outcome]) -> str:
    """How long results run, and how long `fix` takes."""
    listed = [each for each in conform if each.ratio is not None and (each.base or 0) >= LONG_RUN]
    every = [each.ratio for each in conform if each.ratio is not None]
    worst = ", ".join(
        f"{each.name} {each.ratio:.1f}" for each in sorted(listed, key=lambda each: each.ratio or 0, reverse=True)[:5]
    )
    text = (
        f"In onnxruntime with one thread a result takes {median(every or [0]):.2f} times as long as the original in "
        f"the median of {len(every)}"
    )
    if listed:
        text += (
            f"; of the {len(listed)} whose run takes at least {LONG_RUN * 1e3:g} ms, "
            f"{median([each.ratio or 0 for each in listed]):.2f} times, and most of {worst}"
        )
    against = [each.own / each.other for each in conform if each.own is not None and each.other]
    large = [(each.own / each.megabytes, each.name) for each in conform if each.own is not None and each.megabytes >= 1]
    text += (
        f". `fix` with its comparison takes {median(against or [0]):.1f} times as long as a check and one exact run in "
        f"the median of {len(against)}"
    )
    return text + (
        f", and at most {max(large)[0]:.1f} s for each megabyte of a file ({max(large)[1]})." if large else "."
    )


def within(path: Path, seconds: float) -> Outcome | None:
    """The outcome, computed in a process of its own; None where it takes longer.

    Raises:
        RuntimeError: the process ended without an outcome.
    """
    fork = multiprocessing.get_context("fork")
    results: Any = fork.SimpleQueue()
    process = fork.Process(target=lambda: results.put(outcome(path)))
    process.start()
    end = time.monotonic() + seconds
    while results.empty() and process.is_alive() and time.monotonic() < end:
        time.sleep(0.05)
    found = None if results.empty() else results.get()
    ended = not process.is_alive()
    process.kill()
    process.join()
    if found is None and ended:
        raise RuntimeError(f"{path.name}: no outcome")
    return found


def recorded(record: Path | None) -> dict[str, Outcome]:
    """The outcomes of a record, by the SHA-256 of the model."""
    lines = record.read_bytes().splitlines() if record and record.is_file() else []
    return dict(msgspec.json.decode(line, type=tuple[str, Outcome]) for line in lines)


def main() -> None:
    """Print the table row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--record", type=Path, help="outcomes, a line each; of models that it has they are taken")
    parser.add_argument("--seconds", type=float, default=600, help="a model that takes longer is left out, and named")
    options = parser.parse_args()
    known, longer = recorded(options.record), list[str]()
    found: list[Outcome] = []
    for path in sorted(options.folder.glob("*.onnx"), key=lambda path: path.stat().st_size):
        digest = sha256(path)
        one = known.get(digest) or within(path, options.seconds)
        if one is None:
            longer.append(path.stem)
            print(f"longer than {options.seconds:g} s: {path.stem}", flush=True)
            continue
        found.append(one)
        print(f"{found[-1].seconds:6.1f} s {found[-1]}", end="", flush=True)
        if options.record and digest not in known:
            with options.record.open("ab") as file:
                file.write(msgspec.json.encode((digest, found[-1])) + b"\n")
    text = summary(found)
    if longer:
        text += f"\nNot measured, because they take longer than {options.seconds:g} s: {', '.join(longer)}.\n"
    print(text)
    if options.write:
        write("fix-real", HEAD + "".join(map(str, found)) + text)


if __name__ == "__main__":
    main()
