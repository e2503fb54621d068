"""`sonnx run`: its arguments; numpy and the rest are loaded when a model is run."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from sonnx import limits
from sonnx.amounts import amount
from sonnx.misuse import Misuse

MOST = 1024
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Where the libraries behind numpy read their number of threads."""

HELP = "compute the exact values of a model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add("--input", action="append", default=[], metavar="NAME=FILE",
        help="an input from a .npy, .npz or .pb file; FILE.npz alone gives every input it names")  # fmt: skip
    add("--test-data", type=Path, default=None, metavar="DIR",
        help="a folder with input_*.pb and output_*.pb: compare with its outputs")  # fmt: skip
    add("--output", type=Path, default=None, metavar="DIR", help="write the values to files in this folder")
    add("--format", choices=("npz", "pb"), default="npz", help="outputs.npz, or output_0.pb, output_1.pb, …")
    add("--report", choices=("text", "json"), default="text", help="the format of what is printed")
    add("--all-values", action="store_true", help="the outputs of every node, not only those of the graph")
    add("--bits", action="store_true", help="compare every bit of NaNs, too")
    add("--edition", default=None, help="the edition the model must conform to")
    add("--unchecked", action="store_true", help="run a model that does not conform")
    add("--jobs", type=amount("threads", largest=MOST), default=None, metavar="N",
        help="threads of matrix products (default: what numpy chooses); no value depends on it")  # fmt: skip
    limits.add_argument(parser)
    parser.set_defaults(command=run)


def _threads(number: int) -> None:
    """Libraries read how many threads they may have when they are loaded, so numpy must not be there yet.

    Raises:
        Misuse: it is.
    """
    if "numpy" in sys.modules:
        raise Misuse("--jobs is for the command line: in this process numpy has its threads already")
    for name in THREADS:
        os.environ[name] = str(number)


def run(options: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        Unreadable: the model or a file cannot be read.
        Misuse: an unknown edition, or --jobs where numpy is loaded already.
    """
    if options.jobs is not None:
        _threads(options.jobs)
    from sonnx.run_files import run as run_with_files

    return run_with_files(options)
