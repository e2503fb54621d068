"""The checker, prover and reference executor for SONNX, the safety-related profile of ONNX."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
    from sonnx.api import explain, judge_suite, make_suite, run_suite, verify_property
    from sonnx.api.bounds import bound
    from sonnx.api.checks import check, check_models
    from sonnx.api.comparisons import compare
    from sonnx.api.differences import diff, equivalent
    from sonnx.api.evidence import audit, verify
    from sonnx.api.proofs import prove
    from sonnx.api.runs import prepare, run
    from sonnx.base.errors import BadInput, ErrorCondition, NotExecutable, Stop, Unfinished, UsageError
    from sonnx.bounds.result import Bounds
    from sonnx.checker.report import Finding, NotConforming, Report
    from sonnx.checker.verdicts import Verdict
    from sonnx.evidence.pack import EvidencePack
    from sonnx.model.reader import Unreadable
    from sonnx.report.check import CheckReport
    from sonnx.report.comparison import ComparisonReport
    from sonnx.report.equivalence import EquivalenceReport
    from sonnx.report.explain import Explanation
    from sonnx.report.model_changes import ModelChangesReport
    from sonnx.report.model_proof import ProofReport
    from sonnx.report.run import PreparedModel, RunReport
    from sonnx.rewriter.fix import fix
    from sonnx.rewriter.fix_report import FixResult

__all__ = [
    "BadInput",
    "Bounds",
    "CheckReport",
    "ComparisonReport",
    "EquivalenceReport",
    "ErrorCondition",
    "EvidencePack",
    "Explanation",
    "Finding",
    "FixResult",
    "ModelChangesReport",
    "NotConforming",
    "NotExecutable",
    "PreparedModel",
    "ProofReport",
    "Report",
    "RunReport",
    "Stop",
    "Unfinished",
    "Unreadable",
    "UsageError",
    "Verdict",
    "audit",
    "bound",
    "check",
    "check_models",
    "compare",
    "diff",
    "equivalent",
    "explain",
    "fix",
    "judge_suite",
    "make_suite",
    "prepare",
    "prove",
    "run",
    "run_suite",
    "verify",
    "verify_property",
]

_MODULES = {
    "BadInput": "sonnx.base.errors",
    "Bounds": "sonnx.bounds.result",
    "CheckReport": "sonnx.report.check",
    "ComparisonReport": "sonnx.report.comparison",
    "EquivalenceReport": "sonnx.report.equivalence",
    "ErrorCondition": "sonnx.base.errors",
    "EvidencePack": "sonnx.evidence.pack",
    "Explanation": "sonnx.report.explain",
    "Finding": "sonnx.checker.report",
    "FixResult": "sonnx.rewriter.fix_report",
    "ModelChangesReport": "sonnx.report.model_changes",
    "NotConforming": "sonnx.checker.report",
    "NotExecutable": "sonnx.base.errors",
    "PreparedModel": "sonnx.report.run",
    "ProofReport": "sonnx.report.model_proof",
    "Report": "sonnx.checker.report",
    "RunReport": "sonnx.report.run",
    "Stop": "sonnx.base.errors",
    "Unfinished": "sonnx.base.errors",
    "Unreadable": "sonnx.model.reader",
    "UsageError": "sonnx.base.errors",
    "Verdict": "sonnx.checker.verdicts",
    "audit": "sonnx.api.evidence",
    "bound": "sonnx.api.bounds",
    "check": "sonnx.api.checks",
    "check_models": "sonnx.api.checks",
    "compare": "sonnx.api.comparisons",
    "diff": "sonnx.api.differences",
    "equivalent": "sonnx.api.differences",
    "explain": "sonnx.api",
    "fix": "sonnx.rewriter.fix",
    "judge_suite": "sonnx.api",
    "make_suite": "sonnx.api",
    "prepare": "sonnx.api.runs",
    "prove": "sonnx.api.proofs",
    "run": "sonnx.api.runs",
    "run_suite": "sonnx.api",
    "verify": "sonnx.api.evidence",
    "verify_property": "sonnx.api",
}
"""The modules of functions and results; each is loaded when its name is first used, so that a command loads its own."""


def __getattr__(name: str) -> object:
    """A name of `_MODULES`, or the version of the package."""
    if name == "__version__":
        from sonnx.base.resources import tool_version

        return tool_version()
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
