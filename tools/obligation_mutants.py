"""Which change of a definition refutes which obligation: `python -m tools.obligation_mutants [--select ID]`.

A theorem that holds for any definition says nothing.  For every obligation of every theorem this tool looks for a
small change of a definition (`tools/definition_mutants.py`) under which z3 refutes it; where it finds none, it looks
for a hypothesis without which the obligation is refuted.  The result is proofs/mutants.json; what neither reaches has
a reason in proofs/unreached.toml.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import z3

from sonnx.base.files import write_whole
from sonnx.base.resources import folder
from sonnx.proofs import registry
from sonnx.prover import driver, solvers
from sonnx.prover.recorded_answers import questions_hash
from sonnx.prover.theorem import Obligation, Theorem
from tools.definition_mutants import Mutant, definitions, named, of_execution, of_function, of_reading, of_text

EFFORT = 3_000_000
"""Steps of z3 for one question: a change that is hard to refute is passed over."""
DERIVED = "derived."
"""Theorems about the texts of an operator: their own mutants change every text."""
MAX_IDLE = 150
"""Changes tried after the last one that refuted an obligation."""
FORMAT = 1
STATED = "stated: "
"""Begins the name of a mutant that the theorem states itself."""
REFUSED = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, AssertionError, RecursionError,
           z3.Z3Exception, ctypes.ArgumentError)  # fmt: skip
"""What a changed definition raises that has no terms."""


@dataclass
class Reached:
    """What refutes the obligations of one theorem: their names by mutant, and by hypothesis left out."""

    questions: str
    """The hash of the questions, as in proofs/record.json."""
    mutants: dict[str, list[str]] = field(default_factory=dict)
    hypotheses: dict[str, list[str]] = field(default_factory=dict)
    computed: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)


def texts_of(stated: Mapping[str, Obligation]) -> tuple[dict[str, str], str]:
    """The questions in SMT-LIB by the name of the obligation, and the hash of all of them."""
    texts = {name: solvers.question_text(obligation) for name, obligation in stated.items()}
    return texts, questions_hash((name, hashlib.sha256(text.encode()).hexdigest()) for name, text in texts.items())


def refuted(obligation: Obligation, mutant: str = "") -> bool:
    """Whether z3 finds values for which the hypotheses hold and the goal fails; a stated mutant has all its steps."""
    effort = solvers.EFFORT if mutant.startswith(STATED) else EFFORT
    return solvers.can_hold(solvers.question_text(obligation), effort)


def candidates(theorem: Theorem) -> Iterator[Mutant]:
    """The changes of the definitions of a theorem."""
    about = definitions(theorem)
    return chain(
        of_execution(),
        chain.from_iterable(map(of_function, about.functions)),
        chain.from_iterable(map(of_reading, about.readings)),
        chain.from_iterable(map(of_text, about.texts)),
    )


def attempts(theorem: Theorem) -> Iterator[tuple[str, dict[str, Obligation]]]:
    """The obligations under each change by name: of its own mutants, then of the changes of all definitions."""
    for stated in theorem.mutants:
        yield f"{STATED}{stated.name}", {obligation.name: obligation for obligation in stated.obligations()}
    for mutant in () if theorem.id.startswith(DERIVED) else candidates(theorem):
        yield mutant.name, changed_obligations(theorem, mutant)


def changed_obligations(theorem: Theorem, mutant: Mutant) -> dict[str, Obligation]:
    """The obligations under a change, by name; none if it makes a definition that has no terms of the right sort."""
    with mutant.applied():
        try:
            made = {obligation.name: obligation for obligation in theorem.obligations()}
        except REFUSED:
            return {}
    conditions = (part for obligation in made.values() for part in (*obligation.hypotheses, obligation.goal))
    return made if all(isinstance(part, z3.BoolRef) for part in conditions) else {}


def reach(theorem: Theorem, known: str = "") -> Reached | None:
    """Try the changes one after another until every obligation is reached; None if the questions have this hash."""
    stated = {obligation.name: obligation for obligation in theorem.obligations()}
    texts, questions = texts_of(stated)
    if questions == known:
        return None
    reached = Reached(questions)
    reached.computed = [name for name, obligation in stated.items() if obligation.computed]
    missing = [name for name in stated if name not in reached.computed]
    weaker: dict[str, str] = {}
    idle = 0
    for name, made in attempts(theorem):
        idle += 1
        if idle > MAX_IDLE:
            break
        for text in list(missing):
            changed = made.get(text)
            if changed is None or solvers.question_text(changed) == texts[text]:
                continue
            same_goal = changed.goal.eq(stated[text].goal)
            if (same_goal and text in weaker) or not refuted(changed, name):
                continue
            if same_goal:
                weaker[text] = name
            else:
                idle = 0
                missing.remove(text)
                reached.mutants.setdefault(name, []).append(text)
        if not missing:
            break
    for name in missing:
        if name in weaker:
            reached.mutants.setdefault(weaker[name], []).append(name)
        elif (needed := needed_hypothesis(stated[name])) is not None:
            reached.hypotheses.setdefault(needed, []).append(name)
        else:
            reached.unreached.append(name)
    return reached


def needed_hypothesis(obligation: Obligation) -> str | None:
    """A hypothesis without which the obligation is refuted; None if there is none."""
    for left_out in obligation.hypotheses:
        rest = tuple(hypothesis for hypothesis in obligation.hypotheses if not hypothesis.eq(left_out))
        if refuted(Obligation(obligation.name, rest, obligation.goal)):
            return " ".join(str(left_out).split())
    return None


# ------------------------------------------------------------------ the record


def usual_path() -> Path:
    """The record that stands beside the theorems."""
    return folder("proofs") / "mutants.json"


def read(path: Path) -> dict[str, Mapping[str, Any]]:
    """The entries by theorem; none without a file."""
    return dict(json.loads(path.read_text("utf-8"))["theorems"]) if path.exists() else {}


def write(path: Path, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """One line for each theorem."""
    lines = [f"{json.dumps(name)}: {json.dumps(entries[name], ensure_ascii=False)}" for name in sorted(entries)]
    write_whole(path, f'{{"format": {FORMAT}, "theorems": {{\n' + ",\n".join(lines) + "\n}}\n")


def entry(found: Reached) -> dict[str, Any]:
    """The entry of a theorem."""
    return {name: value for name, value in vars(found).items() if value}


def proved(found: Iterable[Theorem]) -> list[Theorem]:
    """The theorems that hold for all values."""
    return [theorem for theorem in found if theorem.expected == "proved"]


def still_refuted(theorem: Theorem, recorded: Mapping[str, Any]) -> dict[str, list[str]]:
    """Decide an entry again: the obligations that a recorded mutant or missing hypothesis does not refute."""
    survive: dict[str, list[str]] = {}
    stated = {obligation.name: obligation for obligation in theorem.obligations()}
    for name, refutes in recorded.get("mutants", {}).items():
        made = obligations_under(theorem, name)
        survive[name] = [refute for refute in refutes if refute not in made or not refuted(made[refute], name)]
    for text, refutes in recorded.get("hypotheses", {}).items():
        survive[text] = [refute for refute in refutes if needed_hypothesis(stated[refute]) != text]
    return {name: names for name, names in survive.items() if names}


def obligations_under(theorem: Theorem, name: str) -> dict[str, Obligation]:
    """The obligations under the mutant of this name; none if the definition does not have it."""
    if name.startswith(STATED):
        title = name.removeprefix(STATED)
        return {
            obligation.name: obligation
            for mutant in theorem.mutants
            if mutant.name == title
            for obligation in mutant.obligations()
        }
    mutant = named(name)
    return changed_obligations(theorem, mutant) if mutant else {}


def reasons() -> dict[tuple[str, str], str]:
    """Why no mutant reaches an obligation, by theorem and name, from proofs/unreached.toml."""
    document = tomllib.loads((folder("proofs") / "unreached.toml").read_text("utf-8"))
    return {
        (entry["theorem"], name): entry["reason"] for entry in document["unreached"] for name in entry["obligations"]
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Look for mutants and record them; 1 if an obligation is reached by none and has no reason."""
    parser = argparse.ArgumentParser(prog="python -m tools.obligation_mutants")
    parser.add_argument("--select", action="append", default=[], metavar="ID", help="only these theorems or topics")
    parser.add_argument("--again", action="store_true", help="also where the questions are those of the record")
    options = parser.parse_args(arguments)
    theorems = {each.id: each for each in registry.theorems()}
    unexplained = 0
    chosen = proved(driver.select(tuple(theorems.values()), options.select))
    for theorem in sorted(chosen, key=lambda each: ("int", "bits", "float").index(each.sort)):  # the quick ones first
        known = {} if options.again else read(usual_path()).get(theorem.id, {})
        reached = reach(theorem, known.get("questions", ""))
        if reached is None:
            continue
        others = {name: each for name, each in read(usual_path()).items() if name in theorems}
        write(usual_path(), others | {theorem.id: entry(reached)})
        lacking = [name for name in reached.unreached if (theorem.id, name) not in reasons()]
        unexplained += len(lacking)
        print(f"{theorem.id}: {', '.join(reached.mutants) or 'no change'}", flush=True)
        print(*(f"    no change refutes {name!r}, and no reason is recorded\n" for name in lacking), end="", flush=True)
    print(summary(read(usual_path()).values()))
    return int(bool(unexplained))


def summary(entries: Iterable[Mapping[str, Any]]) -> str:
    """How many obligations are reached, and how."""
    counts: dict[str, int] = dict.fromkeys(("mutants", "hypotheses", "computed", "unreached"), 0)
    for entry in entries:
        for key in counts:
            found = entry.get(key, ())
            counts[key] += sum(map(len, found.values())) if isinstance(found, dict) else len(found)
    changed, needed, computed, unreached = counts.values()
    return (
        f"{sum(counts.values())} obligations: {changed} refuted under a changed definition, {needed} without one of "
        f"their hypotheses, {computed} computed, {unreached} by no change"
    )


if __name__ == "__main__":
    sys.exit(main())
