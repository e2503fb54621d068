"""The list of wrong versions of the prover; `python -m tools.prover_mutants` runs the tests on each of them."""

from __future__ import annotations

import ast

from tests.support.paths import ROOT
from tests.support.translator_mutants import MUTANTS
from tools.prover_mutants import path_of, prover_mutants

OTHERS = {"options"}
"""Modules that decide nothing."""


def test_every_change_can_be_made() -> None:
    for mutant in prover_mutants():
        ast.parse(mutant.changed)
        for name in mutant.tests:
            assert (ROOT / path_of(name).partition("::")[0]).exists(), name


def test_every_module_has_changes() -> None:
    modules = {path.stem for path in (ROOT / "sonnx" / "prover").glob("*.py")} - {"__init__"}
    changed = {mutant.module for mutant in prover_mutants()} | {each.function.split(".")[0] for each in MUTANTS}
    assert modules - changed == OTHERS
    assert sum(bool(mutant.survives) for mutant in prover_mutants()) <= 0.03 * len(prover_mutants())
