"""How many wrong kernels a suite detects, and how many of them ONNX's own node tests do.

    python -m benchmarks.suite_mutants SUITE [--operator NAME] [--every N] [--json FILE] [--write]

SUITE is a folder made by `sonnx suite make`.  Operators that the JSON file has are not measured again.  `--every N`
measures a sample: every N-th kernel in the list of an operator, which has them by tables of mistakes.  What becomes of
a kernel:

* *detected*: it gives an output for a conforming call that the suite calls a deviation, and no erratum explains it;
* *erratum*: only by another reading of a text, which an erratum records, it gives what it gives;
* *within the bounds*: it differs from the exact values of the suite, but nowhere by more than the hypotheses allow;
* *missed*: it differs on random inputs or in a conforming node test of ONNX, but on no data of the suite;
* *no effect*: it differs nowhere in the profile, for example because the profile fixes a parameter.

ONNX's node tests allow what its own runner allows.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod
from pathlib import Path

import numpy as np
import onnx
from msgspec import structs

import sonnx
from benchmarks.measurements import write
from benchmarks.wrong_kernels import BINARY, UNARY, Call, WrongKernel, suite_calls, total, wrong_kernels
from sonnx.base.files import sha256
from sonnx.checker.verdicts import Verdict
from sonnx.executor.executor import ModelRunner
from sonnx.model.ir import Model
from sonnx.model.reader import read
from sonnx.numerics.draws import KINDS, draw
from sonnx.numerics.formats import NAMES, TEXT, Array, format_of, patterns, widened
from sonnx.profile.catalogue import operators
from sonnx.profile.signature import Signature
from sonnx.prover.signature_family import signatures
from sonnx.suite.archive import StoredCase, Suite, read_cases, read_suite
from sonnx.suite.cases import specs_of
from sonnx.suite.expected import Ends
from sonnx.suite.judge import differences
from sonnx.suite.runs import explanation
from tests.support.node_tests import node_tests

RELATIVE, ABSOLUTE = 1e-3, 1e-7
"""What ONNX's runner of node tests allows."""
PROBES, MODELS, LARGER, LARGEST = 2, 12, 6, 3000
"""Random inputs of each kind for a model, and models, on which a kernel without effect is tried again; further models,
those with the most elements up to a number."""
ODD, ODD_MODELS = (3, 1367), 4
"""The last extents of further random calls of an operator of elements: enough for several threads, with something left
over after all vectors; and how many models have them."""
OF_ELEMENTS = (*UNARY, *BINARY, "Clip", "DequantizeLinear", "QuantizeLinear", "Where")
RUNS = 150
"""Data sets on which a kernel computes another call; more are not tried."""
RUNS_OF_LONG_CALLS = {"Conv": 40, "LSTM": 40}
"""The same for operators whose calls take longer."""
DETECTED, READING, WITHIN, MISSED, NONE = "detected", "erratum", "within the bounds", "missed", "no effect"


@dataclass(frozen=True)
class Expectation:
    """A call, and which outputs are accepted for it."""

    call: Call
    stored: StoredCase | None
    number: int
    """Of the data set in the case; of a node test of ONNX 1 if it conforms."""

    def answers(self, outputs: Sequence[Array]) -> set[str | None]:
        """The erratum that explains each deviation, None for one without; ONNX's runner has no errata."""
        if self.stored is None:
            return set() if all(map(_close, outputs, self.call.exact)) else {None}
        lower, upper = (self.stored.arrays(self.number, side) for side in ("lower", "upper"))
        return {
            explanation(self.stored, self.number, difference, self.call.given, given)
            for place, (given, exact) in enumerate(zip(outputs, self.call.exact, strict=True))
            for difference in differences(
                place, given, exact, Ends(lower[place], upper[place]) if place in lower else None
            )
        }


def _close(given: Array, exact: Array) -> bool:
    if (given.dtype, given.shape) != (exact.dtype, exact.shape):
        return False
    if exact.dtype == TEXT:
        return bool((given == exact).all())
    with np.errstate(all="ignore"):
        return bool(np.allclose(widened(given), widened(exact), RELATIVE, ABSOLUTE, equal_nan=True))


def same(outputs: Sequence[Array], call: Call) -> bool:
    """Whether outputs are the exact ones, bit for bit; all NaNs are one value."""
    return outputs is call.exact or all(map(_equal, outputs, call.exact))


