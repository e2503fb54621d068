"""Connect omitted optional inputs to a constant that changes nothing.

The neutral values are facts about operators: -0 is the neutral element of a sum of floating-point numbers (+0 is not:
-0 + 0 = +0), the states of a recurrent operator start at 0, a zero point is 0.  A parameter that is an input has the
value its absence means.
The shape is the one the operator's own rules ask for.
"""

from __future__ import annotations

from dataclasses import replace

from sonnx.model.ir import Tensor
from sonnx.profile.definitions import Input
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("inputs-connected",)

NEUTRAL = {
    ("Gemm", "C"): "-0.0",
    ("LSTM", "B"): "-0.0",
    ("LSTM", "sequence_lens"): "steps",
    ("LSTM", "initial_h"): "0",
    ("LSTM", "initial_c"): "0",
    ("LSTM", "P"): "0",
    ("Pad", "constant_value"): "0",
    ("ConvInteger", "x_zero_point"): "0",
    ("ConvInteger", "w_zero_point"): "0",
    ("DequantizeLinear", "x_zero_point"): "0",
}
"""Operator and input (by its ONNX name) to a number or a defined name of the operator's file."""


def rewrite(site: Site) -> Change | None:
    """The node with a constant for every omitted input that has a neutral value."""
    made = site.signature
    if made is None or not site.fails(RULES):
        return None
    inputs = list(site.node.inputs) + [""] * (len(made.inputs) - len(site.node.inputs))
    constants: list[Tensor] = []
    for index, formal in enumerate(made.inputs):
        neutral = _neutral(site, formal) if not inputs[index] and formal.optional and not formal.exempt else None
        if neutral is not None:
            constants.append(neutral)
            inputs[index] = neutral.name
    if not constants:
        return None
    while not inputs[-1]:
        inputs.pop()
    node = replace(site.node, inputs=tuple(inputs))
    shown = ", ".join(f"{_letter(each)} = {descriptions.tensor(each)}{_signed(site, each)}" for each in constants)
    return Change((node,), f"{', '.join(map(_letter, constants))} omitted", shown, tuple(constants))


def _letter(constant: Tensor) -> str:
    return constant.name.rpartition(".")[2]


def _signed(site: Site, constant: Tensor) -> str:
    return " (all -0)" if NEUTRAL.get((site.node.operator, _letter(constant))) == "-0.0" else ""


def _neutral(site: Site, formal: Input) -> Tensor | None:
    name = f"{next(filter(None, site.node.outputs), 'value')}.{formal.onnx}"
    element = site.element_of(formal)
    if element is None:
        return None
    if site.signature and any(each.name == formal.name for each in site.signature.values):
        value = site.known(formal.name)
        dims = (len(value),) if isinstance(value, tuple) else ()
        return None if value in (None, ()) else constant_tensors.of_numbers(name, element, value, dims)
    text = NEUTRAL.get((site.node.operator, formal.onnx))
    shape = site.shape_demanded(formal.name)
    if text is None or shape is None:
        return None
    number = site.known(text) if text in site.names else float(text)
    return None if number is None else constant_tensors.of_numbers(name, element, number, shape)
