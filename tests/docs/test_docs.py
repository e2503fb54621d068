"""The documentation says what is so: links, commands, slugs, modules, transcripts and rule texts."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import onnx
import pytest

from sonnx.checker.rules import evaluate_rule
from sonnx.checker.verdicts import Verdict
from sonnx.cli import help_texts, main
from sonnx.graph.environment import NO_SHAPE
from sonnx.language.domain import RuleError
from sonnx.language.evaluator import RUN_TIME, Evaluator, TensorFacts, dimension
from sonnx.language.parser import parse
from sonnx.language.printer import formula
from sonnx.language.type_checker import TENSOR, ListType, RuleType, show_type, type_of
from sonnx.numerics.enclosures.options import DEFAULT_HYPOTHESES
from sonnx.profile import catalogue
from sonnx.profile.cases import EXPECTATIONS
from sonnx.profile.definitions import Rule
from sonnx.profile.index import rules_by_slug
from sonnx.report.class_reach import REACH
from sonnx.report.comparison import RUNS, WAYS
from sonnx.report.model_proof import EVERY_NODE
from tests.support.cases import each_case
from tests.support.editions import EDITION
from tests.support.paths import ROOT
from tests.support.sentences import BLOCK, prose
from tools import pictures
from tools.pages.site import written_by_hand

TEXTS = written_by_hand()
LANGUAGE = TEXTS["docs/rule-language.md"]
SHOWN_WITH = "1.23.2"
"""The version of onnx that the transcripts name."""
parser = cache(main.parser)


def blocks(text: str, tag: str) -> list[str]:
    return [body for found, body in BLOCK.findall(text) if found == tag]


# ------------------------------------------------------------------ links


def test_every_page_is_linked() -> None:
    """From the index; a page of a folder with an index of its own from that one."""
    for path in (ROOT / page for page in TEXTS):
        if path.is_relative_to(ROOT / "docs") and path != ROOT / "docs" / "index.md":
            own = path.parent / "index.md"
            index = own if own.exists() and own != path else ROOT / "docs" / "index.md"
            assert f"({path.relative_to(index.parent).as_posix()})" in index.read_text("utf-8"), path.name


def test_the_versions_of_python_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    stated = [each.rpartition(" ")[2] for each in project["classifiers"] if re.search(r"Python :: 3\.\d", each)]
    assert project["requires-python"] == f">={stated[0]}"
    assert f"# Python {stated[0]} to {stated[-1]}, from a checkout" in TEXTS["README.md"]
    [tried] = re.findall(r"^PYTHONS \?= (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert tried.split() == [f"python{each}" for each in stated]


# ------------------------------------------------------------------ commands, slugs, modules


def command_lines() -> Iterator[tuple[str, str]]:
    for page, text in TEXTS.items():
        yield from ((page, line) for line in re.findall(r"^\$ sonnx (.+)$", text, flags=re.MULTILINE))
        yield from ((page, line) for line in re.findall(r"`sonnx ([^`]+)`", prose(text)))


@each_case(("page", "line"), sorted(set(command_lines())))
def test_commands_can_be_given(page: str, line: str) -> None:
    try:
        assert callable(parser().parse_args(shlex.split(line)).command)
    except SystemExit as end:  # --help and --version print and end; a wrong command line ends with 2
        assert not end.code, f"{page}: sonnx {line}"


@pytest.mark.usefixtures("runtimes_in_this_process")
def test_transcripts_are_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lines of a transcript are printed in this order; a line `…` stands for lines left out, an edition for any."""
    for name in ("examples", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)  # what a command writes is not left in the tree
    shown = 0
    for text in TEXTS.values():
        for block in blocks(text, "console"):
            command, *lines = block.splitlines()
            main.run(shlex.split(command.removeprefix("$ sonnx ")))
            out = re.sub(EDITION, "EDITION", capsys.readouterr().out.replace(onnx.__version__, SHOWN_WITH))
            printed = iter(out.splitlines())
            for line in (re.sub(EDITION, "EDITION", each) for each in lines):
                assert line == "…" or line in printed, f"{command}: {line}"
            shown += 1
    assert shown >= 2


