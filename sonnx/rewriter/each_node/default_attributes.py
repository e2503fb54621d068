"""Write attributes that rely on their default.

What absence means is the `absent` of the operator's data file, evaluated for this node.  While auto_pad derives the
padding, pads has no default.  An empty list is not written: texts are silent on what it means where it is written.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sonnx.model.ir import Attribute
from sonnx.profile.definitions import Parameter
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site, with_attributes

RULES = ("no-default-values",)


def rewrite(site: Site) -> Change | None:
    """The node with every attribute whose absence means a value that is known here."""
    if site.signature is None or not site.fails(RULES):
        return None
    absent = [each for each in site.signature.attributes if each.name not in site.attributes]
    added = [made for each in absent if (made := _written(site, each)) is not None]
    if not added:
        return None
    node = with_attributes(site.node, {attribute.name: attribute for attribute in added})
    return Change((node,), "nothing written", descriptions.attributes(added))


def _written(site: Site, parameter: Parameter) -> Attribute | None:
    made = site.signature
    derived = parameter.name == "pads" and site.names.get("auto_pad", "NOTSET") != "NOTSET"
    value = site.known(parameter.name)
    if made is None or made.absent[parameter.name] is None or value in (None, ()) or derived:
        return None
    return constant_tensors.attribute(parameter.name, parameter.kind, _plain(value))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return float(value) if isinstance(value, Fraction) else value
