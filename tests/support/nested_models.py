"""Random models with If, Loop, Scan and functions inside each other, whose graphs share, capture and hide names.

All computed values are float[2]; the nodes are those that rewrites replace, so that a model goes through most of them.

    python -m tests.support.nested_models --number 100000 --jobs 2

rewrites models and prints those that `fix` breaks, or changes a second time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection

import numpy
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from sonnx import fix
from sonnx.base.errors import Stop, UsageError

OPERATOR_SET = 17
FEW_NAMES = ("a", "b", "c", "x", "t_1", "t_2", "Identity_out")
"""Names that graphs inside nodes take again and again."""


class NestedModel:
    """One random model; `hiding` admits names inside graphs that values around them have."""

    def __init__(self, seed: int, *, hiding: bool) -> None:
        self.random, self.hiding, self.number = random.Random(seed), hiding, 0
        self.functions: list[onnx.FunctionProto] = []
        self.constants: dict[str, TensorProto] = {}

    def proto(self) -> ModelProto:
        """The model."""
        inputs = [_float("x"), _float("v"), helper.make_tensor_value_info("flag", TensorProto.BOOL, [])]
        for index in range(self.random.randrange(3)):
            self.functions.append(self._function(f"f{index}"))
        nodes, names = self._nodes(["x", "v"], set(), depth=0, number=self.random.randrange(1, 6))
        outputs = self.random.sample(names[2:], min(len(names) - 2, self.random.randrange(1, 4)))
        graph = helper.make_graph(nodes, "g", inputs, list(map(_float, outputs)), list(self.constants.values()))
        imports = [helper.make_opsetid("", OPERATOR_SET), helper.make_opsetid("f", 1)]
        return helper.make_model(graph, opset_imports=imports, functions=self.functions, ir_version=8)

    def _function(self, name: str) -> onnx.FunctionProto:
        inputs, kept = ["a", "b"][: self.random.randrange(1, 3)], self.constants
        self.constants = {}
        nodes, names = self._nodes(list(inputs), set(), depth=2, number=self.random.randrange(1, 3))
        self.constants = kept
        outputs = (
            self.random.choices(names, k=self.random.randrange(1, 3)) if self.random.random() < 0.3 else names[-1:]
        )
        outputs = list(dict.fromkeys(outputs))
        imports = [helper.make_opsetid("", OPERATOR_SET), helper.make_opsetid("f", 1)]
        return helper.make_function("f", name, inputs, outputs, nodes, imports)

    # ------------------------------------------------------------------ graphs

    def _nodes(self, seen: list[str], around: set[str], depth: int, number: int) -> tuple[list[NodeProto], list[str]]:
        """Nodes that read the names seen, and all names seen after them; `around` are those of graphs around."""
        nodes: list[NodeProto] = []
        own = set[str](seen)
        for _ in range(number):
            output = self._name(own, around, depth)
            nodes += self._step(seen, output, own | around, depth)
            own.add(output)
            seen = [*seen, output]
        return nodes, seen

    def _name(self, own: set[str], around: set[str], depth: int) -> str:
        wanted = self.random.choice(FEW_NAMES)
        if wanted in own or (wanted in around and not (self.hiding and self.random.random() < 0.3)):
            self.number += 1
            return f"{wanted}{self.number}"
        return wanted

    def _step(self, seen: list[str], output: str, taken: set[str], depth: int) -> list[NodeProto]:
        inner = [self._if, self._loop, self._scan] if depth < 3 else []
        calls = [self._call] if self.functions and depth < 2 else []
        steps: list[Callable[[list[str], str, set[str], int], list[NodeProto]]] = [self._simple, *inner, *inner, *calls]
        return self.random.choice(steps)(seen, output, taken, depth)

    def _graph(self, seen: list[str], taken: set[str], depth: int, inputs: list[onnx.ValueInfoProto], outputs: int,
               extra: list[NodeProto], first: list[onnx.ValueInfoProto]) -> GraphProto:  # fmt: skip
        """A graph inside a node: it may give values around it, or its inputs, as they are."""
        named = [each.name for each in inputs if each.type.tensor_type.elem_type == TensorProto.FLOAT]
        held = []
        if self.random.random() < 0.3:
            name = self._name({*seen, *named, *(node.output[0] for node in extra)}, taken, depth)
            held = [numpy_helper.from_array(numpy.array([1, -2], numpy.float32), name)]
            named.append(name)
        visible = [*seen, *named]
        nodes, names = self._nodes(visible, taken | {each.name for each in inputs}, depth + 1, self.random.randrange(3))
        if self.random.random() < 0.05:  # the checker of the onnx package refuses values of graphs around
            given = self.random.choices(names, k=outputs)
        else:
            own = [*named, *names[len(visible) :]]
            if not own or not inputs:
                own = names[len(visible) :] or [self._unique("copy")]
                if own[0] not in names:
                    nodes.append(helper.make_node("Identity", [self.random.choice(visible)], own))
            given = self.random.choices(own, k=outputs) if self.random.random() < 0.2 else own[-1:] * outputs
        return helper.make_graph([*extra, *nodes], "inner", inputs, [*first, *map(_float, given)], held)

    def _if(self, seen: list[str], output: str, taken: set[str], depth: int) -> list[NodeProto]:
        count = self.random.choice([1, 1, 2])
        branches = [self._graph(seen, taken | {output}, depth, [], count, [], []) for _ in range(2)]
        outputs = [output, *([self._unique("second")] if count == 2 else [])]
        before: list[NodeProto] = []
        kind = self.random.random()
        condition = "flag" if kind < 0.2 and {"x", "v"} <= set(seen) else ""  # a function sees no graph input
        if not condition:
            value = numpy.array(self.random.random() < 0.5)
            condition = self._unique("cond")
            tensor = numpy_helper.from_array(value, condition)
            before = [helper.make_node("Constant", [], [condition], value=tensor)]
        return [*before, helper.make_node("If", [condition], outputs, then_branch=branches[0], else_branch=branches[1])]

    def _loop(self, seen: list[str], output: str, taken: set[str], depth: int) -> list[NodeProto]:
        turns, go, ends = self._unique("turns"), self._unique("go"), self._unique("ends")
        taken = taken | {output}
        state = self._name(set(seen), taken, depth)
        inputs = [
            helper.make_tensor_value_info(self._unique("i"), TensorProto.INT64, []),
            helper.make_tensor_value_info(go, TensorProto.BOOL, []),
            _float(state),
        ]
        step = helper.make_node("Identity", [go], [ends])
        first = [helper.make_tensor_value_info(ends, TensorProto.BOOL, [])]
        body = self._graph([name for name in seen if name != state], taken, depth, inputs, 1, [step], first)
        count = numpy_helper.from_array(numpy.array(self.random.randrange(3), numpy.int64), turns)
        start = self.random.choice(seen)
        return [
            helper.make_node("Constant", [], [turns], value=count),
            helper.make_node("Loop", [turns, "", start], [output], body=body),
        ]

    def _scan(self, seen: list[str], output: str, taken: set[str], depth: int) -> list[NodeProto]:
        taken = taken | {output}
        state, part = self._name(set(seen), taken, depth), self._unique("part")
        inputs = [_float(state), helper.make_tensor_value_info(part, TensorProto.FLOAT, [])]
        inner = self._graph([name for name in seen if name != state], taken, depth, [inputs[0]], 1, [], [])
        inner.input.append(inputs[1])
        total = self._unique("total")
        result = inner.output[0].name
        inner.node.append(helper.make_node("Add", [result, part], [total]))
        del inner.output[:]
        inner.output.append(_float(total))
        start, parts = self.random.choice(seen), self.random.choice(seen)
        return [helper.make_node("Scan", [start, parts], [output], body=inner, num_scan_inputs=1)]

    def _call(self, seen: list[str], output: str, taken: set[str], depth: int) -> list[NodeProto]:
        function = self.random.choice(self.functions)
        outputs = [output, *(self._unique("more") for _ in function.output[1:])]
        return [helper.make_node(function.name, self.random.choices(seen, k=len(function.input)), outputs, domain="f")]

    def _simple(self, seen: list[str], output: str, taken: set[str], depth: int) -> list[NodeProto]:
        one, other = self.random.choice(seen), self.random.choice(seen)
        kind = self.random.randrange(9)
        middle = self._unique("middle")
        if kind == 0:
            return [helper.make_node("Identity", [one], [output])]
        if kind == 1:
            return [helper.make_node("Sum", [one, other], [output])]
        if kind == 2:
            return [helper.make_node("Softmax", [one], [output])]
        if kind == 3:
            return [helper.make_node("Dropout", [one], [output])]
        if kind == 4:
            return [helper.make_node("Sign", [one], [output])]
        if kind == 5:
            index = numpy_helper.from_array(numpy.array([1, 0]), middle)
            return [
                helper.make_node("Constant", [], [middle], value=index),
                helper.make_node("Gather", [one, middle], [output]),
            ]
        if kind == 6:
            last = self._unique("last")
            axes = numpy_helper.from_array(numpy.array([0]), middle)
            return [
                helper.make_node("Constant", [], [middle], value=axes),
                helper.make_node("Unsqueeze", [one, middle], [last]),
                helper.make_node("Squeeze", [last, middle], [output]),
            ]
        if kind == 7:
            return [
                helper.make_node("Greater", [one, other], [middle]),
                helper.make_node("Where", [middle, one, other], [output]),
            ]
        return [helper.make_node(self.random.choice(["Add", "Mul", "Max", "Sub"]), [one, other], [output])]

    def _unique(self, role: str) -> str:
        self.number += 1
        return f"{role}_{self.number}"


def _float(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])


def is_valid(model: ModelProto) -> bool:
    """Whether the checker and the shape inference of the onnx package accept a model."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True


