"""What computes an operator: its module, and where there is one its kernel.

The modules are found by their folder; nothing else knows which operators there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from sonnx import operators
from sonnx.base.errors import NotExecutable
from sonnx.base.escaping import quote
from sonnx.model.ir import Node
from sonnx.model.scopes import standard
from sonnx.numerics.application import Application
from sonnx.numerics.broadcasting import NUMPY_SINCE, aligned
from sonnx.numerics.formats import Array

Definition = Callable[[Application, Sequence[Any]], tuple[Array, ...]]
Kernel = Callable[[Sequence[Any], Array], Array]


@cache
def modules(package: str) -> Mapping[str, str]:
    """The modules of a package by their name; a name in a model is looked up here and never becomes a path."""
    folder = Path(str(import_module(package).__file__)).parent
    return {
        entry.stem.rstrip("_"): f"{package}.{entry.stem}" for entry in folder.glob("*.py") if entry.stem != "__init__"
    }


def has_meaning(node: Node) -> bool:
    """Whether the executor knows the operator of a node."""
    try:
        module_of(node)
    except NotExecutable:
        return False
    return True


def module_of(node: Node) -> ModuleType:
    """What computes the operator of a node.

    Raises:
        NotExecutable: nothing does.
    """
    found = None if standard(node.domain) else modules(operators.__name__).get(node.operator.lower())
    module = import_module(found) if found else None
    if module is None or getattr(module, "OPERATOR", None) != node.operator:
        domain = f" of the domain {quote(node.domain)}" if standard(node.domain) else ""
        raise NotExecutable(f"the executor does not know the operator {quote(node.operator)}{domain}")
    return module


def implementation(
    application: Application, module: ModuleType, single: bool, plain: bool
) -> tuple[Definition, Kernel | None]:
    """The definition, and the fast way to the same values where there is one.

    Args:
        application: the operator as a node applies it.
        module: what defines it.
        single: whether the node has one output, of known shape and type.
        plain: whether kernels are left out.
    """
    kernel: Kernel | None = None
    if single and not plain and hasattr(module, "kernel"):
        kernel = module.kernel(application)
    elif single and not plain and getattr(module, "COPIES", False):
        kernel = _copying(application, module.evaluate)
    definition = module.evaluate if plain else getattr(module, "fast", module.evaluate)
    if getattr(module, "ALONG_AXIS", False) and application.version < NUMPY_SINCE:
        return _along_axis(application, definition, kernel)
    return definition, kernel


def _copying(application: Application, evaluate: Definition) -> Kernel:
    """The kernel of an operator whose definition is a view of its input: the elements, copied."""

    def copy(inputs: Sequence[Any], out: Array) -> Array:
        np.copyto(out, evaluate(application, inputs)[0])
        return out

    return copy


def _along_axis(
    application: Application, evaluate: Definition, kernel: Kernel | None
) -> tuple[Definition, Kernel | None]:
    """The same on inputs that NumPy broadcasts as the version does."""

    def defined(application: Application, inputs: Sequence[Any]) -> tuple[Array, ...]:
        return evaluate(application, aligned(application, inputs))

    def fast(inputs: Sequence[Any], out: Array) -> Array:
        assert kernel is not None  # noqa: S101  else it is not asked for
        return kernel(aligned(application, inputs), out)

    return defined, kernel and fast
