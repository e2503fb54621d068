"""The rules and operators a theorem is about.

These are the rules that use a function the theorem is about, also inside other functions or through a definition of
their data file; the rules that name its erratum; and those the theorem names itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from sonnx.language import builtins
from sonnx.language.domain import Expression
from sonnx.language.parser import with_called
from sonnx.profile import catalogue
from sonnx.profile.definitions import OperatorDefinition, Rule, at
from sonnx.profile.profile_data import of_profile

if TYPE_CHECKING:  # it loads z3, which reports do not need
    from sonnx.prover.theorem import Theorem


def function_names(theorem: Theorem) -> tuple[str, ...]:
    """The functions a theorem is about, by name."""
    return tuple(dict.fromkeys(source.__name__ for source in theorem.sources if not isinstance(source, str)))


def functions_used(expressions: Iterable[Expression]) -> set[str]:
    """The built-in functions that expressions call, and those their sources call."""
    return with_called(name for expression in expressions for name in expression.built_ins)


def bears_on(theorem: Theorem) -> tuple[str, ...]:
    """The slugs of rules and the names of operators a theorem is about, sorted."""
    by_key = _by_key()
    functions_of_rules = [
        source.__name__
        for source in theorem.sources
        if not isinstance(source, str) and source.__module__ == builtins.__name__
    ]
    slugs = {slug for key in (*functions_of_rules, theorem.erratum) for slug in by_key.get(key, ())}
    return tuple(sorted(slugs | set(theorem.concerns)))


@of_profile
def _by_key() -> Mapping[str, tuple[str, ...]]:
    """Rules by the built-in functions they use and by the errata they name."""
    slugs_by_key: dict[str, list[str]] = {}
    for slug, expressions, errata in _expressions():
        used = functions_used(expressions)
        for key in (*used, *errata):
            slugs_by_key.setdefault(key, []).append(slug)
    return {key: tuple(slugs) for key, slugs in slugs_by_key.items()}


def _expressions() -> Iterator[tuple[str, list[Expression], tuple[str, ...]]]:
    """Every rule, and every shape of an output, with its expressions, the definitions they use, and its errata."""
    for rule in (*catalogue.general_rules(), *catalogue.graph_rules()):
        yield rule.slug, _demands(rule), rule.errata
    for described in catalogue.operators():
        for rule in (candidate for candidate in described.rules if not candidate.inert):
            yield rule.slug, defined(described, _demands(rule)), rule.errata
        for output in described.outputs:
            shape = at(output.shape, described.versions[-1])
            if shape is not None:
                yield f"{described.name}.{output.name}-shape", defined(described, [shape]), output.errata


def _demands(rule: Rule) -> list[Expression]:
    return [expression for expression in (rule.require, rule.onnx, rule.when) if expression is not None]


def defined(described: OperatorDefinition, expressions: list[Expression]) -> list[Expression]:
    """The expressions, and the definitions of the operator's data file they use directly or through others."""
    waiting, used = (
        [name for expression in expressions for name in sorted(expression.names)],
        dict[str, list[Expression]](),
    )
    while waiting:
        name = waiting.pop()
        if name in described.define and name not in used:
            used[name] = list(described.define[name].values())
            waiting += [inner for expression in used[name] for inner in sorted(expression.names)]
    return [*expressions, *(definition for definitions in used.values() for definition in definitions)]


DERIVED = "derived"


def page_of(theorem: Theorem) -> str:
    """The name of its page in docs/theorems, without the suffix."""
    topic, _, rest = theorem.id.partition(".")
    return f"{DERIVED}-{rest.partition('-')[0].lower()}" if topic == DERIVED else topic
