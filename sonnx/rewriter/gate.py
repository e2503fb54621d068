"""The gate: what a rewritten model must keep before anything is written.

The result is read back and checked.  It must be valid ONNX where the original is, and have its inputs and outputs with
their types and shapes.  An input may go only where a rewrite records that it does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from sonnx.base.errors import BadInput
from sonnx.base.escaping import escape, quote, shortened
from sonnx.checker.report import Report
from sonnx.checker.verdicts import Verdict
from sonnx.model.ir import Dimension, Model, Type, ValueInfo
from sonnx.report.fix_record import AppliedRewrite

SETTLED = (Verdict.PASS, Verdict.NOT_APPLICABLE, Verdict.FAIL)


class Broken(AssertionError):
    """The rewritten model is not what the original is: a defect of this tool; nothing is written."""


Checked = tuple[Model, Report]
"""A model as it is read back, and the report of its check."""
Attempt = Callable[[frozenset[str]], tuple[Model, Report, Sequence[AppliedRewrite]]]
"""The result of the rewrites of some names only, and the places they changed."""


def require_sound(
    original: Checked, result: Checked, applied: Sequence[AppliedRewrite], attempt: Attempt, refused: Callable[[], str]
) -> None:
    """Refuse a result that has lost what the original has.

    `attempt` makes the rewrites again, to find the one that is to blame; `refused` says why the checker of the onnx
    package refuses the original, "" where it does not: a call of an operator without rules here may be wrong, and the
    rules of the one that takes its place show it.

    Raises:
        BadInput: the original is not valid ONNX.
        Broken: the result is not valid ONNX though the original is, or an input, an output, its type or shape differs.
    """
    fault = _fault(original, result, applied)
    reason = refused() if fault and not _changed_interface(original, result, applied) else ""
    if reason:
        raise BadInput(f"the model is not valid ONNX, says the checker of onnx: {shortened(escape(reason))}")
    if fault:
        culprit = _culprit(original, applied, attempt)
        by = f"by the rewrite {culprit}" if culprit else "by several rewrites together"
        raise Broken(f"the rewritten model is broken {by}: {fault}; this is a defect of sonnx, and nothing is written")


def _fault(original: Checked, result: Checked, applied: Sequence[AppliedRewrite]) -> str:
    """What the result has lost, "" for nothing."""
    (_, before), (_, after) = original, result
    return _changed_interface(original, result, applied) or next(_invalidities(before, after), "")


def _changed_interface(original: Checked, result: Checked, applied: Sequence[AppliedRewrite]) -> str:
    return next(_interface_changes(original[0], result[0], _removed_inputs(applied)), "")


def _culprit(original: Checked, applied: Sequence[AppliedRewrite], attempt: Attempt) -> str:
    """The first rewrite whose result, with those before it, is broken; "" where none is found."""
    names: list[str] = []
    for name in dict.fromkeys(rewrite.name for rewrite in applied):
        names.append(name)
        model, report, made = attempt(frozenset(names))
        if _fault(original, (model, report), made):
            return name
    return ""


# ------------------------------------------------------------------ validity


def _invalidities(before: Report, after: Report) -> Iterator[str]:
    """Where the result is not valid ONNX though nothing in the original is open or fails that says so."""
    if any(finding.breaks_onnx and finding.verdict is Verdict.FAIL for finding in before.findings):
        return
    opened = {finding.rule for finding in before.findings if finding.verdict not in SETTLED}
    for finding in after.findings:
        if finding.breaks_onnx and finding.verdict is Verdict.FAIL and finding.rule not in opened:
            yield f"{finding.rule} fails at {finding.where.place}: {finding.actual}"


# ------------------------------------------------------------------ the interface


def _removed_inputs(applied: Iterable[AppliedRewrite]) -> frozenset[str]:
    """The graph inputs whose removal a rewrite records."""
    return frozenset(
        rewrite.where.name for rewrite in applied if rewrite.changes and rewrite.where.place.startswith("graph/input[")
    )


def _interface_changes(before: Model, after: Model, removed: Collection[str]) -> Iterator[str]:
    initialized = {tensor.name for tensor in before.graph.initializers}
    gone = {*removed, *initialized}
    inputs = [value for value in before.graph.inputs if value.name not in gone]
    left = [value for value in after.graph.inputs if value.name not in gone]
    yield from _changed_values("input", inputs, left)
    yield from _changed_values("output", before.graph.outputs, after.graph.outputs)


def _changed_values(what: str, before: Sequence[ValueInfo], after: Sequence[ValueInfo]) -> Iterator[str]:
    types: dict[str, list[Type]] = {}  # a model that is not valid may name a value twice
    for value in reversed(after):
        types.setdefault(value.name, []).append(value.type)
    for value in before:
        if not types.get(value.name):
            yield f"the {what} {quote(value.name)} is gone"
        elif not _refines(type_ := types[value.name].pop(), value.type):
            yield f"the {what} {quote(value.name)} is {type_}, not {value.type}"
    if [value.name for value in before] != [value.name for value in after]:
        yield f"the {what}s are {_listed(after)}, not {_listed(before)}"


def _refines(after: Type, before: Type) -> bool:
    """Whether a type states all that another one states; a number may take the place of a symbol."""
    if before.kind == "not stated" or after == before:
        return True
    if before.kind != after.kind or before.element not in (None, after.element):
        return False
    if before.shape is None or after.shape is None:
        return before.shape is None
    pairs = zip(before.shape, after.shape, strict=False)
    return len(before.shape) == len(after.shape) and all(_refines_dimension(new, old) for old, new in pairs)


def _refines_dimension(after: Dimension, before: Dimension) -> bool:
    """Whether a number, or a symbol, takes the place of nothing: older exporters write -1 for what is not known."""
    if isinstance(before, int) and before < 0:
        return isinstance(after, int)
    return before is None or after == before or (isinstance(before, str) and isinstance(after, int))


def _listed(values: Iterable[ValueInfo]) -> str:
    return ", ".join(quote(value.name) for value in values) or "none"
