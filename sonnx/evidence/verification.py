"""The verification procedures: command lines with what they must print, from procedures.toml beside this file."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shlex
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sonnx.api import check
from sonnx.base.errors import EXIT_CODES, TOOL_FAILED
from sonnx.checker.report import Report, Verdict
from sonnx.language.evaluator import frozen
from sonnx.model.text_form import from_text, from_textproto
from sonnx.profile.cases import Case, cases
from sonnx.profile.index import every

DATA = Path(__file__).with_name("procedures.toml")


@dataclass(frozen=True, slots=True)
class Procedure:
    """One command line: the requirements it verifies, the exit code, and texts its output must have."""

    command: str
    verifies: tuple[str, ...]
    exit: int
    prints: tuple[str, ...] = ()
    """Texts that stand in the standard output."""
    says: tuple[str, ...] = ()
    """Texts that stand in the standard error."""
    writes: tuple[str, ...] = ()
    """Files that are there afterwards."""


@dataclass(frozen=True, slots=True)
class ProcedureResult:
    """Whether a procedure or case came out as expected, and how not."""

    id: str
    verifies: tuple[str, ...]
    passed: bool
    actual: str = ""


@cache
def procedures() -> tuple[Procedure, ...]:
    """All procedures, in the order of the file."""
    return tuple(Procedure(**{key: frozen(value) for key, value in each.items()}) for each in _data()["procedure"])


def _data() -> Mapping[str, Any]:
    return tomllib.loads(DATA.read_text("utf-8"))


CommandLine = Callable[[Sequence[str]], int]
"""Runs one command of the tool, given its arguments; the exit code."""


def perform(run: CommandLine) -> Iterator[ProcedureResult]:
    """Run every procedure in a folder of its own that holds the models and arrays of the file."""
    before = Path.cwd()
    for procedure in procedures():
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                _lay_out(_data())
                yield _performed(procedure, run)
            finally:
                os.chdir(before)


def _lay_out(data: Mapping[str, Any]) -> None:
    for name, text in data["models"].items():
        Path(f"{name}.onnx").write_bytes(from_text(text))
    for name, text in data["texts"].items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    if data["arrays"]:
        import numpy as np

        for name, values in data["arrays"].items():
            np.save(f"{name}.npy", np.array(values, np.float32))


def _performed(procedure: Procedure, run: CommandLine) -> ProcedureResult:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = run(shlex.split(procedure.command))
        except SystemExit as end:  # argparse ends the program where the command line is wrong
            code = end.code if isinstance(end.code, int) else 1
    wrong = [f"exit code {code}, not {procedure.exit}"] if code != procedure.exit else []
    wrong += [f"does not print {text!r}" for text in procedure.prints if text not in out.getvalue()]
    wrong += [f"does not say {text!r}" for text in procedure.says if text not in err.getvalue()]
    wrong += [f"does not write {name}" for name in procedure.writes if not Path(name).is_file()]
    return ProcedureResult(procedure.command, procedure.verifies, not wrong, "; ".join(wrong))


# ------------------------------------------------------------------
# The verification cases: every case of tests/cases with the verdict it must get, run in this environment.


def said(report: Report) -> dict[str, set[str]]:
    """What a report says in the words of a case; folded findings are not said."""
    found: dict[str, set[str]] = {}
    for finding in report.roots:
        word = "invalid" if finding.breaks_onnx else "violates" if finding.verdict is Verdict.FAIL else finding.verdict
        found.setdefault(str(word), set()).add(finding.rule)
    return found


def wrong(case: Case, edition: str) -> str:
    """How the verdict on a case differs from the expected one, "" where it does not; `edition` "" is the default."""
    report = check(model_bytes(case), edition=edition or None, strict_versions=case.strict_versions)
    expected = {word: set(rules) for word, rules in case.expected[edition].items() if word != "conforms" and rules}
    passed = {count.rule for count in report.counts if count.verdict is Verdict.PASS}
    missing = case.expected[edition].get("conforms", frozenset()) - passed
    found = said(report)
    parts = [f"says {_listed(found)}, not {_listed(expected)}"] if found != expected else []
    return "; ".join([*parts, *([f"{', '.join(sorted(missing))} did not pass"] if missing else [])])


def _listed(said: dict[str, set[str]]) -> str:
    return "; ".join(f"{word} {', '.join(sorted(rules))}" for word, rules in sorted(said.items())) or "nothing"


def run_cases() -> Iterator[ProcedureResult]:
    """Every case under every edition it names."""
    for case in cases():
        for edition in case.expected:
            actual = wrong(case, edition)
            named = sorted({f"rule {rule}" for rules in case.expected[edition].values() for rule in rules})
            title = f"{case.id} [{edition or 'default edition'}]"
            yield ProcedureResult(title, tuple(named), not actual, actual)


# ------------------------------------------------------------------
# Models from their text, by the parser of the onnx package: for cases and procedures, never for a check.


def model_bytes(case: Case) -> bytes:
    """The encoded model of a case."""
    return (from_text if case.language == "onnx" else from_textproto)(case.text) + case.append


# ------------------------------------------------------------------
# The operational requirements of the tool: one for each rule, each command, each option and each exit code.
#
# None is written here: rules come from the catalogue, commands and options from the command line's own parser.


APART = "fix"
"""It writes models, so it is no part of the tool that is verified here; what it writes is judged like any file."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """What the tool must do; `id` is `rule SLUG`, `check`, `check --bind`, or `exit 3`."""

    id: str
    text: str
    source: str


def requirements(parser: argparse.ArgumentParser) -> tuple[Requirement, ...]:
    """All of them, in the order of the catalogue and of the command line's help."""
    return (*_rules(), *_commands(parser), *_exit_codes())


def _rules() -> Iterator[Requirement]:
    for slug, rule in every().items():
        text = f"`check` reports {slug} wherever this does not hold, and nowhere else: {rule.statement}"
        yield Requirement(f"rule {slug}", text, rule.source)


def _commands(parser: argparse.ArgumentParser) -> Iterator[Requirement]:
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        said = {each.dest: each.help for each in action._choices_actions}
        for name, command in action.choices.items():
            if name == APART:
                continue
            yield Requirement(name, f"`sonnx {name}`: {said[name]}.", "the command line")
            yield from _options(name, command)


def _options(name: str, command: argparse.ArgumentParser) -> Iterator[Requirement]:
    for option in command._actions:
        if option.dest != "help":
            written = option.option_strings[-1] if option.option_strings else str(option.metavar)
            yield Requirement(f"{name} {written}", f"`sonnx {name} {written}`: {option.help}.", "the command line")


def _exit_codes() -> Iterator[Requirement]:
    for code, meaning in EXIT_CODES.items():
        if code == TOOL_FAILED:  # cannot be brought about on purpose; the tests of the tool do it from inside
            continue
        yield Requirement(f"exit {code}", f"`sonnx check` ends with {code} where {meaning}.", "the command line")
