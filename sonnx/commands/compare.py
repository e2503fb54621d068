"""`sonnx compare`: its arguments; numpy and the runtime are loaded when a model is compared."""

from __future__ import annotations

import argparse
from pathlib import Path

from sonnx.amounts import amount
from sonnx.report.formats import OWN, RESULTS

HELP = "compare a runtime with the exact values"

MOST = 2**64
"""No two numbers of a format are more steps apart."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add(
        "--runtime",
        default="onnxruntime",
        metavar="NAME",
        help="onnxruntime (default), or reference, that of the onnx package",
    )
    add("--outputs", type=Path, default=None, metavar="DIR",
        help="the outputs another runtime gave for the inputs, as output_*.pb, instead of running one")  # fmt: skip
    add("--input", action="append", default=[], metavar="NAME=FILE",
        help="an input from a .npy, .npz or .pb file; FILE.npz alone gives every input it names")  # fmt: skip
    add("--test-data", type=Path, default=None, metavar="DIR", help="a folder with input_*.pb")
    add("--random", type=amount("runs"), default=None, metavar="N", help="N generated runs (default 4, without inputs)")
    add("--seed", type=int, default=0, metavar="S", help="where generated inputs start (default 0)")
    add("--bind", action="append", default=[], metavar="N=1,H=224", help="numbers for symbolic dimensions")
    add("--every-node", action="store_true", help="every node too: on equal inputs, and accumulated")
    add("--max-ulp", type=amount("steps", least=0, largest=MOST), default=None, metavar="K",
        help="exit 1 where a value is more than K ulp away")  # fmt: skip
    add("--no-special-mismatch", action="store_true", help="exit 1 where NaN, an infinity or a zero's sign differs")
    add("--edition", default=None, help="the edition the model must conform to")
    add("--unchecked", action="store_true", help="compare a model that does not conform")
    add("--format", choices=(*OWN, *RESULTS), default="text", help="the format of the report")
    add("--output", type=Path, default=None, metavar="FILE", help="write the report to a file")
    parser.set_defaults(command=compare)


def compare(options: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        Unreadable: the model or a file cannot be read.
        Misuse: an unknown edition, symbol or runtime, or options that contradict each other.
    """
    from sonnx.comparison.from_files import compare as compare_files

    return compare_files(options)
