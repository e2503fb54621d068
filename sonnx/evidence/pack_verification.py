"""Verification of an evidence pack: it is rebuilt from its own files and the model, and compared byte for byte.

The pack states the packages of the environment that made it.  It is rebuilt with these, so that a difference of a file
is one of the content; the packages, Python and the machine are compared beside it.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct, convert
from msgspec.structs import asdict, replace

from sonnx.base.decoding import decoding
from sonnx.base.errors import BadInput, Stop, Unfinished, Unreadable, UsageError
from sonnx.base.escaping import escape, quote
from sonnx.base.files import json_value
from sonnx.base.resources import tool_version
from sonnx.evidence import identity
from sonnx.evidence.audit_document import Manifest, RunRecord
from sonnx.evidence.extracted_verdict import ExtractedVerdict, other_program
from sonnx.evidence.identity import PackageIdentity
from sonnx.evidence.options import AuditOptions
from sonnx.evidence.pack import AUDIT, MANIFEST, RUN, pack, python_version
from sonnx.evidence.pack_folder import PackContent, content_of_folder
from sonnx.evidence.signature import SIGNATURE


class PackVerification(Struct, frozen=True):
    """What differs between a pack and a fresh run, as sentences."""

    content: tuple[str, ...] = ()
    """Of the model, rules, verdicts, theorems or statements, or of the files of the pack."""
    environment: tuple[str, ...] = ()
    """Of the packages, of Python, or of the machine."""

    @property
    def exit_code(self) -> int:
        """0; 1 where the content is not reproduced; 3 where it is, in another environment."""
        return 1 if self.content else Unfinished.exit_code if self.environment else 0


def rebuilt(folder: Path, files: Mapping[str, bytes], model: Path, original: Path | None = None) -> Mapping[str, bytes]:
    """The files of a pack, rebuilt with the options that the pack states.

    Args:
        folder: the pack.
        files: its files.
        model: the model file.
        original: the model file that it was derived from, where the pack has the comparison.

    Raises:
        Unreadable, UsageError: as `pack`; the pack does not state its options.
    """
    document: Any = None
    try:
        with decoding(folder / AUDIT, "the document of a pack"):
            document = json_value(files[AUDIT])
            options, name = AuditOptions.from_json(document["options"]), convert(document["model"]["file"], str)
            packages = convert(document["packages"], tuple[PackageIdentity, ...])
            extracted = convert(document.get("extracted"), ExtractedVerdict | None)
            _require_inside(options)
    except (BadInput, UsageError) as reason:
        raise UsageError(
            f"{folder / AUDIT} does not state the options of the pack as this version writes them "
            f"({reason}){_another_version(document)}"
        ) from None
    if (options.derived_from is None) != (original is None):
        raise UsageError(
            "the pack has no comparison with an original: leave out --derived-from" if options.derived_from is None
            else "the model it was derived from is not known: name it with --derived-from"
        )  # fmt: skip
    paths: dict[str, Path | tuple[Path, ...]] = {
        kind: folder / path for kind, path in asdict(options).items() if isinstance(path, Path)
    }
    paths |= {kind: tuple(folder / path for path in getattr(options, kind)) for kind in ("properties", "suites")}
    options = replace(options, **paths | {"name": name, "derived_from": original})
    return pack(model, options, folder, packages, extracted).files


def _require_inside(options: AuditOptions) -> None:
    """Refuse options that name a file outside the pack.

    Raises:
        BadInput: a path leaves the folder, or cannot be one.
    """
    one, many = (options.tailoring, options.deviations, options.rewrites, options.proofs, options.since), (
        options.properties, options.suites,
    )  # fmt: skip
    for path in (*filter(None, one), *chain(*many)):
        if path.is_absolute() or ".." in path.parts or "\0" in str(path):
            raise BadInput(f"{quote(str(path))} is not a file of the pack")


def _another_version(document: Any) -> str:
    """What to do where another version of the tool made a pack; "" where it was this one, or is not stated."""
    tool = document.get("tool") if isinstance(document, dict) else None
    maker = tool.get("version") if isinstance(tool, dict) else None
    own = tool_version()
    return (
        ""
        if maker in (None, own)
        else f"; sonnx {escape(str(maker))} made it: verify it with that version, this is {own}"
    )


def verification(folder: Path, model: Path | None, original: Path | None = None) -> PackVerification:
    """Whether the content of a pack is reproduced, and in an equal environment; see `content_differences`."""
    files = _content(folder)
    content = tuple(dict.fromkeys(content_differences(folder, files, model, original)))
    return PackVerification(content, tuple(_environment_differences(files.files)))


def _environment_differences(files: Mapping[str, bytes]) -> Iterator[str]:
    """The packages, the version of Python and the machine that a pack states and that are others here."""
    try:
        with decoding(AUDIT, "the document of a pack"):
            document = json_value(files[AUDIT])
            stated = convert(document["packages"], tuple[PackageIdentity, ...])
            extracted = convert(document.get("extracted"), ExtractedVerdict | None)
    except BadInput:
        return
    other = other_program(extracted)
    if other:
        yield other
    was, now = ({package.name: package for package in each} for each in (stated, identity.about_packages()))
    for name in sorted(was.keys() | now.keys()):
        if name not in now:
            yield f"the package {escape(name)} {escape(was[name].version)} is not installed here"
        elif name not in was:
            yield f"the package {escape(name)} {escape(now[name].version)} is not among those of the pack"
        elif was[name].version != now[name].version:
            yield f"the package {escape(name)} is {escape(now[name].version)} here, {escape(was[name].version)} there"
        elif was[name] != now[name]:
            yield f"the package {escape(name)} {escape(now[name].version)} has other files here than there"
    run = _run(files)
    for what, there, here in (
        ("Python", run.python if run else "", python_version()),
        ("the system", run.system if run else "", platform.platform()),
        ("the host", run.host if run else "", platform.node()),
    ):
        if there not in ("", here):
            yield f"{what} is {escape(here)} here, {escape(there)} there"


def content_differences(
    folder: Path, content: PackContent, model: Path | None, original: Path | None = None
) -> Iterator[str]:
    """One sentence for each difference between the content of the pack and a fresh run; none if it is reproduced.

    Args:
        folder: the pack.
        content: what is in it.
        model: the model file; None for the one that run.json names.
        original: the model file that it was derived from; None for the one that run.json names.

    Raises:
        UsageError: the folder is not an evidence pack, or the model is not known or not there.
    """
    files = content.files
    for path in (model, original):
        if path is not None and not path.exists():
            raise UsageError(f"there is no model file {quote(str(path))}; name the one that the pack is for")
    yield from (f"{other}, which no pack has" for other in content.others)
    yield from _against_manifest(files, _manifest(folder, files))
    run = _run(files)
    source = Path(run.model) if model is None and run is not None else model
    if source is None:
        raise UsageError(f"{RUN} does not name the model file: give it after the folder")
    if original is None and run is not None and run.derived_from is not None:
        original = Path(run.derived_from)
    try:
        expected = rebuilt(folder, files, source, original)
    except (Stop, UsageError, Unreadable) as reason:
        yield f"the pack cannot be rebuilt: {reason}"
        return
    yield from _against_rebuilt(files, expected)


def _content(folder: Path) -> PackContent:
    if not (folder / MANIFEST).is_file():
        raise UsageError(f"{folder} is not an evidence pack: it has no {MANIFEST}")
    content = content_of_folder(folder)
    if MANIFEST not in content.files:
        raise BadInput(f"{quote(str(folder / MANIFEST))} is a link, not the manifest of an evidence pack")
    return content


def _manifest(folder: Path, files: Mapping[str, bytes]) -> Mapping[str, str]:
    with decoding(folder / MANIFEST, "the manifest of an evidence pack"):
        return convert(json_value(files[MANIFEST]), Manifest).files


def _against_manifest(files: Mapping[str, bytes], listed: Mapping[str, str]) -> Iterator[str]:
    for name, digest in listed.items():
        if name not in files:
            yield f"{escape(name)} is listed in the manifest and missing"
        elif hashlib.sha256(files[name]).hexdigest() != digest:
            yield f"{escape(name)} was changed: its SHA-256 differs from that in the manifest"
    for name in files.keys() - listed.keys() - {MANIFEST, RUN, SIGNATURE}:
        yield f"{escape(name)} is not listed in the manifest"


def _run(files: Mapping[str, bytes]) -> RunRecord | None:
    """What run.json says, None where it does not say it; no hash covers the file."""
    try:
        with decoding(RUN, "a record of a run"):
            return convert(json_value(files[RUN]), RunRecord)
    except BadInput:
        return None


def _against_rebuilt(files: Mapping[str, bytes], expected: Mapping[str, bytes]) -> Iterator[str]:
    yield from _causes(files.get(AUDIT, b"{}"), expected[AUDIT])
    for name in sorted(expected.keys() | files.keys() - {RUN, SIGNATURE}):
        if name not in files:
            yield f"{escape(name)} is missing: a fresh run writes it"
        elif name not in expected:
            yield f"{escape(name)} is extra: a fresh run does not write it"
        elif files[name] != expected[name]:
            yield f"{escape(name)} differs from a fresh run"


def _causes(stated: bytes, expected: bytes) -> Iterator[str]:
    """The differences between the two versions of audit.json, by its keys."""
    try:
        was, now = json_value(stated), json_value(expected)
    except ValueError:
        return
    for key in now:
        if not isinstance(was, dict) or was.get(key) == now[key]:
            continue
        yield f"{AUDIT}: {key} {_difference(was.get(key), now[key])}"


def _difference(was: Any, now: Any) -> str:
    if isinstance(was, dict) and isinstance(now, dict):
        keys = [key for key in {**was, **now} if was.get(key) != now.get(key)]
        parts = [f"{key} is {_short(was.get(key))}, a fresh run gives {_short(now.get(key))}" for key in keys[:3]]
        return "differs: " + "; ".join(parts) + (f"; and {len(keys) - 3} more" if len(keys) > 3 else "")
    if isinstance(was, list) and isinstance(now, list):
        return f"differs: {sum(a != b for a, b in zip(was, now, strict=False)) + abs(len(was) - len(now))} entries"
    return f"is {_short(was)}, a fresh run gives {_short(now)}"


def _short(value: Any) -> str:
    text = escape(json.dumps(value))
    return text if len(text) <= 80 else f"{text[:77]}…"
