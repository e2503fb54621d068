"""Runs a model by the definitions of its operators, without kernels and fast paths, and by kernels in small blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy

from sonnx.executor.executor import active_rules, execute
from sonnx.executor.plan import build_plan
from sonnx.executor.preparation import RunDomain
from sonnx.executor.prepared_call import PreparedCall
from sonnx.model.reader import read
from sonnx.numerics.application import Application
from sonnx.numerics.formats import Array


def run_by_definitions(source: bytes, inputs: Mapping[str, Any], edition: str | None = None) -> dict[str, Array]:
    """The outputs, as `sonnx.run(source, inputs, edition, unchecked=True)` gives them."""
    model = read(source)
    domain = RunDomain(active_rules(edition), conforming=False, definitions_only=True)
    made = {name: numpy.array(values) for name, values in inputs.items()}
    return execute(build_plan(model, domain, made))


def run_in_blocks(
    source: bytes, inputs: Mapping[str, Any], elements: int, edition: str | None = None
) -> dict[str, Array]:
    """The outputs, as `sonnx.run(source, inputs, edition, unchecked=True)` gives them, by blocks of a few elements."""

    class Domain(RunDomain):
        def application(self, prepared: PreparedCall) -> Application:
            return replace(super().application(prepared), block_elements=elements)

    domain = Domain(active_rules(None), conforming=False)
    made = {name: numpy.array(values) for name, values in inputs.items()}
    return execute(build_plan(read(source), domain, made))
