"""The document of facts of a model, as `sonnx check --facts FILE` writes it."""

from __future__ import annotations

from sonnx.api.checks import facts_document
from sonnx.checker.checked_calls import CheckedCall
from sonnx.checker.options import CheckOptions
from sonnx.checker.request import check_model, open_model
from sonnx.report.facts_json import FactsDocument


def document_of(source: bytes, options: CheckOptions, name: str) -> FactsDocument:
    """The facts of the calls of a model, and the verdicts of their operators' rules."""
    model, digest = open_model(source, True, options.limits)
    calls = list[CheckedCall]()
    report = check_model(model, digest, options.request(), name, calls=calls)
    return facts_document(report, calls)
