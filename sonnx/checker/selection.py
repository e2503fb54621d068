"""A selection of rules: a report that is limited to them, and marked as partial."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from sonnx.checker.report import Count, Coverage, Report, applicable_and_evaluated, overall
from sonnx.profile.index import slugs_named


def selected_report(report: Report, chosen: Collection[str], ignored: Collection[str]) -> Report:
    """The report on the chosen rules without the ignored ones; it is partial.

    Raises:
        UnknownRule: a name has no rule.
    """
    keep = slugs_named(chosen) if chosen else frozenset(report.rules)
    keep -= slugs_named(ignored) if ignored else frozenset()
    counts = tuple(count for count in report.counts if count.rule in keep)
    selection = [f"only {', '.join(sorted(chosen))}"] if chosen else []
    selection += [f"without {', '.join(sorted(ignored))}"] if ignored else []
    findings = (finding for finding in report.findings if finding.rule in keep)
    return replace(
        report,
        findings=tuple(finding if finding.cause in keep else replace(finding, cause="") for finding in findings),
        coverage=_coverage(report.coverage, counts),
        counts=counts,
        verdict=overall({count.verdict for count in counts}),
        rules={slug: rule for slug, rule in report.rules.items() if slug in keep},
        conditions=replace(report.conditions, selection=" ".join(selection)),
    )


def _coverage(whole: Coverage, counts: tuple[Count, ...]) -> Coverage:
    """The coverage of the selection; the numbers of nodes are those of the model."""
    applicable, evaluated = applicable_and_evaluated(counts)
    return replace(whole, known=len({count.rule for count in counts}), applicable=applicable, evaluated=evaluated)
