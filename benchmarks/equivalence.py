"""The comparison of models: mutants against exact runs, and models against optimizers.

    python -m benchmarks.equivalence mutants --first 1000 --valid 10000 --minutes 60 --record FILE
    python -m benchmarks.equivalence optimizers [--runs N] MODEL …
    python -m benchmarks.equivalence optimizers --light
    python -m benchmarks.equivalence conversions [--light] [--box LOW,HIGH] MODEL …
    python -m benchmarks.equivalence cost [--light] MODEL …
    python -m benchmarks.equivalence exporters MODEL …
    python -m benchmarks.equivalence one-node [--every N]

A campaign with a record goes on after the last seed of the record, if the code that decides is still the same.

The optimizers are onnxruntime (basic, extended, all), onnxsim and onnxslim, where they are installed; the converters
are onnxconverter-common and those of onnxruntime.  With a box the difference of every pair is bounded where that is
possible.  The light networks get random weights, because the filled weights of the onnx package are equal under any
permutation.  The cost of a pair is processor time and peak memory, each beside those of one exact run.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import onnx
from msgspec import Struct
from onnx import numpy_helper

import sonnx.equivalence
from benchmarks.equivalence_cost import MEGABYTE, Cost, PairCost, cost, summary
from sonnx.base.files import sha256
from sonnx.equivalence.decision import ModelComparison, compare_sides
from sonnx.equivalence.options import EquivalenceOptions
from sonnx.equivalence.result import Answer, Equivalence
from sonnx.equivalence.sides import side_of
from sonnx.executor.executor import ModelRunner
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.probes import probe
from sonnx.model.reader import read
from tests.support import equivalence_mutants
from tests.support.equivalence_mutants import Pair, judged, pairs, refuted
from tests.support.one_node_mutants import CLEAR, judged_one_node, one_node_pairs, refuted_one_node

TIME_LIMIT, NOT_INSTALLED = 300, 9
"""Seconds that an optimizer may take, and the exit code of its process where it is not installed."""

REPORTING = ("changes", "difference", "node_pairs")
"""Modules of the package that describe changes and decide nothing."""

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"


def compared(first: bytes, second: bytes, options: EquivalenceOptions) -> ModelComparison:
    """The comparison of two files."""
    sides = [side_of(read(data), name, sha256(data), None) for data, name in ((first, "a"), (second, "b"))]
    return compare_sides(sides[0], sides[1], options)


# ------------------------------------------------------------------ mutants


class Seed(Struct):
    """What was counted of one seed; a line of a record.

    Attributes:
        code: the digest of the code that decided.
        seed: the seed.
        pairs: the digests of the pairs that no earlier seed has.
        answers: the valid ones by answer.
        invalid: those of which a model has no value.
        wrong: one line for each answer that the judge refutes.
        differing, shown, far, far_shown: as in `Tally`.
    """

    code: str
    seed: int
    pairs: list[str] = []
    answers: dict[str, int] = {}
    invalid: int = 0
    wrong: list[str] = []
    differing: int = 0
    shown: int = 0
    far: int = 0
    far_shown: int = 0


@dataclass
class Tally:
    """What a campaign counted.

    Attributes:
        seen: the digests of the pairs that were judged.
        answers: the valid pairs by answer.
        invalid: the pairs of which a model has no value.
        wrong: the answers that the judge refutes.
        differing: the pairs whose exact values differ, as the judge or the answer shows, and that are not called equal.
        shown: those of them that are answered by an input.
        far: those of them whose values are apart by more than 1 % of the largest in double precision, or in shape.
        far_shown: those of these that are answered by an input.
    """

    seen: set[bytes] = field(default_factory=set)
    answers: Counter[str] = field(default_factory=Counter)
    invalid: int = 0
    wrong: int = 0
    differing: int = 0
    shown: int = 0
    far: int = 0
    far_shown: int = 0

    def add(self, seed: Seed) -> None:
        """Count what was seen of one seed."""
        self.seen.update(map(bytes.fromhex, seed.pairs))
        self.answers.update(seed.answers)
        self.invalid += seed.invalid
        self.wrong += len(seed.wrong)
        self.differing += seed.differing
        self.shown += seed.shown
        self.far += seed.far
        self.far_shown += seed.far_shown

    @property
    def valid(self) -> int:
        """The distinct pairs with values."""
        return sum(self.answers.values())

    def __str__(self) -> str:
        return (
            f"{self.valid} distinct valid mutants, {self.invalid} without value: {dict(self.answers)}; "
            f"{self.wrong} wrong; {self.shown} of {self.differing} that differ in exact values are shown different, "
            f"{self.far_shown} of {self.far} that differ by more than {CLEAR:.0%}"
        )


def mutants(first: int, valid: int, minutes: float, runs: int, record: Path | None) -> int:
    """Judge the mutants of one seed after the other, until so many are valid or so much time has passed; 1 if an answer
    was wrong.

    Args:
        first: the first seed.
        valid: how many distinct valid mutants are judged.
        minutes: the time after which no further seed is begun.
        runs: generated sets of inputs for models that are not decided.
        record: a file with a line for each seed that is done, which the campaign goes on with.
    """
    tally, code, end = Tally(), deciding_code(), time.monotonic() + 60 * minutes
    done = _recorded(record, code)
    for old in done:
        tally.add(old)
    following = max((old.seed + 1 for old in done), default=first)
    for seed in count(following):
        if tally.valid >= valid or time.monotonic() > end:
            break
        counted = Seed(code, seed)
        for pair in pairs(seed):
            _judge(tally.seen, counted, pair, runs)
        tally.add(counted)
        if record is not None:
            with record.open("ab") as file:
                file.write(msgspec.json.encode(counted) + b"\n")
        print(f"seed {seed}: {tally}", file=sys.stderr, flush=True)
    print(f"seeds {min((old.seed for old in done), default=first)} to {seed - 1}: {tally}")
    return int(tally.wrong > 0)


def deciding_code() -> str:
    """The digest of the code that decides and of the mutants: other code begins a new campaign."""
    package = Path(sonnx.equivalence.__file__).parent
    files = sorted(path for path in package.iterdir() if path.suffix in (".py", ".toml") and path.stem not in REPORTING)
    return sha256(b"".join(path.read_bytes() for path in (*files, Path(equivalence_mutants.__file__))))


def _recorded(record: Path | None, code: str) -> list[Seed]:
    """The seeds of a record.

    Raises:
        SystemExit: other code decided them.
    """
    lines = record.read_bytes().splitlines() if record is not None and record.exists() else []
    done = [msgspec.json.decode(line, type=Seed) for line in lines]
    if any(old.code != code for old in done):
        raise SystemExit(f"{record} is the record of other code: name a new file")
    return done


def _judge(seen: set[bytes], counted: Seed, pair: Pair, runs: int) -> None:
    """Count one pair, unless it was seen before."""
    digest = sha256(bytes.fromhex(sha256(pair.first)) + bytes.fromhex(sha256(pair.second)))
    if bytes.fromhex(digest) in seen or digest in counted.pairs:
        return
    counted.pairs.append(digest)
    found = compared(pair.first, pair.second, EquivalenceOptions(runs=runs)).result
    judge = judged(pair, 4 if found.proved else 2)
    if not judge.ran or judge.bits.startswith("one has no value"):
        counted.invalid += 1
        return
    counted.answers[found.answer] = counted.answers.get(found.answer, 0) + 1
    place = f"seed {counted.seed}, {pair.family}, {pair.kind}"
    why = refuted(pair, found, judge)
    if why:
        counted.wrong.append(f"{place}: {found.answer}; {why}")
        print(f"wrong: {counted.wrong[-1]}", flush=True)
    if not found.proved and (judge.bits or found.answer is Answer.DIFFERENT):
        counted.differing += 1
        counted.shown += found.answer is Answer.DIFFERENT
        counted.far += judge.distance > CLEAR
        counted.far_shown += judge.distance > CLEAR and found.answer is Answer.DIFFERENT
        if found.answer is not Answer.DIFFERENT:
            print(f"not shown: {place}, apart by {judge.distance:.2g}: {found.bits}", flush=True)


# ------------------------------------------------------------------ one node


def one_node(every: int, minutes: float) -> int:
    """Judge models of one node with one change; 1 if an answer was wrong."""
    counted, end, open_operators = Counter[str](), time.monotonic() + 60 * minutes, Counter[str]()
    for index, pair in enumerate(one_node_pairs()):
        if index % every:
            continue
        if time.monotonic() > end:
            print(f"stopped after {minutes} minutes, at pair {index}")
            break
        judgement = judged_one_node(pair)
        if not judgement.ran:
            counted["without values"] += 1
            continue
        place = f"{pair.name}, {pair.change}"
        try:
            comparison = compared(pair.first, pair.second, EquivalenceOptions(runs=8))
        except Exception as error:  # noqa: BLE001  a row of its own
            counted["refused"] += 1
            print(f"refused: {place}: {error}", flush=True)
            continue
        found = comparison.result
        group = "equal on all runs" if not judgement.differs else (
            "apart by more than 1 %" if judgement.distance > CLEAR else "apart by less")  # fmt: skip
        group += ", executable" if judgement.exact else ", not executable"
        counted[group] += 1
        counted[f"{group}, {found.answer}"] += 1
        counted["not valid ONNX"] += bool(found.not_valid)
        counted[f"{group}, {found.answer}, not valid ONNX"] += bool(found.not_valid)
        if found.answer is Answer.UNDECIDED and not found.not_valid:
            open_operators[f"{group}: {onnx.load_from_string(pair.first).graph.node[0].op_type}"] += 1
        why = refuted_one_node(pair, comparison, judgement)
        if why:
            counted["wrong"] += 1
            print(f"wrong: {place}: {found.answer}; {why}", flush=True)
    for group, number in sorted(counted.items()):
        print(f"{number:6} {group}")
    print("not decided, by operator:", open_operators.most_common(30))
    return int(counted["wrong"] > 0)


# ------------------------------------------------------------------ optimizers


def onnxruntime_level(level: str) -> Callable[[Path, Path], None]:
    """The optimizer of onnxruntime at a level."""

    def optimize(source: Path, target: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
        options.optimized_model_filepath = str(target)
        options.log_severity_level = 3
        options.intra_op_num_threads = 1
        onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])

    return optimize


def simplified(source: Path, target: Path) -> None:
    """Onnxsim."""
    import onnxsim

    made, _ = onnxsim.simplify(onnx.load(source), certify=False)  # which may take minutes
    onnx.save(made, target)


def slimmed(source: Path, target: Path) -> None:
    """Onnxslim."""
    import onnxslim

    made = onnxslim.slim(str(source))
    onnx.save(made, target)


OPTIMIZERS: dict[str, Callable[[Path, Path], None]] = {
    "onnxruntime basic": onnxruntime_level("BASIC"),
    "onnxruntime extended": onnxruntime_level("EXTENDED"),
    "onnxruntime all": onnxruntime_level("ALL"),
    "onnxsim": simplified,
    "onnxslim": slimmed,
}


def in_float16(source: Path, target: Path) -> None:
    """The float16 converter of onnxconverter-common."""
    from onnxconverter_common import float16

    onnx.save(float16.convert_float_to_float16(onnx.load(source), keep_io_types=True), target)


def in_float16_by_onnxruntime(source: Path, target: Path) -> None:
    """The float16 converter of onnxruntime's tools for transformers, and their sort: it leaves nodes out of order."""
    from onnxruntime.transformers.float16 import convert_float_to_float16
    from onnxruntime.transformers.onnx_model import OnnxModel

    half = OnnxModel(convert_float_to_float16(onnx.load(source), keep_io_types=True))
    half.topological_sort()
    onnx.save(half.model, target)


