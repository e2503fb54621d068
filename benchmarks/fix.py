"""What `sonnx fix` does to models: findings before and after, what remains, and how many values were compared.

python -m benchmarks.fix [MODEL …] [--samples 1] [--write]

The models are those of tests/models, the networks that the onnx package brings, those of exporter_networks.toml, and
those named.  `--write` puts the tables into docs/measurements, and that of the rewrites into docs/fix.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import onnx
from msgspec.structs import replace

import sonnx
from benchmarks.exporter_networks import networks
from benchmarks.measurements import write
from sonnx import fix
from sonnx.base.errors import UsageError
from sonnx.checker.verdicts import Verdict
from sonnx.equivalence.result import Answer
from sonnx.evidence.rewrite_cases import rewrite_cases
from sonnx.report.fix_forecast import ForecastRequest
from sonnx.report.fix_record import Grade
from sonnx.rewriter import passes
from sonnx.rewriter.dry_run import what_is_left
from sonnx.rewriter.fix import FixResult
from sonnx.rewriter.forecast import forecast_of
from sonnx.rewriter.options import FixOptions
from sonnx.rewriter.passes import every_rewrite
from sonnx.rewriter.rewrite import NodeRewriting, Replacement, Rewrite
from sonnx.rewriter.site import Site

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "fix.md"
HEAD = """| model | findings before | rewrites | findings after | remaining | output elements compared |
|---|---|---|---|---|---|
"""
EXPORTS = """| export | exported by | as exported | after fix | after fix --within-bound | outside the profile |
|---|---|---|---|---|---|
"""
NETWORKS = """| network | nodes | after | grade | for all inputs | left |
|---|---|---|---|---|---|
"""
REWRITES = """| rewrite | for | grade | shown by | cost: nodes for one |
|---|---|---|---|---|
"""
GRADES = {"": Grade.SAME_BITS, "within-bound": Grade.SAME_IDEAL_VALUE}
"""What the option of a rewrite says of values; every other option approximates."""


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


class Rewritten(NamedTuple):
    """A network after `fix`, with options only where it does not conform without them."""

    name: str
    grade: Grade | None
    """None where it does not conform."""
    found: FixResult
    is_announced: bool
    """Whether the forecast of a check has the numbers of findings that are left."""

    def __str__(self) -> str:
        before, after = self.found.before.coverage.nodes, self.found.after.coverage.nodes
        confirmed = str(self.found.validation.for_all_inputs)
        confirmed += ", before the approximation" if self.found.validation.approximated else ""
        grade = self.grade or "does not conform"
        return f"| {self.name} | {before} | {after} | {grade} | {confirmed} | {left(self.found)} |\n"


def rewritten(name: str, data: bytes) -> Rewritten:
    """A network with as few options as it needs."""
    found = fix(data, samples=1)
    exact = len(found.after.roots)
    bounded = fix(data, samples=1, within_bound=True)
    if found.after.exit_code() and not bounded.after.exit_code():
        found = bounded
    elif found.after.exit_code():
        found = fix(data, samples=1, approximate=True)
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(data)
        file.flush()
        request = ForecastRequest(file.name, found.after.edition, False, {}, {})
        forecast = forecast_of(request).forecast
    numbers = None if forecast is None else (sum(forecast.left.values()), sum(forecast.left_within_bound.values()))
    grade = None if found.after.exit_code() else found.validation.grade
    return Rewritten(name, grade, found, numbers == (exact, len(bounded.after.roots)))


def share(found: Sequence[Rewritten]) -> str:
    """How many networks conform, by grade, and what confirms it."""
    grades = Counter(each.grade for each in found)
    conform = [each for each in found if each.grade]
    confirmed = sum(each.found.validation.for_all_inputs is not Answer.UNDECIDED for each in conform)
    named = ", ".join(f"{number} with {grade}" for grade, number in grades.items() if grade)
    announced = sum(each.is_announced for each in found)
    return (
        f"\nOf {len(found)} networks {len(conform)} conform ({100 * len(conform) // len(found)} %): {named}. The "
        f"comparison for all inputs confirms {confirmed} of them, before approximations, and a check announces what is "
        f"left of {announced} of {len(found)}.\n"
    )


def rewrites() -> Iterator[str]:
    """Every rewrite: its rules, how its values relate to those of the original, what shows it, and its cost."""
    costs = nodes_for_one()
    for rewrite in every_rewrite().values():
        grade = GRADES.get(rewrite.description.option, Grade.APPROXIMATED)
        shown = f"`{rewrite.description.theorem}`" if rewrite.description.theorem else "construction"
        if grade is not Grade.SAME_BITS:
            shown = f"`--{rewrite.description.option}`; the comparison for all inputs"
        if rewrite.description.option == "approximate":
            shown = "`--approximate`; a certified bound"
        rules = ", ".join(rewrite.rules)
        yield f"| {rewrite.description.title} | {rules} | {grade} | {shown} | {costs.get(rewrite.name, '')} |\n"


@cache
def nodes_for_one() -> dict[str, str]:
    """The nodes that each rewrite of a node puts in its place, in the cases of rewrite_cases.toml."""
    numbers: dict[str, set[int]] = {}

    def counted(rewrite: Rewrite[NodeRewriting]) -> Rewrite[NodeRewriting]:
        def apply(site: Site) -> Replacement | None:
            replacement = rewrite.apply(site)
            if replacement is not None:
                numbers.setdefault(rewrite.name, set()).add(len(replacement.nodes))
            return replacement

        return replace(rewrite, apply=apply)

    listed = tuple(map(counted, passes.NODE_REWRITES))
    last = tuple(rewrite for rewrite in listed if rewrite.name in {each.name for each in passes.LAST_OF_NODES})
    with patch.multiple(passes, NODE_REWRITES=listed, LAST_OF_NODES=last):
        for case in rewrite_cases():
            what_is_left(
                case.model_bytes(), FixOptions(**{**case.options(), "within_bound": True, "approximate": True})
            )
    return {
        name: str(min(found)) if len(found) == 1 else f"{min(found)} to {max(found)}" for name, found in numbers.items()
    }


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
    found = []
    for name, model in networks():
        found.append(rewritten(name, model.SerializeToString()))
        print(found[-1], end="", flush=True)
    print(share(found))
    if options.write:
        write("fix-networks", NETWORKS + "".join(map(str, found)) + share(found))
        write("fix-exports", EXPORTS + "".join(map(str, outcomes)) + total(outcomes))


if __name__ == "__main__":
    main()
