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
    from sonnx.comparison.comparing import compare
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
    "compare",
    "run",
]


_LATER = {"run": "sonnx.running", "compare": "sonnx.comparison.comparing"}


def __getattr__(name: str) -> object:
    """What needs numpy, which a check does not, is loaded when it is asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)
