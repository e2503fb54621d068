"""The driver: what it refuses, what it keeps, and how it ends."""

import argparse
import importlib
import json
from dataclasses import replace

import pytest
import z3
from msgspec import structs

from sonnx.cli.commands import theorems as theorems_command
from sonnx.proofs import registry
from sonnx.prover import driver, queries, solvers
from sonnx.prover.solver_cache import SolverCache
from sonnx.prover.theorem import Mutant, Obligation, ReplayFailed, Theorem, by_form
from tests.support.cases import spread

X = z3.Int("x")
TRUE = Theorem("test.true", "It holds.", "x = x", lambda: [Obligation("holds", (X > 0,), X >= 1)])
FALSE = replace(TRUE, id="test.false", obligations=lambda: [Obligation("fails", (X > 2,), X > 7)])
VACUOUS = replace(TRUE, id="test.vacuous", obligations=lambda: [Obligation("nothing", (X > 2, X < 2), X > 7)])
HARD = replace(TRUE, id="test.hard", obligations=lambda: [Obligation("Fermat", (), fermat())])


def fermat():
    a, b, c, n = z3.Ints("a b c n")
    return z3.Not(z3.And(a > 1, b > 1, c > 1, a * a * a * a + b * b * b * b == c * c * c * c, n == a * b))


@pytest.fixture
def arguments(monkeypatch):
    """Parses a command line; the theorems are the ones given."""

    def parse(line, *found):
        for name in ("theorems", "stated"):
            monkeypatch.setattr(registry, name, lambda: found)
        parser = argparse.ArgumentParser()
        theorems_command.add_arguments(parser)
        return parser.parse_args([*line.split(), "--jobs", "0"])

    return parse


def run(options):
    return options.command(options)


def outcome(theorem, solver="z3", **more):
    (found,) = driver.prove([theorem], solver, **more)
    return found


def test_proved(arguments, capsys):
    assert run(arguments("--no-cache", TRUE)) == 0
    assert "1 of 1 results rest on one solver" in capsys.readouterr().out


def test_refuted_where_proved_is_stated(arguments, capsys):
    assert run(arguments("--no-cache", FALSE)) == 1
    said = capsys.readouterr().out
    assert "refuted: expected to be proved: It holds.\n  test.false\n" in said
    assert "shown       x = 3" in said, "the smallest counterexample"


def test_proved_where_refuted_is_stated(arguments, capsys):
    assert run(arguments("--no-cache", replace(TRUE, expected="refuted"))) == 1
    assert "proved: expected to be refuted: It holds.\n  test.true\n" in capsys.readouterr().out


@pytest.mark.parametrize(("number", "one_by_one"), [(24, 25), (25, 1)])
def test_many_witnesses_are_counted_and_other_refuted_claims_are_shown(number, one_by_one, arguments, capsys):
    said = replace(FALSE, expected="refuted", because="It is false.")
    witnesses = [replace(said, id=f"derived.W-{i}", expected="found") for i in range(number)]
    assert run(arguments("--no-cache", replace(said, id="printed.claim"), *witnesses)) == 0
    out = capsys.readouterr().out
    assert out.count("  shown     ") == one_by_one
    assert "refuted: false, as expected: It holds.\n  printed.claim\n" in out
    assert (f"of {number} witnesses: sonnx theorems --select derived.W-0" in out) == (one_by_one == 1)


def test_a_vacuous_theorem_is_refused(arguments, capsys):
    assert run(arguments("--no-cache", VACUOUS)) == 2
    assert "vacuous: expected to be proved: " in capsys.readouterr().out


SAME = X + 1 == X + 1
TRIVIAL = [Obligation("true", (), z3.BoolVal(True)), Obligation("given", (X > 2,), X > 2), Obligation("same", (), SAME)]


@pytest.mark.parametrize("obligation", TRIVIAL, ids=lambda each: each.name)
def test_a_goal_that_says_nothing_is_refused(obligation, arguments, capsys):
    theorem = replace(TRUE, obligations=lambda: [*TRUE.obligations(), obligation])
    assert run(arguments("--no-cache", theorem)) == 2
    out = capsys.readouterr().out
    assert "trivial: expected to be proved: It holds." in out
    assert f"{obligation.name} ({obligation.trivial})" in out
    assert [len(each.answers) for each in outcome(theorem).obligations] == [1, 0]


