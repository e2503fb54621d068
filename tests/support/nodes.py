"""One node as the executor prepares it: its value by the definition, and by the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from sonnx.executor.executor import active_rules
from sonnx.executor.plan import interpreted
from sonnx.executor.preparation import RunDomain
from sonnx.executor.prepared_call import PreparedNode
from sonnx.model.reader import read
from sonnx.numerics.formats import Array
from tests.support.models import run_node
from tests.support.oracle import KINDS, from_bits, special_patterns

VERSION = 22


def prepared(
    operator: str,
    inputs: Sequence[Array],
    *,
    version: int = VERSION,
    definitions_only: bool = False,
    outputs: int = 1,
    **attributes: Any,
) -> PreparedNode:
    """The node ready to run."""
    source, _ = run_node(operator, inputs, None, operator_set=version, outputs=outputs, **attributes)
    domain = RunDomain(active_rules(None), conforming=False, definitions_only=definitions_only)
    [visit], _ = interpreted(read(source), domain, {f"i{place}": each for place, each in enumerate(inputs)})
    ready = visit.result
    if isinstance(ready, Exception):
        raise ready
    assert ready is not None, "the preparation depends on values"
    return ready


def by_definition(operator: str, inputs: Sequence[Array], **options: Any) -> Array:
    """The first output, by the definition."""
    ready = prepared(operator, inputs, definitions_only=True, **options)
    with numpy.errstate(all="ignore"):
        return ready.definition(ready.application, inputs)[0]


def by_kernel(operator: str, inputs: Sequence[Array], **options: Any) -> Array:
    """The output, by the kernel."""
    ready = prepared(operator, inputs, **options)
    assert ready.kernel is not None, f"{operator} has no kernel"
    assert ready.output_specs is not None
    with numpy.errstate(all="ignore"):
        return ready.kernel(inputs, numpy.empty(*ready.output_specs[0]))


def probes(name: str, count: int, seed: int = 5) -> Array:
    """Elements of a type: special patterns, random ones, numbers around 0 and 1, and whole numbers."""
    kind = KINDS[name]
    draw = numpy.random.default_rng(seed)
    random = draw.integers(0, 2 ** (8 * kind.itemsize), count, f"u{kind.itemsize}").view(kind)
    special = from_bits(name, special_patterns(name), [-1])
    with numpy.errstate(all="ignore"):
        usual = (draw.standard_normal(count) * 8).astype(kind)
        small = (draw.standard_normal(count) * 2.0 ** -draw.integers(0, 60, count)).astype(kind)
        wholes = draw.integers(-200, 200, count // 4).astype(numpy.float64).astype(kind)
    return numpy.concatenate([special, random, usual, small, wholes, numpy.ones(1, kind)])
