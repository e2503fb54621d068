"""The verdict on each node test that the onnx package generates, one line each; `make node-verdicts` records them.

A line is the name of the case, the verdict under the default edition, and what was found: a slug alone is outside the
profile, `!` before it not valid ONNX, `?` depends on values known at run time, `~` is not decided.
"""

from __future__ import annotations

import sys

import sonnx
from sonnx.checker.report import Finding
from sonnx.checker.verdicts import Verdict
from tests.support.node_tests import node_tests
from tests.support.paths import DATA

RECORDED = DATA / "node_verdicts.txt"
SIGNS = {Verdict.FAIL: "", Verdict.ASSUMED: "?"}


def models() -> dict[str, bytes]:
    """The encoded model of each case by its name."""
    return {case.name: case.model.SerializeToString() for case in node_tests() if case.model}


def line(name: str, model: bytes) -> str:
    """The line of one case."""
    report = sonnx.check(model)
    return " ".join([name, report.verdict, *sorted({_signed(finding) for finding in report.roots})])


def _signed(finding: Finding) -> str:
    sign = "!" if finding.breaks_onnx else SIGNS.get(finding.verdict, "~")
    return f"{sign}{finding.rule}"


if __name__ == "__main__":
    RECORDED.write_text("".join(f"{line(*each)}\n" for each in sorted(models().items())), "utf-8")
    print(f"{RECORDED}: written", file=sys.stderr)
