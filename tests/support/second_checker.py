"""Compare the verdicts of the check with those of the program extracted from Coq, on cases and random models.

`python -m tests.support.second_checker PROGRAM RULES [--random N]`: 0 where every verdict is the same, 1 with the
calls that differ.  A call is left out, and counted, where it has a number that is not finite or a list that takes too
long.  A case with other files beside its model is left out; bytes that a case appends to its model are not added.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx
import onnx.backend.test
import onnx.parser
from google.protobuf import text_format

from sonnx.base.reported import json_text
from sonnx.checker.options import CheckOptions
from sonnx.model.reader import Unreadable
from sonnx.profile.cases import all_cases
from sonnx.report.facts_json import CallFacts, FactsDocument
from tests.support.call_facts import document_of
from tests.support.paths import ROOT
from tests.support.random_models import perturbed, random_model, sample_calls, with_symbols

NODE_TESTS = Path(onnx.backend.test.__file__).parent / "data"
"""The models of the onnx package."""


class Documents:
    """The facts of the different calls of models, one document for all."""

    def __init__(self) -> None:
        self.calls: dict[str, CallFacts] = {}
        self.models = 0

    def add(self, data: bytes) -> None:
        """Add the calls of a model; an unreadable one has none."""
        try:
            document = document_of(data, CheckOptions(), "model")
        except Unreadable:
            return
        self.models += 1
        self.edition = document.edition
        for call in document.calls:
            self.calls.setdefault(json_text(call), call)

    def text(self) -> str:
        """The document, as `sonnx check --facts FILE` writes it."""
        edition = self.edition
        return json_text(FactsDocument(model="", sha256="", edition=edition, calls=tuple(self.calls.values())))


def models(count: int) -> Iterator[bytes]:
    """The models of all cases, of the examples and of the onnx package, and random ones: correct, with one part
    changed, with symbolic dimensions.
    """
    for case in all_cases():
        if case.beside is None:
            text_form = onnx.parser.parse_model if case.language.startswith("onnx") else _text_model
            yield text_form(case.text).SerializeToString()
    for path in (*sorted((ROOT / "examples").rglob("*.onnx")), *sorted(NODE_TESTS.rglob("*.onnx"))):
        yield path.read_bytes()
    operators = sorted(sample_calls())
    for seed in range(count):
        chance = random.Random(seed)
        model = random_model(chance, operators[seed % len(operators)], 3, specified=True)
        if seed % 3:
            perturbed(chance, model)
        if seed % 2:
            with_symbols(chance, model, 3)
        try:
            yield model.proto().SerializeToString()
        except (ValueError, TypeError):  # a changed constant that onnx cannot write
            continue


def _text_model(text: str) -> onnx.ModelProto:
    return text_format.Parse(text, onnx.ModelProto())


def answers(document: str, program: Path, rules: Path) -> list[str]:
    """The line of the program for each call."""
    done = subprocess.run([program.resolve(), rules], input=document.encode("ascii"), capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.decode("utf-8", "replace"))
    return done.stdout.decode("utf-8", "surrogateescape").splitlines()


def main() -> int:
    """Compare; 0 or 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("rules", type=Path)
    parser.add_argument("--random", type=int, default=200, help="random models")
    options = parser.parse_args()
    made = Documents()
    for model in models(options.random):
        made.add(model)
    lines = answers(made.text(), options.program, options.rules)
    calls = list(made.calls.values())
    compared = [call for call in calls if call.facts is not None]
    differing = [
        (call, line) for call, line in zip(calls, lines, strict=True) if call.facts is not None and line != shown(call)
    ]
    for call, line in differing[:20]:
        print(f"check  {shown(call)}\nsecond {line}\n{json.dumps(call.facts)[:400]}")
    left = Counter(call.left_out for call in calls if call.facts is None)
    reasons = ", ".join(f"{count} because {why}" for why, count in left.items()) or "none"
    verdicts = sum(len(call.verdicts) for call in compared)
    print(
        f"{made.models} models, {len(compared)} different calls, {verdicts} verdicts, {len(differing)} calls differ; "
        f"left out: {reasons}"
    )
    return 1 if differing else 0


def shown(call: CallFacts) -> str:
    """The line that the program prints where its verdicts are those of the check."""
    verdicts = " ".join(f"{slug}={verdict}" for slug, verdict in call.verdicts.items())
    return f"{call.operator} {call.version} {verdicts}"


if __name__ == "__main__":
    sys.exit(main())