def _equal(one: Array, other: Array) -> bool:
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    if format_of(one.dtype) is None:
        return bool((one == other).all())
    with np.errstate(invalid="ignore"):
        return bool(((patterns(one) == patterns(other)) | (np.isnan(one) & np.isnan(other))).all())


def of_suite(suite: Suite, operator: str) -> list[Expectation]:
    """The data sets of the conforming cases of an operator, in an order that mixes calls and value classes."""
    found = [
        (sha256(f"{stored.case.id} {number}".encode()), Expectation(call, stored, number))
        for stored, number, call in suite_calls(suite, operator)
    ]
    return [each for _, each in sorted(found, key=lambda one: one[0])]


def of_onnx(operator: str) -> Iterator[Expectation]:
    """The data of ONNX's node tests of an operator that consist of one node and that the executor passes."""
    for case in node_tests():
        if not case.model or [each.op_type for each in case.model.graph.node] != [operator]:
            continue
        model = read(case.model.SerializeToString())
        for inputs, outputs in case.data_sets or []:
            given = {
                operand.name: np.asarray(array) for operand, array in zip(model.graph.inputs, inputs, strict=False)
            }
            try:
                exact = [*ModelRunner(model, None, None, unchecked=True).run(given).values.values()]
            except Exception:  # noqa: BLE001  (types and inputs that the executor does not know)
                continue
            if len(exact) == len(outputs) and all(map(_close, exact, map(np.asarray, outputs))):
                yield Expectation(Call(model, given, exact, None), None, int(conforms(case.model)))


def conforms(model: onnx.ModelProto) -> bool:
    """Whether the profile admits a call."""
    return sonnx.check(model.SerializeToString()).verdict in (Verdict.PASS, Verdict.ASSUMED)


def probes(suite: Suite, operator: str) -> Iterator[Call]:
    """Random inputs for some models of the suite, and for one with other extents."""
    stored_cases = [each for each in read_cases(suite, operator) if isinstance(each, StoredCase) and each.case.sets]
    models = [read(each.model) for each in stored_cases]
    sizes = [max((prod(shape) for shape, _ in specs_of(model).values()), default=0) for model in models]
    larger = sorted((size, place) for place, size in enumerate(sizes) if size <= LARGEST)[-LARGER:]
    odd = [each for each in map(with_odd_extents, models) if each is not None][:ODD_MODELS]
    for model in (*models[:MODELS], *(models[place] for _, place in larger), *odd):
        runner = ModelRunner(model, None, suite.parts[0].edition)
        for kind in KINDS:
            for seed in range(PROBES):
                given = {
                    name: draw(element, shape, kind, (seed, place))
                    for place, (name, (shape, element)) in enumerate(specs_of(model).items())
                }
                try:
                    exact = [*runner.run(given).values.values()]
                except Exception:  # noqa: BLE001  (inputs without a value)
                    continue
                yield Call(model, given, exact, suite.parts[0].edition)


def with_odd_extents(model: Model) -> Model | None:
    """The model of an operator of elements with other extents, if its tensors have one shape or are scalars."""
    graph = model.graph
    tensors = [*graph.inputs, *graph.outputs]
    shapes = {tensor.type.shape for tensor in tensors} - {()}
    if len(shapes) != 1 or graph.initializers or [node.operator in OF_ELEMENTS for node in graph.nodes] != [True]:
        return None
    [shape] = shapes
    rank = len(shape or ())
    if rank < len(ODD):
        return None
    extents = (*(1,) * (rank - len(ODD)), *ODD)
    inputs, outputs = (
        tuple(
            structs.replace(each, type=structs.replace(each.type, shape=extents)) if each.type.shape else each
            for each in operands
        )
        for operands in (graph.inputs, graph.outputs)
    )
    return structs.replace(model, graph=structs.replace(graph, inputs=inputs, outputs=outputs))


