"""What a report says beside its findings: what is passed over, and which version stands for which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sonnx import catalogue
from sonnx.model import Model
from sonnx.profile import Edition
from sonnx.quoting import quote
from sonnx.scope import imports_of, scopes
from sonnx.signature import Signature


def notes(model: Model, domains: set[str], made: Iterable[Signature], edition: Edition) -> Iterator[str]:
    """The notes on a model whose nodes are of these domains and calls of these signatures."""
    for each in made:
        yield from _on_operator(each, edition)
    for domain in imports_of(model.imports):
        if domain and domain not in domains:
            yield f"the operator set {quote(domain)} is imported and not used"
    annotations = sum(scope.graph.annotations for scope in scopes(model))
    if annotations:
        yield f"{annotations} quantization annotations are not judged: they change no value"
    if model.configurations:
        yield f"{model.configurations} device configurations are not judged: they change no value"
    texts = list(catalogue.editions().texts)
    for limit in catalogue.editions().limits:
        if texts.index(limit.introduced) <= texts.index(edition.general):
            yield f"not judged: {limit.statement}; {limit.because}"
    if edition.consolidated:
        yield f"edition {edition.name} is consolidated by this tool from the published texts"


def _on_operator(made: Signature, edition: Edition) -> Iterator[str]:
    described = catalogue.operator(made.operator)
    if described is None:
        return
    if made.operator in edition.drafts:
        reason = ", ".join(described.errata) or "its text is incomplete"
        yield f"{made.operator} is specified as a draft: {reason}"
    specified = described.specified_by(made.text)
    means = described.equivalent.get(made.version) or described.equivalent.get(specified or 0)
    if means and made.version != specified:
        yield f"{made.operator}-{made.version} stands for {made.operator}-{specified}: {means}"
