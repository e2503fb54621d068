"""Names of files and other arguments in the output of every command, in every format: none acts there."""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import onnx.parser
import pytest

from sonnx.cli.main import parser, run
from tests.support.cases import each_case, spread
from tests.support.invariants import acting

MODEL = '<ir_version: 10, opset_import: ["" : 14]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
PROPERTY = 'input = ["x=[-1,1]"]\n[[require]]\noutput = 0\nabove = -1\n'
COMMANDS = {
    "audit": ("audit {} --output ::pack", "audit --verify ::pack", "audit OTHER --output new --tailoring {}"),
    "bound": ("bound {} --box x=[-1,1]", "bound OTHER --box x={}", "bound OTHER --box x=[-1,1] --hypotheses {}",
              "bound OTHER --box x=[-1,1] --output {}"),
    "check": ("check {}", "check {}.missing", "check . --jobs 0", "check OTHER {} --jobs 0",
              "check OTHER --tailoring {}"),
    "compare": ("compare {} --runtime reference --random 1 --class-runs 2", "compare OTHER --runtime {}"),
    "diff": ("diff {} OTHER", "diff OTHER {}"),
    "draft": ("draft {}", "draft TopK --output {}"),
    "equivalent": ("equivalent {} OTHER", "equivalent OTHER {} --renamed x={}"),
    "explain": ("explain {}",),
    "export": ("export why3 {}", "export {} new"),
    "fix": ("fix {} --dry-run", "fix OTHER --dry-run --keep {}",
            "fix OTHER --output {}", "fix OTHER --output new.onnx --report {}"),
    "prove": ("prove {}",),
    "qualify": ("qualify --output {}",),
    "rules": ("rules --edition {}", "rules --since 2025-11 {}", "rules --since {}"),
    "run": ("run {} --random", "run OTHER --input {}=1", "run OTHER --random --output {}"),
    "theorems": ("theorems --select {}",),
    "tool": ("tool completion {}", "tool selfcheck {}"),
    "suite": ("suite report {}", "suite run {}", "suite judge {} {}", "suite difference {} {}",
              "suite make --operator {} new"),
    "verify": ("verify {} p.toml", "verify OTHER {}", "verify OTHER p.toml --resume {}"),
}  # fmt: skip
"""Lines of each command; {} is the name."""
SLOW = {"audit": ("text", "markdown"), "compare": ("text", "github"), "export": ("",)}
"""Commands that take seconds, and the formats that are tried with the first name; the last name is tried with the first
format, and so are the others in a deep run.
"""
WITH_EVERY_NAME = ("check", "run", "suite")
"""Commands that are tried with every name also where the run is not deep."""
NAMES = ("::error::x.onnx", " ##vso[task.setvariable variable=a]b.onnx", "a\n::error::b\r\x1b[31m\u202e\u2028c.onnx")
COMMAND_LINE = re.compile(r"^\s*(::|##(vso)?\[)", re.MULTILINE)
"""What GitHub Actions and Azure Pipelines take for a command."""
ANNOTATION = re.compile(r"::(error|warning|notice) ")
"""How a line of the format for GitHub begins; what it says of a name stands behind that."""


def test_every_command_is_tested() -> None:
    assert COMMANDS.keys() == _nested(parser()).keys()


def formats(command: str, subcommand: str) -> list[str]:
    """The formats that a command offers, "" where it has one only."""
    chosen = _nested(parser(command))[command]
    chosen = _nested(chosen).get(subcommand, chosen)
    offered = chosen._option_string_actions.get("--format")
    choices = offered.choices if offered is not None else None
    if command == "check":
        return ["text", "concise", "json", "sarif", "junit", "github", "markdown", "html", "deviations"]
    return list(choices) if choices else [""]


def _nested(made: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of the commands of a parser."""
    actions = [each for each in made._actions if isinstance(each, argparse._SubParsersAction)]
    return dict(actions[0].choices) if actions else {}


def lines(command: str, name: str) -> Iterator[tuple[list[str], str]]:
    """The arguments of each line of a command in each format; of those that fail one format."""
    if command not in WITH_EVERY_NAME and name not in spread(NAMES, 2):
        return
    for text in COMMANDS[command]:
        arguments = [name if part == "{}" else part.replace("{}", name) for part in text.split()]
        for number, form in enumerate(formats(command, arguments[1] if len(arguments) > 1 else "")):
            tried = form in SLOW[command] and name == NAMES[0] if command in SLOW else text == COMMANDS[command][0]
            if number == 0 or tried:
                yield [*arguments, *(["--format", form] if form else [])], form


@each_case("name", NAMES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_acts_nowhere(
    command: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in (name, "OTHER"):
        Path(file).write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    Path("p.toml").write_text(PROPERTY)
    for arguments, form in lines(command, name):
        with contextlib.suppress(SystemExit):
            run(arguments)
        said = capsys.readouterr()
        found = [line for line in said.out.splitlines() if COMMAND_LINE.match(line)]
        assert [line for line in found if form != "github" or not ANNOTATION.match(line)] == [], arguments
        assert not COMMAND_LINE.search(said.err), arguments
        assert acting(said.out + said.err) <= {"\n"}, arguments