def fate(kernel: WrongKernel, suite: Sequence[Expectation], tests: Sequence[Expectation], further: list[Call]) -> str:
    """What becomes of a kernel.

    A kernel without effect in some calls that it computes is not tried on the other ones, unless it is missed.
    """
    answer, runs, left = NONE, 0, iter(suite)
    for each in left:
        outputs = kernel.outputs(each.call)
        runs += kernel.computes and outputs is not each.call.exact
        if not same(outputs, each.call):
            errata = each.answers(outputs)
            if None in errata:
                return DETECTED
            answer = READING if errata else WITHIN if answer == NONE else answer
        if runs > RUNS_OF_LONG_CALLS.get(kernel.operator, RUNS):
            break
    elsewhere = [*(test.call for test in tests if test.number), *further]
    if answer != NONE or all(same(kernel.outputs(each), each) for each in elsewhere):
        return answer
    return DETECTED if any(None in each.answers(kernel.outputs(each.call)) for each in left) else MISSED


def signature_of(operator: str, edition: str) -> Signature:
    described = next(each for each in operators() if each.name == operator)
    return next(each for each, name in signatures(described) if name == edition)


def types_of(suite: Suite, operator: str, calls: Sequence[Expectation]) -> dict[str, set[str]]:
    """The element types that conforming calls have of each input and output."""
    [part] = [suite_part for suite_part in suite.parts if suite_part.operator == operator]
    made = signature_of(operator, part.edition)
    types: dict[str, set[str]] = {operand.name: set() for operand in (*made.inputs, *made.outputs)}
    for class_ in part.classes:
        name, _, element = class_.name.partition(" is ")
        if class_.answer == "satisfiable" and name.partition("[")[0] in types and not class_.rule:
            types[name.partition("[")[0]].add(element)
    for one in calls:
        for output, exact in zip(made.outputs, one.call.exact, strict=False):
            types[output.name].add(NAMES[exact.dtype])
    return types


def measured(suite: Suite, operator: str, every: int) -> dict[str, list[str]]:
    """Every so many kernel of an operator by what became of it; those that ONNX's node tests detect once more."""
    cases, tests = of_suite(suite, operator), [*of_onnx(operator)]
    edition = suite.parts[0].edition
    further = [*probes(suite, operator)]
    found: dict[str, list[str]] = {name: [] for name in (DETECTED, READING, WITHIN, MISSED, NONE, "onnx")}
    kernels = wrong_kernels(signature_of(operator, edition), types_of(suite, operator, cases))
    for kernel in map(total, islice(kernels, None, None, every)):
        answer = fate(kernel, cases, tests, further)
        found[answer].append(f"[{kernel.family}] {kernel}")
        if answer not in (NONE, READING) and any(test.answers(kernel.outputs(test.call)) for test in tests):
            found["onnx"].append(str(kernel))
    return found


def table(found: dict[str, dict[str, list[str]]], every: int) -> str:
    """The figures as Markdown."""
    head = "" if every == 1 else f"A sample: every {every}th kernel in the list of each operator.\n\n"
    head += (
        "| operator | wrong kernels | detected | share | erratum | within the bounds | missed | ONNX's node tests |\n"
    )
    head += "|---|---:|---:|---:|---:|---:|---:|---:|\n"
    rows, sums = "", Counter[str]()
    for operator, each in [*found.items(), ("all", None)]:
        if each is not None:
            number = {name: len(kernels) for name, kernels in each.items()}
            sums.update(number)
        else:
            number = dict(sums)
        wrong = number[DETECTED] + number[WITHIN] + number[MISSED]
        share = f"{100 * number[DETECTED] / max(1, wrong):.1f} %"
        listed = (wrong, number[DETECTED], share, number[READING], number[WITHIN], number[MISSED], number["onnx"])
        rows += f"| {operator} | {' | '.join(map(str, listed))} |\n"
    return head + rows


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", type=Path)
    parser.add_argument("--operator", action="append", default=[])
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th kernel of an operator")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--write", action="store_true", help="write the table to docs/measurements")
    options = parser.parse_args()
    suite = read_suite(options.suite)
    names = options.operator or [*dict.fromkeys(part.operator for part in suite.parts)]
    found = json.loads(options.json.read_text("utf-8")) if options.json and options.json.exists() else {}
    for name in names:
        if name in found:
            continue
        found[name] = measured(suite, name, options.every)
        print(name, {key: len(each) for key, each in found[name].items()}, file=sys.stderr, flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1), "utf-8")
    found = {name: found[name] for name in names}
    print(table(found, options.every))
    if options.write:
        write("wrong-kernels", table(found, options.every))


if __name__ == "__main__":
    main()