def test_the_readme_lists_the_commands_in_their_groups() -> None:
    text = TEXTS["README.md"].partition("## Commands")[2].partition("\n## ")[0]
    groups = [group for group in help_texts.texts()["groups"] if group["commands"] != ["tool"]]
    parts = text.split(":\n\n* ")[1:]
    assert re.findall(r"^(\w[^\n]*):\n\n\* ", text, re.MULTILINE) == [group["title"].capitalize() for group in groups]
    for group, part in zip(groups, parts, strict=True):
        listed = re.findall(r"^(?:\* )?`sonnx (\w+)", part, re.MULTILINE)
        assert [name for name in listed if name != "tool"] == group["commands"]
        assert len(group["commands"]) <= 5


def test_the_pictures_of_terminals_are_what_is_printed() -> None:
    assert pictures.main(["--check"]) == 0
    shown = [name for text in TEXTS.values() for name in re.findall(r"pictures/([\w-]+)\.(?:svg|png)\)", text)]
    assert {path.stem for path in pictures.FOLDER.iterdir()} == {*pictures.TERMINALS, *pictures.PAGES} == {*shown}


def test_programs_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    for program in blocks(TEXTS["README.md"], "python"):
        exec(compile(program, "README.md", "exec"), {})
        assert "Max.broadcastable fail graph/node[0]" in capsys.readouterr().out


OTHER_NAMES = {
    *EXPECTATIONS,
    *Verdict,
    "error-condition",
    "strict-versions",
    "diff-edition",
    "sonnx-verified",
    EVERY_NODE,
    RUNS,
}
FILES_OF_HARNESS = ("cases", "outputs")
"""The endings of files of the harness in C, one of each for an operator."""
OTHER_NAMES |= {DEFAULT_HYPOTHESES, REACH, *(name for name, _ in WAYS.values())}


def test_slugs_exist() -> None:
    known = rules_by_slug().keys() | catalogue.errata().keys() | OTHER_NAMES
    known |= {f"{operator.name}.{ending}" for operator in catalogue.operators() for ending in FILES_OF_HARNESS}
    for page, text in TEXTS.items():
        for name in re.findall(r"`((?:[A-Z]\w*\.)?[a-zA-Z0-9_]+(?:-[a-zA-Z0-9_]+)*)`", prose(text)):
            operator, dot, _ = name.rpartition(".")
            if ("-" in name and not operator) or (dot and operator not in ("OP", "X", "Y")):
                assert name in known, f"{page}: {name}"


def test_paths_exist() -> None:
    for page, text in TEXTS.items():
        for path in re.findall(
            r"`((?:sonnx|restrictions|proofs|tests|docs|examples|benchmarks|tools)/[^`<\s]*)`", prose(text)
        ):
            place, _, test = path.partition("::")
            files = list(ROOT.glob(place.rstrip("/")))
            assert files, f"{page}: {path}"
            assert not test or f"def {test}(" in files[0].read_text("utf-8"), f"{page}: {path}"