class Calibration:
    """Two sets of random numbers between -1 and 1 for every input, as quantizers of onnxruntime read them."""

    def __init__(self, model: onnx.ModelProto) -> None:
        random, constants = np.random.default_rng(1), {each.name for each in model.graph.initializer}
        shapes = {
            each.name: [extent.dim_value or 1 for extent in each.type.tensor_type.shape.dim]
            for each in model.graph.input
            if each.name not in constants
        }
        self.left = [
            {name: random.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()} for _ in range(2)
        ]

    def get_next(self) -> Any:
        """The next set, None after the last one."""
        return self.left.pop() if self.left else None


def quantized(layout: str, **further: Any) -> Callable[[Path, Path], None]:
    """The static quantizer of onnxruntime; models before operator set 13 are brought to it."""

    def quantize(source: Path, target: Path) -> None:
        from onnxruntime import quantization

        model = onnx.load(source)
        kinds = {
            name: getattr(quantization.QuantType, value) for name, value in further.items() if name != "per_channel"
        }
        quantization.quantize_static(
            source, target, Calibration(model), quant_format=getattr(quantization.QuantFormat, layout),
            per_channel=further.get("per_channel", False), **kinds,
        )  # fmt: skip

    return quantize


def quantized_weights(source: Path, target: Path) -> None:
    """The dynamic quantizer of onnxruntime."""
    from onnxruntime import quantization

    quantization.quantize_dynamic(source, target)


