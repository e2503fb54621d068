"""docs/specification.md names each definition with the line where it stands."""

from __future__ import annotations

import re

from sonnx.profile import catalogue
from sonnx.profile.onnx_schemas import schema_at
from sonnx.report.coq_editions import SUBJECTS
from tests.support.paths import ROOT
from tools.specification_links import NAMED, PAGE, renewed

SAFETY = (ROOT / "proofs" / "coq" / "safety.v").read_text("utf-8")


def test_the_lines_are_those_of_the_definitions() -> None:
    page = PAGE.read_text("utf-8")
    assert len(NAMED.findall(page)) == page.count(".v:"), "a line without the name of its definition"
    assert renewed(page) == page, "python -m tools.specification_links --write"


def test_every_edition_has_the_rules_that_soundness_rests_on() -> None:
    listed = re.search(r"Definition structural : list string :=\s*\[(.*?)\]\.", SAFETY, re.DOTALL)
    assert listed is not None
    slugs = set(re.findall(r'"([\w-]+)"', listed[1]))
    assert len(slugs) == 8
    known = catalogue.editions()
    for edition in known.editions.values():
        assert slugs <= {rule.slug for rule in catalogue.graph_rules() if known.in_force(rule, edition.general)}


def test_the_program_has_every_rule_without_an_expression() -> None:
    walk = (ROOT / "proofs" / "coq" / "walk.v").read_text("utf-8")
    listed = re.search(r"Definition defined_rules : list string :=\s*\[(.*?)\]\.", walk, re.DOTALL)
    assert listed is not None
    others = {rule.slug for rule in catalogue.general_rules() if rule.subject not in SUBJECTS}
    assert set(re.findall(r'"([\w-]+)"', listed[1])) == {rule.slug for rule in catalogue.graph_rules()} | others


def test_no_operator_of_an_edition_holds_a_graph() -> None:
    """The program does not walk graphs inside nodes: a node with one fails a rule in every edition."""
    for described in catalogue.operators():
        assert not [parameter.name for parameter in described.parameters if "graph" in parameter.kind], described.name


def test_operator_files_have_the_versions_of_onnx() -> None:
    """`operator_exists` in Coq takes the versions of an operator file for those that ONNX has."""
    for described in catalogue.operators():
        for operator_set in range(1, catalogue.editions().operator_set + 1):
            schema = schema_at("", described.name, operator_set)
            assert described.version_at(operator_set) == (schema.version if schema else None), described.name
