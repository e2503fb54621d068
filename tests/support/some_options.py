"""A structure of options; annotations are not postponed, as in the modules of the product that define options."""

from pathlib import Path
from typing import Annotated

from sonnx.base.options import Argument, Options


class SomeOptions(Options, frozen=True, kw_only=True):
    """Options of each sort."""

    seed: Annotated[int | None, Argument("the seed", metavar="S", read=int)] = None
    files: Annotated[tuple[Path, ...], Argument("files to read", metavar="FILE", read=Path)] = ()
    fast: Annotated[bool, Argument("not slow", known=lambda: ", computed, not written")] = False
    own: int = 1
