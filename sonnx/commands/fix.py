"""`sonnx fix`: its arguments; what rewrites models is loaded when it is asked for."""

from __future__ import annotations

import argparse
from pathlib import Path

from sonnx.amounts import amount

HELP = "rewrite a model without changing a value"

SAMPLES = 3
"""Sets of inputs both models are run on, where nothing else is asked for: one of each kind."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file, which is never changed")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--output", type=Path, metavar="FILE", help="where the rewritten model is written")
    target.add_argument("--dry-run", action="store_true", help="write nothing, only say what would be done")
    add("--edition", default=None, help="the edition the model is brought to")
    add("--bind", action="append", default=[], metavar="N=1,H=224", help="numbers for symbolic dimensions")
    add("--select", action="append", default=[], metavar="RULE",
        help="only rewrites for these slugs, tags or operators, comma-separated")  # fmt: skip
    add("--strict-versions", action="store_true", help="admit only the operator version a text specifies")
    add("--fold-batch-normalization", action="store_true",
        help="fold BatchNormalization into the convolution before it; this changes how values are rounded")  # fmt: skip
    add("--samples", type=amount("sets", least=0), default=SAMPLES, metavar="N",
        help=f"how many sets of inputs both models are run on (default {SAMPLES}; 0 validates nothing)")  # fmt: skip
    add("--report", type=Path, default=None, metavar="FILE", help="write the record of all rewrites as JSON")
    add("--force", action="store_true", help="write over files that exist")
    add("--all", action="store_true", help="print every rewrite, not only the first ones of a kind")
    add("--format", choices=("text", "json"), default="text")

    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        Unreadable: the model cannot be read.
        Misuse: an output that exists, an unknown name, or a model this tool cannot write.
    """
    from sonnx.fix.command import run as rewrite  # apart from everything else: see sonnx/fix/__init__.py

    return rewrite(options)
