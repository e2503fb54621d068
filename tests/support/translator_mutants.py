"""The mutants of `tests/data/translator_mutants.toml`: wrong interpretations of each construct of the rule language."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import Any, NamedTuple

import pytest

from sonnx.prover.theorem import mutated
from tests.support.paths import DATA


class TranslatorMutant(NamedTuple):
    """A place of a function changed, and the text whose interpretation it makes wrong, with folding or without."""

    construct: str
    function: str
    old: str
    new: str
    text: str
    when: str = ""
    folded: bool = False

    @property
    def original(self) -> Callable[..., Any]:
        """The function."""
        module, _, name = self.function.partition(".")
        found: Callable[..., Any] = attrgetter(name)(import_module(f"sonnx.prover.{module}"))
        return found


MUTANTS = tuple(
    TranslatorMutant(**each) for each in tomllib.loads((DATA / "translator_mutants.toml").read_text("utf-8"))["mutant"]
)


def install(mutant: TranslatorMutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the changed function in the place of the original wherever the prover refers to it."""
    original = mutant.original
    changed = mutated(original, mutant.old, mutant.new)
    modules = [each for name, each in sys.modules.items() if name.startswith("sonnx.prover.")]
    classes = {value for each in modules for value in vars(each).values() if isinstance(value, type)}
    for owner in (*modules, *classes):
        for name, value in list(vars(owner).items()):
            if value is original:
                monkeypatch.setattr(owner, name, changed)
            if isinstance(value, dict):
                for key in [key for key, known in value.items() if known is original]:
                    monkeypatch.setitem(value, key, changed)
