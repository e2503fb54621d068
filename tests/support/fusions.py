"""The bounds campaign: small networks of the operators that an optimizer fuses, and implementations that fuse them.

python -m tests.support.fusions [--values N] [--seed N] [--topic NAME]

Magnitudes are drawn over the whole exponent range of an element type, constants included.  What is computed by
onnxruntime at each optimization level, by torch where it is installed, and by the steps below, which round each
operation of a rewritten network, must keep every claim of `sonnx bound`.  A network is a chain of stages on a row of
elements; only its output is compared, so nothing else reads the values between.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

import sonnx
from sonnx.bounds.analysis import Analyser, tightened
from sonnx.bounds.box import box_of_arrays
from sonnx.bounds.discharge import discharge
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.enclosures.values import NotBounded

Array = Any
KINDS: dict[str, Any] = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float": np.dtype(np.float32),
}
finfo: Any = ml_dtypes.finfo
ort: Any = import_module("onnxruntime")
LEVELS = tuple(
    getattr(ort.GraphOptimizationLevel, f"ORT_{name}")
    for name in ("DISABLE_ALL", "ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_ALL")
)
POINTS, ADVERSARIES = 8, 8
"""Inputs of a network, and rewritten networks for each of the two hypotheses."""
ANY, FLUSHED = "ieee-any", "onnxruntime-cpu"


@dataclass(frozen=True)
class Stage:
    """One operation on rows (points, n): a node of a network, or a step that an implementation makes of it.

    `numbers` are its constants in the element type: a number for all elements or one for each, or a matrix (n, m).
    """

    name: str
    numbers: tuple[Array, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Network:
    """A chain of stages with its inputs (points, n)."""

    kind: str
    stages: tuple[Stage, ...]
    x: Array
    image: bool

    @property
    def dtype(self) -> Any:
        """Of the elements."""
        return KINDS[self.kind]


# ------------------------------------------------------------------ drawing networks


class Drawing:
    """Draws constants so that the values between have given magnitudes; most of them are ordinary or anywhere."""

    def __init__(self, source: np.random.Generator, kind: str) -> None:
        self.source, self.kind, self.dtype = source, kind, KINDS[kind]
        info = finfo(self.dtype)
        self.least, self.most = np.log2(float(info.smallest_subnormal)), np.log2(float(info.max))
        self.largest = float(info.max)
        if source.integers(3) == 0:
            self.least, self.most = max(self.least, -8.0), min(self.most, 10.0)
        self.size = float(2.0 ** source.uniform(self.least, self.most - 1))

    def numbers(self, shape: Any, size: float, *, positive: bool = False) -> Array:
        """Numbers of about a magnitude, in the element type, none infinite."""
        made = size * self.source.uniform(0.5, 1.0, shape)
        if not positive and self.source.integers(2):
            made = made * self.source.choice([-1.0, 1.0], shape)
        return np.clip(made, -self.largest, self.largest).astype(self.dtype)

    def next(self) -> float:
        """The factor to the magnitude of the next value, which is moved to."""
        before, self.size = self.size, float(2.0 ** self.source.uniform(self.least, self.most - 1))
        return self.size / before

    def stage(self, name: str, n: int) -> tuple[Stage, int]:
        """A stage on rows of n elements, and how many elements it makes."""
        source, size = self.source, self.size
        if name in ("Mul", "Div"):
            k = self.next()
            return Stage(name, (self.numbers((n,) if source.integers(2) else (), k if name == "Mul" else 1 / k),)), n
        if name in ("Add", "Sub"):
            return Stage(name, (self.numbers((n,), size * source.choice([1e-3, 1.0])),)), n
        if name in ("MatMul", "Conv", "Gemm"):
            m, k = int(source.choice([1, 4, 16, 48])), self.next() / n
            if name == "MatMul":
                return Stage(name, (self.numbers((n, m), k),)), m
            bias = self.numbers((m,), self.size * source.choice([0.0, 1.0, 2.0 ** source.uniform(-8, 24)]))
            if name == "Conv":
                return Stage(name, (self.numbers((n, m), k), bias)), m
            share = 2.0 ** source.uniform(-1, 1) ** 3 if source.integers(2) else k * 2.0 ** source.uniform(-4, 4)
            share = float(np.clip(share, 2.0**-120, 2.0**120))
            beta = float(np.float32(source.choice([1.0, 0.5, 2.0**-20])))
            alpha = {"alpha": float(np.float32(share)), "beta": beta}
            return Stage(name, (self.numbers((n, m), k / share), bias), alpha), m
        if name == "BatchNormalization":
            k, root = self.next(), 2.0 ** source.uniform(self.least / 2, self.most / 2)
            parts = self.numbers((n,), k * root), self.numbers((n,), self.size * source.choice([0.0, 1.0]))
            mean, var = self.numbers((n,), size * source.choice([0.0, 1.0])), self.numbers((n,), root**2, positive=True)
            return Stage(name, (*parts, mean, var), {"epsilon": float(np.float32(source.choice([1e-5, 1e-3])))}), n
        if name == "LRN":
            size = int(source.choice([3, 5]))
            share = {key: float(np.float32(source.choice(values))) for key, values in LRN.items()}
            return Stage(name, (), {"size": size, **share}), n
        if name == "LeakyRelu":
            return Stage(name, (), {"alpha": float(np.float32(source.choice([0.01, 0.25, 1e-3])))}), n
        return Stage(name), 1 if name.startswith("Reduce") else n


LRN = {"alpha": (1e-4, 1.0), "beta": (0.75, 0.5), "bias": (1.0, 2.0)}
SCALES = ("Mul", "Div")
TOPICS: dict[str, tuple[Sequence[Sequence[str]], bool]] = {
    "scaled sums": (
        [("Gemm",), ("Gemm", *SCALES), ("ReduceMean", *SCALES), ("ReduceSum", *SCALES), ("Gemm", "Relu")], False,
    ),
    "constants": (
        [("MatMul", *SCALES), (*SCALES, "MatMul"), ("Mul", "Div"), ("Mul", "Mul"), ("Mul", "MatMul", "Add"),
         ("MatMul", "Add", "Mul"), ("Mul", "MatMul", "Mul"), ("Mul", "Identity", "MatMul"),
         ("MatMul", "Identity", "Mul"),
         ("Gemm", "Mul"), ("Mul", "Gemm"), ("Div", "Identity", "MatMul"), ("Add", "Mul"), ("MatMul", "Sub"), ("Mul",),
         ("Add", "Sub"), ("MatMul", "LeakyRelu", "Mul"), ("Div", "MatMul", "BatchNormalization")], False,
    ),
    "convolutions": (
        [("Conv", "Mul"), ("Conv", "Div"), ("Conv", "Add"), ("Conv", "Mul", "Add"), ("Conv", "Relu"), ("Mul", "Conv"),
         ("Conv", "BatchNormalization"), ("Conv", "BatchNormalization", "Relu"), ("Conv", "Identity", "Mul"),
         ("Conv", "Mul", "Mul"), ("Conv",), ("Conv", "Add", "BatchNormalization"), ("Conv", "LeakyRelu")], True,
    ),
    "normalization": (
        [("BatchNormalization",), ("Mul", "BatchNormalization"), ("BatchNormalization", "Mul"),
         ("MatMul", "BatchNormalization"), ("BatchNormalization", "Relu"), ("Add", "BatchNormalization")], False,
    ),
    "response": ([("LRN",), ("Conv", "LRN"), ("Relu", "LRN")], True),
}  # fmt: skip
"""Chains of operators by topic, and whether their rows are images of one place; Mul and Div stand for each other where
both are listed."""
EVERY_TOPIC = (*TOPICS, "casts", "quantized")


def network(source: np.random.Generator, topic: str) -> Network:
    """A network of a topic."""
    kind = str(source.choice(list(KINDS)))
    chains, image = TOPICS["constants" if topic == "quantized" and source.integers(2) else
                           "convolutions" if topic == "quantized" else topic]  # fmt: skip
    chain = list(chains[int(source.integers(len(chains)))])
    if len(chain) > 2 and list(SCALES) in (chain[-2:], chain[:2]):
        chain.remove(str(source.choice(SCALES)))
    n = int(source.choice([8, 24, 64] if topic == "response" else [1, 4, 16, 64]))
    drawing = Drawing(source, "float" if topic == "quantized" else kind)
    first, at, stages = drawing.size, n, []
    for name in chain:
        stage, at = drawing.stage(name, at)
        stages.append(stage)
    spread = source.choice([1.0, 1.0, 2.0**-4, 0.0], (POINTS, 1)) * source.choice([1.0, 1.0, 2.0**-10], (1, n))
    x = drawing.numbers((POINTS, n), first)
    if topic == "response":  # one channel is large, and what follows is not
        x = drawing.numbers((POINTS, n), 2.0 ** source.uniform(-2, 3))
        x[:, 0] = (x[:, 0].astype(float) * 2.0 ** source.uniform(0, 7)).astype(x.dtype)
    elif source.integers(2):
        x = (x.astype(float) * spread).astype(x.dtype)
    return Network(drawing.kind, tuple(stages), x, image)


# ------------------------------------------------------------------ as ONNX models


def model_of(made: Network, *, quantized: float = 0.0) -> ModelProto:
    """The network as a model, with a QuantizeLinear of a scale at its end where one is given."""
    number, n = helper.np_dtype_to_tensor_dtype(made.dtype), made.x.shape[1]
    shape = [1, n, 1, 1] if made.image else [1, n]
    nodes, value = [], "x"
    constants: list[Any] = []

    def constant(array: Array, name: str) -> str:
        name = f"{name}{len(constants)}"
        constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    for index, each in enumerate(made.stages):
        names, attributes, numbers = [value], each.attributes, list(each.numbers)
        if each.name == "Conv":
            numbers[0] = numbers[0].T[:, :, None, None]
        elif made.image and each.name in ("Mul", "Div", "Add", "Sub") and numbers[0].ndim:
            numbers[0] = numbers[0][:, None, None]
        names += [constant(array, "c") for array in numbers]
        if each.name == "ReduceSum":
            names.append(constant(np.array([1], np.int64), "axes"))
        elif each.name == "ReduceMean":
            attributes = {"axes": [1]}
        value = f"v{index}"
        nodes.append(helper.make_node(each.name, names, [value], **attributes))
    output = number
    if quantized:
        names = [value, constant(np.array(quantized, made.dtype), "s"), constant(np.array(128, np.uint8), "z")]
        value, output = "q", TensorProto.UINT8
        nodes.append(helper.make_node("QuantizeLinear", names, [value]))
    inputs, last = (
        [helper.make_tensor_value_info("x", number, shape)],
        [helper.make_tensor_value_info(value, output, None)],
    )
    graph = helper.make_graph(nodes, "g", inputs, last, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def by_onnxruntime(model: ModelProto, inputs: Sequence[Array]) -> Iterator[tuple[str, list[Array]]]:
    """The outputs at each level; nothing of a model that onnxruntime has no kernels for."""
    for level in LEVELS:
        options = ort.SessionOptions()
        options.graph_optimization_level, options.intra_op_num_threads, options.log_severity_level = level, 1, 4
        try:
            session = ort.InferenceSession(model.SerializeToString(), options)
        except Exception:  # noqa: BLE001  onnxruntime's exceptions have no class that it exports
            return
        yield f"onnxruntime {level.name}", [session.run(None, {"x": each})[0] for each in inputs]


@cache
def torch() -> Any:
    """The module, None where it is not installed."""
    try:
        module: Any = import_module("torch")
    except ImportError:
        return None
    module.set_num_threads(1)
    return module


def by_torch(made: Network) -> Array | None:
    """The outputs (points, elements) in torch; None without it, for other types than float, and for other operators."""
    module = torch()
    if module is None or made.kind != "float":
        return None
    x, functional = module.from_numpy(made.x), module.nn.functional
    for each in made.stages:
        k = [module.from_numpy(np.ascontiguousarray(array)) for array in each.numbers]
        if each.name in ("Mul", "Div", "Add", "Sub"):
            x = {"Mul": x.mul, "Div": x.div, "Add": x.add, "Sub": x.sub}[each.name](k[0])
        elif each.name == "MatMul":
            x = x @ k[0]
        elif each.name == "Conv":
            x = functional.conv2d(x[:, :, None, None], k[0].T[:, :, None, None].contiguous(), k[1])[:, :, 0, 0]
        elif each.name == "Gemm":
            x = module.addmm(k[1], x, k[0], **each.attributes)
        elif each.name == "BatchNormalization":
            x = functional.batch_norm(x, k[2], k[3], k[0], k[1], eps=each.attributes["epsilon"])
        elif each.name == "LRN":
            a = each.attributes
            x = functional.local_response_norm(x[:, :, None], a["size"], a["alpha"], a["beta"], a["bias"])[:, :, 0]
        elif each.name in ("Relu", "Identity"):
            x = x.relu() if each.name == "Relu" else x
        elif each.name in ("ReduceSum", "ReduceMean"):
            x = x.sum(1, keepdim=True) if each.name == "ReduceSum" else x.mean(1, keepdim=True)
        else:
            return None
    return x.numpy()


# ------------------------------------------------------------------ adversaries


class Adversary:
    """Rewrites a network by chance, as the hypotheses let an implementation do, and rounds each operation.

    Args:
        kind: the element type.
        source: of choices.
        flush: subnormal numbers become zero, and sums over channels are carried on.
        rewrites: take the rewrites at all.
    """

    def __init__(self, kind: str, source: np.random.Generator, *, flush: bool, rewrites: bool = True) -> None:
        self.dtype, self.source, self.flush, self.rewrites = KINDS[kind], source, flush, rewrites
        self.normal = float(finfo(self.dtype).smallest_normal)

    def run(self, stages: Sequence[Stage], x: Array) -> Array:
        """The outputs (points, elements)."""
        steps = [step for stage in stages for step in self.steps(stage)]
        for _ in range(len(steps) + 1 if self.rewrites else 0):
            steps = self.rewritten(steps)
        for each in steps:
            x = self.apply(each, x)
        return x

    def chance(self) -> bool:
        """Whether to take a choice."""
        return bool(self.source.integers(2))

    def rounded(self, values: Array) -> Array:
        """In the element type, flushed."""
        made = np.asarray(values).astype(self.dtype)
        return np.where(np.abs(made.astype(np.float64)) < self.normal, self.dtype.type(0), made) if self.flush else made

    # -------------------------------------------------- what an operator is made of

    def steps(self, stage: Stage) -> list[Stage]:
        """The steps of an operator: scale, divide, add, sum over products with a matrix, and the others as they are."""
        k = [self.rounded(each) for each in stage.numbers]
        if stage.name == "Mul":
            return [Stage("scale", (k[0],))]
        if stage.name == "Div":
            return [Stage("divide", (k[0],))]
        if stage.name in ("Add", "Sub"):
            return [Stage("add", (k[0] if stage.name == "Add" else -k[0],))]
        if stage.name == "MatMul":
            return [Stage("sum", (k[0],))]
        if stage.name == "Conv":
            return [Stage("sum", (k[0],)), Stage("add", (k[1],))]
        if stage.name == "Gemm":
            alpha, beta = (self.rounded(stage.attributes[name]) for name in ("alpha", "beta"))
            scale, added = Stage("scale", (alpha,)), Stage("add", (self.rounded(beta * k[1]),))
            return [scale, Stage("sum", (k[0],)), added] if self.chance() else [Stage("sum", (k[0],)), scale, added]
        if stage.name == "BatchNormalization":
            return self.normalization(k[0], k[1], k[2], k[3], stage.attributes["epsilon"])
        return [stage]

    def normalization(self, scale: Array, shift: Array, mean: Array, var: Array, epsilon: float) -> list[Stage]:
        """(x - mean) / root * scale + shift, in one of the orders that are in use, or as one factor and one shift."""
        root = self.rounded(np.sqrt(self.rounded(var + self.rounded(epsilon))))
        factor = self.rounded(scale / root) if self.chance() else self.rounded(scale * self.rounded(1 / root))
        if self.rewrites and self.chance():
            return [Stage("scale", (factor,)), Stage("add", (self.rounded(shift - self.rounded(mean * factor)),))]
        between = [
            [Stage("scale", (factor,))],
            [Stage("divide", (root,)), Stage("scale", (scale,))],
            [Stage("scale", (scale,)), Stage("divide", (root,))],
        ][self.source.integers(3)]
        return [Stage("add", (-mean,)), *between, Stage("add", (shift,))]

    # -------------------------------------------------- constants multiplied in advance, scales moved

    def rewritten(self, steps: list[Stage]) -> list[Stage]:
        """The steps with one pair of neighbours rewritten, or none."""
        for at in self.source.permutation(max(len(steps) - 1, 0)):
            pair = self.pair(*steps[at : at + 2])
            if pair is not None and self.chance():
                return [*steps[:at], *pair, *steps[at + 2 :]]
        return steps

    def pair(self, one: Stage, two: Stage) -> list[Stage] | None:
        """What two neighbours may become."""
        names = one.name, two.name
        if "Identity" in names:
            return [two if one.name == "Identity" else one]
        if names[0] in ("scale", "divide") and names[1] in ("scale", "divide"):
            return [Stage("scale", (self.rounded(self.factor(one) * self.factor(two)),))]
        if names[0] == "sum" and names[1] in ("scale", "divide"):
            k = self.factor(two)
            if k.ndim == 0 and self.chance():
                return [Stage("scale", (k,)), one]
            return [Stage("sum", (self.rounded(one.numbers[0] * k),))]
        if names[1] == "sum" and names[0] in ("scale", "divide"):
            k = self.factor(one)
            if k.ndim == 0 and self.chance():
                return [two, Stage("scale", (k,))]
            return [Stage("sum", (self.rounded(two.numbers[0] * (k[:, None] if k.ndim else k)),))]
        if names[0] == "add" and names[1] in ("scale", "divide"):
            k = self.factor(two)
            return [Stage("scale", (k,)), Stage("add", (self.rounded(one.numbers[0] * k),))]
        if names[0] == "add" == names[1]:
            return [Stage("add", (self.rounded(one.numbers[0] + two.numbers[0]),))]
        if names[0] in ("ReduceMean", "ReduceSum") and two.name == "scale" and two.numbers[0].ndim == 0:
            return [two, one]
        return None

    def factor(self, step: Stage) -> Array:
        """What a step multiplies by."""
        k = step.numbers[0]
        return k if step.name == "scale" else self.rounded(self.dtype.type(1) / k)

    # -------------------------------------------------- computing

    def apply(self, step: Stage, x: Array) -> Array:
        """The rows after a step."""
        x = self.rounded(x)
        match step.name:
            case "scale":
                return self.rounded(x * step.numbers[0])
            case "divide":
                return self.rounded(x / step.numbers[0])
            case "add":
                return self.rounded(x + step.numbers[0])
            case "sum":
                return self.summed(x[:, :, None], step.numbers[0][None])
            case "ReduceSum":
                return self.summed(x[:, :, None], np.ones((1, 1, 1), self.dtype))
            case "ReduceMean":
                n, ones = self.rounded(x.shape[1]), np.ones((1, 1, 1), self.dtype)
                if self.chance():
                    return self.summed(self.rounded(x * self.rounded(ones[0, 0] / n))[:, :, None], ones)
                return self.rounded(self.summed(x[:, :, None], ones) / n)
            case "Relu":
                return np.maximum(x, self.dtype.type(0))
            case "LeakyRelu":
                return np.where(x < 0, self.rounded(x * self.rounded(step.attributes["alpha"])), x)
            case "LRN":
                return self.response(x, **step.attributes)
            case _:
                return x

    def summed(self, x: Array, w: Array) -> Array:
        """The sums over the second axis of products, in one order, fused or not."""
        if self.chance() and w.shape[1] > 1:
            return self.fused(x, w)
        return self.added(self.rounded(x * w))

    def fused(self, x: Array, w: Array) -> Array:
        """One product and addition after another, each rounded once."""
        total = np.zeros((len(x), w.shape[2]), self.dtype)
        for k in self.source.permutation(w.shape[1]):
            product = x[:, k].astype(np.float64) * w[:, k].astype(np.float64)
            total = self.rounded(total.astype(np.float64) + product)
        return total

    def added(self, terms: Array) -> Array:
        """The sum over the second axis."""
        order = str(self.source.choice(["given", "random", "growing", "falling", "signs", "pairwise"]))
        if order == "pairwise":
            parts = [terms[:, k] for k in range(terms.shape[1])]
            while len(parts) > 1:
                pairs = [parts[k : k + 2] for k in range(0, len(parts), 2)]
                parts = [self.rounded(each[0] + each[1]) if len(each) > 1 else each[0] for each in pairs]
            return parts[0]
        wide = terms.astype(np.float64)
        keys = {
            "given": np.broadcast_to(np.arange(terms.shape[1])[None, :, None], terms.shape),
            "random": self.source.random(terms.shape), "growing": np.abs(wide), "falling": -np.abs(wide),
            "signs": np.sign(wide) * self.source.choice([-1, 1]),
        }[order]  # fmt: skip
        terms = np.take_along_axis(terms, np.argsort(keys, 1), 1)
        total = terms[:, 0]
        for k in range(1, terms.shape[1]):
            total = self.rounded(total + terms[:, k])
        return total

    def response(self, x: Array, size: int, alpha: float, beta: float, bias: float) -> Array:
        """X times or over a power of the sum of squares around each channel."""
        count, share = x.shape[1], self.rounded(self.rounded(alpha) / self.rounded(size))
        squares, start = self.rounded(x * x), np.full((len(x), 1), bias, self.dtype)
        if self.flush and self.chance():
            scaled, sums = self.rounded(squares * share), []
            total = start[:, 0]
            for c in range(min(count, size // 2)):
                total = self.rounded(total + scaled[:, c])
            for c in range(count):
                if c + size // 2 < count:
                    total = self.rounded(total + scaled[:, c + size // 2])
                if c - (size - 1) // 2 - 1 >= 0:
                    total = self.rounded(total - scaled[:, c - (size - 1) // 2 - 1])
                sums.append(total)
            divisor = np.stack(sums, 1)
        else:
            windows = [
                self.added(squares[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1, None])[:, 0]
                for c in range(count)
            ]
            divisor = self.rounded(self.rounded(np.stack(windows, 1) * share) + start)
        with np.errstate(all="ignore"):
            if self.chance():
                return self.rounded(x * self.rounded(divisor.astype(np.float64) ** -beta))
            return self.rounded(x / self.rounded(divisor.astype(np.float64) ** beta))


# ------------------------------------------------------------------ the campaign


@dataclass
class Tally:
    """What was compared, by topic."""

    networks: Counter[str] = field(default_factory=Counter)
    values: Counter[str] = field(default_factory=Counter)
    claims: Counter[str] = field(default_factory=Counter)
    """Outputs with and without a bound: `topic` and `topic, none`."""
    makers: Counter[str] = field(default_factory=Counter)
    broken: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    """By topic and cause the first broken claim: the number of its network, and what broke it."""
    number: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many claims are broken."""

    def compare(self, topic: str, maker: str, claim: Any, computed: Array) -> None:
        """Compare what was computed for one input with a claim, None where nothing is claimed."""
        self.claims[topic if claim is not None else f"{topic}, none"] += 1
        if claim is None:
            return
        wide = np.asarray(computed).astype(np.float64).reshape(claim.low.shape)
        self.values[topic] += wide.size
        self.makers[maker.split(maxsplit=1)[0]] += wide.size
        outside = np.maximum(claim.low - wide, wide - claim.high)
        if not (np.isfinite(wide).all() and (outside <= claim.error).all()):
            place = int(np.argmax(np.where(np.isfinite(wide), outside - claim.error, np.inf)))
            value, *ends = (float(each.reshape(-1)[place]) for each in (wide, claim.low, claim.high, claim.error))
            text = f"{value!r}, claimed [{ends[0]!r}, {ends[1]!r}] +- {ends[2]!r}"
            self.fails(topic, maker, "outside" if np.isfinite(value) else "not finite", text)

    def fails(self, topic: str, maker: str, how: str, text: str) -> None:
        """A claim is broken."""
        cause = topic, f"{maker.split(maxsplit=1)[0]}, {how}"
        self.number[cause] += 1
        self.broken.setdefault(cause, (self.networks[topic], f"{maker}: {text}"))

    def __str__(self) -> str:
        lines = []
        for topic in sorted(self.networks):
            none = self.claims[f"{topic}, none"]
            lines.append(
                f"{topic}: {self.networks[topic]} networks, {self.values[topic]} values, none claimed {none} times, "
                f"broken {sum(self.number[cause] for cause in self.number if cause[0] == topic)}"
            )
            for (_, cause), (number, text) in ((key, each) for key, each in self.broken.items() if key[0] == topic):
                lines.append(f"  {cause}: {self.number[topic, cause]}, first by network {number}: {text}")
        makers = ", ".join(f"{name} {number}" for name, number in sorted(self.makers.items()))
        return "\n".join([*lines, f"{sum(self.values.values())} values by {makers}"])


