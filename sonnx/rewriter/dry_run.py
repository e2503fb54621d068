"""What `fix` leaves of a model, without writing, reading back or comparing anything."""

from __future__ import annotations

from msgspec.structs import replace

from sonnx.checker.rules import ActiveRules
from sonnx.model.sources import Source
from sonnx.report.check import CheckReport
from sonnx.rewriter.opened_model import enabled_options, opened_model
from sonnx.rewriter.options import FixOptions
from sonnx.rewriter.rounds import rewritten_until_stable


def what_is_left(source: Source, options: FixOptions) -> tuple[CheckReport, CheckReport, CheckReport]:
    """The check of a model, and those of what `fix` makes of it without and with --within-bound; nothing is written.

    The rewrites are the same as those of `fix`, and so are the findings; what `fix` does after them, writing, reading
    back, and the comparison of values, is left out.

    Raises:
        Unreadable, UsageError: see `fix`.
    """
    opened = opened_model(source, options, dry=True)
    rules = opened.context.active_rules

    def left(enabled: frozenset[str]) -> CheckReport:
        model = rewritten_until_stable(replace(opened.context, options=enabled)).model
        return opened.checks.report(model, ActiveRules(rules.edition, rules.strict))

    exact = left(opened.context.options)
    bounded = left(enabled_options(replace(options, within_bound=True))) if exact.findings else exact
    return opened.before, exact, bounded
