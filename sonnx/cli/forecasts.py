"""What `sonnx fix` leaves of the model of a check: a dry run in a process of its own, which cannot change the check."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sonnx.checker.report import STANDARD_INPUT, Report
from sonnx.checker.verdicts import Verdict
from sonnx.report.fix_forecast import Forecast, ForecastRequest
from sonnx.supervise.process import ProcessEnded
from sonnx.supervise.service import Service, ServiceLimits

LIMITS = ServiceLimits(seconds=60, megabytes=8192)
MOST_NODES = 200
"""The nodes of the largest model of which a check makes a dry run, which visits each about ten times.

The dry run of a larger one takes longer than its check.
"""


def announced_forecast(reports: Sequence[Report], file: str) -> Forecast | None:
    """The dry run of the only model of a check.

    It is None for several models, for one that does not fail, and where other files or a selection shape the verdict,
    which `fix` does not know.  For a large model it is the reason that none is made.
    """
    [report] = reports if len(reports) == 1 else [None]
    if report is None or report.verdict is not Verdict.FAIL or report.partial or report.name == STANDARD_INPUT:
        return None
    if report.tailoring is not None or report.deviations is not None or report.conditions.box:
        return None
    if report.coverage.nodes > MOST_NODES:
        return Forecast(reason=f"the model has more than {MOST_NODES} nodes")
    request = ForecastRequest(file, report.edition, report.strict_versions, report.bound, report.input_shapes)
    try:
        service = Service("sonnx.rewriter.forecast", [], LIMITS)
    except OSError as error:
        return Forecast(reason=str(error))
    try:
        service.greeting(lambda _: None)
        return service.ask(msgspec.json.encode(request), msgspec.json.Decoder(Forecast).decode)
    except ProcessEnded as end:
        return Forecast(reason=str(end))
    finally:
        service.end()
