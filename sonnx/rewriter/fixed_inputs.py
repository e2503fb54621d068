"""Graph inputs that `--input` fixes: constants of one number, recorded as rewrites."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape, quote
from sonnx.base.suggestions import did_you_mean
from sonnx.checker.verdicts import Where
from sonnx.executor.fixed_inputs import fixed_array, named_numbers
from sonnx.model.ir import Model
from sonnx.report.fix_record import AppliedRewrite
from sonnx.rewriter import constant_tensors


def with_fixed_inputs(model: Model, given: Collection[str]) -> tuple[Model, tuple[AppliedRewrite, ...]]:
    """The model with constants for the inputs of `NAME=NUMBER`, and what that changes.

    Raises:
        UsageError: the model lacks an input, or its type or shape does not allow the number.
    """
    numbers = dict(named_numbers(given))
    known = {value.name: index for index, value in enumerate(model.graph.inputs)}
    constants, applied = [], []
    for name, text in numbers.items():
        if name not in known:
            raise UsageError(f"--input names {quote(name)}, which is not an input{did_you_mean(name, list(known))}")
        value = model.graph.inputs[known[name]]
        constants.append(constant_tensors.from_array(name, fixed_array(value, text)))
        where = Where(f"graph/input[{known[name]}]", "value", name)
        changes = f"the model is for {escape(name)} = {escape(text)} only; callers no longer give it"
        record = AppliedRewrite(
            "fixed-input", "Fix graph inputs", (), where, str(value.type), escape(text), "", changes
        )
        applied.append(record)
    graph = model.graph
    kept = tuple(tensor for tensor in graph.initializers if tensor.name not in numbers)
    inputs = tuple(value for value in graph.inputs if value.name not in numbers)
    return replace(model, graph=replace(graph, inputs=inputs, initializers=(*kept, *constants))), tuple(applied)
