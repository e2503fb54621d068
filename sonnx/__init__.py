"""The checker, prover and reference executor for SONNX, the safety-related profile of ONNX."""

from typing import TYPE_CHECKING

from sonnx.api import check
from sonnx.base.errors import BadInput, ErrorCondition, NotExecutable, Stop, UsageError
from sonnx.checker.report import Finding, NotConforming, Report, Verdict
from sonnx.model.reader import Unreadable

if TYPE_CHECKING:
    from sonnx.bounds.analysis import bound
    from sonnx.executor.comparison import compare
    from sonnx.executor.executor import run

__all__ = [
    "BadInput",
    "ErrorCondition",
    "Finding",
    "NotConforming",
    "NotExecutable",
    "Report",
    "Stop",
    "Unreadable",
    "UsageError",
    "Verdict",
    "bound",
    "check",
    "compare",
    "run",
]


_LATER = {"bound": "sonnx.bounds.analysis", "run": "sonnx.executor.executor", "compare": "sonnx.executor.comparison"}


def __getattr__(name: str) -> object:
    """Load what needs numpy, which a check does not, when it is first used."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)
