"""The evidence pack as files in memory: equal models, options and files of the project give equal bytes.

docs/audit.md says what is in each file.  Nothing here knows a folder, a clock or a host; those stand in run.json, which
`commands/audit.py` adds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape
from sonnx.checker import deviations, tailoring
from sonnx.checker.report import Report, Verdict
from sonnx.checker.request import CheckRequest, check_model
from sonnx.checker.rules import ActiveRules
from sonnx.evidence import identity, pack_page, pack_parts
from sonnx.evidence.traceability import Trace, traces
from sonnx.model.reader import Unreadable, contents, read
from sonnx.profile import catalogue
from sonnx.profile.definitions import Rule
from sonnx.report.formats import render
from sonnx.report.json import FORMAT as REPORT_FORMAT
from sonnx.rewriter import fix_record

if TYPE_CHECKING:  # it loads z3
    from sonnx.prover.theorem import Theorem

FORMAT = 1
MANIFEST = "manifest.json"
AUDIT = "audit.json"
RUN = "run.json"
LIMITS = (
    "The pack speaks of the bytes with the stated SHA-256, under the stated edition, options and files of the project.",
    "It is evidence for an assessment. It is no certificate, and the tool is not qualified for any standard.",
    "Values of constants in other files are hashed; rules that would need them are undecided.",
    "Whether the model is adequate for its purpose, its accuracy and its training are not judged.",
    "How a compiler or runtime executes the model is not judged; sonnx run and sonnx compare give exact values.",
    "No solver ran for this pack: the status of a theorem is that of the record that comes with the tool, for "
    "questions of equal text only; the questions are in the folder theorems and can be given to any solver.",
    "Rules that functions decide are tested by cases, not proved.",
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a pack is made of: the model under the name it has in the pack, and what is asked of it."""

    model: Path
    name: str
    asked: CheckRequest
    accept_assumptions: bool = False
    tailoring: Path | None = None
    deviations: Path | None = None
    date: date | None = None
    rewrites: Path | None = None
    """The record of `sonnx fix` for the model."""


def pack(wanted: Wanted) -> tuple[dict[str, bytes], Report]:
    """Every file of the pack but run.json by its name, and the report on the model.

    Raises:
        Unreadable: the model is no readable ONNX model.
        Misuse: options that cannot be met, or files of the project that are malformed or change while they are read.
    """
    data = contents(wanted.model, repr(str(wanted.model)))
    model = read(data, repr(str(wanted.model)), wanted.asked.limits)
    digest = hashlib.sha256(data).hexdigest()
    record = None if wanted.rewrites is None else fix_record.read(wanted.rewrites)
    if record is not None:
        pack_parts.require_about(record, wanted.name, digest)
    report = check_model(model, digest, wanted.asked, wanted.name, drawn=True)
    if wanted.deviations is not None and wanted.date is not None:
        [report] = deviations.apply((report,), deviations.read(wanted.deviations), wanted.date)
    code = report.exit_code(wanted.accept_assumptions)
    files = {
        f"report.{name}": render(format_, [report], {}, code, wanted.accept_assumptions).encode("utf-8")
        for format_, name in (("html", "html"), ("json", "json"), ("sarif", "sarif"))
    }
    files |= _configuration(wanted, report, record)
    versions = identity.operators_used(model)
    used = list(dict.fromkeys(name for name, _ in versions))
    named = pack_parts.theorems(record) if record is not None else ()
    found = pack_parts.relied_on(report.rules.values(), versions, report.edition, named)
    certificates, questions = pack_parts.evidence(found)
    files |= {f"theorems/{name}": text.encode("utf-8") for name, text in questions.items()}
    about = _audit(wanted, report, record, code, used, found, certificates)
    about["model"] = identity.about_model(model, wanted.name, digest, len(data), wanted.model.parent)
    files[AUDIT] = as_bytes(about)
    files["index.html"] = pack_page.page(about, report).encode("ascii")
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    files[MANIFEST] = as_bytes({"format": FORMAT, "files": hashes})
    return files, report


