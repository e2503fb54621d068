"""What `sonnx fix` makes of models: findings before and after, what is left over, and how many values were compared.

python -m benchmarks.fix [MODEL …] [--samples 1] [--write]

The models are those of tests/models, the networks that the onnx package brings, and those named.  `--write` puts this
table and that of the rewrites into docs/fix.md.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sonnx.base.errors import UsageError
from sonnx.checker.report import Verdict
from sonnx.rewriter.fix import FixResult, fix
from sonnx.rewriter.rewrite import every_kind, title

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "fix.md"
HEAD = """| model | findings before | rewrites | findings after | left over | output elements compared |
|---|---|---|---|---|---|
"""
KINDS = """| rewrite | for | the values stay by |
|---|---|---|
"""


def wheel() -> list[Path]:
    """The networks of the installed onnx package."""
    package = importlib.util.find_spec("onnx")
    assert package is not None
    assert package.submodule_search_locations
    return sorted((Path(package.submodule_search_locations[0]) / "backend/test/data/light").glob("*.onnx"))


def own() -> list[Path]:
    """The models of the tests."""
    return sorted((ROOT / "tests" / "models").glob("*.onnx"))


def row(path: Path, samples: int) -> str:
    """One model as a row of the table."""
    try:
        found = fix(path, samples=samples)
    except UsageError as reason:
        return f"| {path.stem} | refused: {reason} | | | | |\n"
    numbers = f"{len(found.before.roots)} | {len(found.rewrites)} | {len(found.after.roots)}"
    return f"| {path.stem} | {numbers} | {left(found)} | {compared(found)} |\n"


def left(found: FixResult) -> str:
    """What a person has to act on: rules with the operators or values they fail for."""
    said: dict[str, Counter[str]] = {}
    for each in found.after.roots:
        name = each.rule if each.verdict is Verdict.FAIL else f"{each.rule} {each.verdict}"
        said.setdefault(name, Counter())[each.where.operator or "values"] += 1
    parts = (f"{rule}: {', '.join(f'{n} {what}' for what, n in which.items())}" for rule, which in said.items())
    return "; ".join(parts) or "nothing: it conforms"


def compared(found: FixResult) -> str:
    """How many elements are the same, or why none was compared."""
    made = found.validation
    if not made.inputs:
        return f"none: {made.open or 'not asked for'}"
    bits = "in every bit" if made.bits else "but for the bits of NaNs"
    said = f"{made.elements}, the same {bits}"
    said += f", since {', '.join(made.since)}" if made.since else ""
    return said + (f"; what {', '.join(made.left_out)} computes left out" if made.left_out else "")


def kinds() -> Iterator[str]:
    """Every rewrite with the rules it serves and what its values rest on."""
    for module in every_kind().values():
        theorem = getattr(module, "THEOREM", "")
        asked = "they do not: made only when asked for" if hasattr(module, "OPTION") else "construction"
        rests = f"`{theorem}`" if theorem else asked
        yield f"| {title(module)} | {', '.join(module.RULES)} | {rests} |\n"


def write(mark: str, text: str) -> None:
    """Put a table between the two marks of the page."""
    begin, end = f"<!-- {mark} -->\n", "<!-- end -->"
    before, found, rest = PAGE.read_text("utf-8").partition(begin)
    assert found, f"the page has no mark {mark}"
    PAGE.write_text(before + begin + text + end + rest.partition(end)[2], "utf-8")


def main() -> None:
    """Print the table row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = []
    for path in (*own(), *options.models, *wheel()):
        rows.append(row(path, options.samples))
        print(rows[-1], end="", flush=True)
    if options.write:
        write("rewrites", KINDS + "".join(kinds()))
        write("models", HEAD + "".join(rows))


if __name__ == "__main__":
    main()
