"""`equivalent` and `diff`: two models in, a typed result out."""

from __future__ import annotations

from pathlib import Path

from sonnx.base.errors import BadInput
from sonnx.base.options import keyword_arguments
from sonnx.checker.request import open_model
from sonnx.equivalence.decision import compare_sides
from sonnx.equivalence.diff.difference import changes_of
from sonnx.equivalence.options import DiffOptions, EquivalenceOptions, PairOptions
from sonnx.equivalence.sides import Side, side_of
from sonnx.model.ir import Model
from sonnx.model.sources import Source, name_of, path_or_bytes
from sonnx.report.equivalence import EquivalenceReport
from sonnx.report.graph_pair import NOT_DRAWN, Outlines, PairedGraphs
from sonnx.report.model_changes import ModelChangesReport


@keyword_arguments(EquivalenceOptions, subjects=2)
def equivalent(first: Source, second: Source, options: EquivalenceOptions) -> EquivalenceReport:
    """Whether two models are the same function, for every input.

    Raises:
        UsageError: an unknown edition or symbol.
        BadInput: the models have other inputs or outputs, or inputs of other types.
    """
    sides = _sides(first, second, options)
    comparison = compare_sides(*sides, options)
    return EquivalenceReport(
        comparison.result, options.identical, options.sizes_as_given, options.narrowings_as_listed, comparison.inputs,
        tuple([_written(model) for model in comparison.open_models or ()]),
        PairedGraphs.of(*sides, options) if options.drawn else None,
    )  # fmt: skip


@keyword_arguments(DiffOptions, subjects=2)
def diff(first: Source, second: Source, options: DiffOptions) -> ModelChangesReport:
    """What changed between two models: nodes, constants, findings of the check, and which evidence stands.

    Raises:
        UsageError: an unknown edition or symbol.
        BadInput: a constant has no values.
    """
    sides = _sides(first, second, options)
    drawn = Outlines.of(*(side.model for side in sides)) if options.drawn else NOT_DRAWN
    return ModelChangesReport(changes_of(*sides, options), drawn)


def _written(part: Model) -> bytes:
    """The bytes of a part of a model.

    Raises:
        BadInput: it has content that the writer does not keep.
    """
    from sonnx.model.writer import Unwritable, write  # loads protobuf

    try:
        return write(part)
    except Unwritable as reason:
        raise BadInput(f"the open part cannot be written as a model: {reason}") from None


def _sides(first: Source, second: Source, options: PairOptions) -> tuple[Side, Side]:
    """Two models as the sides of a comparison."""
    sides = []
    for index, source in enumerate(map(path_or_bytes, (first, second))):
        model, digest = open_model(source, hashed=True, limits=options.limits)
        folder = None if isinstance(source, bytes) else Path(source).parent
        sides.append(side_of(model, name_of(source, options.names and options.names[index]), digest, folder))
    return sides[0], sides[1]
