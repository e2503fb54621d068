"""Parameters that a node leaves implicit, written: defaults, padding, axes, bounds and omitted inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec.structs import replace

from sonnx.language.builtins import Undefined, normal, sliced, window
from sonnx.language.domain import Expression
from sonnx.language.shape_arithmetic import end_in_axis, odd_at_beginning, odd_at_end, padding, start_in_axis
from sonnx.language.structure import arguments_of
from sonnx.model.ir import Attribute, Tensor
from sonnx.numerics.formats import ELEMENTS, format_of
from sonnx.profile.definitions import Input, OperatorDefinition, Parameter
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.node_builders import BOUNDS_AS_INPUTS, attribute, with_attributes
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.site import Shape, Site


@rewrite("default-attributes", Trigger.RULE_FAILS)
def default_attributes(site: Site) -> Replacement | None:
    """The node with every attribute whose absence means a value that is known here.

    What absence means is the `absent` of the operator's data file, evaluated for the node.  While auto_pad derives the
    padding, pads has no default.  An empty list is not written: texts are silent on what a written empty list means.
    """
    if site.signature is None:
        return None
    absent = [
        signature_attribute
        for signature_attribute in site.signature.attributes
        if signature_attribute.name not in site.attributes
    ]
    added = [written for parameter in absent if (written := _default(site, parameter)) is not None]
    if not added:
        return None
    node = with_attributes(site.node, {each.name: each for each in added})
    return Replacement((node,), "nothing written", descriptions.attributes(added))


def _default(site: Site, parameter: Parameter) -> Attribute | None:
    signature, value = site.signature, site.known(parameter.name)
    derived = parameter.name == "pads" and site.environment.get("auto_pad", "NOTSET") != "NOTSET"
    if signature is None or signature.absent[parameter.name] is None or value in (None, ()) or derived:
        return None
    return attribute(parameter.name, parameter.kind, _plain(value))


def _plain(value: Any) -> Any:
    """A value of the rule language as an attribute holds it."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return float(value) if isinstance(value, Fraction) else value


@rewrite("derived-padding", Trigger.RULE_FAILS)
def derived_padding(site: Site) -> Replacement | None:
    """The node with the padding that auto_pad means, of every operator with auto_pad, kernel_shape and strides.

    ONNX: with SAME_UPPER and SAME_LOWER the output has ceil(extent / stride) elements on each axis; an odd element of
    padding is at the end or at the beginning.  A node whose text gives a negative padding stays: its values depend on
    the reading.
    """
    pads = _pads(site, site.known("auto_pad"))
    if pads is None:
        return None
    written = {"auto_pad": attribute("auto_pad", "string", "NOTSET"), "pads": attribute("pads", "ints", pads)}
    before = [site_attribute for name, site_attribute in site.attributes.items() if name in written]
    node = with_attributes(site.node, written)
    return Replacement((node,), descriptions.attributes(before), descriptions.attributes(written.values()))


def _pads(site: Site, mode: object) -> Shape | None:
    """The begin of each spatial axis, then the end of each."""
    shape, kernel, strides = site.shape(0), site.known("kernel_shape"), site.known("strides")
    if kernel is None or strides is None or len(kernel) != len(strides):
        return None
    if mode == "VALID":
        return (0,) * (2 * len(kernel))
    spacing = site.known("dilations") or (1,) * len(kernel)
    if shape is None or not len(shape) - 2 == len(kernel) == len(spacing) or mode not in ("SAME_UPPER", "SAME_LOWER"):
        return None
    if min((*kernel, *strides, *spacing), default=0) < 1:
        return None
    axes = list(zip(shape[2:], map(window, kernel, spacing), strides, strict=True))
    if site.operator_facts.signed_padding and any(printed_padding(*axis) < 0 for axis in axes):
        return None
    totals = [padding(*axis) for axis in axes]
    first = odd_at_end if mode == "SAME_UPPER" else odd_at_beginning
    begins = tuple(map(first, totals))
    return (*begins, *(total - begin for total, begin in zip(totals, begins, strict=True)))


