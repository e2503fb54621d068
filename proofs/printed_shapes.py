"""False statements of the texts about shapes and integers: each is refuted, and is an erratum.

If the profile has a rule in place of the statement, the theorem uses the rule of the operator's data file; a
counterexample is confirmed by the verdict of a check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import z3

from sonnx.profile.catalogue import errata
from sonnx.proofs.integer_wraparound import wrapped
from sonnx.prover.expression_claims import SymbolicCall, checker_verdict
from sonnx.prover.smt_values import SymbolicNumber
from sonnx.prover.symbolic_execution import execute
from sonnx.prover.terms import without_divisions
from sonnx.prover.theorem import Counterexample, Obligation, ReplayFailed, Theorem

Obligations = Iterator[Obligation]
WINDOW = ("kernel-fits", "kernel-positive", "strides-positive", "dilations-positive", "pads-not-negative")
TOUCHES = "touches(X.shape[2], m * strides[0] - pads[0], kernel_shape[0], dilations[0])"


def _pooling(edition: str, bound: str) -> Callable[[], Obligations]:
    """One spatial axis: the bound of a text on the padding, and window m."""

    def obligations() -> Obligations:
        call = SymbolicCall("MaxPool", 12, edition)
        lists = {name: call.numbers(name, 1) for name in ("kernel_shape", "strides", "dilations")}
        plain = {"auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0}
        call.with_facts(X=call.tensor("X", 3), pads=call.numbers("pads", 2), **lists, **plain)
        m: SymbolicNumber = call.number("m", 0)
        inside = call.claim("m < pooled[0] and X.shape[2] >= 1", m=m)
        yield Obligation("touches", (*call.known, *call.rules(bound, *WINDOW), inside), call.claim(TOUCHES, m=m))

    return lambda: without_divisions(obligations())


def _show_pooling(edition: str, bound: str) -> Callable[[Counterexample], str]:
    def show(found: Counterexample) -> str:
        lists = {name: [found[f"{name}.0"]] for name in ("kernel_shape", "strides", "dilations")}
        pads, shape = [found["pads.0"], found["pads.1"]], (1, 1, found["X.2"])
        facts = {**lists, "pads": pads, "X": _tensor(shape), "auto_pad": "NOTSET"}
        verdicts = [checker_verdict("MaxPool", 12, edition, rule, **facts) for rule in (bound, "every-window-touches")]
        if verdicts != ["pass", "fail"]:
            raise ReplayFailed(f"the verdicts of a check are {verdicts}")
        listed = ", ".join(f"{name} {value}" for name, value in {**lists, "pads": pads}.items())
        return f"extent {shape[2]}, {listed}: a check passes {bound}, and a window lies on padding only"

    return show


def _tensor(shape: tuple[int, ...]) -> Any:
    from sonnx.language.evaluator import TensorFacts

    return TensorFacts("float", shape)


def printed_value(value: int, empty: bool, minus_one: bool, zero: bool) -> bool:
    """C3 of Reshape for allowzero = 1 as printed, its implications joined by or."""
    return value > 0 or (value != 0 or (empty and not minus_one)) or (value != -1 or not zero)


def reshape_value() -> Obligations:
    call = SymbolicCall("Reshape", 25)
    call.with_facts(X=call.tensor("X", 1), shape=call.numbers("S", 1), allowzero=1, **{"written(shape)": True})
    value = z3.Int("S.0")
    flags = z3.Bools("empty minus_one zero")
    ways = [z3.And(*[flag == way[i] for i, flag in enumerate(flags)], _true(execute(_printed(way), value).value))
            for way in _ways()]  # fmt: skip
    yield Obligation("shape-values", (*call.known, z3.Or(*ways)), z3.And(*call.rules("shape-values")))


def _true(term: Any) -> z3.BoolRef:
    return term if z3.is_bool(term) else z3.BoolVal(bool(term))


def _ways() -> list[tuple[bool, bool, bool]]:
    return [(a, b, c) for a in (False, True) for b in (False, True) for c in (False, True)]


def _printed(way: tuple[bool, bool, bool]) -> Callable[[int], bool]:
    return lambda value: printed_value(value, *way)


def show_reshape_value(found: Counterexample) -> str:
    value = found["S.0"]
    flags = [bool(found.get(name, 0)) for name in ("empty", "minus_one", "zero")]
    facts = {"shape": [value], "allowzero": 1, "X": _tensor((1,)), "written(shape)": True}
    verdict = checker_verdict("Reshape", 25, "", "shape-values", **facts)
    if not printed_value(value, *flags) or verdict != "fail":
        raise ReplayFailed(f"the verdict of a check is {verdict}")
    return f"S = [{value}] with allowzero = 1: C3 as printed holds, and a check fails it (shape-values)"


def reshape_keeps() -> Obligations:
    call = SymbolicCall("Reshape", 25)
    call.with_facts(X=call.tensor("X", 1), shape=call.numbers("S", 1), allowzero=0, **{"written(shape)": True})
    _, shape = call.shape("Y")
    kept = call.claim("Y[0] == shape[0]", Y=shape)
    yield Obligation("kept", (*call.known, *call.rules(), call.claim("shape[0] != 0")), kept)


def show_reshape_keeps(found: Counterexample) -> str:
    extent, value = found["X.0"], found["S.0"]
    facts = {"shape": [value], "allowzero": 0, "X": _tensor((extent,)), "written(shape)": True}
    if value == extent or checker_verdict("Reshape", 25, "", "same-size", **facts) != "pass":
        raise ReplayFailed(f"S = [{value}] is kept")
    return f"X of shape ({extent}), S = [{value}]: Y has the shape ({extent})"


def _unsqueezing(count: int) -> SymbolicCall:
    call = SymbolicCall("Unsqueeze", 25)
    return call.with_facts(X=call.tensor("X", 1), axes=call.numbers("axes", count))


def unsqueeze_rank() -> Obligations:
    call = _unsqueezing(2)
    _, shape = call.shape("Y")
    yield Obligation("rank", (*call.known, *call.rules()), call.claim("len(Y) == X.rank + 1", Y=shape))


def show_rank(found: Counterexample) -> str:
    axes = [found["axes.0"], found["axes.1"]]
    facts = {"X": _tensor((2,)), "axes": axes}
    verdicts = [checker_verdict("Unsqueeze", 25, "", rule, **facts) for rule in ("axes-range", "axes-distinct")]
    if verdicts != ["pass", "pass"]:
        raise ReplayFailed(f"the verdicts of a check are {verdicts}")
    return f"A = {axes} has rank 1 and two values: the rank of Y grows by 2"


def unsqueeze_trailing() -> Obligations:
    call = _unsqueezing(1)
    yield Obligation("below the rank", (*call.known, *call.rules()), call.claim("named[0] < X.rank"))


def show_trailing(found: Counterexample) -> str:
    axis = found["axes.0"]
    place = axis + 2 if axis < 0 else axis
    if place < 1 or checker_verdict("Unsqueeze", 25, "", "axes-range", X=_tensor((2,)), axes=[axis]) != "pass":
        raise ReplayFailed(f"axis {axis} is below the rank")
    return f"A = [{axis}] on rank 1 appends an axis at place {place}, which the rank does not exceed"


def _convolving() -> SymbolicCall:
    call = SymbolicCall("Conv", 22)
    lists = {"strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0]}
    numbers = {name: call.interpretation.listing(values) for name, values in lists.items()}
    facts = {"group": call.number("group"), "kernel_shape": call.numbers("kernel_shape", 2), "auto_pad": "NOTSET"}
    return call.with_facts(X=call.tensor("X", 4), W=call.tensor("W", 4), **numbers, **facts)


def kernel_order() -> Obligations:
    call = _convolving()
    turned = call.claim("kernel_shape == [W.shape[3], W.shape[2]]")
    yield Obligation("width, height", (*call.known, *call.rules("kernel-shape")), turned)


def channel_multiplier() -> Obligations:
    call = _convolving()
    rules = call.rules("group-positive", "input-channels", "output-channels", "standard-or-depthwise")
    yield Obligation("depthwise-channels", (*call.known, *rules), call.claim("group == 1 or W.shape[0] == group"))


def _show_convolving(rule: str, wanted: str) -> Callable[[Counterexample], str]:
    def show(found: Counterexample) -> str:
        x, w = (tuple(found.get(f"{name}.{k}", 0) for k in range(4)) for name in "XW")
        kernel = tuple(found.get(f"kernel_shape.{k}", w[2 + k]) for k in range(2))
        facts = {"X": _tensor(x), "W": _tensor(w), "kernel_shape": kernel, "group": found.get("group", 1)}
        verdict = checker_verdict("Conv", 22, "", rule, **facts)
        if verdict != wanted or (rule == "kernel-shape" and kernel == (w[3], w[2])):
            raise ReplayFailed(f"the verdict of a check is {verdict}")
        return f"X of shape {x}, W of shape {w}, group {facts['group']}, kernel_shape {kernel}: {rule} is {wanted}"

    return show


def taps_below_kernel() -> Obligations:
    j, kernel, dilation = z3.Ints("j kernel dilation")
    yield Obligation("read", (j >= 0, j < kernel, dilation >= 1), j * dilation < kernel)


def show_tap(found: Counterexample) -> str:
    j, kernel, dilation = found["j"], found["kernel"], found["dilation"]
    if j * dilation < kernel:
        raise ReplayFailed(f"tap {j} is read")
    return f"kernel {kernel}, dilation {dilation}: element {j} stands at place {j * dilation}, and the sum ends before"


def tensor_count() -> Obligations:
    last = z3.Int("L")
    yield Obligation("count", (last >= 1,), last + 1 == last - 1)


def show_count(found: Counterexample) -> str:
    count = len(range(found["L"] + 1))
    if count == found["L"] - 1:
        raise ReplayFailed(f"L = {found['L']}")
    return f"X0 to X{found['L']} are {count} tensors, not {found['L'] - 1}"


def padding_contributes_nothing() -> Obligations:
    zero_point, weight = z3.Ints("zero_point weight")
    yield Obligation("nothing", (zero_point >= 0, zero_point <= 255), (0 - zero_point) * weight == 0)


def show_padding(found: Counterexample) -> str:
    product = (0 - found["zero_point"]) * found["weight"]
    if product == 0:
        raise ReplayFailed("padding contributes nothing")
    return (
        f"zero point {found['zero_point']}, weight {found['weight']}: an element of the padding contributes {product}"
    )


def accumulates() -> Obligations:
    count = z3.Int("count")
    yield Obligation("int32", (count >= 1,), 255 * 255 * count <= 2**31 - 1)


def show_accumulation(found: Counterexample) -> str:
    total = 255 * 255 * found["count"]
    if total <= 2**31 - 1:
        raise ReplayFailed(f"{total} is an int32")
    return (
        f"{found['count']} products of 255 and 255 add up to {total}, which wraps to {wrapped(total, -(2**31), 2**32)}"
    )


def range_difference() -> Obligations:
    start, limit = z3.Ints("start limit")
    number = [z3.And(side >= -(2**15), side < 2**15) for side in (start, limit)]
    difference = limit - start
    yield Obligation("int16", tuple(number), z3.And(difference >= -(2**15), difference < 2**15))


def show_difference(found: Counterexample) -> str:
    difference = found["limit"] - found["start"]
    if -(2**15) <= difference < 2**15:
        raise ReplayFailed(f"{difference} is an int16")
    return f"S = {found['start']}, L = {found['limit']} in int16: the difference is {difference}"


def one_origin() -> Obligations:
    graph_input, node_output = z3.Bools("graph_input node_output")
    yield Obligation("not both", (z3.Or(graph_input, node_output),), z3.Not(z3.And(graph_input, node_output)))


def show_origin(found: Counterexample) -> str:
    if not (found["graph_input"] and found["node_output"]):
        raise ReplayFailed("the name has one origin")
    return "a name that is a graph input and the output of a node satisfies the predicate"


PAGES: list[tuple[str, str, str, Any, Any, str, str]] = [
    ("MaxPool-padding", "Where the window exceeds the padding at both ends, every window meets an element (2026-08).",
     "window > pads ⇒ touches", _pooling("2026-08", "pads-below-window"), _show_pooling("2026-08", "pads-below-window"),
     "maxpool-window-in-padding", "With a dilation the taps may stand on both sides of the elements."),
    ("MaxPool-padding-draft", "Where the padding is at most the kernel, every window meets an element (2026-10).",
     "pads ≤ kernel_shape ⇒ touches", _pooling("2026-10", "pads-within-kernel"),
     _show_pooling("2026-10", "pads-within-kernel"), "maxpool-window-in-padding",
     "Padding as long as the kernel holds a whole window."),
    ("Reshape-values", "C3 for allowzero = 1 as printed keeps values below -1 out of S.", "C3 ⇒ S[i] ≥ -1",
     reshape_value, show_reshape_value, "reshape-c3-tautology", "No value is both 0 and -1, so one implication holds."),
    ("Reshape-keeps", "Every value of S other than 0 is kept.", "S[i] ≠ 0 ⇒ dY_i = S[i]",
     lambda: without_divisions(reshape_keeps()), show_reshape_keeps, "reshape-kept-minus-one",
     "-1 stands for a derived extent."),
    ("Unsqueeze-rank", "The rank of Y is that of X and that of A.", "rY = rX + rA", unsqueeze_rank, show_rank,
     "unsqueeze-rank-of-axes", "A is a vector: its rank is 1, and the number of its values counts."),
    ("Unsqueeze-trailing", "The axes of A lie below the rank of X, as the formal page asks.", "A' < rX",
     unsqueeze_trailing, show_trailing, "unsqueeze-formal-trailing-axis", "A new axis may be the last one."),
    ("Conv-kernel-order", "kernel_shape names the extents of W as width and height.", "kernel_shape = [dW_3, dW_2]",
     kernel_order, _show_convolving("kernel-shape", "pass"), "conv-kernel-shape-order",
     "The order is that of the axes of W."),
    ("Conv-depthwise", "R3 and the channels of ONNX leave depthwise convolutions one kernel for each channel.",
     "group ∈ {1, dX_1} ⇒ group = 1 ∨ dW_0 = group", channel_multiplier,
     _show_convolving("depthwise-channels", "fail"), "conv-channel-multiplier",
     "A multiple of the channels divides evenly too."),
    ("Conv-dilated-sum", "A sum over the places below the kernel reads every element of the dilated kernel.",
     "j < kernel ⇒ j · dilation < kernel", taps_below_kernel, show_tap, "conv-dilated-sum",
     "The dilated kernel is longer."),
    ("tensor-count", "The tensors X0 to XL are L - 1.", "|{0, …, L}| = L - 1", tensor_count, show_count,
     "broadcast-count-of-tensors", "They are L + 1."),
    ("ConvInteger-padding", "Padding contributes nothing to the sum of ConvInteger as printed.",
     "(0 - x_zero_point) · w = 0", padding_contributes_nothing, show_padding, "convinteger-padding-value",
     "The zero point is taken off the padding too."),
    ("ConvInteger-sum", "The sum of ConvInteger is an int32.", "255 · 255 · count ≤ 2^31 - 1", accumulates,
     show_accumulation, "convinteger-accumulation", "A kernel may have any number of elements."),
    ("Range-difference", "The difference of limit and start has their type.", "L - S ∈ int16", range_difference,
     show_difference, "range-length-exact", "So the number of elements is computed exactly, outside the type."),
    ("one-origin", "A tensor that is a graph input or the output of a node is only one of them.", "a ∨ b ⇒ ¬(a ∧ b)",
     one_origin, show_origin, "formal-graph-inclusive-or", "The or of the predicate is inclusive."),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """Statements of the texts, refuted."""
    for name, statement, bool_term, claim, replay, erratum, because in PAGES:
        yield Theorem(f"printed.{name}", statement, bool_term, claim, (errata()[erratum].place,), "refuted",
                      replay=replay,
                      erratum=erratum, because=because)  # fmt: skip
