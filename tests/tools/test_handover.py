"""The pages for the working group: every erratum and requirement is on a page, and defects come from a suite."""

from __future__ import annotations

import re

import pytest

from sonnx.profile import catalogue
from tests.support.cases import DEEP
from tools import handover


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return dict(handover.pages())


def test_every_erratum_is_on_the_page_of_its_text(pages: dict[str, str]) -> None:
    every = catalogue.errata()
    found = {name: re.findall(r"^## (\S+)$", text, re.MULTILINE) for name, text in pages.items()}
    assert sorted(each for name, ids in found.items() if name.startswith("errata/") for each in ids) == sorted(every)
    assert "argmax-nan-is-greatest" in found["errata/argmax.md"]
    text = handover.erratum_text(every["mean-of-nothing"])
    assert text.count("\n\n*") == 4
    assert every["mean-of-nothing"].reading in text


def test_the_first_errata_change_values_or_verdicts(pages: dict[str, str]) -> None:
    every = catalogue.errata()
    first = re.findall(r"^## (\S+)$", pages["first.md"], re.MULTILINE)
    assert len(first) == handover.FIRST
    assert {each.id for each in every.values() if each.instead or each.deviations} <= set(first)
    assert all(each in handover.named() or every[each].deviations or every[each].instead for each in first)


def test_requirements_have_a_rule_or_a_reason(pages: dict[str, str]) -> None:
    rows = [line.split(" | ") for line in pages["requirements.md"].splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 40
    assert [row for row in rows if len(row) != 4 or not row[3].strip(" |")] == []
    [tool] = [row for row in rows if row[1] == "REQ-TO-000"]
    assert tool[3] == "`sonnx check`; `sonnx prove` |"
    needs = {row[1] for row in rows if row[0] == "| needs"}
    assert {f"AI-{number:03}" for number in range(14)} <= needs
    assert {f"THAV-{number:03}" for number in range(4)} <= needs


def test_formulas_and_bounds(pages: dict[str, str]) -> None:
    accuracy = [line for line in pages["accuracy.md"].splitlines() if line.startswith("| ")]
    answers = [line.split(" | ")[3] for line in accuracy[1:]]
    assert answers == sorted(answers)
    assert set(answers) == {"yes", "no"}
    assert "| Div | yes | yes |" in pages["bounds.md"]
    assert "| Not | no | " in pages["bounds.md"]


def test_the_figures_about_the_test_guide_hold(pages: dict[str, str]) -> None:
    """The classes that the guide prints for Div of 8-bit integers, against the pairs whose divisor is not 0."""
    numbers = range(-128, 128)
    domain = {(x, y) for x in numbers for y in numbers if y != 0}
    inner = [x for x in numbers if -127 < x < 128]
    negative, positive = [y for y in numbers if -128 < y < 0], [y for y in numbers if 0 < y < 127]
    printed = {(-128, -128), (-128, 0), (-128, 127), (127, -128), (127, 0), (127, 127)}
    printed |= {(x, y) for x in (-128, 127) for y in (*negative, *positive)}
    printed |= {(x, y) for x in inner for y in (-128, 127, *positive)}
    assert printed - domain == {(-128, 0), (127, 0)}
    assert f"leave out {len(domain - printed):,} of the {len(domain):,} pairs" in pages["test_guide.md"].replace(
        "\n", " "
    )
    assert [(x, y) for x, y in domain if not -128 <= x / y <= 127] == [(-128, -1)]


@pytest.mark.usefixtures("runtimes_in_this_process")
def test_deviations_of_a_runtime_have_a_model_and_both_values() -> None:
    pytest.importorskip("onnxruntime")
    found = dict(handover.defects(("LeakyRelu", "Neg") if DEEP else ("LeakyRelu",)))
    assert found.keys() == {"defects/leakyrelu.md", "defects/index.md"}
    text = found["defects/leakyrelu.md"]
    assert text.startswith("# LeakyRelu: deviations of onnxruntime ")
    assert "sonnx suite make FOLDER --operator LeakyRelu" in text
    rows = [line for line in found["defects/index.md"].splitlines() if line.startswith("| LeakyRelu ")]
    assert len(rows) == text.count("\n## ") > 0
    assert text.count("the runtime gives `") == len(rows)
