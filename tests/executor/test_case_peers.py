"""Peers on the cases: what passes here and a peer refuses, and what is invalid here and a peer accepts, has a reason.

`peer_refusals.toml` has the reasons for refusals, `peer_acceptances.toml` those for what a peer does not notice.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from sonnx.evidence.verification import model_bytes
from sonnx.profile import catalogue
from sonnx.profile.cases import RuleCase, all_cases
from tests.executor.test_peer_refusals import RECORDED, each_peer, refused

ACCEPTED = tomllib.loads((Path(__file__).parent.parent / "data" / "peer_acceptances.toml").read_text("utf-8"))[
    "accepted"
]
EDITION = catalogue.editions().default


@cache
def asked() -> dict[bytes, list[RuleCase]]:
    """The cases of the default edition by their models; those with files beside the model are not asked."""
    found: dict[bytes, list[RuleCase]] = {}
    for case in all_cases():
        if case.expected_in(EDITION) is not None and case.beside is None:
            found.setdefault(model_bytes(case), []).append(case)
    return found


@cache
def answers(peer: str, folder: Path) -> dict[bytes, str]:
    """What a peer says of the models it refuses."""
    pytest.importorskip(peer)
    return refused(list(asked()), peer, folder)


def stated(case: RuleCase) -> dict[str, frozenset[str]]:
    """What the case says fails or is open."""
    return {word: rules for word, rules in (case.expected_in(EDITION) or {}).items() if word != "conforms" and rules}


@each_peer
def test_a_peer_that_refuses_what_passes_has_a_reason(peer: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    reasons = [each["says"] for each in RECORDED if each["peer"] == peer]
    unexplained = {
        case.id: said
        for data, said in answers(peer, folder).items()
        for case in asked()[data]
        if stated(case).keys() <= {"assumed"} and not any(re.search(reason, said) for reason in reasons)
    }
    assert unexplained == {}


@each_peer
def test_a_peer_that_accepts_what_is_invalid_has_a_reason(peer: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    said = answers(peer, tmp_path_factory.getbasetemp())
    accepted = {
        rule for data, [case, *_] in asked().items() if data not in said for rule in stated(case).get("invalid", ())
    }
    reasons = [each for each in ACCEPTED if each["peer"] == peer]
    recorded = [rule for each in reasons for rule in each["rules"]]
    assert sorted(recorded) == sorted(accepted)
    assert all(each["reason"].endswith(".") for each in reasons)