def as_bytes(document: Mapping[str, Any]) -> bytes:
    """A JSON document in ASCII, ending in a line feed."""
    return (json.dumps(document, indent=1, ensure_ascii=True) + "\n").encode("ascii")


def _configuration(wanted: Wanted, report: Report, record: fix_record.Record | None) -> dict[str, bytes]:
    """The files of the project as they were read, so that the pack can be made again from itself and the model."""
    files: dict[str, bytes] = {}
    for kind, path, read_ in (
        ("tailoring", wanted.tailoring, report.tailoring),
        ("deviations", wanted.deviations, report.deviations),
        ("rewrites", wanted.rewrites, record),
    ):
        if path is not None and read_ is not None:
            content = path.read_bytes()
            if hashlib.sha256(content).hexdigest() != read_.sha256:
                raise UsageError(f"{path} changed while the pack was made")
            files[f"configuration/{kind}/{read_.file}"] = content
    return files


def _audit(
    wanted: Wanted,
    report: Report,
    record: fix_record.Record | None,
    code: int,
    used: Sequence[str],
    theorems_used: Sequence[Theorem],
    certificates: list[dict[str, Any]],
) -> dict[str, Any]:
    edition = catalogue.editions().editions[report.edition]
    rules = _known(report, used)
    traced = traces(theorems_used, {rule.slug: rule for rule in rules})
    matrix = list(traced.values())
    return {
        "format": FORMAT,
        "report_format": REPORT_FORMAT,
        "model": {},
        "verdict": report.verdict,
        "exit": code,
        "command": _command(wanted, report, record),
        "options": {
            "edition": report.edition,
            "bind": dict(report.bound),
            "strict_versions": report.strict_versions,
            "accept_assumptions": wanted.accept_assumptions,
            "tailoring": report.tailoring and report.tailoring.file,
            "deviations": report.deviations and report.deviations.file,
            "date": str(wanted.date) if report.deviations else None,
            "rewrites": record and record.file,
        },
        "tool": identity.about_tool(),
        "packages": identity.about_packages(),
        "edition": identity.about_edition(edition, used),
        "rewrites": record and asdict(record),
        "rules": [_row(each, report) for each in matrix],
        "without": _without(matrix, used),
        "theorems": certificates,
        "assumptions": [
            {
                "place": each.where.place,
                "rule": each.rule,
                "condition": each.requires,
                "why": each.actual,
                "operands": {letter: escape(name) for letter, name in each.operands},
            }
            for each in report.findings
            if each.verdict is Verdict.ASSUMED
        ],
        "known_problems": _problems(rules, used),
        "limits": [*LIMITS, *([pack_parts.LIMIT] if record else [])],
    }


def _command(wanted: Wanted, report: Report, record: fix_record.Record | None) -> list[str]:
    """The command that makes the pack, with base names."""
    said = ["sonnx", "audit", wanted.name, "--edition", report.edition]
    said += [text for symbol, number in report.bound for text in ("--bind", f"{symbol}={number}")]
    said += ["--tailoring", report.tailoring.file] if report.tailoring else []
    said += ["--deviations", report.deviations.file, "--date", str(wanted.date)] if report.deviations else []
    said += ["--rewrites", record.file] if record else []
    said += ["--strict-versions"] if report.strict_versions else []
    return said + (["--accept-assumptions"] if wanted.accept_assumptions else [])


def _known(report: Report, used: Iterable[str]) -> list[Rule]:
    """Every rule that was asked, and every rule in force that had no subject."""
    in_force = ActiveRules(catalogue.editions().editions[report.edition], False, report.tailoring)
    rules = {rule.slug: rule for rule in (*(rule for rule, _ in in_force.general), *in_force.graph)}
    rules |= {rule.slug: rule for rule in report.rules.values()}
    return [rules[slug] for slug in sorted(rules)]


