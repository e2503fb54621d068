"""Options of evidence packs; no solver is loaded for them."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

from sonnx.base.options import Argument
from sonnx.checker.options import ConformanceOptions


class AuditOptions(ConformanceOptions, frozen=True, kw_only=True):
    """What a pack is about beside the check of a model.

    In audit.json paths are relative to the pack, which has the files, except that of the original.
    """

    rewrites: Annotated[
        Path | None, Argument("the record of MODEL that sonnx fix --report wrote", metavar="RECORD", read=Path)
    ] = None
    proofs: Annotated[
        Path | None, Argument("a folder of certificates that sonnx theorems --proofs wrote", metavar="DIR", read=Path)
    ] = None
    since: Annotated[
        Path | None,
        Argument("an earlier pack: say what changed and which evidence stands", metavar="DIR", read=Path),
    ] = None
    derived_from: Annotated[
        Path | None,
        Argument(
            "the model file that MODEL was made from: say whether both are the same function", "ORIGINAL", read=Path
        ),
    ] = None
    properties: Annotated[
        Collection[Path],
        Argument(
            "a .vnnlib file with its certificate, a .json file of the same name, beside it; repeatable",
            metavar="FILE",
            name="property",
            read=Path,
        ),
    ] = ()
    suites: Annotated[
        Collection[Path],
        Argument(
            "a JSON report of sonnx suite run about the implementation; repeatable",
            metavar="REPORT",
            name="suite",
            read=Path,
        ),
    ] = ()
