"""A few conforming calls of the newest version of an operator, with the values of their variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sonnx.profile.catalogue import operators
from sonnx.proofs.derived import conforming
from sonnx.prover.signature_family import SignatureFamily, signatures
from sonnx.prover.witness import CallInstance, judge
from sonnx.suite.bounded import BitQuestions
from sonnx.suite.call_search import CallSearch
from sonnx.suite.structures import MAX_EXTENT, _bounds, _filled

ConformingModels = list[tuple[Mapping[str, int], CallInstance]]


@contextmanager
def conforming_models(operator: str) -> Iterator[tuple[SignatureFamily, ConformingModels]]:
    """The calls, in the context of their signature."""
    described = next(each for each in operators() if each.name == operator)
    signature, edition = next(iter(signatures(described)))
    family = SignatureFamily(described, signature, edition, ((signature.version, edition),), folded=True)
    with family.context():
        search = CallSearch([*conforming(family), *_bounds(family, MAX_EXTENT)], [], _filled(family), BitQuestions())
        codes = family.variables.interpretation.codes
        yield family, [(values, judge(signature, codes, values, edition)[0]) for values, _ in search.cover([()])[1]]