@pytest.mark.parametrize("obligation", TRIVIAL, ids=lambda each: each.name)
def test_what_the_form_decides_is_computed_and_counted_apart(obligation, arguments, capsys, tmp_path):
    computed = replace(TRUE, id="test.computed", obligations=lambda: [by_form(obligation)])
    mixed = replace(TRUE, obligations=lambda: [*TRUE.obligations(), by_form(obligation)])
    line = f"--no-cache --solver all --emit-smt2 {tmp_path} --format json"
    assert run(arguments(line, computed, mixed)) == 0
    found = json.loads(capsys.readouterr().out)["theorems"]
    assert [(each["kind"], each["status"], each["outcome"]) for each in found] == [
        ("computed", "proved", "as expected"),
        ("theorem", "proved", "as expected"),
    ]
    assert [len(each["answers"]) for each in found[1]["obligations"]] == [2, 0]
    assert not (tmp_path / "test.computed.1.smt2").exists()
    assert "test.computed.1\tcomputed: " in (tmp_path / "index.txt").read_text()


def test_no_other_obligation_is_computed():
    assert not by_form(next(iter(TRUE.obligations()))).computed


def test_kinds_are_counted_apart(arguments, capsys):
    sentence = replace(FALSE, id="test.sentence", expected="refuted", because="It is false.")
    witness = replace(FALSE, id="test.witness", expected="found")
    computed = replace(TRUE, id="test.computed", obligations=lambda: [by_form(TRIVIAL[0])])
    assert run(arguments("--no-cache", TRUE, computed, sentence, witness, replace(witness, id="test.more"))) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[3].split()[:7] == ["test", "1", "1", "1", "2", "0", "4"]
    assert "1 theorem (1 of any size), 1 computed, 1 refuted sentence, 2 witnesses; no unexpected" in out
    for text in ("theorem: ", "computed: ", "refuted sentence: ", "witness: "):
        assert f"\nnote: {text}" in out


def test_a_witness_that_is_absent_is_unexpected(arguments, capsys):
    assert run(arguments("--no-cache", replace(TRUE, expected="found"))) == 1
    assert "absent: expected to be found: It holds." in capsys.readouterr().out


def test_undecided_is_not_a_success(arguments, capsys, monkeypatch):
    monkeypatch.setattr(solvers, "EFFORT", 2000)
    assert run(arguments("--no-cache", HARD)) == 3
    assert "undecided: expected to be proved: " in capsys.readouterr().out


def test_an_unknown_theorem(arguments):
    with pytest.raises(driver.Unusable, match=r"^unknown theorem 'test.fals'; .*--list.*$"):
        run(arguments("--select test.fals", FALSE))


def test_an_absent_solver(arguments, monkeypatch):
    monkeypatch.setattr(solvers, "installed", lambda solver: "" if solver == "cvc5" else "1")
    with pytest.raises(driver.Unusable, match=r"^The solver cvc5 is not installed; .*$"):
        run(arguments("--solver all --no-cache", TRUE))


def test_selection_by_topic_and_by_identifier(arguments, capsys):
    assert run(arguments("--list --select test", TRUE, FALSE)) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert err == "2 statements, 2 of them stated to hold (2 of any size)\n"
    assert run(arguments("--list --select test.true,test.false", TRUE, FALSE, VACUOUS)) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_the_number_of_processes(arguments):
    for wrong in ("-1", "two", "²"):
        with pytest.raises(SystemExit) as ended:
            arguments(f"--jobs {wrong}")
        assert ended.value.code == 2


def test_json_is_the_same_each_time(arguments, capsys):
    texts = []
    for _ in range(2):
        assert run(arguments("--format json --solver all --no-cache", TRUE, replace(FALSE, expected="refuted"))) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    true = next(each for each in json.loads(texts[0])["theorems"] if each["id"] == "test.true")
    assert true["status"] == "proved" and true["confirmed"]
    assert [answer["solver"] for answer in true["obligations"][0]["answers"]] == ["z3", "cvc5"]


def test_questions_are_written_for_other_solvers(arguments, tmp_path):
    assert run(arguments(f"--emit-smt2 {tmp_path / 'questions'} --no-cache", TRUE)) == 0
    names = sorted(path.name for path in (tmp_path / "questions").iterdir())
    assert names == ["index.txt", "test.true.1.hypotheses.smt2", "test.true.1.smt2"]
    text = (tmp_path / "questions" / "test.true.1.smt2").read_text()
    assert [solvers.ask(solver, text).result for solver in ("z3", "cvc5")] == ["unsat", "unsat"]
    comments = [line for line in text.splitlines() if line.startswith("; ")]
    (question,) = queries.questions_of(TRUE, "z3", TRUE.obligations)
    assert comments[:4] == [
        f"; {TRUE.id}: {question.name}", f"; {TRUE.statement}", f"; {TRUE.formula}", "; domain: integers",
    ]  # fmt: skip
    assert text.startswith("\n".join(comments)) and text.endswith(question.text) and question.hash in comments[-1]


