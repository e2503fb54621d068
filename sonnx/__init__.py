"""The checker, prover and reference executor for SONNX, the safety-related profile of ONNX."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
    from sonnx.api.bounds import bound
    from sonnx.api.checks import check, check_models
    from sonnx.api.comparisons import compare
    from sonnx.api.differences import diff, equivalent
    from sonnx.api.evidence import audit, verify
    from sonnx.api.profile import diff_edition, explain, export, rules
    from sonnx.api.proofs import prove, prove_theorems
    from sonnx.api.properties import verify_property
    from sonnx.api.runs import prepare, run
    from sonnx.api.suites import compare_suite_runs, describe_suite, judge_suite, make_suite, run_suite
    from sonnx.base.errors import BadInput, ErrorCondition, NotExecutable, Stop, Unfinished, UsageError
    from sonnx.bounds.result import Bounds
    from sonnx.checker.report import Finding, NotConforming, Report
    from sonnx.checker.verdicts import Verdict
    from sonnx.evidence.pack import EvidencePack
    from sonnx.model.reader import Unreadable
    from sonnx.properties.result import PropertyResult
    from sonnx.report.check import CheckReport
    from sonnx.report.comparison import ComparisonReport
    from sonnx.report.edition_difference import EditionDifferenceReport
    from sonnx.report.equivalence import EquivalenceReport
    from sonnx.report.explain import Explanation
    from sonnx.report.model_changes import ModelChangesReport
    from sonnx.report.model_proof import ProofReport
    from sonnx.report.rules import RuleList
    from sonnx.report.run import PreparedModel, RunReport
    from sonnx.report.theorems import TheoremReport
    from sonnx.rewriter.fix import fix
    from sonnx.rewriter.fix_report import FixResult
    from sonnx.suite.difference import RunDifference
    from sonnx.suite.report import SuiteReport
    from sonnx.suite.result import SuiteRun

__all__ = [
    "BadInput",
    "Bounds",
    "CheckReport",
    "ComparisonReport",
    "EditionDifferenceReport",
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
    "PropertyResult",
    "Report",
    "RuleList",
    "RunDifference",
    "RunReport",
    "Stop",
    "SuiteReport",
    "SuiteRun",
    "TheoremReport",
    "Unfinished",
    "Unreadable",
    "UsageError",
    "Verdict",
    "audit",
    "bound",
    "check",
    "check_models",
    "compare",
    "compare_suite_runs",
    "describe_suite",
    "diff",
    "diff_edition",
    "equivalent",
    "explain",
    "export",
    "fix",
    "judge_suite",
    "make_suite",
    "prepare",
    "prove",
    "prove_theorems",
    "rules",
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
    "EditionDifferenceReport": "sonnx.report.edition_difference",
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
    "PropertyResult": "sonnx.properties.result",
    "Report": "sonnx.checker.report",
    "RuleList": "sonnx.report.rules",
    "RunDifference": "sonnx.suite.difference",
    "RunReport": "sonnx.report.run",
    "Stop": "sonnx.base.errors",
    "SuiteReport": "sonnx.suite.report",
    "SuiteRun": "sonnx.suite.result",
    "TheoremReport": "sonnx.report.theorems",
    "Unfinished": "sonnx.base.errors",
    "Unreadable": "sonnx.model.reader",
    "UsageError": "sonnx.base.errors",
    "Verdict": "sonnx.checker.verdicts",
    "audit": "sonnx.api.evidence",
    "bound": "sonnx.api.bounds",
    "check": "sonnx.api.checks",
    "check_models": "sonnx.api.checks",
    "compare": "sonnx.api.comparisons",
    "compare_suite_runs": "sonnx.api.suites",
    "describe_suite": "sonnx.api.suites",
    "diff": "sonnx.api.differences",
    "diff_edition": "sonnx.api.profile",
    "equivalent": "sonnx.api.differences",
    "explain": "sonnx.api.profile",
    "export": "sonnx.api.profile",
    "fix": "sonnx.rewriter.fix",
    "judge_suite": "sonnx.api.suites",
    "make_suite": "sonnx.api.suites",
    "prepare": "sonnx.api.runs",
    "prove": "sonnx.api.proofs",
    "prove_theorems": "sonnx.api.proofs",
    "rules": "sonnx.api.profile",
    "run": "sonnx.api.runs",
    "run_suite": "sonnx.api.suites",
    "verify": "sonnx.api.evidence",
    "verify_property": "sonnx.api.properties",
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
