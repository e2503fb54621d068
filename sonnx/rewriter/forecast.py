"""The dry run that a check announces: what `fix` leaves of a model, at shapes of its inputs that are possible.

A check asks for it in a process of its own, with limits, so that the rewriter cannot end or change a check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, islice

import msgspec
from msgspec.structs import replace

from sonnx.base.errors import Stop, UsageError
from sonnx.checker.report import Report
from sonnx.checker.rules import ActiveRules
from sonnx.model.reader import read
from sonnx.model.symbols import bind_symbols
from sonnx.profile import catalogue
from sonnx.profile.rewrites import OUTSIDE
from sonnx.report.fix_forecast import FixForecast, Forecast, ForecastRequest
from sonnx.rewriter.dry_run import what_is_left
from sonnx.rewriter.options import FixOptions
from sonnx.rewriter.sizes import Numbers, OpenSizes, Possible, broken, open_choices, possible_numbers, usual_numbers

MOST_TRIED = 6
"""Shapes that the rewriting itself is tried at: behind an operator that it replaces a window can fail to fit."""

NO_SIZES = "no sizes of the open dimensions were found at which every window fits; write them with --input-shape"


def forecast_of(request: ForecastRequest) -> Forecast:
    """The dry runs with and without --within-bound."""
    options = FixOptions(
        edition=request.edition,
        strict_versions=request.strict_versions,
        bind=request.bind,
        input_shapes=request.input_shapes,
    )
    bound = bind_symbols(read(request.model), request.bind, request.input_shapes)
    sizes = OpenSizes.of(bound)
    if not sizes.inputs:
        _, exact, bounded = what_is_left(request.model, options)
        return Forecast(_forecast(exact, bounded))
    is_possible = Possible(bound, ActiveRules(catalogue.edition_named(request.edition), request.strict_versions))
    reason, best = NO_SIZES, None
    usual = usual_numbers(sizes, is_possible)
    proposed = islice(_few(possible_numbers(sizes, is_possible)), MOST_TRIED)
    while (numbers := next(usual if best else chain(proposed, usual), None)) is not None:
        shapes = sizes.shapes(numbers)
        given = replace(options, input_shapes={**request.input_shapes, **shapes})
        try:
            before, exact, bounded = what_is_left(request.model, given)
        except UsageError as refusal:
            reason = str(refusal)
            continue
        if any(broken(after) - broken(before) - is_possible.before for after in (exact, bounded)):
            continue
        forecast = _forecast(exact, bounded, shapes, open_choices(sizes, numbers, is_possible))
        if best is None or sum(forecast.left_within_bound.values()) < sum(best.left_within_bound.values()):
            best = forecast
        if not best.left_within_bound:
            break
    return Forecast(reason=reason) if best is None else Forecast(best)


def _few(found: Iterator[Numbers]) -> Iterator[Numbers]:
    """Each of the numbers once."""
    known = set[tuple[tuple[str, int], ...]]()
    for numbers in found:
        key = tuple(numbers.items())
        if key not in known:
            known.add(key)
            yield numbers


def _forecast(
    exact: Report,
    bounded: Report,
    shapes: Mapping[str, tuple[int, ...]] = {},
    chosen: tuple[str, ...] = (),
) -> FixForecast:
    names = Counter(finding.where.operator for finding in bounded.findings if finding.rule == OUTSIDE)
    outside = dict(names.most_common())
    return FixForecast(_counted(exact), _counted(bounded), outside, shapes, chosen)


def _counted(report: Report) -> dict[str, int]:
    """The findings that do not follow from others, by rule."""
    return dict(Counter(finding.rule for finding in report.roots))


class ForecastService:
    """See `sonnx.supervise.child.Answering`."""

    def greeting(self) -> bytes:
        """Nothing: the process is ready."""
        return b""

    def answer(self, request: bytes | bytearray) -> bytes:
        """The forecast for a request, or why there is none."""
        try:
            answer = forecast_of(msgspec.json.decode(request, type=ForecastRequest))
        except (Stop, UsageError) as reason:
            answer = Forecast(reason=str(reason))
        return msgspec.json.encode(answer)


def service() -> ForecastService:
    """What answers a request for a forecast."""
    return ForecastService()
