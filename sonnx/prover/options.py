"""Options of proofs about models; no solver is loaded for them."""

from collections.abc import Collection
from typing import Annotated

from msgspec import field

from sonnx.base.options import Argument, Options
from sonnx.checker.options import Edition, InputShapes, SizeLimits
from sonnx.model.limits import DEFAULT_LIMITS

SOLVER = "z3"


class ProofOptions(Options, frozen=True):
    """What is proved about a model."""

    edition: Edition = None
    assume: Annotated[
        Collection[str],
        Argument(
            "conditions on the symbols of the model, of which each is at least 1 unless one of them says otherwise",
            metavar="N>=1,N<=64",
        ),
    ] = ()
    input_shapes: InputShapes = field(default_factory=dict)
    limits: SizeLimits = DEFAULT_LIMITS
    solver: str = SOLVER
    """"z3", or "all": a second solver is asked every question that decides a rule."""
    questions: bool = False
    """Keep these questions in the report."""
    name: str | None = None
    """What the report calls the model; by default the base name of the file."""
    hashed: bool = False
    """Read the whole file once, prove these bytes and state their SHA-256."""
