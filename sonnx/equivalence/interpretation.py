"""A model in terms: the terms of its outputs, by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sonnx.base.errors import BadInput, NotExecutable
from sonnx.equivalence.domain import TermDomain
from sonnx.equivalence.expansion import Expansion
from sonnx.equivalence.terms import Store, Term
from sonnx.graph.call import Calls
from sonnx.graph.environment import declared_facts
from sonnx.graph.interpreter import interpret
from sonnx.model.ir import Model
from sonnx.model.scopes import imports_of
from sonnx.profile import catalogue

NEWER = "operator set {}, which is newer than the known ones, changes no operator"


def required(model: Model) -> list[str]:
    """The names of the graph inputs that a caller must give."""
    constants = {tensor.name for tensor in model.graph.initializers}
    return [value.name for value in model.graph.inputs if value.name not in constants]


def terms_of(
    model: Model,
    store: Store,
    folder: Path | None,
    names: Mapping[str, str],
) -> tuple[dict[str, Term], dict[str, Term]]:
    """The terms of the outputs and of all values of a model.

    Args:
        model: the model, with the numbers of its bound symbols.
        store: shared with the other model.
        folder: where the model file stands.
        names: the common name of each input.

    Raises:
        BadInput: a constant has no values.
    """
    try:
        return _terms(model, store, folder, names)
    except NotExecutable as stop:
        raise BadInput(str(stop)) from None


def _terms(
    model: Model, store: Store, folder: Path | None, names: Mapping[str, str]
) -> tuple[dict[str, Term], dict[str, Term]]:
    domain = TermDomain(store, folder)
    version = imports_of(model.imports).get("")
    if version is not None and version > catalogue.editions().operator_set:
        store.assume(NEWER.format(version))
    types = {value.name: value.type for value in model.graph.inputs}
    given = {name: store.input(names[name], declared_facts(types[name])) for name in required(model)}
    calls = Calls(model, domain.rules.edition, beyond_edition=True)
    interpretation = interpret(model, domain, calls, given=given, transformer=Expansion(model, domain), main_only=True)
    values: dict[str, Term] = {}
    for name in interpretation.scopes[0].values:
        value = interpretation.value(name)
        if value is not None:
            values[name] = value
    outputs = {value.name: values[value.name] for value in model.graph.outputs if value.name in values}
    return outputs, values
