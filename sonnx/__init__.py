"""The checker, prover and reference executor for SONNX, the safety-related profile of ONNX."""

from pathlib import Path

if not (Path(__file__).parent / "restrictions").is_dir():  # an editable checkout: the data stand beside the package
    __path__.append(str(Path(__file__).parent.parent))

del Path

from sonnx.api import check  # noqa: E402  the path above comes first
from sonnx.misuse import Misuse  # noqa: E402
from sonnx.parse import Unreadable  # noqa: E402
from sonnx.verdict import Finding, Report, Verdict  # noqa: E402

__all__ = ["Finding", "Misuse", "Report", "Unreadable", "Verdict", "check"]
