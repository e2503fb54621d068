"""Requirements of the tool, and what verifies them: procedures (procedures.toml), cases of rules and commands."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shlex
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct, convert

from sonnx.base.errors import EXIT_CODES, TOOL_FAILED
from sonnx.checker.report import Report
from sonnx.checker.request import CheckRequest, check_model, open_model
from sonnx.checker.verdicts import Verdict
from sonnx.equivalence.result import Answer
from sonnx.evidence.command_cases import output_cases, pair_cases
from sonnx.evidence.rewrite_cases import rewrite_cases, wrong_rewrite
from sonnx.model.text_form import from_text, from_textproto
from sonnx.profile import catalogue
from sonnx.profile.cases import RuleCase, all_cases
from sonnx.profile.index import rules_by_slug
from sonnx.profile.rewrites import rewrite_descriptions
from sonnx.suite.judge import KINDS

DATA = Path(__file__).with_name("procedures.toml")


class Procedure(Struct, frozen=True, forbid_unknown_fields=True):
    """A command line with the requirements it verifies, its exit code, and texts that its output must contain."""

    command: str
    verifies: tuple[str, ...]
    exit: int
    first: tuple[str, ...] = ()
    """Command lines that run before it in the same folder, and must end with 0."""
    prints: tuple[str, ...] = ()
    """Texts in the standard output."""
    says: tuple[str, ...] = ()
    """Texts in the standard error."""
    writes: tuple[str, ...] = ()
    """Files that exist afterwards."""


@dataclass(frozen=True, slots=True)
class ProcedureResult:
    """Whether the result of a procedure or case is as expected; `actual` says how it differs."""

    id: str
    verifies: tuple[str, ...]
    passed: bool
    actual: str = ""


@cache
def procedures() -> tuple[Procedure, ...]:
    """All procedures, in the order of the file."""
    return convert(_data()["procedure"], tuple[Procedure, ...])


def _data() -> Mapping[str, Any]:
    return tomllib.loads(DATA.read_text("utf-8").replace("@newest@", catalogue.editions().default))


CommandLine = Callable[[Sequence[str]], int]
"""Runs one command of the tool, given its arguments; the exit code."""


def perform(run: CommandLine) -> Iterator[ProcedureResult]:
    """Run every procedure, each in a new folder with the models, texts and arrays of the file.

    Procedures with the same first command lines begin with copies of one folder, in which each of these ran once.
    """
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        _lay_out(Path(name) / "0", _data())
        prepared: dict[tuple[str, ...], tuple[Path, tuple[str, ...]]] = {(): (Path(name) / "0", ())}
        try:
            for number, procedure in enumerate(procedures(), 1):
                folder = Path(name) / str(number)
                for length in range(1, len(procedure.first) + 1):
                    *earlier, last = lines = procedure.first[:length]
                    if lines not in prepared:
                        template, wrong = prepared[tuple(earlier)]
                        os.chdir(shutil.copytree(template, Path(name) / f"{number}-before-{length}"))
                        prepared[lines] = Path.cwd(), (*wrong, *_failed_lines((last,), run))
                template, wrong = prepared[procedure.first]
                shutil.copytree(template, folder)
                os.chdir(folder)
                yield _performed(procedure, wrong, run)
        finally:
            os.chdir(before)


def _lay_out(folder: Path, data: Mapping[str, Any]) -> None:
    folder.mkdir()
    for name, text in data["models"].items():
        (folder / f"{name}.onnx").write_bytes(from_text(text))
    for name, text in data["texts"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    if data["arrays"]:
        import numpy as np

        for name, values in data["arrays"].items():
            np.save(folder / f"{name}.npy", np.array(values, np.float32))


def _failed_lines(lines: Sequence[str], run: CommandLine) -> tuple[str, ...]:
    """What is wrong with command lines that must end with 0."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return tuple(f"{line!r} ends with {code}" for line in lines if (code := _exit_code(line, run)) != 0)


