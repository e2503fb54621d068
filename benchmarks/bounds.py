"""Figures of `sonnx bound`: soundness by sampling, time, tightness, boxes, faults that a tolerance catches, functions.

python -m benchmarks.bounds campaign [--runs N] [--seconds S]
python -m benchmarks.bounds soundness MODEL...  [--points N] [--radius R]
python -m benchmarks.bounds points MODEL...
python -m benchmarks.bounds large MODEL... [--times N]
python -m benchmarks.bounds limits MODEL...
python -m benchmarks.bounds attained MODEL...
python -m benchmarks.bounds boxes MODEL... --radius R [--split SECONDS]
python -m benchmarks.bounds property1 ACASXU_MODEL [--seconds S]
python -m benchmarks.bounds decisions MODEL... [--points N]
python -m benchmarks.bounds faults MODEL... [--points N]
python -m benchmarks.bounds accumulators MODEL... [--points N]
python -m benchmarks.bounds functions
python -m benchmarks.bounds readings [--write]
"""

from __future__ import annotations

import argparse
import json
import resource
from dataclasses import replace
from math import erf
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import sonnx
from benchmarks import implementations
from sonnx.bounds.adjoint import errors, one_hot, sensitivity
from sonnx.bounds.analysis import Analyser, bound_model, tightened
from sonnx.bounds.box import box_of_arrays as make_box
from sonnx.bounds.domain import BoundsDomain
from sonnx.executor.model_inputs import required_inputs
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.enclosures.readings import FILE, NONE, features_of
from sonnx.numerics.enclosures.values import NotBounded
from sonnx.operators import find_operator
from tests.support.node_tests import node_tests

