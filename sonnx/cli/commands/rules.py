"""`sonnx rules`: the rules and operators of an edition, or what changed since another one."""

from __future__ import annotations

import argparse
import sys

from sonnx.api.profile import diff_edition, rules
from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape
from sonnx.base.progress import Progress
from sonnx.checker.options import ModelOptions, ProfileOptions
from sonnx.cli.budget import add_budget_arguments, within_budget
from sonnx.cli.options import add_options, keywords_of, require_effect
from sonnx.cli.reports import add_report_arguments, deliver_report, outputs_of
from sonnx.profile.catalogue import edition_named
from sonnx.report.formats import LISTING_FORMATS, RESULT_FORMATS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("models", nargs="*", metavar="MODEL", help="with --since: models to check under both editions")
    add_options(parser, ProfileOptions)
    parser.add_argument(
        "--since", metavar="EDITION", help="what changed since this edition, and the verdicts on models under both"
    )
    add_options(parser, ModelOptions)
    add_report_arguments(parser, RESULT_FORMATS)
    add_budget_arguments(parser)
    parser.set_defaults(command=rules_command)


def rules_command(parsed: argparse.Namespace) -> int:
    """Print the list: 0; or the difference of two editions: 0, 1 if the verdict on a model changes, 2 for bad input."""
    if not parsed.models:
        require_effect(parsed, ModelOptions, "is about models; name one, with --since")
    return _list(parsed) if parsed.since is None else _since(parsed)


def _list(parsed: argparse.Namespace) -> int:
    if parsed.models:
        raise UsageError("models are checked under two editions: name the other one with --since, or use sonnx check")
    outputs = outputs_of(parsed)
    unfit = next((output.format for output in outputs if output.format not in LISTING_FORMATS), None)
    if unfit is not None:
        raise UsageError(f"a list of rules has the formats {' and '.join(LISTING_FORMATS)}, not {unfit!r}")
    deliver_report(rules(**keywords_of(ProfileOptions, parsed)), outputs)
    return 0


@within_budget("compared", arrays=False)
def _since(parsed: argparse.Namespace) -> int:
    outputs = outputs_of(parsed, *parsed.models)
    with Progress("comparing editions", quiet=parsed.quiet):
        edition = edition_named(parsed.edition).name
        report = diff_edition(parsed.since, edition, parsed.models, **keywords_of(ModelOptions, parsed))
    for file in report.unreadable:
        sys.stderr.write(f"sonnx: {escape(file.reason)}\n")
    deliver_report(report, outputs)
    return report.exit_code
