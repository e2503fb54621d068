"""The list of wrong versions of the prover; `python -m tools.prover_mutants` runs the tests on each of them."""

from __future__ import annotations

import ast

from tests.support.paths import ROOT
from tests.support.translator_mutants import MUTANTS
from tools.prover_mutants import prover_mutants

OTHERS = {
    "certificates", "counterexample", "dependencies", "driver", "model_proof", "options", "output_presence", "queries",
    "record", "results", "solver_cache", "solvers", "theorem", "witness",
}  # fmt: skip
"""Modules that ask solvers, keep answers or state results; what they say is confirmed by replays and second solvers."""


def test_every_change_can_be_made() -> None:
    for mutant in prover_mutants():
        ast.parse(mutant.changed)
        for name in mutant.tests:
            assert (ROOT / "tests" / "prover" / f"test_{name.partition('::')[0]}").exists(), name


def test_every_module_of_the_translation_has_changes() -> None:
    modules = {path.stem for path in (ROOT / "sonnx" / "prover").glob("*.py")} - {"__init__"}
    changed = {mutant.module for mutant in prover_mutants()} | {each.function.split(".")[0] for each in MUTANTS}
    assert modules - changed == OTHERS
    assert sum(bool(mutant.survives) for mutant in prover_mutants()) <= 0.03 * len(prover_mutants())
