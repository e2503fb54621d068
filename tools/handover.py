"""What the working group of the profile can merge or discuss, a page for each item.

    python -m tools.handover FOLDER [--operator NAME ...]

    errata/        for each page of the texts: the place, what is wrong, an example, and the reading that settles it
    first.md       the twenty to begin with: runtimes compute different values, or a theorem shows the defect of a rule
    defects/       for each operator the deviations of the installed onnxruntime, with a node, inputs and the value;
                   index.md counts them
    accuracy.md    the formulas of the pages on accuracy, with those that do not hold
    bounds.md      the operators that have a page on accuracy, and those that only this tool bounds
    requirements.md  each requirement of the texts with what shows it
    data.md        the rules as data: where they stand and how to read them
    test_guide.md  defects of the guide to tests

The texts themselves are not needed.  The defects of all operators take eight minutes of processor time.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path

from sonnx.base.escaping import plural
from sonnx.base.resources import folder as data_folder
from sonnx.operators.registry import find_operator
from sonnx.profile import catalogue
from sonnx.profile.definitions import Erratum
from sonnx.profile.index import rules_by_slug
from sonnx.profile.requirement_identifiers import requirement_identifier
from sonnx.suite.result import Deviation

LABELS = Path(__file__).parent.parent / "tests" / "data" / "label_map"
REQUIREMENT = re.compile(r"(REQ|RECO|T\d|GR|AI|THAV|BOSCH|ARCYS)")
"""The labels of requirements, of the graph, of general restrictions, and of the needs of users."""
FIRST = 20


def main() -> int:
    """Write the folder, which must not exist."""
    parser = argparse.ArgumentParser(description="Write what the working group can merge.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--operator", action="append", metavar="NAME", help="default: all of the edition")
    options = parser.parse_args()
    if options.folder.exists():
        sys.exit(f"{options.folder} exists; name a new folder")
    for name, text in chain(pages(), defects(options.operator or ())):
        path = options.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path)
    return 0


def pages() -> Iterator[tuple[str, str]]:
    """Every page by its name, but the defects."""
    every = catalogue.errata()
    first = sorted(every.values(), key=urgency)[:FIRST]
    yield "first.md", page("Errata to begin with", map(erratum_text, first))
    by_page = defaultdict[str, list[Erratum]](list)
    for erratum in every.values():
        by_page[page_of(erratum)].append(erratum)
    for name, erratums in sorted(by_page.items()):
        yield f"errata/{name}.md", page(f"Errata of {name}", map(erratum_text, erratums))
    yield "accuracy.md", page("Formulas of the pages on accuracy", formulas())
    yield "bounds.md", page("Operators with bounds", bounds())
    yield "requirements.md", page("Requirements of the texts", requirements())
    for name, file in (("data.md", "handover_guide.md"), ("test_guide.md", "handover_test_guide.md")):
        yield name, (Path(__file__).parent / file).read_text("utf-8")


def page(title: str, parts: Iterable[str]) -> str:
    """A page in Markdown."""
    return "\n".join([f"# {title}", "", *parts])


def urgency(erratum: Erratum) -> tuple[bool, bool, bool, str]:
    """A key by which the errata stand first that change values, then those that a theorem shows and a rule needs."""
    values = bool(erratum.instead or erratum.deviations)
    return not values, not (erratum.theorems and erratum.id in named()), erratum.id not in named(), erratum.id


@cache
def named() -> frozenset[str]:
    """The errata that rules, outputs or parameters name: without their reading a verdict or a value is open."""
    texts = {name for rule in rules_by_slug().values() for name in rule.errata}
    for described in catalogue.operators():
        texts.update(name for output in described.outputs for name in output.errata)
        texts.update(name for parameter in described.parameters for name in parameter.errata)
    return frozenset(texts)


def page_of(erratum: Erratum) -> str:
    """The page that an erratum is about, "onnx" for texts of ONNX: the first file of its place, without the ending."""
    match_ = re.match(r"([\w-]+)\.(?:md|rst)", erratum.place)
    return match_[1] if match_ else "onnx" if "onnx" in erratum.document else "several-pages"


def erratum_text(each: Erratum) -> str:
    """An erratum as a section."""
    return "\n".join(
        [
            f"## {each.id}",
            "",
            f"*Place.* {each.place}",
            "",
            f"*What is wrong or open.* {each.defect}",
            "",
            f"*Example.* {each.counterexample}",
            "",
            f"*Reading that would settle it.* {each.reading}",
            "",
        ]
    )


# ------------------------------------------------------------------ defects of a runtime


def defects(operators: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The deviations of the installed onnxruntime that no erratum explains: a page for each operator that has some.

    Args:
        operators: those that are tried; none for all of the edition.
    """
    from sonnx.report.document import Standing
    from sonnx.suite.making import make_suite
    from sonnx.suite.options import MakeOptions, RunOptions
    from sonnx.suite.runs import run_suite

    try:
        runtime = f"onnxruntime {version('onnxruntime')}"
    except PackageNotFoundError:
        sys.exit("the defects need the package onnxruntime")
    with tempfile.TemporaryDirectory() as folder:
        make_suite(Path(folder) / "suite", MakeOptions(operator=tuple(operators)))
        run = run_suite(Path(folder) / "suite", RunOptions())
    found = defaultdict[str, list[Deviation]](list)
    for deviation in run.deviations:
        if deviation.standing is Standing.BAD:
            found[deviation.operator].append(deviation)
    kinds = plural(sum(map(len, found.values())), "kind")
    lines = [f"{kinds} of deviation in {plural(len(found), 'operator')}, by operator and element type.", ""]
    lines += ["| operator | kind | element type | data sets |", "|---|---|---|---|"]
    for operator, deviations in sorted(found.items()):
        lines += [f"| {operator} | {each.kind} | {each.element} | {each.number} |" for each in deviations]
        yield f"defects/{operator.lower()}.md", defect_page(operator, deviations, runtime)
    yield "defects/index.md", page(f"Deviations of {runtime}", lines)


