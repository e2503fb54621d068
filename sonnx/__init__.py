"""The checker, prover and reference executor for SONNX, the safety-related profile of ONNX."""

from pathlib import Path

if not (Path(__file__).parent / "restrictions").is_dir():  # an editable checkout: the data stand beside the package
    __path__.append(str(Path(__file__).parent.parent))

del Path

from typing import TYPE_CHECKING  # noqa: E402  the path above comes first

from sonnx.api import check  # noqa: E402
from sonnx.misuse import Misuse  # noqa: E402
from sonnx.parse import Unreadable  # noqa: E402
from sonnx.stops import BadInput, ErrorCondition, NotConforming, NotExecutable, Stop  # noqa: E402
from sonnx.verdict import Finding, Report, Verdict  # noqa: E402

if TYPE_CHECKING:
    from sonnx.running import run

__all__ = [
    "BadInput",
    "ErrorCondition",
    "Finding",
    "Misuse",
    "NotConforming",
    "NotExecutable",
    "Report",
    "Stop",
    "Unreadable",
    "Verdict",
    "check",
    "run",
]


def __getattr__(name: str) -> object:
    """`run` is loaded when it is asked for: it needs numpy, which a check does not."""
    if name == "run":
        from sonnx.running import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
