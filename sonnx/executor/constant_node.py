"""The values of one node whose inputs are constants, without a model around it and a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.executor.memory_estimate import require_bytes
from sonnx.executor.node_errors import NodeErrors
from sonnx.executor.preparation import RunDomain
from sonnx.executor.prepared_call import PreparedNode
from sonnx.graph.call import Call
from sonnx.graph.environment import NOTHING_STATED
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Node, Tensor
from sonnx.numerics.array_facts import facts_of_array
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import Array


def values_of(node: Node, call: Call, constants: Mapping[str, Tensor], domain: RunDomain) -> dict[str, Array]:
    """The outputs of a node by name, as a run of a model that is not checked gives them.

    Raises:
        Stop: the executor has no values for them.
    """
    with NodeErrors(node, 0, conforming=False), np.errstate(all="ignore"):
        tensors = [constants[name] if name else None for name in node.inputs]
        arrays = [None if tensor is None else decode(tensor, None) for tensor in tensors]
        stated = [None if tensor is None else domain.constant(tensor, False) for tensor in tensors]
        prepared = _prepared(call, stated, domain)
        if prepared is None:  # it depends on values that are not whole numbers
            prepared = _prepared(call, [None if array is None else facts_of_array(array) for array in arrays], domain)
        if prepared is None:
            raise NotExecutable("its shape depends on values that are not a short list of whole numbers")
        specs = prepared.output_specs or ()
        require_bytes(sum(prod(shape) * kind.itemsize for shape, kind in specs))
        results = prepared.results(arrays)
    if any(call.outputs[len(results) :]):
        raise NotExecutable(f"its operator gives {len(results)} outputs")
    if any((array.shape, array.dtype) != spec for array, spec in zip(results, specs, strict=False)):
        raise NotExecutable("an output has another shape or type than its rules give")
    return {name: array for name, array in zip(node.outputs, results, strict=False) if name}


def _prepared(call: Call, facts: Sequence[TensorFacts | None], domain: RunDomain) -> PreparedNode | None:
    prepared = domain.call(call, facts, [NOTHING_STATED] * len(call.outputs)).result
    if isinstance(prepared, Exception):
        raise prepared
    return prepared
