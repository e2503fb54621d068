"""Regenerate what follows from a new or changed operator: `make operator NAME=Conv`.

These are the identifiers of its rules as requirements; the proofs of the theorems that follow from its rules, with the
change that refutes each; the figures in docs/trust.md and docs/robustness.md; the verdicts on the node tests of the
onnx package; its bounds in small networks; and the mutants of rules.  A mutant of a rule that no case detects is named:
it needs a case.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from functools import partial

from sonnx.evidence.mutation import RECORD, MutationRecord, mutation_record
from sonnx.profile.index import rules_by_slug
from sonnx.profile.profile_data import in_use
from sonnx.profile.requirement_identifiers import FILE, register, requirement_identifier
from sonnx.proofs import registry
from tests.support.paths import DOCS
from tools import headline, rule_mutants
from tools.rule_mutants import MutationTest


def theorems_of(operator: str) -> list[str]:
    """The identifiers of the theorems about the rules of an operator."""
    own = re.compile(rf"derived\.{operator}-\d")
    return [theorem.id for theorem in registry.theorems() if own.match(theorem.id)]


def with_identifiers(text: str, identifiers: Iterable[str]) -> str:
    """The register of requirement identifiers with those that it lacks."""
    lines = text.splitlines()
    comments = [line for line in lines if line.startswith("#")]
    entries = [line for line in lines if not line.startswith("#")]
    known = {entry.split()[0] for entry in entries}
    return "\n".join([*comments, *sorted([*entries, *(name for name in identifiers if name not in known)])]) + "\n"


def with_figures(text: str) -> str:
    """docs/trust.md with the headline of the record, and the numbers of theorems derived from rules."""
    proved = [theorem for theorem in registry.theorems() if theorem.id.startswith("derived.")]
    proved = [theorem for theorem in proved if theorem.expected == "proved"]
    kinds = Counter(theorem.id.split(".")[2] for theorem in proved)
    unbounded = Counter(theorem.id.split(".")[2] for theorem in proved if theorem.size == "any")
    lines = "\n".join(headline.lines())
    text = re.sub(r"(?<=^```\n)\d+ theorems, \d+ computed,.*?(?=\n```$)", lines, text, flags=re.M | re.S)
    for kind, number in kinds.items():
        text = re.sub(rf"\| \d+ {kind} \| \d+ \|", f"| {unbounded[kind]} {kind} | {number} |", text)
    held, some = len(proved), unbounded.total()
    text = re.sub(r"(Of\s+the\s+other\s+)\d+(\s+theorems,\s+)\d+(\s+hold)", rf"\g<1>{held}\g<2>{some}\g<3>", text)
    return re.sub(r"The other \d+ \(", f"The other {held - some} (", text)


def with_mutants(text: str, record: MutationRecord) -> str:
    """docs/robustness.md with the row of the mutants of rules."""
    first, second, *others = [group.number for group in record.groups]
    share = round(100 * record.detected / record.mutants)
    row = (f"{record.mutants:,}", f"{record.detected:,} ({share} %)", first, second, sum(others))
    number, detected = r"[\d,]+", r"[\d,]+ \(\d+ %\)"
    return re.sub(
        rf"^\| {number} \| {detected} \| \d+ \| \d+ \| \d+ \|$",
        f"| {' | '.join(map(str, row))} |",
        text,
        flags=re.M,
    )


def with_counts(text: str, found: MutationTest) -> str:
    """The record of the mutation test with the numbers of mutants and of survivors whose reason follows from types."""
    text = re.sub(r"^mutants = \d+$", f"mutants = {found.mutants}", text, flags=re.M)
    for reason, rules in found.by_types.items():
        rows = "".join(f'"{rule}" = {number}\n' for rule, number in sorted(rules.items()))
        text = re.sub(rf'(?<=^\[{reason}\.rules\]\n)(?:".*\n)*', rows, text, flags=re.M)
    return text


def main(operator: str) -> int:
    """Write the records; 1 if a theorem is not as stated, or a mutant of a rule survives without a reason."""
    identifiers = [requirement_identifier(rule, "").partition("/")[2] for rule in rules_by_slug().values()]
    (in_use().folder / FILE).write_text(with_identifiers(register(), identifiers), "utf-8")
    selected = [text for name in theorems_of(operator) for text in ("--select", name)]
    steps: tuple[tuple[str, list[str]], ...] = (
        ("tools.record", selected),
        ("tools.obligation_mutants", selected),
        ("tests.support.node_verdicts", []),
        ("tests.support.recorded_bounds", [operator]),
    )
    codes = [
        subprocess.run([sys.executable, "-m", module, *arguments], check=False).returncode  # noqa: S603
        for module, arguments in steps
    ]
    found = rule_mutants.mutation_test()
    RECORD.write_text(with_counts(RECORD.read_text("utf-8"), found), "utf-8")
    mutation_record.cache_clear()
    for file, figures in (
        ("trust.md", with_figures),
        ("robustness.md", partial(with_mutants, record=mutation_record())),
    ):
        page = DOCS / file
        page.write_text(figures(page.read_text("utf-8")), "utf-8")
    unexplained = found.unexplained(mutation_record())
    for survivor in unexplained:
        print(f"no case detects this change of {survivor.rule}; add one:\n    {survivor.mutant}")
    return max(*codes, int(bool(unexplained)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
