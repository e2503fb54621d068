"""The checker of proofs Ethos: its program in ETHOS, the file Cpc.eo of cvc5 in CPC_SIGNATURE."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

SECONDS = 600
"""How long one proof may take."""

needs_ethos = pytest.mark.skipif(
    not {"ETHOS", "CPC_SIGNATURE"} <= os.environ.keys(), reason="ETHOS and CPC_SIGNATURE name no checker of proofs"
)


def verdict(proof: Path) -> str:
    """What Ethos says of a proof: `correct`, or the last line of its message."""
    command = [os.environ["ETHOS"], f"--include={os.environ['CPC_SIGNATURE']}", "--require-proof-of-false", str(proof)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    said = (done.stdout + done.stderr).strip().splitlines()
    return said[-1] if said else f"exit code {done.returncode}"


def verdicts(folder: Path) -> dict[str, str]:
    """The verdict on each proof of a folder, by name."""
    proofs = sorted(folder.glob("*.cpc"))
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return dict(zip((each.name for each in proofs), threads.map(verdict, proofs), strict=True))
