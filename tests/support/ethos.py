"""The checker of proofs Ethos: its program in ETHOS, the file Cpc.eo of cvc5 in CPC_SIGNATURE."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

SECONDS = 600
"""How long one proof may take."""

needs_ethos = pytest.mark.skipif(
    not {"ETHOS", "CPC_SIGNATURE"} <= os.environ.keys(), reason="ETHOS and CPC_SIGNATURE name no checker of proofs"
)


INDEXED = re.compile(r"\(\(_ ([a-z_]+) (\d+(?: \d+)?)\)")
"""The beginning of an operation with numbers as indices, as SMT-LIB writes it; proofs write `(extract 7 0 x)`."""


def verdict(proof: Path) -> str:
    """What Ethos says of a proof: `correct`, or the last line of its message.

    It reads a copy of the query in which operations with indices are written as the proof writes them.
    """
    with TemporaryDirectory() as folder:
        query = proof.with_suffix(".smt2")
        Path(folder, query.name).write_text(INDEXED.sub(r"(\1 \2", query.read_text()))
        copy = shutil.copy(proof, folder)
        command = [os.environ["ETHOS"], f"--include={os.environ['CPC_SIGNATURE']}", "--require-proof-of-false", copy]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    said = (done.stdout + done.stderr).strip().splitlines()
    return said[-1] if said else f"exit code {done.returncode}"


def verdicts(folder: Path) -> dict[str, str]:
    """The verdict on each proof of a folder, by name."""
    proofs = sorted(folder.glob("*.cpc"))
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return dict(zip((each.name for each in proofs), threads.map(verdict, proofs), strict=True))
