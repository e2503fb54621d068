"""`bound`: a model in, the ranges of its values and the errors of implementations out."""

from __future__ import annotations

from functools import partial

from sonnx.base.options import keyword_arguments
from sonnx.bounds.bound import bound_source
from sonnx.bounds.options import BoundsOptions
from sonnx.bounds.split import HalvesElsewhere
from sonnx.checker.report import NotConforming
from sonnx.model.sources import Source, path_or_bytes
from sonnx.report.bounds import BoundsReport
from sonnx.report.check import CheckReport


@keyword_arguments(BoundsOptions)
def bound(source: Source, options: BoundsOptions) -> BoundsReport:
    """Bound the ideal values of a model on a box of inputs, and the errors of implementations.

    Raises:
        UsageError: an unknown edition, hypotheses that contradict each other, or arguments that do not fit the model.
        BadInput: the box does not fit the inputs of the model.
        NotBounded: a node has no transfer function.
    """
    try:
        return BoundsReport.of(bound_source(path_or_bytes(source), options, _elsewhere(options)))
    except NotConforming as stop:
        raise NotConforming(str(stop), CheckReport.of(stop.report)) from None


def _elsewhere(options: BoundsOptions) -> HalvesElsewhere | None:
    """What halves the box in other processes, None for this process."""
    if options.cluster is None and options.jobs == 1:
        return None
    from sonnx.workers.boxes import halved_in  # most bounds use no other process
    from sonnx.workers.tasks import WorkPlace

    return partial(halved_in, WorkPlace(options.jobs if options.cluster is None else None, options.cluster))