def claims_of(model: ModelProto, inputs: Sequence[Array], name: str) -> list[Any]:
    """The bounds of the output for each input, None where it has none."""
    parsed = read(model.SerializeToString())
    analyser, made = Analyser(parsed, hypotheses_named(name)), []
    for x in inputs:
        try:
            found = tightened(analyser.run(box_of_arrays(parsed, {"x": x})), model.graph.output[0].name)
        except NotBounded:
            found = None
        made.append(None if found is None or found.unbounded else found)
    return made


def chains(tally: Tally, source: np.random.Generator, topic: str) -> None:
    """One network of a topic against all implementations."""
    made = network(source, topic)
    model = model_of(made)
    inputs = [row.reshape((1, -1, 1, 1) if made.image else (1, -1)) for row in made.x]
    claims = {name: claims_of(model, inputs, name) for name in (ANY, FLUSHED)}
    tally.networks[topic] += 1
    if not any(claim is not None for each in claims.values() for claim in each):
        tally.claims[f"{topic}, none"] += POINTS
        return
    for flush in (False, True):
        for number in range(ADVERSARIES):
            adversary = Adversary(made.kind, source, flush=flush, rewrites=number > 0)
            outputs = adversary.run(made.stages, made.x)
            for claim, row in zip(claims[FLUSHED if flush else ANY], outputs, strict=True):
                tally.compare(topic, "steps flushed" if flush else "steps", claim, row)
    for maker, results in by_onnxruntime(model, inputs):
        for claim, computed in zip(claims[FLUSHED], results, strict=True):
            tally.compare(topic, maker, claim, computed)
    outputs = by_torch(made)
    for claim, row in zip(claims[ANY], outputs if outputs is not None else (), strict=outputs is not None):
        tally.compare(topic, "torch", claim, row)