CONVERTERS: dict[str, Callable[[Path, Path], None]] = {
    "float16, onnxconverter-common": in_float16,
    "float16, onnxruntime": in_float16_by_onnxruntime,
    "QDQ int8": quantized("QDQ"),
    "QDQ uint8 and int8, by channel": quantized("QDQ", activation_type="QUInt8", weight_type="QInt8", per_channel=True),
    "integer operators": quantized("QOperator", activation_type="QUInt8", weight_type="QUInt8"),
    "dynamic int8": quantized_weights,
}

COSTED_CONVERTERS = ("float16, onnxruntime", "QDQ int8")
"""The converters whose pairs are measured beside those of the optimizers."""
MOST_RUNS = 10
"""Exact runs that a comparison takes at most."""


def at_operator_set(model: onnx.ModelProto, least: int = 13) -> onnx.ModelProto:
    """A model at an operator set with quantization by channel; as it is where it cannot be brought there."""
    present = next((each.version for each in model.opset_import if not each.domain), 0)
    if present >= least:
        return model
    try:
        return onnx.version_converter.convert_version(model, least)
    except (RuntimeError, ValueError):
        return model


class ToolPair(NamedTuple):
    """A model beside what a tool made of it.

    Attributes:
        name: of the model.
        tool: what made the other one.
        failed: why there is none, "" where there is one.
        found: the comparison, or why it was refused.
        seconds: of the processor.
    """

    name: str
    tool: str
    failed: str
    found: Any = None
    seconds: float = 0.0

    @property
    def answer(self) -> str:
        """The answer and what restricts it."""
        return self.found if isinstance(self.found, str) else _described(self.found)