def faults(seed: int) -> Iterator[str]:
    """What `fix` breaks in the model of a seed, and whether a second `fix` changes bytes."""
    original = NestedModel(seed, hiding=seed % 4 == 0).proto()
    valid = is_valid(original)
    try:
        found = fix(original.SerializeToString(), samples=1)
    except (UsageError, Stop):
        return
    except Exception as error:  # noqa: BLE001  every defect counts
        yield f"{type(error).__name__}: {error}"
        return
    rewritten = ModelProto.FromString(found.model_bytes())
    if valid and not is_valid(rewritten):
        yield "the result is not valid"
    if [each.name for each in original.graph.output] != [each.name for each in rewritten.graph.output]:
        yield "the outputs differ"
    if fix(found.model_bytes(), samples=0).model_bytes() != found.model_bytes():
        yield "a second fix changes the model"


def rewritten(numbers: Iterable[int], end: float, shown: Connection) -> None:
    """Rewrite the models of these seeds until a time; send how many there were, and how many are broken."""
    broken = done = 0
    for seed in numbers:
        if time.monotonic() > end:
            break
        for fault in faults(seed):
            sys.stdout.write(f"{seed}: {fault}\n")
            sys.stdout.flush()
            broken += 1
        done += 1
    shown.send((done, broken))


def main() -> int:
    """Rewrite models until the number or the time is reached; 1 if one is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--number", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    start, last = time.monotonic(), options.first + options.number
    fork, ends = multiprocessing.get_context("fork"), []
    for job in range(options.jobs):
        read, write = fork.Pipe(duplex=False)
        seeds = range(options.first + job, last, options.jobs)
        fork.Process(target=rewritten, args=(seeds, start + 60 * options.minutes, write)).start()
        write.close()
        ends.append(read)
    counts = [read.recv() for read in ends]
    done, broken = (sum(numbers) for numbers in zip(*counts, strict=True))
    rate = done / (time.monotonic() - start)
    sys.stdout.write(f"{done} models, {broken} broken, {rate:.1f} models a second\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
