"""Proofs as files: what they contain, which questions have none, and that the independent checker accepts them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

import sonnx
from sonnx.cli.main import run
from sonnx.proofs import registry
from sonnx.prover.certificates import MAX_BYTES, certificate, certified_questions
from sonnx.prover.queries import questions_of
from sonnx.prover.solvers import hypotheses_text, script
from sonnx.prover.theorem import Theorem
from sonnx.workers.certificates import write_certificates
from sonnx.workers.tasks import WorkPlace
from sonnx.workers.theorem_questions import QuestionFiles, question_files
from sonnx.workers.theorems import answer as answer_of_child
from tests.support.cases import each_case, spread
from tests.support.ethos import needs_ethos, verdict, verdicts

FALSE_SUM = "(set-logic ALL)\n(declare-fun x () Int)\n(assert (> x 3))\n(assert (= (+ x x) 4))\n(check-sat)\n"
SOME_SUM = FALSE_SUM.replace("> x 3", "> x 1")
FLOAT = """(set-logic ALL)
(declare-fun x () (_ FloatingPoint 5 11))
(assert (not (or (fp.isNaN x) (fp.leq x x))))
(check-sat)
"""
MODEL = '<ir_version: 10, opset_import: ["": 13]> g (float[N] a, float[M] b) => (float[M] c) { c = Max(a, b) }'


def test_a_proof_refers_to_its_question_and_ends_with_false() -> None:
    made = certificate("name", FALSE_SUM)
    lines = made.proof.splitlines()
    assert made.missing == "" and made.steps > 3
    assert lines[0] == '(reference "name.smt2")'
    assert "false" in lines[-1].split() and not any("declare" in line for line in lines)


@each_case(("question", "reason"), [(SOME_SUM, "cvc5 answers sat"), (FLOAT, "trusts"), ("(", "refused")])
def test_a_question_without_a_proof_has_the_reason(question: str, reason: str) -> None:
    made = certificate("name", question)
    assert made.proof == "" and reason in made.missing


def test_a_proof_that_is_too_large_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonnx.prover.certificates.MAX_BYTES", 10)
    made = certificate("name", FALSE_SUM)
    assert made.proof == "" and "more than 10" in made.missing and MAX_BYTES > 10


def test_equal_questions_are_one_and_name_all_they_decide() -> None:
    selected = [each for each in registry.stated() if each.id in ("broadcast.by-pairs", "argmax.scan")]
    found = certified_questions([*selected, *selected])
    assert len({each.text for each in found}) == len(found)
    assert all(len(each.decides) >= 2 and each.decides[0].startswith(each.name.rpartition(".")[0]) for each in found)


def test_a_question_of_a_theorem_and_of_a_refuted_sentence_is_to_be_proved() -> None:
    theorem = next(each for each in registry.stated() if each.id == "argmax.unique")
    for order in ((theorem, replace(theorem, expected="refuted")), (replace(theorem, expected="refuted"), theorem)):
        assert [each.expected for each in certified_questions(order)] == ["proved"]
    assert [each.expected for each in certified_questions([replace(theorem, expected="refuted")])] == ["refuted"]


def test_a_folder_of_certificates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "proofs"
    select = "argmax.unique,argmax.usual-element"
    assert run(["theorems", "--select", select, "--proofs", str(folder), "--jobs", "0", "--no-cache"]) == 0
    assert "1 proof for 1 question" in capsys.readouterr().err
    document = json.loads((folder / "manifest.json").read_text())
    proved, refuted = document["questions"]
    assert document["proofs"] == 1 and proved["decides"] == ["argmax.unique: unique"]
    for kind in ("question", "proof"):
        content = (folder / proved[kind]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == proved[f"{kind}_sha256"]
    assert refuted["missing"] == "a counterexample is expected" and (folder / refuted["question"]).is_file()
    names = {path.name for path in folder.iterdir()}
    assert names == {"manifest.json", "argmax.unique.1.smt2", "argmax.unique.1.cpc", "argmax.usual-element.1.smt2"}
    assert run(["theorems", "--select", select, "--proofs", str(folder), "--jobs", "0"]) == 2
    assert "is not empty" in capsys.readouterr().err


def test_the_certificates_of_a_model(tmp_path: Path) -> None:
    import onnx

    path, folder = tmp_path / "m.onnx", tmp_path / "proofs"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    assert run(["prove", str(path), "--assume", "N == M or N == 1", "--proofs", str(folder), "--jobs", "1",
                 "--emit-smt2", str(tmp_path / "questions")]) == 0  # fmt: skip
    rows = json.loads((folder / "manifest.json").read_text())["questions"]
    assert [each["decides"] for each in rows] == [
        ["Max.broadcastable at graph/node[0]"], ["Max.Y-shape at graph/node[0]"]
    ]  # fmt: skip
    assert all("proof" in each for each in rows)
    index = (tmp_path / "questions" / "index.txt").read_text().splitlines()
    assert [line.split("\t")[1] for line in index] == ["proved", "proved"]


# ------------------------------------------------------------------ with the independent checker


@needs_ethos
def test_the_checker_compares_a_proof_with_its_question(tmp_path: Path) -> None:
    """Control: a proof is refused beside a question with another assertion, and without one of its steps."""
    proof = tmp_path / "name.cpc"
    proof.write_text(certificate("name", FALSE_SUM).proof)
    (tmp_path / "name.smt2").write_text(FALSE_SUM)
    assert verdict(proof) == "correct"
    (tmp_path / "name.smt2").write_text(SOME_SUM)
    assert "was not part of the referenced assertions" in verdict(proof)
    (tmp_path / "name.smt2").write_text(FALSE_SUM)
    proof.write_text("\n".join(proof.read_text().splitlines()[:-1]) + "\n")
    assert verdict(proof) != "correct"


@needs_ethos
@pytest.mark.campaign
@pytest.mark.parametrize("sort", ["int", "bits", "float"])
def test_the_checker_accepts_every_proof(tmp_path: Path, sort: str) -> None:
    """Integers: all but the proofs that are too large.  The manifest lists every question without a proof."""
    theorems = [each for each in registry.theorems() if each.sort == sort and each.expected == "proved"]
    document = write_certificates(certified_questions(theorems), tmp_path / "proofs", WorkPlace(timeout=20))
    found = verdicts(tmp_path / "proofs")
    assert len(found) == document["proofs"]
    assert {name: said for name, said in found.items() if said != "correct"} == {}
    missing = [each["missing"] for each in document["questions"] if "missing" in each]
    assert sort != "int" or all("bytes, more than" in reason for reason in missing)
    assert len(found) + len(missing) == len(document["questions"]) > 0


ORDER = ("order.third-zero", "order.total")


def test_writing_questions_says_how_far_it_is(tmp_path: Path) -> None:
    steps: list[str] = []
    sonnx.prove_theorems(select=ORDER, emit_smt2=tmp_path, jobs=0, progress=steps.append)
    assert [step.split()[0] for step in steps] == ["0/2", "1/2"]


@pytest.mark.parametrize("jobs", [0, 1])
def test_the_processes_that_ask_questions_write_them(tmp_path: Path, jobs: int) -> None:
    sonnx.prove_theorems(select=ORDER, emit_smt2=tmp_path, jobs=jobs)
    indexed = [line.split("\t") for line in (tmp_path / "index.txt").read_text("utf-8").splitlines()]
    theorems = [theorem for theorem in registry.stated() if theorem.id in ORDER]
    asked = [question for theorem in theorems for question in questions_of(theorem, "z3", theorem.obligations)]
    assert [name for _, _, name in indexed] == [question.name for question in asked]
    for (file, _, _), question in zip(indexed, asked, strict=True):
        if not question.obligation.computed:
            assert (tmp_path / file).read_text("utf-8").endswith(question.text)


def test_what_no_process_has_written_is_completed(tmp_path: Path) -> None:
    """As on a cluster, whose machines have other folders."""
    steps: list[str] = []
    theorems = [theorem for theorem in registry.stated() if theorem.id in ORDER]
    with question_files(tmp_path / "alone") as files:
        assert files is not None
        files.complete(theorems, steps.append)
    assert steps == [f"questions of {done} of 2 theorems: {theorem.id}" for done, theorem in enumerate(theorems)]
    sonnx.prove_theorems(select=ORDER, emit_smt2=tmp_path / "asked", jobs=0)
    alone, asked = [
        {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()} for folder in ("alone", "asked")
    ]
    assert alone == asked


def test_what_a_child_could_not_write_is_left_to_the_parent(tmp_path: Path) -> None:
    """So that a disk that is full ends the command with its own sentence and code."""
    [theorem] = [theorem for theorem in registry.stated() if theorem.id == ORDER[0]]
    request = {"theorems": [theorem.id], "solver": "z3", "cache": None, "recorded": True}
    answer = answer_of_child({**request, "questions": str(tmp_path / "absent")})
    assert "listed" not in answer[theorem.id] and "why" not in answer[theorem.id]
    assert "listed" in answer_of_child({**request, "questions": str(tmp_path)})[theorem.id]
    with pytest.raises(FileNotFoundError):
        QuestionFiles(tmp_path / "absent").complete([theorem], lambda _: None)


def test_an_interrupted_run_leaves_no_questions(tmp_path: Path) -> None:
    [theorem] = [theorem for theorem in registry.stated() if theorem.id == ORDER[0]]
    with question_files(tmp_path / "questions") as files:
        assert files is not None
        files.keep(tuple(questions_of(theorem, "z3", theorem.obligations)))
    assert list(tmp_path.iterdir()) == []


@each_case("theorem", lambda: spread(registry.stated(), 12), ids=lambda theorem: theorem.id)
def test_the_hypotheses_of_a_question_are_those_that_are_printed_alone(theorem: Theorem) -> None:
    for question in questions_of(theorem, "z3", theorem.obligations):
        if not question.obligation.computed and question.obligation.hypotheses:
            assert hypotheses_text(question.text) == script(question.obligation.hypotheses)
