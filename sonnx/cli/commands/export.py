"""`sonnx export`: the profile in the language of another tool."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sonnx.base.escaping import escape
from sonnx.base.files import write_whole
from sonnx.cli.arguments import edition_help

HELP = "write the rules of an edition for another tool"
LANGUAGES = {"why3": "WhyML, the language of Why3", "coq": "the proof assistant Coq"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    what = "; ".join(f"{name}: {text}" for name, text in LANGUAGES.items())
    parser.add_argument("language", choices=tuple(LANGUAGES), metavar="LANGUAGE", help=what)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder for the files")
    parser.add_argument("--edition", help=edition_help())
    parser.set_defaults(command=_export)


def _export(options: argparse.Namespace) -> int:
    """Write the files; 0."""
    from sonnx.report import coq, whyml  # most commands need neither

    made = (coq if options.language == "coq" else whyml).files(options.edition)
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        write_whole(options.folder / name, text)
    sys.stdout.write(f"{escape(str(options.folder))}: {', '.join(made)}\n")
    return 0
