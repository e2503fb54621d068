"""`sonnx export`: the profile in the language of another tool."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sonnx.api.profile import LANGUAGES, export
from sonnx.base.escaping import escape
from sonnx.checker.options import ProfileOptions
from sonnx.cli.options import add_options, keywords_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    what = "; ".join(f"{name}: {text}" for name, text in LANGUAGES.items())
    parser.add_argument("language", choices=tuple(LANGUAGES), metavar="LANGUAGE", help=what)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder for the files")
    add_options(parser, ProfileOptions)
    parser.set_defaults(command=export_command)


def export_command(parsed: argparse.Namespace) -> int:
    """Write the files; 0."""
    files = export(parsed.language, parsed.folder, **keywords_of(ProfileOptions, parsed))
    sys.stdout.write(f"{escape(str(parsed.folder))}: {', '.join(path.name for path in files)}\n")
    return 0
