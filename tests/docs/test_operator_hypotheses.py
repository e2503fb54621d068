"""docs/operator-hypotheses.md names what shows progress and preservation of each operator."""

from __future__ import annotations

import re

from sonnx.profile import catalogue
from tests.support.paths import ROOT
from tools.operator_hypotheses import PAGE, TEST, page


def test_the_page_is_as_it_is_generated() -> None:
    assert PAGE.read_text("utf-8") == page(), "python -m tools.operator_hypotheses --write"


def test_every_specified_operator_has_a_row_with_all_its_versions() -> None:
    edition, text = catalogue.edition_named(), PAGE.read_text("utf-8")
    assert (ROOT / TEST).is_file()
    for operator in edition.operators:
        described = catalogue.operator(operator)
        if described is None:
            continue
        rows = re.findall(rf"^\| {operator} \| ([\d, ]+|all) \|", text, re.MULTILINE)
        assert rows, operator
        if "all" not in rows:
            named = {int(version) for row in rows for version in row.split(",")}
            assert named <= set(described.versions), operator
            assert described.specified in named, operator
