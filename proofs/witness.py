"""Witnesses: a model file that breaks exactly one rule, or none, found by Z3 and judged by the checker.

The solver is asked for natural calls first: small numbers, no empty axis, no rank 0, float tensors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import z3
from sonnx.proofs.instance import Instance, instance
from sonnx.proofs.leaves import variables_in
from sonnx.proofs.setting import Setting
from sonnx.proofs.theorem import Counterexample, Unconfirmed
from sonnx.proofs.truths import formula
from sonnx.proofs.z3_values import Listing, Number

from sonnx.api import check
from sonnx.profile import Rule
from sonnx.signature import Signature
from sonnx.verdict import Report, Verdict
from sonnx.write import write

EFFORT = 2_000_000
"""Steps of Z3 (its rlimit) spent on one wish."""
SIZES = (1, 2, 3, 4, 6, 8, 16)


def find(setting: Setting, assertions: Sequence[z3.BoolRef]) -> dict[str, int] | None:
    """Values of the variables for which the assertions hold, as natural as can be; None where there are none."""
    solver = z3.SolverFor("QF_NIA")
    solver.set("random_seed", 0)
    solver.set("rlimit", EFFORT)
    solver.add(*setting.ranges, *assertions)
    numbers = _numbers([*setting.ranges, *assertions])
    natural = list(_natural(setting))
    for wish, sizes in ((z3.And(*natural), SIZES[:4]), (z3.BoolVal(True), SIZES)):
        for size in sizes:
            solver.push()
            solver.add(wish, *[z3.And(number <= size, -size <= number) for number in numbers])
            if solver.check() == z3.sat:
                return _polished(solver, [*natural, *_preferred(setting)])
            solver.pop()
    solver.set("rlimit", 50 * EFFORT)
    return _values(solver.model()) if solver.check() == z3.sat else None


def _polished(solver: z3.Solver, wishes: Sequence[z3.BoolRef]) -> dict[str, int]:
    """As many wishes as can be had, the first ones first."""
    model = solver.model()
    for wish in wishes:
        if z3.is_true(model.eval(wish, model_completion=True)):
            solver.add(wish)
            continue
        solver.push()
        solver.add(wish)
        if solver.check() == z3.sat:
            model = solver.model()
        else:
            solver.pop()
    return _values(model)


def _values(model: z3.ModelRef) -> dict[str, int]:
    found = {}
    for name in model.decls():
        value = model[name]
        found[str(name)] = value.as_long() if z3.is_int_value(value) else int(z3.is_true(value))
    return dict(sorted(found.items()))


def _numbers(assertions: Sequence[z3.BoolRef]) -> list[z3.ExprRef]:
    """The integer variables that are no code of an element type or string."""
    found = {str(part): part for part in variables_in(z3.And(*assertions)) if z3.is_int(part)}
    return [found[name] for name in sorted(found) if not name.endswith((".type", ".text"))]


def _natural(setting: Setting) -> Iterator[z3.BoolRef]:
    """No tensor of rank 0, no empty axis."""
    for there, record in setting.tensors.values():
        shape = record.fields["shape"]
        assert isinstance(shape, Listing)  # noqa: S101  (see Setting.tensor)
        rank = shape.length
        yield z3.Implies(formula(there), rank.term >= 1 if isinstance(rank, Number) else z3.BoolVal(True))
        for _, extent in shape.items:
            yield z3.Implies(formula(there), extent.term >= 1)


def _preferred(setting: Setting) -> Iterator[z3.BoolRef]:
    """The usual element type, and everything written."""
    for _, record in setting.tensors.values():
        yield record.fields["type"].term == 0
    for parameter in setting.made.attributes:
        yield z3.Bool(f"written({parameter.name})")


# Judged by the checker


def dependents(made: Signature, name: str) -> frozenset[str]:
    """The names of the rules that rely on a rule, also through others."""
    found = {name}
    while more := {rule.name for rule in made.rules if found & set(rule.relies)} - found:
        found |= more
    return frozenset(found - {name})


def report(made: Signature, codes: Mapping[str, int], values: Counterexample, edition: str) -> tuple[Instance, Report]:
    """The call as a file, and what the checker says about it."""
    call = instance(made, codes, values)
    return call, check(write(call.model()), edition)


def conforms(made: Signature, codes: Mapping[str, int], values: Counterexample, edition: str) -> str:
    """Confirms that the checker finds nothing in the call.

    Raises:
        Unconfirmed: it does.
    """
    call, found = report(made, codes, values, edition)
    if found.verdict is not Verdict.PASS:
        raise Unconfirmed(f"{show(call)} should conform in {edition}: {_findings(found)}")
    return f"{show(call)} conforms"


def breaks(
    made: Signature,
    rule: Rule,
    codes: Mapping[str, int],
    values: Counterexample,
    edition: str,
    following: Collection[str] = (),
) -> str:
    """Confirms that the checker reports the rule for the call, and with it only what relies on it or follows.

    What is assumed of values known at run time only is no report: the run decides it.

    Raises:
        Unconfirmed: it reports something else.
    """
    call, found = report(made, codes, values, edition)
    failing = {finding.rule for finding in found.findings if finding.verdict is Verdict.FAIL}
    others = {each.rule for each in found.findings if each.verdict not in (Verdict.FAIL, Verdict.ASSUMED)}
    relying = {f"{made.operator}.{name}" for each in (rule.name, *following) for name in dependents(made, each)}
    also = {f"{made.operator}.{name}" for name in following} & failing
    if failing != {rule.slug} | also or others != relying & others:
        raise Unconfirmed(f"{show(call)} should break {rule.slug} only in {edition}: {_findings(found)}")
    reason = next(finding.actual for finding in found.findings if finding.rule == rule.slug)
    with_them = f"with {', '.join(sorted(also))}" if also else "only"
    return f"{show(call)} breaks {rule.slug} {with_them}: {reason}"


def _findings(found: Report) -> str:
    said = [f"{each.rule} {each.verdict}: {each.actual}" for each in found.findings]
    return "; ".join(said) or f"the checker says {found.verdict} without a finding"


def show(call: Instance) -> str:
    """A call in one line: `Max-13(float [2, 3], float [2]) -> float [2, 3]`."""
    parts = [_tensor(each) for each in call.inputs]
    parts += [f"{each.name}={_plain(each.value)}" for each in call.attributes]
    results = ", ".join(_tensor(each) for each in call.outputs)
    return f"{call.made.operator}-{call.made.version}({', '.join(parts)}) -> {results}"


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _tensor(facts: object) -> str:
    if facts is None:
        return "none"
    values = getattr(facts, "values", None)
    constant = f" = {list(values)}" if isinstance(values, tuple) else ""
    return f"{getattr(facts, 'type', '')} {_plain(getattr(facts, 'shape', ()))}{constant}"
