"""A few conforming calls of the newest version of an operator, with the values of their variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import z3

from sonnx.profile.catalogue import operators
from sonnx.proofs.derived import conforming
from sonnx.prover.signature_family import SignatureFamily, signatures
from sonnx.prover.witness import CallInstance, judge
from sonnx.suite.bounded import BitQuestions
from sonnx.suite.call_search import CallSearch
from sonnx.suite.structures import MAX_EXTENT, _bounds, _filled

ConformingModels = list[tuple[Mapping[str, int], CallInstance]]


@contextmanager
def conforming_models(
    operator: str, at_least: Mapping[str, int] = MappingProxyType({}), largest: int = MAX_EXTENT
) -> Iterator[tuple[SignatureFamily, ConformingModels]]:
    """The calls, in the context of their signature; `at_least` has the least values of variables, `largest`
    is the largest extent.
    """
    described = next(each for each in operators() if each.name == operator)
    signature, edition = next(iter(signatures(described)))
    family = SignatureFamily(described, signature, edition, ((signature.version, edition),), folded=True)
    with family.context():
        wanted = [z3.Int(name) >= least for name, least in at_least.items()]
        conditions = [*conforming(family), *_bounds(family, largest), *wanted]
        search = CallSearch(conditions, [], _filled(family), BitQuestions())
        codes = family.variables.interpretation.codes
        yield family, [(values, judge(signature, codes, values, edition)[0]) for values, _ in search.cover([()])[1]]
