"""Options of `fix`; neither numpy nor a solver is loaded for them."""

from collections.abc import Collection
from typing import Annotated

from sonnx.base.options import HOW_IT_IS_CALLED, Argument, amount, names, positive
from sonnx.checker.options import EditionOptions, StrictVersions

DEFAULT_SAMPLES = 3
"""Sets of inputs on which a model and its rewritten form are run: one of each type of `sample_inputs.py`."""


class FixOptions(EditionOptions, frozen=True, kw_only=True):
    """What is rewritten, and how it is validated."""

    select: Annotated[
        Collection[str],
        Argument("only rewrites for these slugs, tags or operators, comma-separated", metavar="RULE", collect=names),
    ] = ()
    keep: Annotated[
        Collection[str],
        Argument("leave the nodes of these operators as they are, comma-separated", metavar="OPERATOR", collect=names),
    ] = ()
    keep_slow: Annotated[
        float | None,
        Argument(
            "leave nodes as they are whose replacement is estimated to cost more than FACTOR times as much",
            metavar="FACTOR",
            read=positive,
        ),
    ] = None
    input: Annotated[
        Collection[str],
        Argument(
            "fix a graph input: the model is for this number only, and callers no longer give it", metavar="NAME=NUMBER"
        ),
    ] = ()
    strict_versions: StrictVersions = False
    fold_batch_normalization: Annotated[
        bool,
        Argument("fold BatchNormalization into the convolution before it; this changes how values are rounded"),
    ] = False
    within_bound: Annotated[
        bool, Argument("also make rewrites that keep the ideal values and round in another way")
    ] = False
    approximate: Annotated[
        bool,
        Argument("also replace Erf and Gelu by functions that differ by a certified bound; implies --within-bound"),
    ] = False
    box: Annotated[
        Collection[str],
        Argument(
            "with --within-bound: the range of an input, on which the difference of values is bounded",
            metavar="NAME=[LOW,HIGH]",
        ),
    ] = ()
    values_file: Annotated[str, HOW_IT_IS_CALLED] = ""
    """The file of values beside the result, where the original has such a file, too; named after it by default."""
    samples: Annotated[
        int,
        Argument(
            f"compare both models on N sets of inputs (default {DEFAULT_SAMPLES}; 0 compares nothing)",
            metavar="N",
            read=amount("sets", least=0),
        ),
    ] = DEFAULT_SAMPLES