def _row(trace: Trace, report: Report) -> dict[str, Any]:
    """One line of the matrix: where the rule comes from, what shows it, and what it says of this model."""
    rule = trace.rule
    answers = {count.verdict.value: 0 for count in report.counts if count.rule == rule.slug}
    for count in report.counts:
        if count.rule == rule.slug:
            answers[count.verdict.value] += count.number
    return {
        "rule": rule.slug,
        "class": rule.kind,
        "statement": rule.statement,
        "source": rule.source,
        "tags": [f"{tag.label}@{tag.text}" for tag in rule.tags],
        "decided_by": rule.require.text if rule.require else None,
        "code": list(trace.code),
        "conforming_cases": list(trace.conforming),
        "violating_cases": list(trace.violating),
        "theorems": list(trace.theorems),
        "errata": list(rule.errata),
        "answers": answers,
    }


def _without(matrix: Iterable[Trace], used: Iterable[str]) -> dict[str, Any]:
    """What the matrix has no entry for, so that a gap is no blank cell."""
    listed = list(matrix)
    described = {name: catalogue.operator(name) for name in used}
    return {
        "rules_without_conforming_case": [each.rule.slug for each in listed if not each.conforming],
        "rules_without_violating_case": [each.rule.slug for each in listed if not each.violating],
        "rules_without_theorem": [each.rule.slug for each in listed if not each.theorems],
        "operators_without_rules": [name for name, found in described.items() if found is None],
        "operators_without_theorems": [
            name for name, found in described.items() if found is not None and found.specified is None
        ],
    }


def _problems(rules: Iterable[Rule], used: Iterable[str]) -> list[dict[str, Any]]:
    """The errata that bear on the rules and operators used."""
    names = {name for rule in rules for name in rule.errata}
    for described in map(catalogue.operator, used):
        if described is not None:
            names.update(described.errata)
            names.update(name for output in described.outputs for name in output.errata)
            names.update(name for parameter in described.parameters for name in parameter.errata)
    known = catalogue.errata()
    return [
        {
            "id": name,
            "documents": list(known[name].document),
            "place": known[name].place,
            "defect": known[name].defect,
            "example": known[name].counterexample,
            "here": known[name].reading,
        }
        for name in sorted(names)
    ]


def again(folder: Path, model: Path) -> dict[str, bytes]:
    """The files of a pack made once more from what the pack says was asked.

    Raises:
        Unreadable, Misuse: as `pack`; the pack does not say what was asked.
    """
    try:
        document = json.loads((folder / AUDIT).read_bytes())
        options, name = document["options"], document["model"]["file"]
        paths = {
            kind: folder / "configuration" / kind / options[kind] if options[kind] else None
            for kind in ("tailoring", "deviations", "rewrites")
        }
        day = date.fromisoformat(options["date"]) if options["date"] else None
        asked = CheckRequest(
            options["edition"], dict(options["bind"]), strict_versions=bool(options["strict_versions"])
        )
        accept = bool(options["accept_assumptions"])
    except (OSError, ValueError, KeyError, TypeError) as reason:
        raise UsageError(f"{folder / AUDIT} does not say what was asked ({type(reason).__name__})") from None
    own = tailoring.read(paths["tailoring"]) if paths["tailoring"] else None
    asked = CheckRequest(asked.edition, asked.bind, strict_versions=asked.strict_versions, tailoring=own)
    wanted = Wanted(model, name, asked, accept, paths["tailoring"], paths["deviations"], day, paths["rewrites"])
    return pack(wanted)[0]


__all__ = ["AUDIT", "MANIFEST", "RUN", "Unreadable", "Wanted", "again", "as_bytes", "pack"]


# ------------------------------------------------------------------
# Whether an evidence pack is what it was, and comes out the same when it is made again.


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
    except (UsageError, Unreadable) as reason:
        yield f"the pack cannot be made again: {reason}"
        return
    yield from _against(found, wanted)


def _files(folder: Path) -> dict[str, bytes]:
    if not (folder / MANIFEST).is_file():
        raise UsageError(f"{folder} is no evidence pack: it has no {MANIFEST}")
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _manifest(folder: Path) -> dict[str, str]:
    try:
        files = json.loads((folder / MANIFEST).read_bytes())["files"]
        return {str(name): str(digest) for name, digest in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{folder / MANIFEST} is no manifest of an evidence pack") from None


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
        raise UsageError(f"{RUN} does not say where the model stands: name it after the folder") from None


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