def test_answers_are_kept(tmp_path, monkeypatch):
    first = outcome(TRUE, cache=SolverCache(tmp_path))
    monkeypatch.setattr(solvers, "ask", lambda *_: pytest.fail("asked again"))
    assert outcome(TRUE, cache=SolverCache(tmp_path)) == first
    (tmp_path / "other").mkdir()
    with pytest.raises(pytest.fail.Exception):
        outcome(FALSE, cache=SolverCache(tmp_path))


def test_a_kept_answer_that_cannot_be_read_is_asked_again(tmp_path):
    outcome(TRUE, cache=SolverCache(tmp_path))
    for path in tmp_path.rglob("*.json"):
        path.write_text("{")
    assert outcome(TRUE, cache=SolverCache(tmp_path)).status == "proved"


def test_another_version_is_asked_again(tmp_path, monkeypatch):
    outcome(TRUE, cache=SolverCache(tmp_path))
    kept = len(list(tmp_path.rglob("*.json")))
    monkeypatch.setattr(solvers, "installed", lambda solver: "0")
    outcome(TRUE, cache=SolverCache(tmp_path))
    assert len(list(tmp_path.rglob("*.json"))) == 2 * kept


def test_undecided_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(solvers, "EFFORT", 2000)
    outcome(HARD, cache=SolverCache(tmp_path))
    assert not list(tmp_path.rglob("*.json"))


def test_a_folder_that_cannot_be_written_is_not_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    assert outcome(TRUE, cache=SolverCache(tmp_path / "file")).status == "proved"


def test_solvers_that_disagree_decide_nothing(monkeypatch):
    ask = solvers.ask
    monkeypatch.setattr(solvers, "ask", lambda solver, text, small: structs.replace(ask(solver, text), result="sat")
                        if solver == "cvc5" else ask(solver, text))  # fmt: skip
    assert outcome(TRUE, "all").status == "undecided"


def test_a_counterexample_that_the_code_does_not_show(arguments, capsys):
    def replay(found):
        raise ReplayFailed(f"x = {found['x']} is well")

    assert run(arguments("--no-cache", replace(FALSE, expected="refuted", replay=replay))) == 1
    assert "the real code does not confirm it: x = 3 is well" in capsys.readouterr().out


def test_an_answer_does_not_depend_on_what_was_asked_before():
    found = spread(driver.select(registry.theorems(), ["built-in", "layout"]), 8)
    asked = [question for theorem in found for question in queries.questions_of(theorem, "z3", theorem.obligations)]
    forward = [solvers.ask("z3", question.text) for question in asked]
    kept_alive = [z3.Context() for _ in range(3)]
    assert [solvers.ask("z3", question.text) for question in reversed(asked)] == forward[::-1]
    assert len(kept_alive) == 3


def test_a_surviving_mutant_is_detected():
    assert not driver.refutes(TRUE, Mutant("the same", TRUE.obligations))
    assert driver.refutes(TRUE, Mutant("another", FALSE.obligations))


def test_the_source_of_a_theorem_changes_its_hash():
    hashes = {driver.source_hash(replace(TRUE, sources=sources)) for sources in ((), ("a",), (fermat,), ("a", "b"))}
    assert len(hashes) == 4


def test_all_solvers_of_a_theory_agree():
    b = z3.BitVec("b", 8)
    question = solvers.question_text(Obligation("bits", (z3.UGT(b, 3),), b != 0))
    assert {solvers.ask(solver, question).result for solver in solvers.PACKAGES} == {"unsat"}


def test_a_solver_refuses_what_it_cannot_read():
    answers = [solvers.ask(solver, "(assert (nothing))") for solver in solvers.PACKAGES]
    assert [answer.result for answer in answers] == ["refused"] * 3


def test_no_solver_is_loaded_for_the_arguments():
    code = "import sys, argparse; from sonnx.cli.commands import theorems;"
    code += "theorems.add_arguments(argparse.ArgumentParser());"
    code += "assert not {'z3', 'cvc5', 'bitwuzla', 'numpy'} & sys.modules.keys()"
    subprocess = importlib.import_module("subprocess")
    subprocess.run([importlib.import_module("sys").executable, "-c", code], check=True)