def casts(tally: Tally, source: np.random.Generator, topic: str) -> None:
    """A conversion of constants near the middle of two numbers of the result, and of those to float, which is exact."""
    kind = str(source.choice(["float16", "bfloat16"]))
    drawing, wide = Drawing(source, kind), np.dtype(str(source.choice(["float64", "float32"])))
    near = drawing.numbers((64,), drawing.size).astype(np.float64)
    step = np.abs(near) * float(finfo(KINDS[kind]).eps) / 4 * source.choice([1.0, 2.0], 64)
    constant = (near + step * source.choice([1, 1 - 2.0**-20, 1 + 2.0**-30, 0.3], 64)).astype(wide)
    number = helper.np_dtype_to_tensor_dtype(KINDS[kind])
    graph = helper.make_graph(
        [helper.make_node("Cast", ["c"], ["n"], to=number),
         helper.make_node("Cast", ["n"], ["y"], to=TensorProto.FLOAT)],
        "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1,))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (64,))], [numpy_helper.from_array(constant, "c")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    tally.networks[topic] += 1
    inputs = [np.zeros(1, np.float32)]
    [claim] = claims_of(model, inputs, ANY)
    [flushed] = claims_of(model, inputs, FLUSHED)
    for between in (wide, np.dtype(np.float32)):
        tally.compare(topic, "steps", claim, constant.astype(between).astype(KINDS[kind]))
    for maker, results in by_onnxruntime(model, inputs):
        tally.compare(topic, maker, flushed, results[0])


def quantized(tally: Tally, source: np.random.Generator, topic: str) -> None:
    """A chain that is quantized: where a box shows that the quantized value is finite, every implementation has one."""
    made = network(source, topic)
    largest = np.abs(made.x.astype(np.float64)).max()
    model = model_of(made, quantized=float(2.0 ** source.uniform(-60, 60)))
    tally.networks[topic] += 1
    data = model.SerializeToString()
    parsed = read(data)
    low, high = (np.full([1, made.x.shape[1], *[1, 1] * made.image], sign * largest) for sign in (-1, 1))
    found = discharge(
        sonnx.check(data), parsed, None, box_of_arrays(parsed, {"x": (low, high)}), ("x",), hypotheses_named(ANY)
    )
    shown = any(each.rule == "QuantizeLinear.input-finite" for each in found.shown)
    tally.claims[topic if shown else f"{topic}, none"] += 1
    if not shown:
        return

    def compare(maker: str, values: Array) -> None:
        tally.values[topic] += values.size
        tally.makers[maker.split(maxsplit=1)[0]] += values.size
        if not np.isfinite(values).all():
            text = f"an input of QuantizeLinear is {values[~np.isfinite(values)][0]}, where a box shows it finite"
            tally.fails(topic, maker, "not finite", text)

    for number in range(ADVERSARIES):
        compare("steps", Adversary(made.kind, source, flush=False, rewrites=number > 0).run(made.stages, made.x))
    inputs = [row.reshape((1, -1, 1, 1) if made.image else (1, -1)) for row in made.x]
    for maker, results in by_onnxruntime(model_of(made), inputs):
        compare(maker, np.stack(results))


def one(tally: Tally, seed: int, number: int, topic: str) -> None:
    """One network of a topic, which depends on the seed and its number only."""
    source = np.random.default_rng([seed, number, EVERY_TOPIC.index(topic)])
    run: dict[str, Callable[[Tally, np.random.Generator, str], None]] = {"casts": casts, "quantized": quantized}
    with np.errstate(all="ignore"):
        run.get(topic, chains)(tally, source, topic)


def campaign(values: int, seed: int, topics: Sequence[str] = EVERY_TOPIC) -> Tally:
    """Networks of each topic in turn, until so many values are compared."""
    tally, number = Tally(), 0
    while sum(tally.values.values()) < values:
        for topic in topics:
            one(tally, seed, number, topic)
        number += 1
    return tally


def main() -> int:
    """0 if no claim is broken, else 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--values", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--topic", action="append", choices=EVERY_TOPIC)
    options = parser.parse_args()
    tally = campaign(options.values, options.seed, options.topic or EVERY_TOPIC)
    print(tally)
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
