"""Whether an evidence pack is what it was, and comes out the same when it is made again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sonnx.audit.pack import AUDIT, MANIFEST, RUN, again
from sonnx.misuse import Misuse
from sonnx.parse import Unreadable
from sonnx.quoting import escape


def differences(folder: Path, model: Path | None) -> Iterator[str]:
    """One sentence for each difference; nothing where the pack is whole and comes out the same.

    Args:
        folder: the pack.
        model: the model file, None to take the one run.json names.

    Raises:
        Misuse: the folder is no evidence pack, or there is no model.
    """
    found = _files(folder)
    listed = _manifest(folder)
    yield from _against_manifest(found, listed)
    source = model or _model(found)
    try:
        wanted = again(folder, source)
    except (Misuse, Unreadable) as reason:
        yield f"the pack cannot be made again: {reason}"
        return
    yield from _against(found, wanted)


def _files(folder: Path) -> dict[str, bytes]:
    if not (folder / MANIFEST).is_file():
        raise Misuse(f"{folder} is no evidence pack: it has no {MANIFEST}")
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _manifest(folder: Path) -> dict[str, str]:
    try:
        files = json.loads((folder / MANIFEST).read_bytes())["files"]
        return {str(name): str(digest) for name, digest in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Misuse(f"{folder / MANIFEST} is no manifest of an evidence pack") from None


def _against_manifest(found: Mapping[str, bytes], listed: Mapping[str, str]) -> Iterator[str]:
    for name, digest in listed.items():
        if name not in found:
            yield f"{escape(name)} stands in the manifest and is missing"
        elif hashlib.sha256(found[name]).hexdigest() != digest:
            yield f"{escape(name)} was changed: its SHA-256 is not the one of the manifest"
    for name in found.keys() - listed.keys() - {MANIFEST, RUN}:
        yield f"{escape(name)} does not stand in the manifest"


def _model(found: Mapping[str, bytes]) -> Path:
    try:
        return Path(json.loads(found[RUN])["model"])
    except (KeyError, ValueError, TypeError):
        raise Misuse(f"{RUN} does not say where the model stands: name it after the folder") from None


def _against(found: Mapping[str, bytes], wanted: Mapping[str, bytes]) -> Iterator[str]:
    yield from _causes(found.get(AUDIT, b"{}"), wanted[AUDIT])
    for name in sorted(wanted.keys() | found.keys() - {RUN}):
        if name not in found:
            yield f"{escape(name)} comes out and is not in the pack"
        elif name not in wanted:
            yield f"{escape(name)} is in the pack and does not come out"
        elif found[name] != wanted[name]:
            yield f"{escape(name)} comes out otherwise"


def _causes(found: bytes, wanted: bytes) -> Iterator[str]:
    """What differs between the two accounts, in the terms of the account."""
    try:
        was, now = json.loads(found), json.loads(wanted)
    except ValueError:
        return
    for key in now:
        if not isinstance(was, dict) or was.get(key) == now[key]:
            continue
        yield f"{AUDIT}: {key} {_said(was.get(key), now[key])}"


def _said(was: Any, now: Any) -> str:
    if isinstance(was, dict) and isinstance(now, dict):
        keys = [key for key in {**was, **now} if was.get(key) != now.get(key)]
        parts = [f"{key} is {_short(was.get(key))}, comes out as {_short(now.get(key))}" for key in keys[:3]]
        return "differs: " + "; ".join(parts) + (f"; and {len(keys) - 3} more" if len(keys) > 3 else "")
    if isinstance(was, list) and isinstance(now, list):
        return f"differs: {sum(a != b for a, b in zip(was, now, strict=False)) + abs(len(was) - len(now))} entries"
    return f"is {_short(was)}, comes out as {_short(now)}"


def _short(value: Any) -> str:
    text = escape(json.dumps(value))
    return text if len(text) <= 80 else f"{text[:77]}…"
