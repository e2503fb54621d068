"""A new text: statements that stay keep their entries, the others need a decision and name what they concern."""

from __future__ import annotations

import tomllib
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from sonnx.profile.technical_pages import technical_pages
from tests.support.text_statements import statements
from tools import new_text
from tools.new_text import CHANGED, GONE, KEPT, NEW, RENAMED, changes, listed, new_map, technical_changes

BEFORE = """
# **Relu** (real)
## Inputs
### `X`
#### Constraints
 - `[C1]` Shape consistency
 - `[C2]` A condition that stays
 - `[C3]` A condition that goes
 - `[C4]` A condition with another label
## Restrictions
 - `[R1]` Short
"""
AFTER = (
    BEFORE.replace("Shape consistency", "Shapes are equal")
    .replace(" - `[C3]` A condition that goes\n", "")
    .replace("[C4]", "[C5]")
    .replace("Short", "Short\n - `[R2]` A restriction that is new")
)


def page() -> dict[str, object]:
    entries = [{"at": each.place, "label": each.label, "quote": each.quote} for each in statements(BEFORE)]
    shown = {"C1": {"rules": ["Relu.Y-shape"]}, "C2": {"none": "A reason."}, "C3": {"values": ["Relu"]}}
    return {
        "page": "ops/relu.md", "text": "2026-08", "operator": "Relu",
        "statements": [{**each, **shown.get(each["label"], {"rules": ["explicit-shape"]})} for each in entries],
    }  # fmt: skip


def test_each_kind_of_change_is_seen() -> None:
    found = changes(page()["statements"], statements(AFTER, True), {})
    assert {(each.statement.label, each.kind) for each in found} == {
        ("C1", CHANGED), ("C2", KEPT), ("C5", RENAMED), ("R1", KEPT), ("R2", NEW), ("C3", GONE),
    }  # fmt: skip
    lines = list(listed(found, page()))
    assert lines[0] == "# relu.md: 1 gone, 1 changed, 1 renamed, 1 new, 2 kept"
    assert "2026-08" in lines[2]
    assert any(line.startswith("* rule Relu.Y-shape: restrictions/operators/relu.toml, ") for line in lines)
    assert "* value of Relu" in lines
    same = changes(page()["statements"], statements(BEFORE, True), {})
    assert {each.kind for each in same} == {KEPT}


def test_the_end_of_a_long_statement_needs_the_page_before() -> None:
    long = BEFORE.replace("Short", "word " * 40)
    other = long.replace("Shape consistency", "Shape consistency").replace("word \n", "word end\n")
    entries = [{"at": each.place, "label": each.label, "quote": each.quote} for each in statements(long)]
    whole = {new_text.key(each.place, each.label): each.quote for each in statements(long, True)}
    after = statements(other, True)
    assert {each.kind for each in changes(entries, after, {})} == {KEPT}
    assert [each.statement.label for each in changes(entries, after, whole) if each.kind == CHANGED] == ["R1"]


def test_the_new_map_keeps_entries_and_asks_for_decisions(tmp_path: Path) -> None:
    found = changes(page()["statements"], statements(AFTER, True), {})
    made = tomllib.loads(new_map(found, page(), "2027-01", AFTER.encode()))
    assert (made["text"], made["operator"], len(made["sha256"])) == ("2027-01", "Relu", 64)
    by_label = {each["label"]: each for each in made["statements"]}
    assert [(each["at"], each["label"], each["quote"]) for each in made["statements"]] == [
        (each.place, each.label, each.quote) for each in statements(AFTER)
    ]
    assert by_label["C2"] == {"at": "real / X", "label": "C2", "quote": "A condition that stays", "none": "A reason."}
    assert {label: each.get("review") for label, each in by_label.items()} == {
        "C1": CHANGED, "C2": None, "C5": RENAMED, "R1": None, "R2": NEW,
    }  # fmt: skip


def test_the_command_compares_with_the_newest_map_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, made = tmp_path / "relu.md", tmp_path / "made.toml"
    path.write_text(AFTER, "utf-8")
    monkeypatch.setattr("sys.argv", ["new_text", str(path), "--text", "2027-01", "--write", str(made)])
    assert new_text.main() == 0
    assert capsys.readouterr().out.startswith("# relu.md: ")
    assert tomllib.loads(made.read_text("utf-8"))["page"].endswith("/relu.md")
    with pytest.raises(SystemExit, match=r"no map in .* is of a page other\.md"):
        new_text.newest_map("other.md")


def test_a_technical_page_is_compared_with_the_sentences_that_values_rest_on() -> None:
    [pinned] = [page for page in technical_pages() if page.file.endswith("/float6.md")]
    page = "# Float stored in 6 bits\n" + "\n".join(pinned.sentences)
    same = replace(pinned, sha256=sha256(page.encode()).hexdigest())
    assert list(technical_changes(same, page.encode())) == [f"# float6.md: the state of commit {pinned.commit}"]
    zeros = next(sentence for sentence in pinned.sentences if "Zeros" in sentence)
    lines = list(technical_changes(pinned, page.replace(zeros, "   * - Zeros\n     - 0x00").encode()))
    assert lines[0].endswith("; 1 of 7 sentences are gone")
    assert [line for line in lines if line.startswith("## ")] == [f"## gone: {zeros}"]
    assert "* module sonnx/numerics/small_floats.py" in lines


def test_technical_pages_name_modules_that_exist() -> None:
    root = Path(new_text.__file__).parent.parent
    named = {module for page in technical_pages() for module in page.modules}
    assert {module for module in named if not (root / module).is_file()} == set()
    assert all(len(page.commit) == 40 for page in technical_pages())
