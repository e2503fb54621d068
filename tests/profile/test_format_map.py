"""Every sentence of onnx.proto and IR.md that demands something has a rule, or the reason why it has none.

tests/data/format_map holds the place and a digest of each sentence.  The sentences of onnx.proto are read again from
the installed package where it has the version of the map; those of IR.md where the environment variable SONNX_TEXTS
names a folder with that page.
"""

import os
import tomllib
from pathlib import Path

import onnx
import pytest

from sonnx.profile.cases import cases_by_rule
from sonnx.profile.index import rules_by_slug
from tests.support.format_sentences import of_markdown, of_proto

FOLDER = Path(__file__).parent.parent / "data" / "format_map"
PROTO, PAGE = (tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8")) for name in ("onnx_proto", "ir_md"))


def places(page):
    return [(each["at"], each["digest"]) for each in page["sentence"]]


def test_every_sentence_has_a_rule_or_a_reason() -> None:
    rows = [*PROTO["sentence"], *PAGE["sentence"]]
    assert [row for row in rows if ("rules" in row) == ("reason" in row)] == []
    assert {rule for row in rows for rule in row.get("rules", ())} - rules_by_slug().keys() == set()


def test_the_rules_have_cases_on_both_sides() -> None:
    named = {rule for page in (PROTO, PAGE) for row in page["sentence"] for rule in row.get("rules", ())}
    passed, failed = cases_by_rule("conforms"), cases_by_rule("invalid", "violates")
    assert {rule for rule in named if rule not in passed or rule not in failed} == set()


def test_no_sentence_of_the_protobuf_file_is_missing() -> None:
    if onnx.__version__ != PROTO["version"]:
        pytest.skip(f"the map is of onnx {PROTO['version']}, installed is {onnx.__version__}")
    text = (Path(onnx.__file__).parent / "onnx.proto").read_text("utf-8")
    assert [(each.at, each.digest) for each in of_proto(text)] == places(PROTO)


def test_no_sentence_of_the_page_is_missing() -> None:
    page = Path(os.environ.get("SONNX_TEXTS", "")) / "IR.md"
    if not os.environ.get("SONNX_TEXTS") or not page.is_file():
        pytest.skip("SONNX_TEXTS names no folder with IR.md")
    assert [(each.at, each.digest) for each in of_markdown(page.read_text("utf-8"))] == places(PAGE)


def test_the_demands_of_a_text_are_found_with_their_places() -> None:
    text = "message Part {\n  // A name. It MUST be\n  // there.\n  optional string name = 1;  // Must be short.\n}\n"
    said = [("Part.name", "It MUST be there."), ("Part.name", "Must be short.")]
    assert [(each.at, each.text) for each in of_proto(text)] == said
    page = "# Parts\n\nA part has a name.\nIt shall be short.\n```\nmust\n```\n"
    assert [(each.at, each.text) for each in of_markdown(page)] == [("Parts", "It shall be short.")]
