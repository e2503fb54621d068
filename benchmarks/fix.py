"""What `sonnx fix` does to models: findings before and after, what remains, and how many values were compared.

python -m benchmarks.fix [MODEL …] [--samples 1] [--write]

The models are those of tests/models, the networks that the onnx package brings, and those named.  `--write` puts this
table, and that of the exports with and without --within-bound, into docs/measurements, and that of the rewrites into
docs/fix.md.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import onnx

import sonnx
from benchmarks.measurements import write
from sonnx import fix
from sonnx.base.errors import UsageError
from sonnx.checker.verdicts import Verdict
from sonnx.rewriter.fix import FixResult
from sonnx.rewriter.passes import every_rewrite

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "fix.md"
HEAD = """| model | findings before | rewrites | findings after | remaining | output elements compared |
|---|---|---|---|---|---|
"""
EXPORTS = """| export | exported by | as exported | after fix | after fix --within-bound | outside the profile |
|---|---|---|---|---|---|
"""
REWRITES = """| rewrite | for | values unchanged by |
|---|---|---|
"""


def light_networks() -> list[Path]:
    """The networks of the installed onnx package."""
    package = importlib.util.find_spec("onnx")
    assert package is not None
    assert package.submodule_search_locations
    return sorted((Path(package.submodule_search_locations[0]) / "backend/test/data/light").glob("*.onnx"))


def exported_models() -> list[Path]:
    """The models of the tests."""
    return sorted((ROOT / "tests" / "models").glob("*.onnx"))


def row(path: Path, samples: int) -> str:
    """One model as a row of the table."""
    try:
        found = fix(path, samples=samples)
    except UsageError as reason:
        return f"| {path.stem} | refused: {reason} | | | | |\n"
    numbers = f"{len(found.before.roots)} | {len(found.rewrites)} | {len(found.after.roots)}"
    return f"| {path.stem} | {numbers} | {remaining(found)} | {compared(found)} |\n"


def frameworks() -> list[Path]:
    """The exports of other frameworks in the tests."""
    return sorted((ROOT / "tests" / "models" / "frameworks").glob("*.onnx"))


class Outcome(NamedTuple):
    """What becomes of one export: whether it conforms at each stage, and what is left."""

    name: str
    exporter: str
    conforms: tuple[bool, bool, bool]
    left: str

    def __str__(self) -> str:
        words = " | ".join("conforms" if conform else "does not" for conform in self.conforms)
        return f"| {self.name} | {self.exporter} | {words} | {self.left} |\n"


def outcome(path: Path) -> Outcome:
    """The export before and after both forms of the command that `check` prints, with 1 for sizes that it asks for."""
    before = sonnx.check(path)
    about = onnx.load(path, load_external_data=False)
    exporter = f"{about.producer_name} {about.producer_version}".strip() or "not stated"
    shapes = {
        name: tuple(int(extent) if extent.isdigit() else 1 for extent in shape) for name, shape in before.open_inputs
    }
    conforms = before.exit_code() == 0
    try:
        exact, bounded = (fix(path, input_shapes=shapes, samples=0, within_bound=side) for side in (False, True))
    except UsageError as reason:
        return Outcome(path.stem, exporter, (conforms, False, False), f"refused: {reason}")
    codes = exact.after.exit_code(), bounded.after.exit_code()
    return Outcome(path.stem, exporter, (conforms, codes[0] == 0, codes[1] == 0), left(bounded))


def left(found: FixResult) -> str:
    """The sentences about operators outside the profile; of other findings, which follow from them, the rules."""
    outside = [root for root in found.after.roots if root.rule == "operator-in-profile"]
    others = {root.rule for root in found.after.roots} - {"operator-in-profile"}
    sentences = dict.fromkeys(str(each.actual) for each in outside)
    return "; ".join([*sentences, *(() if sentences else sorted(others))]).replace("|", "\\|")


def total(outcomes: Sequence[Outcome]) -> str:
    """How many of how many conform at each stage."""
    before, exact, bounded = (sum(row) for row in zip(*(outcome.conforms for outcome in outcomes), strict=True))
    return (
        f"\nOf {len(outcomes)} models {before} conform as exported, {exact} after `fix`, and {bounded} after "
        "`fix --within-bound`.\n"
    )


def remaining(found: FixResult) -> str:
    """What a person has to act on: rules with the operators or values they fail for."""
    failing: dict[str, Counter[str]] = {}
    for root in found.after.roots:
        name = root.rule if root.verdict is Verdict.FAIL else f"{root.rule} {root.verdict}"
        failing.setdefault(name, Counter())[root.where.operator or "values"] += 1
    parts = (f"{rule}: {', '.join(f'{n} {what}' for what, n in which.items())}" for rule, which in failing.items())
    return "; ".join(parts) or "nothing: it conforms"


def compared(found: FixResult) -> str:
    """How many elements are the same, or why none was compared."""
    validation = found.validation
    if not validation.inputs:
        return f"none: {validation.missing or 'not requested'}"
    bits = "in every bit" if validation.bitwise else "except for the bits of NaNs"
    result = f"{validation.elements}, the same {bits}"
    result += f", after {', '.join(validation.after)}" if validation.after else ""
    return result + (f"; without {', '.join(validation.left_out)}" if validation.left_out else "")


def rewrites() -> Iterator[str]:
    """Every rewrite with the rules it serves and why values do not change."""
    for rewrite in every_rewrite().values():
        reason = "they change: made only when asked for" if rewrite.option else "construction"
        theorem = f"`{rewrite.description.theorem}`" if rewrite.description.theorem else reason
        yield f"| {rewrite.description.title} | {', '.join(rewrite.rules)} | {theorem} |\n"


def write_rewrites() -> None:
    """Put the table of rewrites, which nothing measures, between the two marks of docs/fix.md."""
    begin, end = "<!-- rewrites -->\n", "<!-- end -->"
    before, found, rest = PAGE.read_text("utf-8").partition(begin)
    assert found, "the page has no table of rewrites"
    text = REWRITES + "".join(rewrites())
    PAGE.write_text(before + begin + text + end + rest.partition(end)[2], "utf-8")


def main() -> None:
    """Print the table row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = []
    for path in (*exported_models(), *options.models, *light_networks()):
        rows.append(row(path, options.samples))
        print(rows[-1], end="", flush=True)
    if options.write:
        write_rewrites()
        write("fix-models", HEAD + "".join(rows))
    outcomes = []
    for path in (*exported_models(), *frameworks(), *options.models, *light_networks()):
        outcomes.append(outcome(path))
        print(outcomes[-1], end="", flush=True)
    print(total(outcomes))
    if options.write:
        write("fix-exports", EXPORTS + "".join(map(str, outcomes)) + total(outcomes))


if __name__ == "__main__":
    main()
