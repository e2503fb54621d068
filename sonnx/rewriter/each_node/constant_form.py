"""Give constants by the attribute value.  About Constant."""

from __future__ import annotations

from dataclasses import replace

from sonnx.model.ir import Tensor
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("Constant.value-written",)

FORMS = {"value_int": "int64", "value_ints": "int64", "value_float": "float", "value_floats": "float"}
"""The attributes that are numbers, with the element type of their tensor (ONNX Constant-12)."""


def rewrite(site: Site) -> Change | None:
    """The node with its number or numbers as a tensor."""
    if not site.fails(RULES) or len(site.node.attributes) != 1:
        return None
    [written] = site.node.attributes
    tensor = _tensor(written.name, written.value)
    if tensor is None:
        return None
    made = constant_tensors.attribute("value", "tensor", tensor)
    return Change(
        (replace(site.node, attributes=(made,)),), descriptions.attribute(written), descriptions.attribute(made)
    )


def _tensor(name: str, value: object) -> Tensor | None:
    element = FORMS.get(name)
    if element is None:
        return None
    dims = (len(value),) if isinstance(value, tuple) else ()
    return constant_tensors.of_numbers("", element, value, dims)
