"""The value of a call by another reading, where an erratum says that a text can be read in two ways.

An implementation that gives this value follows the other reading; one that gives a third value does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from msgspec import structs

from sonnx.base.errors import Stop
from sonnx.executor.executor import ModelRunner, active_rules
from sonnx.executor.preparation import RunDomain
from sonnx.model.ir import Model, Tensor
from sonnx.numerics.constant_data import decode
from sonnx.numerics.draws import least_normal
from sonnx.numerics.formats import NAMES, Array, format_of, widened
from sonnx.numerics.packing import packed
from sonnx.operators import operator_of
from sonnx.profile import catalogue
from sonnx.suite.expected import Ends
from sonnx.suite.judge import differences


class DemandedOutput(NamedTuple):
    """What a suite expects of an output: its number, the exact elements, and their ends, None where they decide."""

    number: int
    exact: Array
    ends: Ends | None


SLACK = 1.01
"""More than the roundings of the sum of magnitudes change it, as a factor."""


def is_value_by_onnx(model: Model, inputs: Mapping[str, Array], output: int, actual: Array) -> bool:
    """Whether every element is the value by ONNX: NaN for NaN, an equal infinity, or a number within rounding.

    Args:
        model: whose last node is a sum of products of its first two inputs.
        inputs: of the call.
        output: the number of the output.
        actual: what an implementation gives for this output.
    """
    value = _by_onnx(model, inputs, output)
    if value is None or (value.shape, value.dtype) != (actual.shape, actual.dtype):
        return False
    by_onnx, by_runtime = (widened(array).astype(np.float64) for array in (value, actual))
    with np.errstate(invalid="ignore"):  # the difference of infinities
        near = np.abs(by_runtime - by_onnx) <= _rounding(model, inputs, output)
    same_special = (by_onnx == by_runtime) | (np.isnan(by_onnx) & np.isnan(by_runtime))
    return bool(np.where(np.isfinite(by_onnx), near, same_special).all())


def is_value_by_another_reading(
    model: Model,
    operator: str,
    erratum: str,
    edition: str | None,
    inputs: Mapping[str, Array],
    output: DemandedOutput,
    actual: Array,
) -> bool:
    """Whether a whole output is that of one of the definitions that an operator states for another reading.

    An element of this reading that the ends of the exact value allow is judged by these ends; any other one has to be
    given as it is.

    Args:
        model: the model.
        operator: whose definitions for the erratum are run in place of its own.
        erratum: the identifier of the erratum.
        edition: the edition of the model.
        inputs: of the call.
        output: what is expected by the reading of the erratum.
        actual: what an implementation gives for this output.
    """
    name = model.graph.outputs[output.number].name
    for definition in operator_of(operator, "").other_readings[erratum]:
        domain = RunDomain(active_rules(edition), conforming=False, readings={operator: definition})
        with suppress(Stop):
            value = ModelRunner(model, None, edition, unchecked=True, domain=domain).run(inputs).values[name]
            if not _differs(output, value):
                continue  # the readings agree about these inputs
            if not _differs(_with_reading(output, value), actual):
                return True
    return False


def _with_reading(output: DemandedOutput, value: Array) -> DemandedOutput:
    """What is expected by another reading, whose value is `value`."""
    if output.ends is None or value.shape != output.exact.shape:
        return output._replace(exact=value, ends=_common_ends(output, value))
    wide, exact = widened(value).astype(np.float64), widened(output.exact).astype(np.float64)
    open_ = np.isnan(output.ends.lower) & ~np.isnan(exact)  # nothing is demanded of these
    allowed = open_ | (np.isnan(wide) & np.isnan(exact)) | ((output.ends.lower <= wide) & (wide <= output.ends.upper))
    ends = Ends(*(np.where(allowed, end, wide) for end in output.ends))
    return output._replace(exact=np.where(allowed, output.exact, value), ends=ends)


def _common_ends(output: DemandedOutput, value: Array) -> Ends | None:
    """The ends of the elements that the outputs of two readings have, and the other elements as they are; None where
    they decide by their bits.
    """
    if output.ends is None:
        return None
    ends = Ends(*(widened(value).astype(np.float64) for _ in output.ends))
    if value.ndim == output.exact.ndim:
        common = tuple(slice(min(sizes)) for sizes in zip(value.shape, output.exact.shape, strict=True))
        for own, stated in zip(ends, output.ends, strict=True):
            own[common] = stated[common]
    return ends


def _differs(output: DemandedOutput, actual: Array) -> bool:
    """Whether an output is judged to deviate."""
    return bool(differences(output.number, actual, output.exact, output.ends))


def has_nan_of_minus_infinity_alone(model: Model, inputs: Mapping[str, Array], output: int, actual: Array) -> bool:
    """Whether each NaN that stands in place of a number is in an element that depends on -inf alone; False without one.

    Args:
        model: in which a NaN among the elements that an element depends on makes it NaN.
        inputs: of the call.
        output: the number of the output.
        actual: what an implementation gives for this output.
    """
    # With a NaN in place of everything but -inf, what is still a number depends on -inf alone.
    others = {
        name: np.where(array == -np.inf, array, array.dtype.type(np.nan)) if format_of(array.dtype) else array
        for name, array in inputs.items()
    }
    exact, without = (_exact(model, each, output) for each in (inputs, others))
    if exact is None or without is None or exact.shape != actual.shape:
        return False
    wrong = np.isnan(widened(actual)) & ~np.isnan(widened(exact))
    return bool(wrong.any() and not (wrong & np.isnan(widened(without))).any())


def _exact(model: Model, inputs: Mapping[str, Array], output: int) -> Array | None:
    """An output in the newest edition; None where there is no value."""
    with suppress(Stop):
        values = ModelRunner(model, None, None, unchecked=True).run(inputs).values
        return values[model.graph.outputs[output].name]
    return None


def _by_onnx(model: Model, inputs: Mapping[str, Array], output: int) -> Array | None:
    """An output by the text of ONNX: that of an edition without a text of its own; None where there is no value."""
    operator = model.graph.nodes[-1].operator
    editions = catalogue.editions().editions.values()
    edition = next((each.name for each in editions if each.text_of(operator) is None), None)
    if edition is None:
        return None
    with suppress(Stop):
        values = ModelRunner(model, None, edition, unchecked=True).run(inputs).values
        return values[model.graph.outputs[output].name]
    return None


def _rounding(model: Model, inputs: Mapping[str, Array], output: int) -> Array:
    """How far any order of the sums may be from them, with every product and sum rounded in the type of the output."""
    magnitudes = structs.replace(
        model,
        graph=structs.replace(model.graph, initializers=tuple(map(_magnitude, model.graph.initializers))),
    )
    sizes = _by_onnx(magnitudes, {name: _without_sign(array) for name, array in inputs.items()}, output)
    number_format = None if sizes is None else format_of(sizes.dtype)
    if sizes is None or number_format is None:
        return np.zeros(())
    weights = {tensor.name: tensor.dims for tensor in model.graph.initializers}
    weights |= {name: array.shape for name, array in inputs.items()}
    terms = int(np.prod(weights[model.graph.nodes[-1].inputs[1]][1:])) + 1
    unit = 0.5 ** least_normal(number_format).bit_length()
    return np.nan_to_num(widened(sizes).astype(np.float64)) * ((terms + 1) * unit * SLACK)


def _magnitude(tensor: Tensor) -> Tensor:
    array = decode(tensor, None)
    return Tensor(tensor.name, NAMES[array.dtype], tensor.dims, ("raw_data",), memoryview(packed(_without_sign(array))))


def _without_sign(array: Array) -> Array:
    return np.abs(array) if format_of(array.dtype) is not None else array