def test_the_guide_has_the_layers_of_the_contract() -> None:
    """Every package stands in the contract, and the guide lists them in the same order."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    [layers] = [each["layers"] for each in contracts if "sonnx.cli" in each.get("layers", ())]
    packages = [path.name for path in (ROOT / "sonnx").iterdir() if (path / "__init__.py").exists()]
    ordered = [[name.removeprefix("sonnx.") for name in layer.split(" | ")] for layer in layers]
    assert {name for layer in ordered for name in layer} == {*packages, "__main__"}
    drawing = TEXTS["docs/reading-guide.md"].partition("## Layers")[2].partition("```\n")[2].partition("```")[0]
    drawn = [re.match(r"  (\w+(?: \| \w+)*)", line) for line in drawing.splitlines()]
    assert [found[1].split(" | ") for found in drawn if found] == [
        kept for layer in ordered if (kept := [name for name in layer if name in packages])
    ]


def test_every_file_of_the_profile_is_in_the_format() -> None:
    page = TEXTS["docs/profile-format.md"]
    for path in [*(ROOT / "restrictions").glob("*.toml"), *(ROOT / "restrictions" / "schema").glob("*.json")]:
        assert f"`{path.name}`" in page


# ------------------------------------------------------------------ rule texts


@each_case("text", [line for block in blocks(LANGUAGE, "rule") for line in block.splitlines()])
def test_rule_texts_are_rules(text: str) -> None:
    assert parse(text).text == text


REFUSED_NAMES: dict[str, RuleType] = {
    "X": ListType(TENSOR), "Y": TENSOR, "axis": "int", "axes": ListType("int"), "auto_pad": "string",
}  # fmt: skip
REFUSED = [
    (text, sentence.strip())
    for block in blocks(LANGUAGE, "refused")
    for text, sentence in zip(*[iter(block.splitlines())] * 2, strict=True)
]


@each_case(("text", "sentence"), REFUSED)
def test_refused_texts_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(RuleError) as refusal:
        type_of(parse(text), REFUSED_NAMES)
    assert str(refusal.value).startswith(sentence)


CASE = re.compile(r"^(\w+ = .+?)  +(pass|fail|undecided|assumed|not-applicable)(?: +(.+))?$")
EMPTY = Rule("x", "node", "restriction", "", "", "", "")


def fact(name: str, written: Any) -> Any:
    """A fact from its text: shapes for X, else a number or numbers; None is what the model does not say."""
    if name == "X":
        if isinstance(written, list) and any(isinstance(item, list) for item in written):
            return tuple(tensor(shape) for shape in written)
        return tensor(written)
    if isinstance(written, list):
        return tuple(RUN_TIME if item is None else item for item in written)
    return RUN_TIME if written is None else written


def tensor(shape: list[int | str] | None) -> TensorFacts:
    return TensorFacts("float", NO_SHAPE if shape is None else tuple(dimension(d, i) for i, d in enumerate(shape)))


def kind(value: Any) -> RuleType:
    if isinstance(value, TensorFacts):
        return TENSOR
    return ListType(kind(value[0]) if value else "int") if isinstance(value, tuple) else "int"


@each_case("block", blocks(LANGUAGE, "reading"), ids=lambda block: block.splitlines()[0])
def test_readings_are_as_stated(block: str) -> None:
    text, *lines = block.splitlines()
    expression, kinds, defines = parse(text), {}, {}
    cases = []
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "define":
            name, _, defined = rest.partition(" = ")
            defines[name] = parse(defined)
        elif match := CASE.match(line):
            cases.append(match.groups())
    for facts, verdict, actual in cases:
        pairs = (pair.split(" = ") for pair in facts.split("; "))
        names = {name: fact(name, ast.literal_eval(value)) for name, value in pairs}
        kinds = {name: kind(value) for name, value in names.items()}
        for name, defined in defines.items():
            names[name] = defined.evaluate(Evaluator(), names)
            kinds[name] = type_of(defined, kinds)
        answer = evaluate_rule(EMPTY, expression, names)
        assert (answer.verdict, answer.actual) == (verdict, actual or ""), facts
    assert f"kind     {show_type(type_of(expression, kinds))}" in lines
    assert f"formula  {formula(expression)}" in lines
    assert len(cases) + len(defines) + 2 == len(lines)


def test_the_examples_are_what_their_script_writes(tmp_path: Path) -> None:
    """But for the quantized network, which a quantizer wrote of the fixed classifier."""
    script = ROOT / "examples" / "make.py"
    shutil.copy(script, tmp_path)
    subprocess.run([sys.executable, tmp_path / script.name], check=True)
    written = {path.name: path.read_bytes() for path in tmp_path.glob("*.onnx")}
    kept = {path.name: path.read_bytes() for path in script.parent.glob("*.onnx")}
    quantized = kept.pop("quantized.onnx")
    assert written == kept
    assert {"QuantizeLinear", "DequantizeLinear"} <= {
        node.op_type for node in onnx.load_from_string(quantized).graph.node
    }
