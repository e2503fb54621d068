"""The rules as terms of Coq, and the program extracted from the formalization."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from sonnx.language.coq import term
from sonnx.language.parser import FUNCTIONS, parse
from sonnx.profile import catalogue
from sonnx.proofs import coq_questions, registry
from sonnx.report.coq import RULES, files
from sonnx.report.coq_rules import edition_signatures, rule_terms
from tests.support.paths import ROOT

FOLDER = ROOT / "proofs" / "coq"
TERMS = {
    "axis < 0": '(Compare Less (Name "axis") (Int 0))',
    "axis > -1": '(Compare Less (Int (-1)) (Name "axis"))',
    "0 <= axis < X.rank": '(And (Compare AtMost (Int 0) (Name "axis")) '
    '(Compare Less (Name "axis") (Field (Name "X") "rank")))',
    "all(a == 1 for a in axes if a != 0)": '(ForAll "a" (Name "axes") '
    '(Or (Not (Not (Compare Equal (Name "a") (Int 0)))) (Compare Equal (Name "a") (Int 1))))',
    "alpha == 0.5": '(Compare Equal (Name "alpha") (Float (Qmake 1 2)))',
    "window(axis, 2) == 1": '(Compare Equal (Let "window.kernel" (Name "axis") (Let "window.dilation" (Int 2) '
    '(Arithmetic Plus (Arithmetic Times (Name "window.dilation") (Arithmetic Minus (Name "window.kernel") (Int 1))) '
    "(Int 1)))) (Int 1))",
}


@pytest.mark.parametrize("text", TERMS)
def test_an_expression_as_a_term(text: str) -> None:
    assert term(parse(text), {}) == TERMS[text]


def test_a_definition_stands_around_the_expression_that_reads_it() -> None:
    assert term(parse("n == 1"), {"n": parse("m + 1"), "unread": parse("m")}) == (
        '(Let "n" (Arithmetic Plus (Name "m") (Int 1)) (Compare Equal (Name "n") (Int 1)))'
    )


def test_the_export_has_every_rule_of_every_signature() -> None:
    entries = [line for line in files()[RULES].splitlines() if line.startswith("  (")]
    for edition in catalogue.editions().editions:
        for made in edition_signatures(edition):
            [entry] = [line for line in entries if line.startswith(f'  ("{edition} {made.operator} {made.version}"')]
            assert entry.count("rule_") == len(list(rule_terms(made)))


def test_the_functions_of_the_language_are_those_of_the_formalization() -> None:
    """`range` and `stated` are constructs of their own."""
    syntax = (FOLDER / "syntax.v").read_text("utf-8")
    [line] = [line for line in syntax.splitlines() if line.startswith("Inductive list_function")]
    assert line.count("|") + 1 == len(FUNCTIONS) - 2


def test_nothing_is_assumed_in_the_formalization() -> None:
    for path in FOLDER.glob("*.v"):
        text = path.read_text("utf-8")
        assert not [word for word in ("Admitted", "Axiom", "Parameter ", "admit.") if word in text], path.name


@pytest.mark.skipif(not shutil.which("coqc"), reason="coqc is not installed; `make formal` needs the package coq")
def test_the_evaluation_compiles(tmp_path: Path) -> None:
    for name in ("syntax", "values", "evaluation"):
        shutil.copy(FOLDER / f"{name}.v", tmp_path)
        done = subprocess.run(["coqc", "-Q", ".", "Sonnx", f"{name}.v"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_each_theorem_that_coq_is_to_prove_has_one_question() -> None:
    asked = [question.theorem for question in coq_questions.questions()]
    assert len(asked) == len(set(asked))
    assert coq_questions.proved() <= set(asked)
    text = coq_questions.file()
    assert {name for name in asked if f'(Build_question "{name}" ' in text} == coq_questions.proved()


def test_a_theorem_that_coq_proves_has_no_bound_and_names_its_lemma() -> None:
    for theorem in registry.theorems():
        if theorem.id in coq_questions.proved():
            assert (theorem.size, theorem.expected) == ("any", "proved"), theorem.id
            assert theorem.induction == "Coq: decides_question_ok of proofs/coq/theorems.v", theorem.id
