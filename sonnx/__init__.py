"""The checker, prover and reference executor for SONNX, the safety-related profile of ONNX."""

from typing import TYPE_CHECKING

from sonnx.api import audit, bound, check, compare, explain, fix, prepare, prove, run, verify
from sonnx.base.errors import BadInput, ErrorCondition, NotExecutable, Stop, UsageError
from sonnx.checker.report import Finding, NotConforming, Report
from sonnx.checker.verdicts import Verdict
from sonnx.model.reader import Unreadable
from sonnx.report.check import CheckReport

if TYPE_CHECKING:
    from sonnx.bounds.result import Bounds
    from sonnx.evidence.pack import EvidencePack
    from sonnx.report.comparison import ComparisonReport
    from sonnx.report.explain import Explanation
    from sonnx.report.model_proof import ProofReport
    from sonnx.report.run import PreparedModel, RunReport
    from sonnx.rewriter.fix import FixResult

__all__ = [
    "BadInput",
    "Bounds",
    "CheckReport",
    "ComparisonReport",
    "ErrorCondition",
    "EvidencePack",
    "Explanation",
    "Finding",
    "FixResult",
    "NotConforming",
    "NotExecutable",
    "PreparedModel",
    "ProofReport",
    "Report",
    "RunReport",
    "Stop",
    "Unreadable",
    "UsageError",
    "Verdict",
    "audit",
    "bound",
    "check",
    "compare",
    "explain",
    "fix",
    "prepare",
    "prove",
    "run",
    "verify",
]


def __getattr__(name: str) -> object:
    """Load the types of results that need numpy or a solver when they are first used."""
    match name:
        case "Bounds":
            from sonnx.bounds import result

            return result.Bounds
        case "ComparisonReport":
            from sonnx.report import comparison

            return comparison.ComparisonReport
        case "EvidencePack":
            from sonnx.evidence import pack

            return pack.EvidencePack
        case "Explanation":
            from sonnx.report import explain

            return explain.Explanation
        case "FixResult":
            from sonnx.rewriter import fix

            return fix.FixResult
        case "ProofReport":
            from sonnx.report import model_proof

            return model_proof.ProofReport
        case "PreparedModel" | "RunReport":
            from sonnx.report import run

            return getattr(run, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
