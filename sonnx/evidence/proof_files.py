"""The certificates of an evidence pack: the proofs of its queries, from a folder that `sonnx prove --proofs` wrote."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.base.files import json_value, sha256
from sonnx.prover.certificates import FORMAT, MANIFEST, as_text

FOLDER = "certificates"
"""The folder of a pack that has them."""


def certified(folder: Path, questions: Collection[str]) -> tuple[dict[str, bytes], dict[str, str]]:
    """The files of a pack for the queries with these SHA-256, and the file of the proof by SHA-256 of its query.

    Raises:
        UsageError: the folder has no manifest, or a file differs from its manifest.
    """
    document = _manifest(folder)
    rows = [row for row in document["questions"] if row["question_sha256"] in questions and "proof" in row]
    files: dict[str, bytes] = {}
    for row in rows:
        for kind in ("question", "proof"):
            files[f"{FOLDER}/{row[kind]}"] = _content(folder, row[kind], row[f"{kind}_sha256"])
    files[f"{FOLDER}/{MANIFEST}"] = as_text({**document, "proofs": len(rows), "questions": rows}).encode("ascii")
    return files, {row["question_sha256"]: f"{FOLDER}/{row['proof']}" for row in rows}


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        document: dict[str, Any] = json_value(path.read_bytes())
        rows = document["questions"]
        if document["format"] == FORMAT and all(isinstance(row["question_sha256"], str) for row in rows):
            return document
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror}); sonnx prove --proofs writes such a folder"
        ) from None
    except (ValueError, KeyError, TypeError):
        pass
    raise UsageError(f"{path} is not a manifest that sonnx prove --proofs wrote")


def _content(folder: Path, name: str, digest: str) -> bytes:
    if Path(name).name != name:
        raise UsageError(f"{folder / MANIFEST} names a file outside its folder: {name!r}")
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        raise UsageError(f"{folder / name} cannot be read ({error.strerror})") from None
    if sha256(content) != digest:
        raise UsageError(f"{folder / name} differs from its SHA-256 in {MANIFEST}")
    return content
