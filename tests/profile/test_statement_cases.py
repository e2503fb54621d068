"""Every statement of a page that a rule shows has a model that meets it and one that breaks it, in each edition.

The statements and their rules are those of tests/data/label_map; the models, with the verdict written down from the
text, those of restrictions/cases.  tests/profile/test_cases.py checks that the tool gives these verdicts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from onnx import ModelProto, NodeProto, TensorProto
from onnx.helper import make_tensor_value_info

import sonnx
from sonnx.evidence.verification import model_bytes
from sonnx.profile import catalogue
from sonnx.profile.cases import all_cases
from sonnx.profile.definitions import Formal
from sonnx.profile.index import rules_by_slug
from sonnx.profile.signature import signature
from tests.support.cases import each_case

DATA = Path(__file__).parent.parent / "data"
RULES = rules_by_slug()
PAGES = [tomllib.loads(path.read_text("utf-8")) for path in sorted((DATA / "label_map").glob("*.toml"))]
OUTCOMES = {"meets": ("conforms",), "breaks": ("invalid", "violates")}


@cache
def shown(file: str, edition: str, outcome: str) -> frozenset[str]:
    """The rules that a case of a file meets or breaks in an edition; "" is any file."""
    stated = [case.expected_in(edition) or {} for case in all_cases() if case.file == file or not file]
    return frozenset(rule for each in stated for word in OUTCOMES[outcome] for rule in each.get(word, ()))


def editions_of(page: dict[str, str]) -> list[str]:
    """The editions that take the page: as the text of its operator, or from its own text on."""
    known = catalogue.editions()
    operator, texts = page.get("operator"), list(known.texts)
    return [
        name
        for name, edition in known.editions.items()
        if (
            edition.operators.get(operator) == page["text"]
            if operator
            else texts.index(edition.general) >= texts.index(page["text"])
        )
    ]


def without_case(page: dict[str, object]) -> set[tuple[str, str, str, str]]:
    """Where a model is missing: statement, rule, edition, and whether one is missing that meets or breaks it."""
    known, operator = catalogue.editions(), page.get("operator", "")
    missing = set()
    for statement in page["statements"]:
        for slug in statement.get("rules", ()):
            rule, own = RULES[slug], slug.startswith(f"{operator}.")
            for edition in editions_of(page):
                text = page["text"] if own else known.editions[edition].general
                if not known.in_force(rule, text):
                    continue
                for outcome in OUTCOMES:
                    if slug not in shown(f"{operator.lower()}.md" if operator and not own else "", edition, outcome):
                        missing.add((f"{statement['at']} {statement['label']}", slug, edition, outcome))
    return missing


@each_case("page", PAGES, ids=[f"{page['page'].split('/')[-1]} [{page['text']}]" for page in PAGES])
def test_every_statement_has_a_model_that_meets_it_and_one_that_breaks_it(page):
    assert without_case(page) == set()


# ------------------------------------------------------------------ statements that share a rule

SEPARATE = tomllib.loads((DATA / "statement_cases.toml").read_text("utf-8"))


@each_case("operator", SEPARATE)
def test_statements_that_share_a_rule_have_cases_of_their_own(operator):
    [page] = [each for each in PAGES if (each.get("operator"), each["text"]) == (operator, "2026-08")]
    by_title = {case.title: case for case in all_cases() if case.file == f"{operator.lower()}.md"}
    broken = {}
    for name, title in SEPARATE[operator].items():
        part, _, label = name.rpartition(" ")
        found = [each for each in page["statements"] if each["at"].endswith(part) and each["label"] == label]
        rules = {rule for each in found for rule in each.get("rules", ())}
        for edition in editions_of(page):
            stated = by_title[title].expected_in(edition) or {}
            failing = {rule for word in OUTCOMES["breaks"] for rule in stated.get(word, ())}
            assert rules & failing, (name, title, edition)
        assert broken.setdefault(title, name) == name, "one case for two statements"


# ------------------------------------------------------------------ type consistency, tensor by tensor

OF_TYPES = sorted(
    {
        (page["operator"], tensor, edition)
        for page in PAGES
        for each in page["statements"]
        if page.get("operator") and "no-implicit-conversion" in each.get("rules", ())
        for tensor in [each["at"].rpartition(" / ")[2]]
        if tensor != "Restrictions"
        for edition in editions_of(page)
    }
)
"""Each tensor whose type a page relates to that of others, in each edition that takes the page."""


OTHER = {
    TensorProto.FLOAT: TensorProto.DOUBLE,
    TensorProto.INT8: TensorProto.UINT8,
    TensorProto.UINT8: TensorProto.INT8,
    TensorProto.INT32: TensorProto.INT64,
    TensorProto.INT64: TensorProto.INT32,
}


PAGE_NAMES = {
    ("Slice", "S"): "starts", ("Slice", "E"): "ends", ("Slice", "A"): "axes", ("Slice", "K"): "steps",
    ("Clip", "output"): "Y", ("Concat", "X_0, X_1, dots, X_{n-1}"): "X",
}  # fmt: skip
"""Tensors that a page calls otherwise than the operator file."""


def formals(operator: str, edition: str, node: NodeProto) -> Iterator[tuple[Formal, str]]:
    """The inputs and outputs of a node with the values connected to them, in any version of the operator."""
    made = signature(operator, catalogue.operator(operator).versions[-1], edition)
    for listed, names in ((made.inputs, node.input), (made.outputs, node.output)):
        for position, name in enumerate(names):
            formal = listed[min(position, len(listed) - 1)]
            yield formal, name


def with_other_type(operator: str, tensor: str, edition: str) -> Iterator[bytes]:
    """Conforming models of cases with the type of one tensor of the node changed.

    A constant becomes an input of the graph.
    """
    for case in all_cases():
        stated = case.expected_in(edition)
        if case.file != f"{operator.lower()}.md" or stated is None or set(stated) != {"conforms"}:
            continue
        for node in ModelProto.FromString(model_bytes(case)).graph.node:
            for formal, name in formals(operator, edition, node) if node.op_type == operator else ():
                model = ModelProto.FromString(model_bytes(case))
                constants = {each.name: each for each in model.graph.initializer}
                if formal.name != tensor or not name:
                    continue
                if name in constants:
                    kept = constants.pop(name)
                    model.graph.input.append(make_tensor_value_info(name, kept.data_type, kept.dims))
                    del model.graph.initializer[:]
                    model.graph.initializer.extend(constants.values())
                for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
                    if value.name == name:
                        kind = value.type.tensor_type
                        kind.elem_type = OTHER.get(kind.elem_type, TensorProto.FLOAT)
                        yield model.SerializeToString()


@each_case(("operator", "tensor", "edition"), OF_TYPES, ids=[" ".join(each) for each in OF_TYPES])
def test_a_tensor_of_another_type_fails(operator, tensor, edition):
    """Not in every model: ConvInteger relates the type of X to that of a zero point, which may be absent."""
    tensor = PAGE_NAMES.get((operator, tensor), tensor)
    about_types = [name for name, tensors in catalogue.operator(operator).type_rules.items() if tensor in tensors]
    expected = {"no-implicit-conversion", *(f"{operator}.{name}" for name in about_types)}
    found = []
    for changed in with_other_type(operator, tensor, edition):
        failed = {each.rule for each in sonnx.check(changed, edition).findings if each.verdict == "fail"}
        if failed & expected:
            return
        found.append(failed)
    pytest.fail(f"no changed model fails: {found}")
