"""Tailoring: the rules of one project beyond those of an edition.

A tailoring only adds rules: a model that fails under an edition also fails under each of its tailorings.  The rules are
ordinary ones of the class "project", evaluated in the walk of the check (docs/tailoring.md).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Literal

from msgspec import Struct
from msgspec.structs import asdict

from sonnx.base.errors import UsageError
from sonnx.base.escaping import number_text as shown
from sonnx.base.escaping import quote
from sonnx.checker.graph_rules import Decision, Violation
from sonnx.graph.call import Call
from sonnx.language.domain import Expression, RuleError
from sonnx.language.parser import parse
from sonnx.language.type_checker import VALUE, type_of
from sonnx.model.ir import Model
from sonnx.model.scopes import STANDARD, all_constants, scopes
from sonnx.profile.catalogue import edition_named
from sonnx.profile.definitions import Edition, Rule, is_slug
from sonnx.profile.text_types import Limit, Line, Sha256, Text, Version
from sonnx.profile.toml_files import CatalogueError, one_line, read_project_file

PROJECT: Literal["project"] = "project"
"""The class of rules of a project."""
PREFIX = "tailoring."


Count = Annotated[int, Limit(ge=0)]


class Largest(Struct, frozen=True, forbid_unknown_fields=True):
    """Upper bounds."""

    rank: Count | None = None
    """Of the rank of a value."""
    extent: Count | None = None
    """Of each dimension of a value."""
    elements: Count | None = None
    """Of the number of elements of a value."""
    nodes: Count | None = None
    """Of the number of nodes, with those of nested graphs and functions."""
    inputs: Count | None = None
    """Of the number of graph inputs."""
    outputs: Count | None = None
    """Of the number of graph outputs."""
    weights: Count | None = None
    """Of the number of elements of all constants together."""


class OwnRule(Struct, frozen=True, forbid_unknown_fields=True):
    """A rule of the project about each value."""

    name: str
    """The slug of the rule after `tailoring.`."""
    require: Line
    """The condition, in the rule language; `value` is the value."""
    statement: Line
    """What is demanded, as one sentence."""
    remedy: Line
    """What to do about a failure."""
    because: Line
    """Why the project demands it."""


class TailoringFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Tailoring: what a project demands beyond an edition, docs/tailoring.md."""

    name: Line
    """What the project calls the tailored profile."""
    edition: str
    """The edition that is made stricter."""
    strict_versions: bool | None = None
    """Admit only the version of an operator that its text specifies; it can only be true."""
    operators: tuple[str, ...] | None = None
    """The only operators allowed, of those the edition specifies."""
    element_types: tuple[str, ...] | None = None
    """The only element types allowed, of those of the edition."""
    operator_sets: Annotated[tuple[Version, ...], Limit(min_length=1)] | None = None
    """The only versions of the standard operator set allowed."""
    largest: Largest = Largest()
    """Upper bounds."""
    rule: tuple[OwnRule, ...] = ()
    """Further rules about each value."""