def _performed(procedure: Procedure, before: Sequence[str], run: CommandLine) -> ProcedureResult:
    """The result in the working folder; `before` is what went wrong with the lines before it."""
    out, err, wrong = io.StringIO(), io.StringIO(), [*before]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = _exit_code(procedure.command, run)
    wrong += [f"exit code {code}, not {procedure.exit}"] if code != procedure.exit else []
    wrong += [f"does not print {text!r}" for text in procedure.prints if text not in out.getvalue()]
    wrong += [f"does not say {text!r}" for text in procedure.says if text not in err.getvalue()]
    wrong += [f"does not write {name}" for name in procedure.writes if not Path(name).is_file()]
    return ProcedureResult(procedure.command, procedure.verifies, not wrong, "; ".join(wrong))


def _exit_code(line: str, run: CommandLine) -> int:
    try:
        return run(shlex.split(line))
    except SystemExit as end:  # argparse exits on a wrong command line
        return end.code if isinstance(end.code, int) else 1


# ------------------------------------------------------------------ cases


def outcome(report: Report) -> dict[str, set[str]]:
    """The findings of a report in the vocabulary of a case, without folded ones."""
    rules_by_word: dict[str, set[str]] = {}
    for finding in report.roots:
        word = "invalid" if finding.breaks_onnx else "violates" if finding.verdict is Verdict.FAIL else finding.verdict
        rules_by_word.setdefault(str(word), set()).add(finding.rule)
    return rules_by_word


def check_case(case: RuleCase, edition: str) -> Report:
    """The report on a case; `edition` "" is the default edition."""
    request = CheckRequest(edition or None, strict_versions=case.strict_versions)
    with tempfile.TemporaryDirectory() if case.beside is not None else contextlib.nullcontext() as folder:
        model, _ = open_model(_file(case, Path(folder)) if folder else model_bytes(case), hashed=False)
    return check_model(model, "", request, "model")


