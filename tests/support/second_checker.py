"""Compare the verdicts of the check with those of the program extracted from Coq, on cases and random models.

`python -m tests.support.second_checker PROGRAM RULES [--random N]`: 0 where every verdict is the same, 1 with the
calls that differ.  A call is left out, and counted, where it has a number that is not finite or a list that takes too
long.  A case with other files beside its model is left out; bytes that a case appends to its model are not added.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
from google.protobuf import text_format

from sonnx import check
from sonnx.checker import facts_domain
from sonnx.language.coq import text
from sonnx.language.evaluator import TensorFacts, Unknown
from sonnx.language.steps import TOO_LONG
from sonnx.profile.cases import cases
from tests.support.random_models import perturbed, random_model, sample_calls, with_symbols

MOST_VALUES = 4096
"""Items of the longest list that is compared: the extracted program has numbers of single bits."""


class NotComparedError(Exception):
    """The call has a fact that the program does not read; the message is the reason."""


def fact(value: Any) -> str:
    """A fact as the program reads it.

    Raises:
        NotComparedError: a number that is not finite, or a long list.
    """
    match value:
        case bool():
            return f"(B {str(value).lower()})"
        case int():
            return f"(I {value})"
        case Fraction() | float():
            if isinstance(value, float) and not isfinite(value):
                raise NotComparedError("a number that is not finite")
            exact = Fraction(value)
            return f"(F {exact.numerator} {exact.denominator})"
        case str():
            return f"(T {text(value)})"
        case Unknown():
            return f"(U {int(value.cause)} {text(value.symbol)})"
        case TensorFacts():
            return _record(value._asdict())
        case tuple():
            if len(value) > MOST_VALUES:
                raise NotComparedError("a long list")
            return f"(L {' '.join(map(fact, value))})"
        case Mapping():
            return _record(value)
    if hasattr(value, "read"):
        return fact(value.read())
    raise NotComparedError(f"a fact of type {type(value).__name__}")


def _record(fields: Mapping[str, Any]) -> str:
    return f"(R {' '.join(f'({text(name)} {fact(value)})' for name, value in fields.items())})"


class Calls:
    """The different calls of checks: the line of each, with the verdicts of its rules."""

    def __init__(self) -> None:
        self.verdicts: dict[str, tuple[str, ...]] = {}
        self.left_out = Counter[str]()

    def record(self, edition: str, made: Any, names: Mapping[str, Any], results: list[Any]) -> None:
        """Keep a call with the results of its operator's own rules."""
        if any(TOO_LONG in each.actual for each in results):
            self.left_out["too long"] += 1
            return
        try:
            facts = " ".join(f"({text(name)} {fact(value)})" for name, value in names.items())
        except NotComparedError as reason:
            self.left_out[str(reason)] += 1
            return
        line = f"{text(f'{edition} {made.operator} {made.version}')} {facts}".replace("\n", " ")
        self.verdicts[line] = tuple(f"{each.rule.slug}={each.verdict}" for each in results)


def recorded(calls: Calls, models: Iterator[onnx.ModelProto]) -> int:
    """Check models while their calls are recorded; how many there were."""
    plain, number = facts_domain._own_results, 0

    def recording(made: Any, demands: Any, views: Any, rules: Any, listing: Any) -> Iterator[Any]:
        results = list(plain(made, demands, views, rules, listing))
        calls.record(rules.edition.name, made, views.names, results)
        return iter(results)

    facts_domain._own_results = recording
    try:
        for model in models:
            check(model)
            number += 1
    finally:
        facts_domain._own_results = plain
    return number


def models(count: int) -> Iterator[onnx.ModelProto]:
    """The models of all cases, and random ones: correct, with one part changed, with symbolic dimensions."""
    for case in cases():
        if case.beside is None:
            text_form = onnx.parser.parse_model if case.language.startswith("onnx") else _text_model
            yield text_form(case.text)
    operators = sorted(sample_calls())
    for seed in range(count):
        chance = random.Random(seed)
        model = random_model(chance, operators[seed % len(operators)], 3, specified=True)
        if seed % 3:
            perturbed(chance, model)
        if seed % 2:
            with_symbols(chance, model, 3)
        try:
            yield model.proto()
        except (ValueError, TypeError):  # a changed constant that onnx cannot write
            continue


def _text_model(text: str) -> onnx.ModelProto:
    return text_format.Parse(text, onnx.ModelProto())


def differences(calls: Calls, program: Path, rules: Path) -> list[str]:
    """The calls of which a verdict differs."""
    lines = list(calls.verdicts)
    done = subprocess.run(
        [program.resolve(), rules],
        input="\n".join(lines) + "\n",
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",  # a string of a model that is not UTF-8 has its own bytes
        check=True,
    )
    found = []
    for line, answer in zip(lines, done.stdout.splitlines(), strict=True):
        for ours, theirs in zip(calls.verdicts[line], answer.split(" ") if answer else (), strict=True):
            if ours != theirs:
                found.append(f"check {ours}, second {theirs}: {line[:400]}")
    return found


def main() -> int:
    """Compare; 0 or 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("rules", type=Path)
    parser.add_argument("--random", type=int, default=200, help="random models")
    options = parser.parse_args()
    calls = Calls()
    number = recorded(calls, models(options.random))
    found = differences(calls, options.program, options.rules)
    print(*found[:20], sep="\n")
    verdicts = sum(map(len, calls.verdicts.values()))
    left = ", ".join(f"{count} {why}" for why, count in calls.left_out.items()) or "none"
    counts = f"{number} models, {len(calls.verdicts)} different calls, {verdicts} verdicts, {len(found)} differ"
    print(f"{counts}; left out: {left}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
