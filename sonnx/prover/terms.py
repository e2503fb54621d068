"""Terms of z3: connectives, the variables of a term, and obligations without products and quotients of variables.

Solvers decide products and quotients of two variables slowly or not at all.  Two transformations remove them; what is
proved of the result holds for the obligation.

`without_products` replaces each product, quotient and remainder of two terms that are not constant by an uninterpreted
function.  A claim that two expressions are equal often needs only that equal operands give equal results.  A
counterexample of the transformed obligation refutes nothing.

`without_divisions` replaces a / d by a new number q and a % d by a new number r, with Euclid's facts as hypotheses:

    d > 0  =>  a = q * d + r,  0 <= r < d.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

import z3

from sonnx.prover.theorem import Obligation

# Connectives


def conjunction(parts: Iterable[z3.BoolRef]) -> z3.BoolRef:
    """The conjunction; of one part the part itself and of none true, because SMT-LIB has no conjunction of these."""
    conjuncts = list(parts)
    return z3.BoolVal(True) if not conjuncts else conjuncts[0] if len(conjuncts) == 1 else z3.And(conjuncts)


def disjunction(parts: Iterable[z3.BoolRef]) -> z3.BoolRef:
    """The disjunction; of one part the part itself, of none false."""
    disjuncts = list(parts)
    return z3.BoolVal(False) if not disjuncts else disjuncts[0] if len(disjuncts) == 1 else z3.Or(disjuncts)


# The structure of terms


def subterms(*terms: z3.ExprRef) -> Iterator[z3.ExprRef]:
    """Every different part of terms, each once; terms may share parts."""
    seen: set[int] = set()
    waiting = list(terms)
    while waiting:
        part = waiting.pop()
        if part.get_id() not in seen:
            seen.add(part.get_id())
            yield part
            waiting += _unseen(part, seen)


def _unseen(part: z3.ExprRef, seen: Collection[int]) -> list[z3.ExprRef]:
    """The operands of a part whose ids were not seen."""
    if not z3.is_app(part):
        return list(part.children())
    ref, call = part.ctx.ref(), part.as_ast()
    return [
        part.arg(place)
        for place in range(part.num_args())
        if z3.Z3_get_ast_id(ref, z3.Z3_get_app_arg(ref, call, place)) not in seen
    ]


def variables_in(*terms: z3.ExprRef) -> list[z3.ExprRef]:
    """The variables of terms, in the order of `subterms`; only they become objects of Python, which take most time."""
    seen: set[int] = set()
    variables: list[z3.ExprRef] = []
    context = terms[0].ctx if terms else z3.main_ctx()
    ref, waiting = context.ref(), [term.as_ast() for term in terms]
    while waiting:
        part = waiting.pop()
        number, kind = z3.Z3_get_ast_id(ref, part), z3.Z3_get_ast_kind(ref, part)
        if number in seen:
            continue
        seen.add(number)
        if kind == z3.Z3_QUANTIFIER_AST:
            waiting.append(z3.Z3_get_quantifier_body(ref, part))
        elif kind == z3.Z3_APP_AST:
            call = z3.Z3_to_app(ref, part)
            operands = z3.Z3_get_app_num_args(ref, call)
            waiting += [z3.Z3_get_app_arg(ref, call, place) for place in range(operands)]
            declared = None if operands else z3.Z3_get_app_decl(ref, call)
            if declared and z3.Z3_get_decl_kind(ref, declared) == z3.Z3_OP_UNINTERPRETED:
                variables.append(z3.FuncDeclRef(declared, context)())
    return variables


def names_in(term: z3.ExprRef) -> set[str]:
    """The names of the variables of a term."""
    return {str(part) for part in variables_in(term)}


def constants_in(term: z3.ExprRef) -> set[int]:
    """The numbers in a term."""
    return {part.as_long() for part in subterms(term) if z3.is_int_value(part)}


# Facts about products, which proofs/real_values.py proves and other theorems use where these products occur


def keeps_order(a: z3.ArithRef, b: z3.ArithRef, c: z3.ArithRef) -> z3.BoolRef:
    """The theorem values.products for three terms: a ≥ b and c ≥ 0 give ac ≥ bc."""
    return z3.Implies(z3.And(a >= b, c >= 0), a * c >= b * c)


def result_not_negative(name: str, left: z3.ArithRef, right: z3.ArithRef, result: z3.ArithRef) -> z3.BoolRef:
    """The theorem values.not-negative for a "product" or "quotient": it is not negative if its operands are not.

    The divisor of a quotient is positive.
    """
    return z3.Implies(z3.And(left >= 0, right > 0 if name == "quotient" else right >= 0), result >= 0)


# Products and quotients as uninterpreted functions

_OPERATIONS = {z3.Z3_OP_MUL: "product", z3.Z3_OP_IDIV: "quotient", z3.Z3_OP_MOD: "remainder"}


Replaced = dict[int, tuple[z3.ExprRef, z3.ExprRef]]
"""Terms and what replaces them, by the id of the term, which is its own as long as the term is kept."""


def uninterpreted(term: z3.ExprRef, replaced: Replaced | None = None) -> z3.ExprRef:
    """The term with an uninterpreted function in place of *, // and % of two terms that are not constant.

    `made` has the parts that are replaced already, of this term and others.
    """
    replaced = {} if replaced is None else replaced
    waiting = [term]
    while waiting:
        part = waiting[-1]
        if part.get_id() in replaced:
            waiting.pop()
            continue
        children = part.children()
        missing = [child for child in children if child.get_id() not in replaced]
        waiting += missing
        if not missing:
            waiting.pop()
            replaced[part.get_id()] = (
                part,
                _replaced(part, children, [replaced[child.get_id()][1] for child in children]),
            )
    return replaced[term.get_id()][1]


def _replaced(part: z3.ExprRef, children: list[z3.ExprRef], parts: list[z3.ExprRef]) -> z3.ExprRef:
    name = _OPERATIONS.get(part.decl().kind()) if parts else None
    variable = [piece for piece in parts if not z3.is_int_value(piece)] if name else []
    linear = len(variable) < 2 if name == "product" else bool(parts) and z3.is_int_value(parts[-1])
    if name is None or linear:
        changed = any(not old.eq(new) for old, new in zip(children, parts, strict=True))
        return part.decl()(*parts) if changed else part
    function = z3.Function(name, z3.IntSort(), z3.IntSort(), z3.IntSort())
    return reduce(function, parts)


def without_products(obligations: Iterable[Obligation]) -> Iterator[Obligation]:
    """The obligations for every function in place of products and quotients that meets `result_not_negative`."""
    replaced: Replaced = {}
    for obligation in obligations:
        parts = [uninterpreted(part, replaced) for part in (*obligation.hypotheses, obligation.goal)]
        yield Obligation(obligation.name, (*parts[:-1], *_signs(parts)), parts[-1])


def _signs(parts: Sequence[z3.ExprRef]) -> Iterator[z3.BoolRef]:
    for part in subterms(*parts):
        if part.num_args() == 2 and part.decl().name() in ("product", "quotient"):
            yield result_not_negative(part.decl().name(), part.arg(0), part.arg(1), part)


# Divisions as quotient and remainder

DIVISIONS = (z3.Z3_OP_IDIV, z3.Z3_OP_MOD)


def undivided(claim: Callable[..., Iterable[Obligation]], *about: Any) -> Callable[[], Iterator[Obligation]]:
    """Makes the obligations of a claim about these definitions, without divisions by a term that is not constant."""
    return lambda: without_divisions(claim(*about))


def without_divisions(obligations: Iterable[Obligation]) -> Iterator[Obligation]:
    """The same obligations without divisions by a term that is not constant."""
    for obligation in obligations:
        yield _without_divisions(obligation)


def _without_divisions(obligation: Obligation) -> Obligation:
    divisions = list(dict.fromkeys(_divisions([*obligation.hypotheses, obligation.goal])))
    if not divisions:
        return obligation
    replacements, facts = [], []
    for number, (a, d) in enumerate(divisions):
        q, r = z3.Ints(f"quotient.{number} remainder.{number}")
        replacements += [(a / d, q), (a % d, r)]
        facts.append(z3.Implies(d > 0, z3.And(a == q * d + r, r >= 0, r < d)))
    undivided = [
        z3.substitute(hypothesis, *replacements) for hypothesis in (*obligation.hypotheses, *facts, obligation.goal)
    ]
    return Obligation(obligation.name, tuple(undivided[:-1]), undivided[-1])


def _divisions(terms: Iterable[z3.ExprRef]) -> Iterator[tuple[z3.ArithRef, z3.ArithRef]]:
    """Dividend and divisor of every division by a term that is not constant."""
    for part in subterms(*terms):
        if z3.is_app(part) and part.decl().kind() in DIVISIONS and not z3.is_int_value(part.arg(1)):
            yield part.arg(0), part.arg(1)