class Tailoring(Struct, frozen=True):
    """A tailoring file."""

    file: Text
    """The base name of the file."""
    sha256: Sha256
    """The hash of the file."""
    name: Text
    """What the file calls itself."""
    edition: str
    strict_versions: bool
    conditions: tuple[tuple[Rule, Expression], ...]
    """Its rules with an expression."""
    decided: tuple[tuple[Rule, Decision], ...]
    """Its rules that functions decide."""

    json_fields = ("file", "sha256", "name")

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules of the file."""
        return (*(rule for rule, _ in self.conditions), *(rule for rule, _ in self.decided))


def read(path: str | os.PathLike[str]) -> Tailoring:
    """The tailoring in a file.

    Raises:
        UsageError: the file does not have the format of docs/tailoring.md, or would allow more than its edition.
    """
    return read_project_file(path, TailoringFile, _tailoring)


def _tailoring(written: TailoringFile, file: str, sha256: str) -> Tailoring:
    name = one_line(written.name, "name")
    try:
        edition = edition_named(written.edition)
    except UsageError as error:
        raise CatalogueError(str(error)) from None
    negative = [key for key, number in asdict(written.largest).items() if number is not None and number < 0]
    if negative:
        raise CatalogueError(f"largest.{negative[0]} is negative")
    if written.strict_versions is False:
        raise CatalogueError("strict_versions = false would allow what the edition may refuse; leave it out")
    conditions = [*_types(written, edition), *_sizes(written.largest), *_expressions(written.rule)]
    decided = [*_operators(written, edition), *_operator_sets(written), *_counts(written.largest)]
    slugs = [rule.slug for rule, _ in (*conditions, *decided)]
    if not slugs and not written.strict_versions:
        raise CatalogueError("the file demands nothing")
    if len(set(slugs)) < len(slugs):
        raise CatalogueError(f"two rules are called {next(slug for slug in slugs if slugs.count(slug) > 1)}")
    strict = bool(written.strict_versions)
    return Tailoring(file, sha256, name, edition.name, strict, tuple(conditions), tuple(decided))


def _rule(name: str, subject: str, statement: str, remedy: str, because: str = "", require: Any = None) -> Rule:
    return Rule(
        slug=PREFIX + name,
        subject=subject,
        kind=PROJECT,
        statement=statement,
        because=because or "The project restricts the profile further.",
        remedy=remedy,
        source="The tailoring file of the project",
        require=require,
    )


def _types(written: TailoringFile, edition: Edition) -> Iterator[tuple[Rule, Expression]]:
    if written.element_types is None:
        return
    listed = _within_edition(written.element_types, "element_types", edition.element_types, edition)
    text = parse(f"value.type in {list(listed)}")
    statement = f"Every element type is one of {', '.join(listed)}."
    yield (
        _rule(
            "element-types", "value", statement, "Export the model so that the tensor has one of these.", require=text
        ),
        text,
    )


SIZES = {
    "rank": ("value.rank <= {0}", "No value has a rank above {0}."),
    "extent": ("all(d <= {0} for d in value.shape)", "No dimension of a value is above {0}."),
    "elements": ("product(value.shape) <= {0}", "No value has more than {0} elements."),
}
"""Limits on each value by their key: the condition and the statement."""


def _sizes(largest: Largest) -> Iterator[tuple[Rule, Expression]]:
    for key, (text, statement) in SIZES.items():
        number = getattr(largest, key)
        if number is not None:
            condition = parse(text.format(number))
            yield (
                _rule(key, "value", statement.format(number), "Split or reshape the value.", require=condition),
                condition,
            )


def _expressions(rules: Iterable[OwnRule]) -> Iterator[tuple[Rule, Expression]]:
    for index, rule in enumerate(rules):
        place, name = f"rule[{index}]", rule.name
        if not is_slug(name) or "." in name or name in _RESERVED_NAMES:
            raise CatalogueError(f"{place}.name is {name!r}, not an unused name such as batch-is-one")
        try:
            condition = parse(rule.require)
            kind = type_of(condition, {"value": VALUE})
        except RuleError as error:
            raise CatalogueError(f"{place}.require: {error}") from None
        if kind != "bool":
            raise CatalogueError(f"{place}.require is not a condition")
        statement, remedy, because = (
            one_line(getattr(rule, key), f"{place}.{key}") for key in ("statement", "remedy", "because")
        )
        yield _rule(name, "value", statement, remedy, because, condition), condition


def _operators(written: TailoringFile, edition: Edition) -> Iterator[tuple[Rule, Decision]]:
    if written.operators is None:
        return
    listed = frozenset(_within_edition(written.operators, "operators", edition.operators, edition))

    def allowed(call: Call) -> Iterator[Violation]:
        if call.domain not in STANDARD or call.operator not in listed:
            yield Violation(f"the project does not allow the operator {quote(call.operator)}")

    statement = f"Every operator is one of {', '.join(sorted(listed))}."
    yield _rule("operators", "node", statement, "Express the node by these operators."), allowed


def _operator_sets(written: TailoringFile) -> Iterator[tuple[Rule, Decision]]:
    listed = written.operator_sets
    if listed is None:
        return
    if not listed or min(listed) < 1:
        raise CatalogueError("operator_sets is not a list of versions")

    def allowed(model: Model, *_: object) -> Iterator[Violation]:
        for entry in model.imports:
            if entry.domain in STANDARD and entry.version not in listed:
                yield Violation(f"the standard operator set is imported in version {entry.version}")

    statement = f"The standard operator set is imported in version {', '.join(map(str, listed))}."
    yield _rule("operator-sets", "model", statement, "Export the model for such a version."), allowed


COUNTS: dict[str, tuple[Callable[[Model], int], str]] = {
    "nodes": (lambda model: sum(len(scope.graph.nodes) for scope in scopes(model)), "nodes"),
    "inputs": (lambda model: len(model.graph.inputs), "graph inputs"),
    "outputs": (lambda model: len(model.graph.outputs), "graph outputs"),
    "weights": (
        lambda model: sum(_elements(tensor.dims) for tensor in all_constants(model)),
        "elements of constants",
    ),
}
"""Limits on the whole model by their key: the number, nested graphs and functions included, and its noun."""


def _elements(dims: tuple[int, ...]) -> int:
    number = 1
    for extent in dims:
        number *= max(extent, 0)
    return number


def _counts(largest: Largest) -> Iterator[tuple[Rule, Decision]]:
    for key, (count, what) in COUNTS.items():
        most = getattr(largest, key)
        if most is not None:
            rule = _rule(key, "model", f"The model has at most {most} {what}.", "Make the model smaller.")
            yield rule, _limit(count, most, what)


def _limit(count: Callable[[Model], int], most: int, what: str) -> Decision:
    def decide(model: Model, *_: object) -> Iterator[Violation]:
        number = count(model)
        if number > most:
            yield Violation(f"the model has {shown(number)} {what}, more than the {most} allowed")

    return decide


_RESERVED_NAMES = frozenset({"operators", "operator-sets", "element-types", *SIZES, *COUNTS})


def _within_edition(listed: tuple[str, ...], key: str, known: Iterable[str], edition: Edition) -> tuple[str, ...]:
    """A list of names that the edition has."""
    allowed = set(known)
    if not listed:
        raise CatalogueError(f"{key} is empty: no model could conform")
    beyond = [name for name in listed if name not in allowed]
    if beyond:
        names = ", ".join(map(repr, beyond))
        raise CatalogueError(f"{key} would widen the profile: edition {edition.name} does not have {names}")
    return listed