def defect_page(operator: str, deviations: Iterable[Deviation], runtime: str) -> str:
    """The page of an operator: each kind with its smallest example."""
    command = f"sonnx suite make FOLDER --operator {operator}`, `sonnx suite run FOLDER"
    lines = [f"Runtime: {runtime}. Repeat with `{command}`.", ""]
    for deviation in deviations:
        difference = deviation.difference
        lines += [
            f"## {deviation.kind}, {deviation.element}: {plural(deviation.number, 'data set')}",
            "",
            f"*Node.* `{deviation.call}`",
            "",
            *[f"*{name}.* `{value}`\n" for name, value in deviation.inputs.items()],
            f"*Output {difference.output}.* expected `{difference.expected}`, the runtime gives `{difference.actual}`",
            "",
            *([f"*Breaks.* {deviation.broken}", ""] if deviation.broken else []),
            *([f"*Decided by.* {', '.join(deviation.errata)}", ""] if deviation.errata else []),
        ]
    return page(f"{operator}: deviations of {runtime}", lines)


# ------------------------------------------------------------------ accuracy, requirements


def formulas() -> Iterator[str]:
    """The formulas of the texts with their theorems; those that do not hold first."""
    listed = tomllib.loads((data_folder("restrictions") / "accuracy.toml").read_text("utf-8"))["formula"]
    counts = Counter(each["holds"] for each in listed)
    yield f"Of {plural(len(listed), 'formula')}, {counts[False]} do not hold; these stand first."
    yield ""
    yield "| operator | place | formula | holds | why not | instead |"
    yield "|---|---|---|---|---|---|"
    for entry in sorted(listed, key=lambda each: (each["holds"], each["operator"])):
        cells = (
            entry["operator"], entry["place"], f"`{entry['formula']}`", "yes" if entry["holds"] else "no",
            entry.get("because", ""), f"`{entry['ours']}`" if "ours" in entry else "",
        )  # fmt: skip
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def bounds() -> Iterator[str]:
    """For each operator of the profile whether the texts and this tool have bounds of its errors."""
    listed = tomllib.loads((data_folder("restrictions") / "accuracy.toml").read_text("utf-8"))["formula"]
    paged = {entry["operator"] for entry in listed}
    yield "| operator | page on accuracy | bounds in `sonnx bound` |"
    yield "|---|---|---|"
    for described in catalogue.operators():
        operator = find_operator(described.name)
        bounded = operator is not None and operator.bound is not None
        yield f"| {described.name} | {yes(described.name in paged)} | {yes(bounded)} |"


def yes(holds: bool) -> str:
    """A word for a table."""
    return "yes" if holds else "no"


def requirements() -> Iterator[str]:
    """Each labelled requirement of the texts with what shows it, or the reason why nothing does."""
    edition, rules = catalogue.editions().default, rules_by_slug()
    yield "| page | label | about | shown by |"
    yield "|---|---|---|---|"
    for path in sorted(LABELS.glob("*.toml")):
        found = tomllib.loads(path.read_text("utf-8"))
        for entry in found["statements"]:
            if not REQUIREMENT.match(entry["label"]):
                continue
            shown = [requirement_identifier(rules[name], edition) for name in entry.get("rules", ()) if name in rules]
            shown += [f"value: {name}" for name in entry.get("values", ())]
            shown += [f"erratum {name}" for name in entry.get("errata", ())]
            shown += [f"`sonnx {name}`" for name in entry.get("commands", ())]
            text = "; ".join(shown) or entry.get("none", "")
            yield f"| {Path(found['page']).stem} | {entry['label']} | {entry.get('quote', '')} | {text} |"


if __name__ == "__main__":
    sys.exit(main())