def pairings(
    listed: Iterator[tuple[str, onnx.ModelProto]],
    tools: dict[str, Callable[[Path, Path], None]],
    options: Callable[[Path], EquivalenceOptions],
) -> Iterator[ToolPair]:
    """Every model beside what each tool makes of it."""
    for name, source, title, target, failed in written(listed, tools):
        if failed:
            yield ToolPair(name, title, failed)
        else:
            yield ToolPair(name, title, "", *_timed(source, target, options(source)))


def written(
    listed: Iterator[tuple[str, onnx.ModelProto]], tools: dict[str, Callable[[Path, Path], None]]
) -> Iterator[tuple[str, Path, str, Path, str]]:
    """For every model and tool: the name and the file of the model, the tool, its file, and why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "a.onnx"), Path(folder, "b.onnx")
        for name, model in listed:
            onnx.save(model, source)
            for title, tool in tools.items():
                yield name, source, title, target, _optimized(tool, source, target)


def conversions(paths: Sequence[Path], light: bool, box: str) -> int:
    """Compare each model with what each converter makes of it, with a bound on a box; 1 if a pair is open."""
    counted, bounded, total = Counter[str](), 0, 0
    print("| model | converter | answer | narrowings | difference | seconds |\n|---|---|---|---|---|---|")

    def options(source: Path) -> EquivalenceOptions:
        inputs = [each.name for each in required_inputs(read(source.read_bytes()))]
        return EquivalenceOptions(runs=0, box=tuple([f"{each}=[{box}]" for each in inputs]) if box else ())

    listed = ((name, at_operator_set(model)) for name, model in models(paths, light))
    for pair in pairings(listed, CONVERTERS, options):
        if pair.failed:
            print(f"| {pair.name} | {pair.tool} | {pair.failed} | | | |", flush=True)
            continue
        counted[pair.answer.partition(";")[0]] += 1
        is_matched = not isinstance(pair.found, str) and pair.found.matched
        apart = pair.found.largest_difference if is_matched and box else None
        total, bounded = total + 1, bounded + (apart is not None)
        narrowed = len(pair.found.narrowings) if is_matched else ""
        text = "" if apart is None else f"{apart:.3g}"
        print(f"| {pair.name} | {pair.tool} | {pair.answer} | {narrowed} | {text} | {pair.seconds:.2f} |", flush=True)
    print(f"\n{total} pairs: {dict(counted)}" + (f"; {bounded} with a bound" if box else ""))
    return int(any(answer not in (Answer.IDENTICAL, Answer.ROUNDING, Answer.NARROWED) for answer in counted))


SECOND_EXPORTS = ("_dynamo", "_torchscript")
"""What the name of a file has behind that of another one which another exporter made of the same network."""


def exporters(paths: Sequence[Path]) -> int:
    """Compare the exports of one network by two exporters, NAME.onnx and NAME_dynamo.onnx or NAME_torchscript.onnx,
    with inputs and outputs in order; 1 if a pair is open.
    """
    counted = Counter[str]()
    for path in paths:
        for suffix in SECOND_EXPORTS:
            other = path.with_stem(path.stem + suffix)
            if not other.exists():
                continue
            models_read = [read(each.read_bytes()) for each in (path, other)]
            names = [[each.name for each in (*required_inputs(model), *model.graph.outputs)] for model in models_read]
            renamed = dict(zip(*names, strict=True))
            found, seconds = _timed(path, other, EquivalenceOptions(runs=0, renamed=renamed))
            answer = found if isinstance(found, str) else _described(found)
            counted[answer.partition(";")[0]] += 1
            print(f"| {path.stem} | {other.stem} | {answer} | {seconds:.2f} |", flush=True)
    print(f"{sum(counted.values())} pairs: {dict(counted)}")
    return int(any(not answer.startswith((Answer.IDENTICAL, Answer.ROUNDING)) for answer in counted))


def with_random_weights(path: Path) -> onnx.ModelProto:
    """A light network whose filled weights are random numbers."""
    model, random = onnx.load(path), np.random.default_rng(0)
    given = {each.name: each for each in model.graph.initializer}
    kept, made = [], []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in given:
            kept.append(node)
            continue
        shape = tuple(int(each) for each in numpy_helper.to_array(given[node.input[0]]))
        if len(shape) > 1:
            array = random.standard_normal(shape) * np.sqrt(2 / max(1, np.prod(shape[1:])))
        else:
            array = random.uniform(0.5, 1.5, shape)
        made.append(numpy_helper.from_array(array.astype(np.float32), node.output[0]))
    used = {name for node in kept for name in node.input}
    initializers = [each for each in (*model.graph.initializer, *made) if each.name in used]
    inputs = [each for each in model.graph.input if each.name not in given]
    for name, listed in (("node", kept), ("initializer", initializers), ("input", inputs)):
        model.graph.ClearField(name)
        getattr(model.graph, name).extend(listed)
    model.ir_version = max(model.ir_version, 4)
    return model


def models(paths: Sequence[Path], light: bool) -> Iterator[tuple[str, onnx.ModelProto]]:
    """The models to compare, by name."""
    for path in paths:
        yield path.parent.name if path.stem == "model" else path.stem, onnx.load(path)
    for path in sorted(LIGHT.glob("*.onnx")) if light else ():
        yield path.stem, with_random_weights(path)


def optimizers(paths: Sequence[Path], light: bool, runs: int) -> int:
    """Compare each model with what each optimizer makes of it; 1 if a pair is not decided.  Times are those of the
    processor.
    """
    counted, open_pairs = Counter[str](), 0
    print("| model | optimizer | answer | folded constants | seconds |\n|---|---|---|---|---|")
    for pair in pairings(models(paths, light), OPTIMIZERS, lambda _: EquivalenceOptions(runs=runs)):
        if pair.failed:
            print(f"| {pair.name} | {pair.tool} | {pair.failed} | | |", flush=True)
            continue
        counted[pair.answer.partition(";")[0]] += 1
        open_pairs += isinstance(pair.found, str) or not pair.found.proved
        folded = "" if isinstance(pair.found, str) else str(len(pair.found.constants))
        print(f"| {pair.name} | {pair.tool} | {pair.answer} | {folded} | {pair.seconds:.2f} |", flush=True)
    print(f"\n{sum(counted.values())} pairs: {dict(counted)}")
    return int(open_pairs > 0)


def costs(paths: Sequence[Path], light: bool) -> int:
    """Time and memory of the comparison of each model with what each tool makes of it; 1 if a pair takes ten exact runs
    or more memory than four times both files and one run.
    """
    converted = ((name, at_operator_set(model)) for name, model in models(paths, light))
    every = chain(
        written(models(paths, light), OPTIMIZERS),
        written(converted, {name: CONVERTERS[name] for name in COSTED_CONVERTERS}),
    )
    head = "| model | tool | answer | folded constants | seconds | exact runs | peak, MB | of the limit |"
    print(head + "\n|---|---|---|---|---|---|---|---|")
    taken, runs = list[PairCost](), dict[str, Cost | None]()
    for name, source, tool, target, failed in every:
        if failed:
            print(f"| {name} | {tool} | {failed} | | | | | |", flush=True)
            continue
        if name not in runs:
            runs[name] = _cost_of_a_run(source)
        run = runs[name]
        if run is None:
            print(f"| {name} | {tool} | the model cannot be run | | | | | |", flush=True)
            continue
        pair = PairCost(cost(answered, source, target), run, source.stat().st_size + target.stat().st_size)
        taken.append(pair)
        (answer, folded), seconds, peak = pair.comparison
        print(f"| {name} | {tool} | {answer} | {folded} | {seconds:.2f} | {pair.runs:.2f} | {peak / MEGABYTE:.0f} | "
              f"{peak / pair.limit:.2f} |", flush=True)  # fmt: skip
    print(f"\n{summary(taken)}")
    return int(any(pair.runs >= MOST_RUNS or pair.comparison.peak >= pair.limit for pair in taken))


def _cost_of_a_run(source: Path) -> Cost | None:
    """What one exact run of a model costs; None where it has no value, or an operator that cannot be executed."""
    try:
        return cost(run_once, source)
    except EOFError:
        return None


def run_once(source: Path) -> None:
    """One exact run of a model on a generated input, with reading the file."""
    model = read(source.read_bytes())
    ModelRunner(model, source, None, unchecked=True).run(probe(required_inputs(model), 0, 0))


def answered(source: Path, target: Path) -> tuple[str, int]:
    """The answer about two files, and how many constants were folded."""
    found, _ = _timed(source, target, EquivalenceOptions(runs=0))
    return (found, 0) if isinstance(found, str) else (_described(found).partition(";")[0], len(found.constants))


def _optimized(optimize: Callable[[Path, Path], None], source: Path, target: Path) -> str:
    """Run an optimizer in a child process, which may fail in any way; why there is no model, "" where there is one."""
    target.unlink(missing_ok=True)
    child = multiprocessing.get_context("fork").Process(target=_in_child, args=(optimize, source, target))
    child.start()
    child.join(TIME_LIMIT)
    if child.is_alive():
        child.kill()
        child.join()
        return f"the optimizer did not end in {TIME_LIMIT} s"
    if child.exitcode == NOT_INSTALLED:
        return "not installed"
    return "" if child.exitcode == 0 and target.exists() else "the optimizer failed"


def _in_child(optimize: Callable[[Path, Path], None], source: Path, target: Path) -> None:
    try:
        optimize(source, target)
    except ImportError:
        sys.exit(NOT_INSTALLED)


def _timed(source: Path, target: Path, options: EquivalenceOptions) -> tuple[Any, float]:
    start = time.process_time()
    try:
        found: Any = compared(source.read_bytes(), target.read_bytes(), options).result
    except Exception as error:  # noqa: BLE001  a table has a row for it
        found = f"refused; {error}"
    return found, time.process_time() - start


def _described(found: Equivalence) -> str:
    more = f"; for {', '.join(f'{n} {list(s)}' for n, s in found.binding.items())}" if found.binding else ""
    if found.not_valid:
        more += f"; {found.not_valid[0]}"
    if found.unmatched is not None and not found.proved:
        more += f"; {found.unmatched.first} against {found.unmatched.second}: {found.unmatched.reason}"
    return found.answer.value + more


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("mutants")
    one.add_argument("--first", type=int, default=0, metavar="SEED", help="the first seed")
    one.add_argument("--valid", type=int, default=400, help="how many distinct valid mutants are judged")
    one.add_argument("--minutes", type=float, default=10, help="the time after which no further seed is begun")
    one.add_argument("--runs", type=int, default=8)
    one.add_argument("--record", type=Path, metavar="FILE", help="a line for each seed; the campaign goes on with it")
    other = commands.add_parser("optimizers")
    other.add_argument("models", nargs="*", type=Path)
    other.add_argument("--light", action="store_true")
    other.add_argument("--runs", type=int, default=0)
    further = commands.add_parser("conversions")
    further.add_argument("models", nargs="*", type=Path)
    further.add_argument("--light", action="store_true")
    further.add_argument("--box", default="", metavar="LOW,HIGH", help="the range of every input")
    single = commands.add_parser("one-node")
    single.add_argument("--every", type=int, default=1, metavar="N", help="every Nth pair only")
    single.add_argument("--minutes", type=float, default=30, help="the time after which no further pair is begun")
    expense = commands.add_parser("cost")
    expense.add_argument("models", nargs="*", type=Path)
    expense.add_argument("--light", action="store_true")
    pairs_of_exports = commands.add_parser("exporters")
    pairs_of_exports.add_argument("models", nargs="+", type=Path)
    options = parser.parse_args()
    if options.command == "exporters":
        return exporters(options.models)
    if options.command == "cost":
        return costs(options.models, options.light)
    if options.command == "one-node":
        return one_node(options.every, options.minutes)
    if options.command == "mutants":
        return mutants(options.first, options.valid, options.minutes, options.runs, options.record)
    if options.command == "conversions":
        return conversions(options.models, options.light, options.box)
    return optimizers(options.models, options.light, options.runs)


if __name__ == "__main__":
    sys.exit(main())