@rewrite("ceiling-as-padding", Trigger.RULE_FAILS)
def ceiling_as_padding(site: Site) -> Replacement | None:
    """The node that rounds down, with the padding at the ends by which the output has the same extents.

    Padding never is a maximum, so that a window which reaches over it has the maximum of the elements it covers.
    """
    application = site.application
    if application is None or site.known("ceil_mode") != 1:
        return None
    pads = application.names.get("pads")
    written = {
        "auto_pad": attribute("auto_pad", "string", "NOTSET"),
        "pads": attribute("pads", "ints", tuple(pads)) if isinstance(pads, tuple) else None,
        "ceil_mode": attribute("ceil_mode", "int", 0),
    }
    if application.names.get("ceil_mode") != 0 or written["pads"] is None:
        return None
    before = [site_attribute for name, site_attribute in site.attributes.items() if name in written]
    node = with_attributes(site.node, written)
    return Replacement(
        (node,), descriptions.attributes(before), descriptions.attributes(filter(None, written.values()))
    )


def printed_padding(extent: int, width: int, stride: int) -> int:
    """The padding of an axis by the formula that ONNX prints for pooling with SAME_UPPER and SAME_LOWER."""
    return (-(-extent // stride) - 1) * stride + width - extent


@rewrite("negative-axis", Trigger.RULE_FAILS)
def negative_axis(site: Site) -> Replacement | None:
    """The node with its negative axis brought to [0, rank - 1] by the built-in function of the rules.

    Which parameter counts which axes stands in the operator's data file, as `normal(axis, X.rank)`.
    """
    known, signature = site.call.definition, site.signature
    if known is None or signature is None:
        return None
    for parameter in signature.attributes:
        for rank in _ranks(known, parameter):
            axis = site.evaluate(f"normal({parameter.name}, {rank})")
            if axis is not None and axis != site.known(parameter.name):
                return _with_axis(site, parameter, axis)
    return None


def _with_axis(site: Site, parameter: Parameter, axis: int) -> Replacement:
    written = attribute(parameter.name, parameter.kind, axis)
    before = site.attributes.get(parameter.name)
    shown = f"{parameter.name} not written" if before is None else descriptions.attribute(before)
    node = with_attributes(site.node, {parameter.name: written})
    return Replacement((node,), shown, descriptions.attribute(written))


def _ranks(known: OperatorDefinition, parameter: Parameter) -> Iterator[str]:
    """The ranks that the data file counts a parameter in: the second arguments of `normal`."""
    for expression in _expressions(known):
        for axis, rank in arguments_of(expression, "normal"):
            if axis.text == parameter.name:
                yield rank.text


def _expressions(known: OperatorDefinition) -> Iterator[Expression]:
    versioned: list[Mapping[int, object]] = [output.shape for output in known.outputs]
    versioned += known.define.values()
    for values in versioned:
        yield from (value for value in values.values() if isinstance(value, Expression))
    yield from (rule.require for rule in known.rules if rule.require)


NEGATIVE_ZERO = "-0"


@rewrite("omitted-inputs", Trigger.RULE_FAILS)
def omitted_inputs(site: Site) -> Replacement | None:
    """The node with a constant for every omitted input whose absence means one, as the operator's data file says.

    The shape is the one that the operator's own rules require.
    """
    signature = site.signature
    if signature is None:
        return None
    inputs = list(site.node.inputs) + [""] * (len(signature.inputs) - len(site.node.inputs))
    added: dict[str, Tensor] = {}
    for index, formal in enumerate(signature.inputs):
        constant = _neutral(site, formal) if not inputs[index] and formal.optional and not formal.exempt else None
        if constant is not None:
            added[formal.onnx] = constant
            inputs[index] = constant.name
    if not added:
        return None
    while not inputs[-1]:
        inputs.pop()
    node = replace(site.node, inputs=tuple(inputs))
    negative = {formal.onnx for formal in signature.inputs if formal.absent == NEGATIVE_ZERO}
    shown = [
        f"{name} = {descriptions.tensor(tensor)}{' (all -0)' if name in negative else ''}"
        for name, tensor in added.items()
    ]
    return Replacement((node,), f"{', '.join(added)} omitted", ", ".join(shown), tuple(added.values()))


def _neutral(site: Site, formal: Input) -> Tensor | None:
    name = f"{next(filter(None, site.node.outputs), 'value')}.{formal.onnx}"
    element = site.required_element_type(formal)
    if element is None:
        return None
    if site.signature and any(signature_value.name == formal.name for signature_value in site.signature.values):
        value = site.known(formal.name)
        dims = (len(value),) if isinstance(value, tuple) else ()
        return None if value in (None, ()) else constant_tensors.from_numbers(name, element, value, dims)
    shape = site.required_shape(formal.name)
    if not formal.absent or shape is None:
        return None
    if formal.absent_when is not None and site.evaluate(formal.absent_when.text) is not True:
        return None
    number = site.known(formal.absent) if formal.absent in site.environment else float(formal.absent)
    return None if number is None else constant_tensors.from_numbers(name, element, number, shape)


@rewrite("unlimited-side", Trigger.RULE_FAILS)
def unlimited_side(site: Site) -> Replacement | None:
    """Clip with an infinity, or the limit of an integer type, in the place of a bound that is left out."""
    element, kind = site.element_type(0) or "", ELEMENTS.get(site.element_type(0) or "")
    if site.operator_set < BOUNDS_OF_CLIP_AS_INPUTS or kind is None or site.signature is None:
        return None
    if format_of(kind) is not None:
        limits: tuple[float, float] = float("-inf"), float("inf")
    elif kind.kind in "iu":
        limits = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    else:
        return None
    inputs, added = [*site.node.inputs, "", ""][:3], []
    for place, (role, number) in enumerate(zip(("min", "max"), limits, strict=True), 1):
        if not inputs[place]:
            tensor = constant_tensors.from_numbers(f"{site.node.outputs[0]}.{role}", element, number)
            if tensor is None:
                return None
            inputs[place] = tensor.name
            added.append(tensor)
    if not added:
        return None
    node = replace(site.node, inputs=tuple(inputs))
    after = ", ".join(map(descriptions.tensor, added))
    changes = "a bound that is left out does not limit (erratum clip-absent-bounds)"
    return Replacement((node,), descriptions.call(site.node), after, tuple(added), changes=changes)


BOUNDS_OF_CLIP_AS_INPUTS = 11
"""The operator set from which Clip takes its bounds as inputs (ONNX Clip-11)."""

BOUNDS = ("starts", "ends", "axes", "steps")

Bound = tuple[int, int, int, int]
"""Start, end, axis, step."""


@rewrite("slice-bounds", Trigger.RULE_FAILS)
def slice_bounds(site: Site) -> Replacement | None:
    """The node with bounds inside the axes, for all axes.

    A slice that selects nothing stays: with bounds inside the axes it would fail another rule.
    """
    shape, element, signature = site.shape(0), site.element_type(1), site.signature
    lists = [site.known(name) for name in BOUNDS]
    if signature is None or signature.version < BOUNDS_AS_INPUTS or shape is None or element is None or None in lists:
        return None
    if len({len(items) for items in lists}) != 1:
        return None
    old = list(zip(*lists, strict=True))
    new = _explicit_bounds(old, shape)
    return None if new is None or new == old else _with_bounds(site, old, new, element)


def _explicit_bounds(old: list[Bound], shape: Shape) -> list[Bound] | None:
    try:
        by_axis = {normal(axis, len(shape)): (start, end, axis, step) for start, end, axis, step in old}
    except Undefined:
        return None
    if len(by_axis) != len(old) or any(step == 0 for *_, step in old):
        return None
    inside = list(_inside(by_axis, shape))
    kept = (0 <= start < shape[axis] and sliced(shape[axis], start, end, step) > 0 for start, end, axis, step in inside)
    return inside if all(kept) else None


def _inside(by_axis: dict[int, Bound], shape: Shape) -> Iterator[Bound]:
    for axis, extent in enumerate(shape):
        start, end, _, step = by_axis.get(axis, (0, extent, axis, 1))
        yield start_in_axis(start, extent, step), end_in_axis(end, extent, step), axis, step


def _with_bounds(site: Site, old: list[Bound], new: list[Bound], element: str) -> Replacement | None:
    inputs, constants = list(site.node.inputs), list[Tensor]()
    inputs += [""] * (len(BOUNDS) + 1 - len(inputs))
    for index, (name, values) in enumerate(_lists(new), 1):
        if not inputs[index] or values != site.known(name):
            constant = constant_tensors.from_numbers(f"{site.node.outputs[0]}.{name}", element, values, (len(values),))
            if constant is None:
                return None
            constants.append(constant)
            inputs[index] = constant.name
    node = replace(site.node, inputs=tuple(inputs))
    return Replacement((node,), _shown(old), _shown(new), tuple(constants))


def _lists(bounds: list[Bound]) -> list[tuple[str, tuple[int, ...]]]:
    return list(zip(BOUNDS, zip(*bounds, strict=True), strict=True))


def _shown(bounds: list[Bound]) -> str:
    return ", ".join(f"{name}={list(values)}" for name, values in _lists(bounds))
