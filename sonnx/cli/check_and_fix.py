"""`sonnx check --fix`: rewrite models, and say what is left."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sonnx.api.checks import check
from sonnx.base.errors import UsageError, worst_exit_code
from sonnx.base.escaping import escape, quote
from sonnx.base.files import fixed_path
from sonnx.base.progress import Progress
from sonnx.checker.report import Report
from sonnx.cli.project_table import ProjectOptions
from sonnx.model.files import models_of
from sonnx.report.check_text import brief

SHARED = ("edition", "bind", "input_shapes", "select", "strict_versions")
"""The options of a check that a rewriting has, too."""
JUDGED = ("edition", "strict_versions", "tailoring", "ignore")
"""The options of the check of a rewritten model; it has the numbers of its symbols."""
EXCLUDED = (
    "baseline", "new_only",
    "box", "ignore", "tailoring", "deviations", "date", "output", "pages", "docs", "facts", "resume", "cluster", "jobs",
    "timeout", "memory", "limits", "statistics", "quiet", "full", "verified",
)  # fmt: skip
"""Options without effect on a rewriting."""


def check_and_fix(parsed: argparse.Namespace, options: Mapping[str, Any], project: ProjectOptions) -> int:
    """Rewrite the models, and judge each as a check of its new file does; the worst exit code.

    Raises:
        UsageError: options that have no effect here, or the file for a rewritten model exists.
    """
    from sonnx.rewriter.fix import fix  # most checks rewrite nothing

    values = [(name, getattr(parsed, name)) for name in EXCLUDED]
    without_effect = [name for name, value in values if value not in ("", [], None) and value is not False]
    without_effect += ["format"] if {*(parsed.format or ["text"])} != {"text"} else []
    without_effect += ["color"] if parsed.color != "auto" else []
    if without_effect:
        flag = "limit" if without_effect[0] == "limits" else without_effect[0].replace("_", "-")
        raise UsageError(f"--fix excludes --{flag}; use sonnx fix, then sonnx check")
    codes = {0}
    for name in models_of(parsed.models):
        target = fixed_path(Path(name))
        if name == "-" or target.exists():
            raise UsageError(
                "--fix needs a file" if name == "-" else f"{quote(str(target))} exists; sonnx fix --force overwrites it"
            )
        with Progress(f"rewriting {name}"):
            result = fix(name, **{option: options[option] for option in SHARED}, name=name)
        result.write(target)
        sys.stdout.write(f"{result.to_text()}wrote {escape(str(target))}\n")
        judged: Report = result.after
        if options["tailoring"] is not None or options["ignore"]:
            judged = check(str(target), **{option: options[option] for option in JUDGED}, name=str(target))
            sys.stdout.write(f"{brief(judged)}\n")
        codes.add(judged.exit_code(parsed.accept_assumptions))
    if project.note:
        sys.stdout.write(f"note: {project.note}\n")
    return worst_exit_code(codes)