def _file(case: RuleCase, folder: Path) -> Path:
    """The model of a case as a file in a folder, with the files beside it."""
    for name, size in (case.beside or {}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(bytes(size))
    (folder / "model.onnx").write_bytes(model_bytes(case))
    return folder / "model.onnx"


def wrong(case: RuleCase, edition: str) -> str:
    """How the verdict on a case differs from the expected one, "" if it does not; `edition` "" is the default."""
    report, stated = check_case(case, edition), case.expected_in(edition) or {}
    expected = {word: set(rules) for word, rules in stated.items() if word != "conforms" and rules}
    passed = {count.rule for count in report.counts if count.verdict is Verdict.PASS}
    missing = stated.get("conforms", frozenset()) - passed
    actual = outcome(report)
    parts = [f"says {_in_words(actual)}, not {_in_words(expected)}"] if actual != expected else []
    return "; ".join([*parts, *([f"{', '.join(sorted(missing))} did not pass"] if missing else [])])


def _in_words(rules_by_word: dict[str, set[str]]) -> str:
    return "; ".join(f"{word} {', '.join(sorted(rules))}" for word, rules in sorted(rules_by_word.items())) or "nothing"


def run_cases() -> Iterator[ProcedureResult]:
    """Every case under every edition it names."""
    for case in all_cases():
        for edition in case.expected:
            actual = wrong(case, edition)
            named = sorted({f"rule {rule}" for rules in case.expected[edition].values() for rule in rules})
            title = f"{case.id} [{edition or 'default edition'}]"
            yield ProcedureResult(title, tuple(named), not actual, actual)


BOUND = "bound-symbol"
"""What a record calls the effect of --bind, which is not a rewrite of rewrites.toml."""


def run_command_cases(run: CommandLine) -> Iterator[ProcedureResult]:
    """Every case of the commands `fix`, `equivalent` and `suite`."""
    for rewritten in rewrite_cases():
        names = tuple("fix --bind" if name == BOUND else f"rewrite {name}" for name in rewritten.rewrites)
        actual = wrong_rewrite(rewritten, run)
        yield ProcedureResult(f"fix: {rewritten.title}", names, not actual, actual)
    for pair in pair_cases():
        actual = pair.wrong()
        yield ProcedureResult(f"equivalent: {pair.title}", (f"answer {pair.answer}",), not actual, actual)
    for output in output_cases():
        actual = output.wrong()
        names = tuple(f"deviation {kind}" for kind in output.kinds)
        yield ProcedureResult(f"suite: {output.title}", names, not actual, actual)


def model_bytes(case: RuleCase) -> bytes:
    """The encoded model of a case; the onnx package parses its text, which a check never does."""
    return (from_text if case.language == "onnx" else from_textproto)(case.text) + case.append


# ------------------------------------------------------------------ requirements


@dataclass(frozen=True, slots=True)
class Requirement:
    """What the tool must do; `id` is `rule SLUG`, `rewrite NAME`, `check`, `check --bind`, or `exit 3`, for example."""

    id: str
    text: str
    source: str


def requirements(parser: argparse.ArgumentParser) -> tuple[Requirement, ...]:
    """One requirement for each rule, rewrite, answer and deviation, and for each command, option and exit code."""
    return (*_rules(), *_rewrites(), *_answers(), *_deviations(), *_commands(parser), *_exit_codes())


def _rules() -> Iterator[Requirement]:
    for slug, rule in rules_by_slug().items():
        text = f"`check` reports {slug} exactly where this does not hold: {rule.statement}"
        yield Requirement(f"rule {slug}", text, rule.source)


def _rewrites() -> Iterator[Requirement]:
    for description in rewrite_descriptions().values():
        kept = "It keeps every value bit for bit."
        if description.option:
            option = description.option.replace("_", "-")
            kept = f"Only with --{option}: it keeps the ideal values, and rounds in another way."
        yield Requirement(
            f"rewrite {description.name}", f"`fix` makes the rewrite {description.name}: {description.title}. {kept}",
            "restrictions/rewrites.toml",
        )  # fmt: skip


ANSWERS = {
    Answer.IDENTICAL: "only if the exact values of both models are equal for every input",
    Answer.ROUNDING: "only if the ideal values of both models are equal for every input",
    Answer.NARROWED: "only if the ideal values are equal once the listed conversions to fewer digits are left out",
    Answer.NARROWED_AT_SIZES: "only if that holds for every input of the sizes named",
    Answer.DIFFERENT: "only with an input on which the exact values differ",
    Answer.UNDECIDED: "where it can show none of the others",
    Answer.IDENTICAL_AT_SIZES: "only if the exact values of both models are equal for every input of the sizes named",
    Answer.ROUNDING_AT_SIZES: "only if the ideal values of both models are equal for every input of the sizes named",
}


def _answers() -> Iterator[Requirement]:
    for answer, condition in ANSWERS.items():
        yield Requirement(f"answer {answer}", f"`equivalent` answers {answer!r} {condition}.", "docs/equivalence.md")


def _deviations() -> Iterator[Requirement]:
    for kind in KINDS:
        text = f"`suite run` and `suite judge` report a deviation of the kind {kind!r} exactly where one is."
        yield Requirement(f"deviation {kind}", text, "docs/suite.md")


def _commands(parser: argparse.ArgumentParser, parent: str = "") -> Iterator[Requirement]:
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        helps = {choice.dest: choice.help for choice in action._choices_actions}
        for word, command in action.choices.items():
            name = f"{parent} {word}".lstrip()
            yield Requirement(name, f"`sonnx {name}`: {helps[word]}.", "the command line")
            yield from _options(name, command)
            yield from _commands(command, name)


def _options(name: str, command: argparse.ArgumentParser) -> Iterator[Requirement]:
    for option in command._actions:
        if option.dest != "help" and not isinstance(option, argparse._SubParsersAction):
            written = option.option_strings[-1] if option.option_strings else str(option.metavar)
            yield Requirement(f"{name} {written}", f"`sonnx {name} {written}`: {option.help}.", "the command line")


def _exit_codes() -> Iterator[Requirement]:
    for code, meaning in EXIT_CODES.items():
        if code == TOOL_FAILED:  # cannot be caused from outside; the tests of the tool do it from inside
            continue
        yield Requirement(f"exit {code}", f"`sonnx check` ends with {code} if {meaning}.", "the command line")
