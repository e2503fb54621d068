"""Every sentence of onnx.proto and IR.md that demands something has a rule, or the reason why it has none.

tests/data/format_map holds the place and a digest of each sentence.  The sentences of onnx.proto are read again from
the installed package where it has the version of the map; those of IR.md where the environment variable SONNX_TEXTS
names a folder with that page.
"""

import os
import tomllib
from pathlib import Path

import onnx
import onnx.parser
import pytest

import sonnx
from sonnx.checker.verdicts import Verdict
from sonnx.profile.cases import cases_by_rule
from sonnx.profile.index import rules_by_slug
from tests.support.format_sentences import of_markdown, of_proto
from tests.support.invalid_models import justified

FOLDER = Path(__file__).parent.parent / "data" / "format_map"
PROTO, PAGE = (tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8")) for name in ("onnx_proto", "ir_md"))


ROWS = [*PROTO["sentence"], *PAGE["sentence"]]
TEXT = '<ir_version: 10, opset_import: ["" : 14]> g (float[2] a) => (float[2] y) { y = Relu(a) }'
WITH_TRAINING = onnx.parser.parse_model(TEXT)
WITH_TRAINING.training_info.add(algorithm=onnx.GraphProto(name="step"))
WITH_TRAINING = WITH_TRAINING.SerializeToString()


def named(row):
    """The rules of a sentence."""
    return [*row.get("rules", ()), *row.get("not_checked", ())]


def places(page):
    return [(each["at"], each["digest"], each.get("must", False)) for each in page["sentence"]]


def test_every_sentence_has_a_rule_or_a_reason() -> None:
    assert [row for row in ROWS if sum(key in row for key in ("rules", "reason", "not_checked")) != 1] == []
    assert {rule for row in ROWS for rule in named(row)} - rules_by_slug().keys() == set()


def test_a_sentence_that_leaves_no_choice_has_rules_of_class_validity_only() -> None:
    rules = rules_by_slug()
    assert [row for row in ROWS if row.get("must") and {rules[name].kind for name in named(row)} - {"validity"}] == []


OUTSIDE_THE_FILE = (
    "Explains; it demands nothing of a file.",
    "About the definition of operator sets",
    "About the values of a run",
    "About an implementation",
    "A file does not say",
    "Says what a shape means",
    "The order of elements in a file cannot be seen",
    "The order of bytes in a file cannot be seen",
    "Every pattern of bits is a number of its format.",
)
"""The reasons for which a sentence that leaves no choice may have no rule; that it changes no value is none of them."""


def test_a_sentence_that_leaves_no_choice_is_about_something_else_or_is_named_as_not_checked() -> None:
    reasons = [row["reason"] for row in ROWS if row.get("must") and "reason" in row]
    assert [reason for reason in reasons if not reason.startswith(OUTSIDE_THE_FILE)] == []


def test_what_is_demanded_and_not_checked_ends_with_3() -> None:
    """A rule of these sentences gives not-checked, also where the restriction that fails beside it is justified."""
    demanded = {rule for row in ROWS for rule in row.get("not_checked", ())}
    report = sonnx.check(WITH_TRAINING, hashed=True)
    assert (
        demanded
        == {each.rule for each in report.findings if each.verdict is Verdict.NOT_CHECKED}
        == {"training-graphs"}
    )
    assert justified(report).exit_code(accept_assumptions=True) == 3


def test_the_rules_have_cases_on_both_sides() -> None:
    listed = {rule for row in ROWS for rule in row.get("rules", ())}
    passed, failed = cases_by_rule("conforms"), cases_by_rule("invalid", "violates")
    assert {rule for rule in listed if rule not in passed or rule not in failed} == set()


def test_no_sentence_of_the_protobuf_file_is_missing() -> None:
    if onnx.__version__ != PROTO["version"]:
        pytest.skip(f"the map is of onnx {PROTO['version']}, installed is {onnx.__version__}")
    text = (Path(onnx.__file__).parent / "onnx.proto").read_text("utf-8")
    assert [(each.at, each.digest, each.obliges) for each in of_proto(text)] == places(PROTO)


def test_no_sentence_of_the_page_is_missing() -> None:
    page = Path(os.environ.get("SONNX_TEXTS", "")) / "IR.md"
    if not os.environ.get("SONNX_TEXTS") or not page.is_file():
        pytest.skip("SONNX_TEXTS names no folder with IR.md")
    found = [(each.at, each.digest, each.obliges) for each in of_markdown(page.read_text("utf-8"))]
    assert found == places(PAGE)


def test_the_demands_of_a_text_are_found_with_their_places() -> None:
    text = "message Part {\n  // A name. It MUST be\n  // there.\n  optional string name = 1;  // Must be short.\n}\n"
    said = [("Part.name", "It MUST be there."), ("Part.name", "Must be short.")]
    assert [(each.at, each.text) for each in of_proto(text)] == said
    page = "# Parts\n\nA part has a name.\nIt shall be short.\n```\nmust\n```\n"
    assert [(each.at, each.text) for each in of_markdown(page)] == [("Parts", "It shall be short.")]