LEVELS = (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
EVERY_LEVEL = (
    LEVELS[0],
    ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    LEVELS[1],
)


def shape_of(value):
    return [extent if isinstance(extent, int) else 1 for extent in value.type.shape]


def inputs_of(model, source):
    scale = source.choice([0.1, 0.5, 2.0])
    return {
        value.name: (source.normal(size=shape_of(value)) * scale).astype(np.float32) for value in required_inputs(model)
    }


def session(model, level):
    options = ort.SessionOptions()
    options.graph_optimization_level, options.intra_op_num_threads, options.log_severity_level = level, 1, 3
    return ort.InferenceSession(model.SerializeToString(), options)


def with_every_value(model):
    made = onnx.ModelProto()
    made.CopyFrom(model)
    outputs = {value.name for value in model.graph.output}
    names = [name for node in model.graph.node for name in node.output if name and name not in outputs]
    made.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return made


def excess(value, computed):
    """How far a computed value is outside the ideal range, over the bound; above 1 is a violation."""
    outside = np.maximum(value.low - computed, computed - value.high)
    return float(np.max(np.maximum(outside, 0) / np.maximum(value.error, 5e-324), initial=0.0))


def near_a_kink(run, x, y):
    """Of the inputs between two, one at which some value changes its sign, to the last bits."""
    names = [get_output.name for get_output in run.get_outputs()]

    def signs(given):
        return np.concatenate([np.sign(each).reshape(-1) for each in run.run(names, given) if each.dtype == np.float32])

    changed = np.flatnonzero(signs(x) * signs(y) < 0)
    for _ in range(40 if len(changed) else 0):
        middle = {name: (0.5 * x[name] + 0.5 * y[name]).astype(np.float32) for name in x}
        same = signs(middle)[changed[len(changed) // 2]] == signs(x)[changed[len(changed) // 2]]
        x, y = (middle, y) if same else (x, middle)
    return x


def soundness(options):
    """Every value by onnxruntime at each level, every other input at a kink of some layer."""
    total = 0
    for path in options.models:
        proto, source = onnx.load(path), np.random.default_rng(options.seed)
        model = read(path)
        runs = [session(side, level) for level in EVERY_LEVEL for side in (with_every_value(proto), proto)]
        analyser, worst, values = Analyser(model, hypotheses_named("onnxruntime-cpu"), Path(path).parent), 0.0, 0
        for number in range(options.points):
            x = inputs_of(model, source)
            x = near_a_kink(runs[0], x, inputs_of(model, source)) if number % 2 else x
            radius = np.float32(options.radius)
            ends = {name: (each - radius, each + radius) for name, each in x.items()} if options.radius else x
            found = analyser.run(make_box(model, ends))
            known = {**found.values, **{v.name: tightened(found, v.name) for v in model.graph.outputs}}
            for _ in range(options.samples if options.radius else 1):
                given = {
                    n: each + radius * source.uniform(-1, 1, each.shape).astype(np.float32) for n, each in x.items()
                }
                given = {n: np.clip(each, x[n] - radius, x[n] + radius) for n, each in given.items()}
                for run in runs:
                    names = [output.name for output in run.get_outputs()]
                    for name, computed in zip(names, run.run(names, given), strict=True):
                        if computed.dtype == np.float32 and not known[name].unbounded:
                            values += computed.size
                            worst = max(worst, excess(known[name], computed.astype(float)))
        total += values
        print(f"{Path(path).stem}: {values} values, largest error over bound {worst:.3f}")
        assert worst <= 1, "a computed value is outside its bound"
    print(f"no violation in {total} values")


def campaign(options):
    """Random networks in four element types against implementations that round badly; see implementations.py."""
    source, networks, runs, values, unbounded = np.random.default_rng(options.seed), 0, 0, 0, 0
    worst = dict.fromkeys((*implementations.KINDS, "long sums"), 0.0)
    end = perf_counter() + options.seconds
    while perf_counter() < end and runs < options.runs:
        name = str(source.choice(list(implementations.KINDS)))
        kind, flush = implementations.KINDS[name][0], bool(source.integers(2))
        long = source.integers(10) == 0
        proto, layers, *given = getattr(implementations, "long_sum" if long else "network")(source, name)
        kept, networks = "long sums" if long else name, networks + 1
        model = read(proto.SerializeToString())
        shape = shape_of(model.graph.inputs[0])
        analyser = Analyser(model, hypotheses_named(options.hypotheses or ("onnxruntime-cpu" if flush else "ieee-any")))
        for radius in (0.0,) if long else (0.0, 0.0, 2.0**-10, 2.0**-5):
            x = given[0] if long else source.normal(size=int(np.prod(shape))) * source.choice([0.1, 1.0])
            x = implementations.near_a_kink(layers[0], x, source) if not long and source.integers(2) else x
            low, high = ((x + sign * radius).astype(kind) for sign in (-1, 1))
            box = {"x": (low.reshape(shape), high.reshape(shape))}
            try:
                found = analyser.run(make_box(model, box)).values
            except NotBounded:
                unbounded += 1
                continue
            many = 16 if long else 512
            inputs = source.uniform(low.astype(float), high.astype(float), (many, x.size)).astype(kind).astype(float)
            inputs[::4] = np.where(source.integers(2, size=inputs[::4].shape), low.astype(float), high.astype(float))
            made = implementations.Implementation(kind, source, flush=flush)
            for part in np.split(np.clip(inputs, low.astype(float), high.astype(float)), 8):
                for each, computed in made.run(layers, part, set(found)).items():
                    if found[each].unbounded:
                        continue
                    values += computed.size
                    ratio = max(excess(found[each], row.reshape(found[each].shape)) for row in computed)
                    worst[kept] = max(worst[kept], ratio)
                    assert ratio <= 1, f"{each} of network {networks} ({kept}): {ratio:.3g} times its bound"
            runs += many
    ratios = ", ".join(f"{name} {ratio:.2f}" for name, ratio in worst.items())
    print(f"{networks} networks, {runs} runs, {values} values, none outside; boxes without bounds: {unbounded}")
    print(f"largest error over bound: {ratios}")


def best_of(times, function, clock=perf_counter):
    made = []
    for _ in range(times):
        start = clock()
        function()
        made.append(clock() - start)
    return min(made)


def points(options):
    print("model: sonnx.run ms, bound ms, ratio; median of bound over observed error of the output (least)")
    for path in options.models:
        model, source = read(path), np.random.default_rng(options.seed)
        output, run = model.graph.outputs[0].name, session(onnx.load(path), LEVELS[1])
        analyser, ratios = Analyser(model, hypotheses_named("ieee-any"), Path(path).parent), []
        for _ in range(options.points):
            x = inputs_of(model, source)
            value = tightened(analyser.run(make_box(model, x)), output)
            seen = np.abs(run.run([output], x)[0].astype(float) - 0.5 * (value.low + value.high)).max()
            ratios.append(value.error.max() / max(seen, 1e-300))
        box = make_box(model, x)
        exact = best_of(5, lambda: sonnx.run(path, x, unchecked=True))
        ours = best_of(5, lambda: tightened(analyser.run(box), output))
        print(f"{Path(path).stem}: {exact * 1e3:.1f}, {ours * 1e3:.1f}, {ours / exact:.1f}; "
              f"{np.median(ratios):.0f} ({min(ratios):.0f})")  # fmt: skip


def large(options):
    """Processor time and memory of one point on networks that take long; the memory is the peak of the process."""
    print("model: activations, tensors with forward errors; sonnx.run s, first bound s, ratio; next bound s, ratio;"
          " peak MB")  # fmt: skip
    for path in options.models:
        model = read(path)
        x, output = inputs_of(model, np.random.default_rng(options.seed)), model.graph.outputs[0].name
        box, analyser = make_box(model, x), Analyser(model, hypotheses_named("ieee-any"), Path(path).parent)

        def bounded():
            run = analyser.run(box)
            tightened(run, output)
            return sum(value.low.size for value in run.values.values()), len(dict.fromkeys(run.domain.coarse))

        exact = best_of(2, lambda: sonnx.run(path, x, unchecked=True), process_time)
        first, again = (best_of(times, bounded, process_time) for times in (1, options.times))
        peak, (number, coarse) = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, bounded()
        print(f"{Path(path).stem}: {number}, {coarse}; {exact:.2f}, {first:.2f}, {first / exact:.1f}; "
              f"{again:.2f}, {again / exact:.1f}; {peak:.0f}", flush=True)  # fmt: skip


class FirstOrder(BoundsDomain):
    """Ideal values are numbers, and each kink is on their side: no bound, but what errors add up to at first order."""

    def _value(self, *given):
        made = super()._value(*given)
        middle = 0.5 * made.low + 0.5 * made.high
        return replace(made, low=middle, high=middle, error=made.introduced)


def limits(options):
    """The largest element before the Softmax: its bound, and what no sound bound can be below but for second order."""
    print("model, hypotheses: the largest element before the Softmax, bound of its error, at first order")
    for path in options.models:
        model, nodes = read(path), {node.output[0]: node for node in onnx.load(path).graph.node}
        name = model.graph.outputs[0].name
        while nodes[name].op_type in ("Softmax", "Reshape", "Flatten", "Squeeze"):
            name = nodes[name].input[0]
        box = make_box(model, inputs_of(model, np.random.default_rng(options.seed)))
        for side in ("ieee-any", "executor"):
            analyser = Analyser(model, hypotheses_named(side), Path(path).parent)
            ideal = analyser.run(box, FirstOrder).values[name]
            place = np.array([int(np.argmax(ideal.high))])
            with np.errstate(all="ignore"):
                [first] = errors(ideal, one_hot(ideal.shape, place))
            run = analyser.run(box)
            bound = run.domain.tightened_error(run.values[name], place).error.reshape(-1)[place[0]]
            print(f"{Path(path).stem}, {side}: {ideal.high.max():.3g}, {bound:.2g}, {first:.2g}", flush=True)


def attained(options):
    """Errors of the bounded size, with the signs of the adjoint, put into a run of the ideal network."""
    from sonnx.bounds import adjoint

    for path in options.models:
        model, source = read(path), np.random.default_rng(options.seed)
        output = model.graph.outputs[0].name
        analyser, shares = Analyser(model, hypotheses_named("ieee-any"), Path(path).parent), []
        for _ in range(options.points):
            box = make_box(model, inputs_of(model, source))
            value = tightened(analyser.run(box), output)
            row = adjoint.one_hot(value.low.shape, np.array([int(np.argmax(value.error))]))
            signs = adjoint.signs(value, row)
            reached = disturbed(path, box, signs) - 0.5 * (value.low + value.high)
            shares.append(abs(float(reached.reshape(-1)[int(np.argmax(value.error))])) / float(value.error.max()))
        print(f"{Path(path).stem}: {np.median(shares):.1%} of the bound attained (least {min(shares):.1%})")


def disturbed(path, box, signs):
    """The output in float64 where each node adds an error of its own."""
    proto = onnx.load(path)
    source = proto.graph
    made, names = [], {}
    extra = []
    for node in source.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.input[:] = [names.get(name, name) for name in node.input]
        made.append(copy)
        name = node.output[0]
        if name in signs and signs[name].any():
            extra.append(numpy_helper.from_array(signs[name], f"{name}__error"))
            made.append(helper.make_node("Add", [name, f"{name}__error"], [f"{name}__disturbed"]))
            names[name] = f"{name}__disturbed"
    del source.node[:]
    source.node.extend(made)
    wide = []
    for each in source.initializer:
        array = numpy_helper.to_array(each)
        wide.append(
            numpy_helper.from_array(array.astype(np.float64) if array.dtype == np.float32 else array, each.name)
        )
    del source.initializer[:]
    source.initializer.extend([*wide, *extra])
    for value in (*source.input, *source.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    del source.value_info[:]
    final = names.get(source.output[0].name, source.output[0].name)
    if final != source.output[0].name:
        source.output[0].name = final
    given = {name: interval.low.astype(np.float64) for name, interval in box.items()}
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(proto).run([final], given)[0]


def drawn(source, box, corner):
    """A corner of the box, or a number between the ends of each element."""
    return {
        name: np.where(source.integers(2, size=each.low.shape) > 0, each.low, each.high).astype(np.float32)
        if corner else source.uniform(each.low, each.high).astype(np.float32)
        for name, each in box.items()
    }  # fmt: skip


def steepest(analyser, model, x, output, box):
    """For each element of the output the two corners of the box to which it rises and falls most by its slopes at x."""
    value = analyser.run(make_box(model, x)).values[output]
    for element in range(min(value.low.size, 16)):
        slopes = sensitivity(value, one_hot(value.shape, np.array([element])))
        for sign in (-1, 1):
            rising = {name: sign * slopes.get(name, 0 * each.low).reshape(each.low.shape) > 0
                      for name, each in box.items()}  # fmt: skip
            yield {name: np.where(rising[name], each.high, each.low).astype(np.float32) for name, each in box.items()}


def boxes(options):
    print("model: width and error of the output, by interval and forward; by relaxation and adjoint; widths over"
          " that of 1,000 random inputs and the steepest corners; ms")  # fmt: skip
    for path in options.models:
        model, source = read(path), np.random.default_rng(options.seed)
        output, run, x = model.graph.outputs[0].name, session(onnx.load(path), LEVELS[1]), inputs_of(model, source)
        radius = np.float32(options.radius)
        box = make_box(model, {name: (each - radius, each + radius) for name, each in x.items()})
        made = hypotheses_named("ieee-any")
        plain = Analyser(model, made, Path(path).parent, tighten=False).run(box).values[output]
        analyser = Analyser(model, made, Path(path).parent)
        start = perf_counter()
        value = tightened(analyser.run(box), output)
        spent = perf_counter() - start
        if options.split:
            given = {name: (each.low, each.high) for name, each in box.items()}
            value = sonnx.bound(path, given, unchecked=True, split=options.split).outputs[0]
        inputs = [*steepest(analyser, model, x, output, box), *(drawn(source, box, k % 2 > 0) for k in range(1000))]
        seen = [run.run([output], operand)[0] for operand in inputs]
        width = (np.max(seen, axis=0) - np.min(seen, axis=0)).astype(float)
        ratio = np.median((value.high - value.low) / width)
        wide = np.median((plain.high - plain.low) / width)
        print(f"{Path(path).stem}: x{wide:.3g}, {plain.error.max():.2g}; x{ratio:.3g}, {value.error.max():.2g}; "
              f"{spent * 1e3:.0f} ms")  # fmt: skip


PROPERTY_1 = [(55947.691, 60760), (-3.141593, 3.141593), (-3.141593, 3.141593), (1145, 1200), (0, 60)]
MEANS, WIDTHS = (19791.091, 0.0, 0.0, 650.0, 600.0), (60261.0, 6.28318530718, 6.28318530718, 1100.0, 1200.0)


def property1(options):
    [path] = options.models
    model = read(path)
    ends = [[(each - m) / w for each in pair] for pair, m, w in zip(PROPERTY_1, MEANS, WIDTHS, strict=True)]
    low, high = (np.array(row).reshape(1, 1, 1, 5) for row in zip(*ends, strict=True))
    box, start = {required_inputs(model)[0].name: (low, high)}, perf_counter()
    found = sonnx.bound(path, box, "ieee-any", unchecked=True, max_error=options.error, split=options.seconds,
                        jobs=options.jobs)  # fmt: skip
    print(f"{Path(path).stem}: error at most {found.outputs[0].largest_error:.3g}, "
          f"{found.split['text']}, {perf_counter() - start:.1f} s")  # fmt: skip


def decisions(options):
    for path in options.models:
        model, source, same = read(path), np.random.default_rng(options.seed), 0
        for _ in range(options.points):
            found = bound_model(model, make_box(model, inputs_of(model, source)), hypotheses_named("ieee-any"),
                                Path(path), unchecked=True, argmax=True)  # fmt: skip
            same += found.decisions[0].same
        print(
            f"{Path(path).stem}: the largest element is the same in every implementation at {same} of {options.points}"
        )


def faulty(proto, bits):
    """The model with weights rounded to so many digits."""
    made = onnx.ModelProto()
    made.CopyFrom(proto)
    for each in made.graph.initializer:
        array = numpy_helper.to_array(each)
        if array.dtype == np.float32 and array.ndim > 1:
            significand, exponent = np.frexp(array.astype(np.float64))
            rounded = np.ldexp(np.round(significand * 2.0**bits) / 2.0**bits, exponent).astype(np.float32)
            each.CopyFrom(numpy_helper.from_array(rounded, each.name))
    return made


def faults(options):
    print("model: digits of the weights: share of points at which the bound of a node, or of the model, is exceeded")
    for path in options.models:
        proto, model = onnx.load(path), read(path)
        for bits, called in ((8, "bfloat16"), (11, "TF32"), (16, "16"), (20, "20"), (24, "24, no fault")):
            source, by_node, by_model = np.random.default_rng(options.seed), 0, 0
            run = session(with_every_value(faulty(proto, bits)), LEVELS[0])
            names = [get_output.name for get_output in run.get_outputs()]
            analyser = Analyser(model, hypotheses_named("onnxruntime-cpu"), Path(path).parent)
            for _ in range(options.points):
                x = inputs_of(model, source)
                values = dict(zip(names, run.run(names, x), strict=True))
                whole = tightened(analyser.run(make_box(model, x)), model.graph.outputs[0].name)
                by_model += excess(whole, values[whole.name].astype(float)) > 1
                alone = analyser.nodes(make_box(model, x), values)
                by_node += any(excess(each, values[name].astype(float)) > 1 for name, each in alone.items())
            shares = f"node {by_node / options.points:.0%}, model {by_model / options.points:.0%}"
            print(f"{Path(path).stem}: {called}: {shares}")


def narrow_sum(a, b):
    """Matrix product with products and partial sums rounded to float16, one after another."""
    total = np.zeros((*a.shape[:-1], b.shape[-1]), np.float16)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(a.shape[-1]):
            product = a[..., k, None].astype(np.float32) * b[..., k, :].astype(np.float32)
            total = (total.astype(np.float32) + product.astype(np.float16)).astype(np.float16)
    return total.astype(np.float32)


def with_narrow_accumulator(node, inputs):
    """The output of a Conv with one group, Gemm or MatMul, None for another node."""
    attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    if node.op_type == "MatMul" and all(operand.ndim == 2 for operand in inputs):
        return narrow_sum(*inputs)
    if node.op_type == "Gemm" and attributes.get("alpha", 1) == attributes.get("beta", 1) == 1:
        a, b, *c = inputs
        a, b = a.T if attributes.get("transA") else a, b.T if attributes.get("transB") else b
        return narrow_sum(a, b) + (c[0] if c else 0)
    if node.op_type == "Conv" and attributes.get("group", 1) == 1 and inputs[0].ndim == 4:
        x, w, *bias = inputs
        top, left, bottom, right = attributes.get("pads", [0, 0, 0, 0])
        x = np.pad(x, [(0, 0), (0, 0), (top, bottom), (left, right)])
        (down, across), (dy, dx) = attributes.get("strides", [1, 1]), attributes.get("dilations", [1, 1])
        spans = (w.shape[2] - 1) * dy + 1, (w.shape[3] - 1) * dx + 1
        seen = np.lib.stride_tricks.sliding_window_view(x, spans, (2, 3))[:, :, ::down, ::across, ::dy, ::dx]
        rows = seen.transpose(0, 2, 3, 1, 4, 5).reshape(*seen.shape[:1], *seen.shape[2:4], -1)
        made = narrow_sum(rows, w.reshape(len(w), -1).T).transpose(0, 3, 1, 2)
        return made + (bias[0].reshape(1, -1, 1, 1) if bias else 0)
    return None


def accumulators(options):
    """Sums in float16 of the products of float weights: at how many points does the bound of a node catch them?"""
    for path in options.models:
        proto, model, source, caught = onnx.load(path), read(path), np.random.default_rng(options.seed), 0
        run = session(with_every_value(proto), LEVELS[0])
        names = [get_output.name for get_output in run.get_outputs()]
        constants = {each.name: numpy_helper.to_array(each) for each in proto.graph.initializer}
        analyser = Analyser(model, hypotheses_named("onnxruntime-cpu"), Path(path).parent)
        for _ in range(options.points):
            x = inputs_of(model, source)
            values = {**constants, **x, **dict(zip(names, run.run(names, x), strict=True))}
            alone = analyser.nodes(make_box(model, x), values)
            found = False
            for node in proto.graph.node:
                value = alone.get(node.output[0])
                narrow_accumulator = with_narrow_accumulator(
                    node, [values[name] for name in node.input if name in values]
                )
                if narrow_accumulator is not None and value is not None and narrow_accumulator.shape == value.shape:
                    found = (
                        found
                        or excess(
                            value, np.where(np.isfinite(narrow_accumulator), narrow_accumulator, 1e30).astype(float)
                        )
                        > 1
                    )
            caught += found
        print(f"{Path(path).stem}: sums in float16: node {caught / options.points:.0%}")


def functions(options):
    """The largest errors of onnxruntime's functions: absolute, and in ulp; over what the hypotheses allow."""
    ideal = {
        "Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt, "Tanh": np.tanh, "Erf": np.vectorize(erf),
        "Sin": np.sin, "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "Softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    }  # fmt: skip
    made = hypotheses_named("onnxruntime-cpu")
    for name, function in ideal.items():
        graph = helper.make_graph(
            [helper.make_node(name, ["x"], ["y"])], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
        )  # fmt: skip
        run = session(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), LEVELS[1])
        patterns = np.arange(0, 2**32, options.step, dtype=np.uint64).astype(np.uint32)
        patterns += np.random.default_rng(options.seed).integers(options.step, size=len(patterns), dtype=np.uint32)
        x = patterns.view(np.float32)
        x = x[np.isfinite(x) & (np.abs(x) < 1e6)]
        x = x[x > 0] if name in ("Log", "Sqrt") else x
        with np.errstate(all="ignore"):
            exact = function(x.astype(np.float64))
        keep = np.isfinite(exact) & (np.abs(exact) < 3e38)
        x, exact = x[keep], exact[keep]
        error = np.abs(run.run(None, {"x": x})[0].astype(np.float64) - exact)
        allowed = made.function(name, "float", np.abs(exact))
        normal = np.abs(exact) >= 2.0**-126
        spacing = np.ldexp(1.0, np.frexp(np.abs(exact[normal]))[1] - 24)
        ulp = error[normal] / spacing
        large = np.abs(exact[normal]) > 1e-3
        print(f"{name}: absolute {error.max():.3g}, ulp {ulp.max(initial=0):.3g}, ulp above 1e-3 "
              f"{ulp[large].max(initial=0):.3g}; over the hypothesis {(error / allowed).max():.3f} "
              f"({len(x)} points)")  # fmt: skip


# ------------------------------------------------------------------ readings of operators


def single(node, arrays, version):
    """A model of one node on these inputs; a tuple of an array alone is a constant."""
    given = {name: each for name, each in arrays.items() if not isinstance(each, tuple)}
    constants = [numpy_helper.from_array(each[0], name) for name, each in arrays.items() if isinstance(each, tuple)]
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
        for name, each in given.items()
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "g", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10), given


def forms_of_tests():
    """The node tests of ONNX and further forms of them, as (model, inputs)."""
    for case in node_tests():
        if len(case.model.graph.node) == 1 and case.data_sets:
            names = [value.name for value in case.model.graph.input]
            arrays = [numpy_helper.to_array(a) if isinstance(a, TensorProto) else a for a in case.data_sets[0][0]]
            if len(arrays) == len(names) and all(isinstance(array, np.ndarray) for array in arrays):
                # what the operator must have as a constant is one; the first input varies
                model = onnx.ModelProto()
                model.CopyFrom(case.model)
                model.graph.initializer.extend(
                    numpy_helper.from_array(array, name) for name, array in zip(names[1:], arrays[1:], strict=True)
                )
                del model.graph.input[1:]
                yield model, dict(zip(names[:1], arrays[:1], strict=True))
    draw = np.random.default_rng(0)
    for operator, gates in (("LSTM", 4), ("GRU", 3)):
        weights = {"W": (1, gates * 3, 2), "R": (1, gates * 3, 3), "B": (1, 2 * gates * 3)}
        names = ["x", *weights, "", "h", *(["c"] if operator == "LSTM" else [])]
        states = {name: (np.full((1, 1, 3), 3.0, "f4"),) for name in names[5:]}
        arrays = {"x": draw.normal(0, 4, (4, 1, 2)).astype("f4")}
        arrays |= {name: (draw.normal(0, 2, size).astype("f4"),) for name, size in weights.items()}
        for extra in ({}, {"clip": 0.5}, {"clip": 0.5, "activations": ["Sigmoid", *["Tanh"] * (gates - 2)]},
                      {"layout": 0}, {"direction": "reverse"}, {"input_forget": 1}, {"linear_before_reset": 1},
                      {"linear_before_reset": 1, "clip": 0.5}):  # fmt: skip
            if ("input_forget" in extra and operator == "GRU") or ("linear_before_reset" in extra and gates == 4):
                continue
            yield single(helper.make_node(operator, names, ["y"], hidden_size=3, **extra), arrays | states, 14)
    x = draw.normal(size=(5, 4)).astype("f4")
    for mode in ("constant", "edge", "reflect", "wrap"):
        for pads in ([1, 1, 1, 1], [-1, 0, 0, 1], [0, -1, 1, 0], [-1, -1, 0, 0], [1, 0, -1, 0]):
            node = helper.make_node("Pad", ["x", "pads"], ["y"], mode=mode)
            yield single(node, {"x": x, "pads": (np.array(pads),)}, 19)


def readings(options):
    """Runs onnxruntime on every form of an operator that has bounds, and compares its values with them."""
    stated = hypotheses_named("onnxruntime-cpu")
    agrees, deviates, unknown = {}, {}, 0
    for model, given in forms_of_tests():
        parsed = read(model.SerializeToString())
        node = parsed.graph.nodes[0]
        operator = find_operator(node.operator)
        if operator is None or operator.bound is None:
            continue
        seen = []

        class Recording(BoundsDomain):
            def _application(self, call, inputs, seen=seen):
                seen.append(super()._application(call, inputs))
                return seen[-1]

        try:
            analyser = Analyser(parsed, replace(stated, readings=NONE))
            found = analyser.run(make_box(parsed, {name: given[name] for name in given}), Recording).values
            runs = [session(model, level) for level in LEVELS]
            computed = [run.run(None, given) for run in runs]
        except Exception:  # noqa: BLE001  the analysis or the runtime refuses it
            unknown += 1
            continue
        names = [value.name for value in model.graph.output]
        if not seen or any(name not in found or found[name].unbounded for name in names):
            unknown += 1
            continue
        worst = max(
            excess(found[name], array.astype(np.float64)) if array.dtype.kind in "fiub" else 0.0
            for arrays in computed for name, array in zip(names, arrays, strict=True)
        )  # fmt: skip
        is_listed = bool(stated.readings.deviation(seen[0]))
        kind = deviates if worst > 1 or is_listed else agrees
        kind.setdefault(node.operator, set()).add(tuple(sorted(features_of(seen[0]))))
        if worst > 1:
            listed = "listed" if is_listed else "NOT LISTED"
            print(f"{node.operator} {', '.join(sorted(features_of(seen[0])))}: {worst:.3g} of its bound; {listed}")
    print(f"{sum(map(len, agrees.values()))} forms of {len(agrees)} operators agree, "
          f"{sum(map(len, deviates.values()))} deviate; {unknown} calls were not bounded or not run")  # fmt: skip
    if options.write:
        text = FILE.read_text()
        table = "[onnxruntime-cpu.agrees]\n"
        rows = [
            f"{operator} = [\n" + "".join(f"  {json.dumps(list(form))},\n" for form in sorted(forms)) + "]\n"
            for operator, forms in sorted(agrees.items())
        ]
        FILE.write_text(text[: text.index(table)] + table + "".join(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    every = [campaign, soundness, points, large, limits, attained, boxes, property1, decisions, faults, accumulators,
             functions, readings]  # fmt: skip
    parser.add_argument("what", choices=[each.__name__ for each in every])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--hypotheses", help="for campaign: others, which it should break")
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--points", type=int, default=20)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--radius", type=float, default=0.0)
    parser.add_argument("--split", type=float)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--error", type=float, default=1e-5)
    parser.add_argument("--step", type=int, default=1024)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="for readings: write readings.toml")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    {each.__name__: each for each in every}[options.what](options)


if __name__ == "__main__":
    main()
