"""The evidence pack as files in memory: equal models, options and files of the project give equal bytes.

docs/audit.md describes each file.  Folder, clock and host are only in run.json, which the caller adds.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape
from sonnx.base.files import json_value, whole_bytes, write_folder
from sonnx.checker import deviation_records, deviations, tailoring
from sonnx.checker.report import Report
from sonnx.checker.request import CheckRequest, check_model
from sonnx.checker.rules import ActiveRules
from sonnx.checker.verdicts import Verdict
from sonnx.evidence import change_impact, identity, pack_page, pack_parts, suite_reports
from sonnx.evidence.argument import argument, argument_data, argument_drawing
from sonnx.evidence.bill_of_materials import model_bill_of_materials
from sonnx.evidence.certified_properties import FOLDER as PROPERTIES_FOLDER
from sonnx.evidence.certified_properties import LIMIT as PROPERTIES_LIMIT
from sonnx.evidence.certified_properties import CertifiedProperties, certified_properties
from sonnx.evidence.derivation import LIMIT as DERIVATION_LIMIT
from sonnx.evidence.derivation import Derivation, derivation
from sonnx.evidence.requirements_exchange import requirement_identifier, requirements_document
from sonnx.evidence.signature import SIGNATURE, sign
from sonnx.evidence.traceability import Trace, traces
from sonnx.model.ir import Model
from sonnx.model.limits import changed_limits, parse_limits
from sonnx.model.reader import Unreadable, file_bytes, read
from sonnx.model.symbols import bind_symbols
from sonnx.profile import catalogue
from sonnx.profile.definitions import Rule
from sonnx.report import box_evidence, rewrites_json
from sonnx.report.box_evidence import BoxEvidence
from sonnx.report.formats import CheckRun, render
from sonnx.report.json import FORMAT as REPORT_FORMAT

FORMAT = 1
MANIFEST = "manifest.json"
AUDIT = "audit.json"
RUN = "run.json"
LIMITS = (
    "The pack is about the bytes with the stated SHA-256, under the stated edition, options and files of the project.",
    "It is evidence for an assessment. It is not a certificate, and the tool is not qualified for any standard.",
    "Values of constants in other files are hashed; rules that need these values are undecided.",
    "The adequacy of the model for its purpose, its accuracy and its training are not checked.",
    "How a compiler or runtime executes the model is not checked; sonnx run and sonnx compare give exact values.",
    "No solver ran for this pack: the status of a theorem comes from the record of the tool, and only for queries of "
    "equal text; the queries are in the folder theorems and can be given to any solver.",
    "Rules that functions decide are tested by cases, not proved.",
)


@dataclass(frozen=True, slots=True)
class PackRequest:
    """The options of a pack: the model, its name in the pack, and the options of its check."""

    model: Path | bytes
    name: str
    check: CheckRequest
    accept_assumptions: bool = False
    tailoring: Path | None = None
    deviations: Path | None = None
    date: date | None = None
    rewrites: Path | None = None
    """The record of `sonnx fix` for the model."""
    proofs: Path | None = None
    """The folder of certificates that `sonnx prove --proofs` wrote."""
    box: tuple[str, ...] = ()
    """The ranges of the inputs, as texts of `sonnx bound --input`."""
    box_folder: Path | None = None
    """Where the files of the box stand; the working folder if None."""
    hypotheses: str = ""
    """About the implementations for which the box shows assumptions."""
    since: Path | None = None
    """An earlier pack, or a folder with its audit.json: what changed since, and what of the evidence stands."""
    original: Path | None = None
    """The model file that the model was derived from: whether both are the same function."""
    properties: tuple[Path, ...] = ()
    """Properties (.vnnlib) with their certificates (.json) beside them."""
    suites: tuple[Path, ...] = ()
    """JSON reports of `sonnx suite run`."""


@dataclass(frozen=True, slots=True)
class EvidencePack:
    """All files of a pack but run.json, by name, the report on the model, and the exit code of both."""

    files: Mapping[str, bytes]
    report: Report
    code: int

    def write(self, folder: Path, run: Mapping[str, Any], key: Path | None = None) -> None:
        """Write the pack to a new folder, all of it or nothing.

        Args:
            folder: the folder; it must not exist, or be empty.
            run: what differs between runs, for run.json.
            key: an OpenSSH key that signs the manifest.

        Raises:
            OSError: the folder cannot be written.
            UsageError: the key does not sign.
        """
        signature = {} if key is None else {SIGNATURE: sign(self.files[MANIFEST], key)}
        write_folder(folder, {**self.files, **signature, RUN: as_bytes(run)})


def pack(request: PackRequest) -> EvidencePack:
    """Check the model and collect the evidence.

    Raises:
        Unreadable: the file is not a readable ONNX model.
        UsageError: options that cannot be met, or files of the project that are malformed or change while they are
            read.
    """
    shown = repr(request.name if isinstance(request.model, bytes) else str(request.model))
    data = request.model if isinstance(request.model, bytes) else file_bytes(request.model, shown)
    folder = None if isinstance(request.model, bytes) else Path(request.model).parent
    model = read(data, shown, request.check.limits, folder)
    digest = hashlib.sha256(data).hexdigest()
    record = None if request.rewrites is None else rewrites_json.read(request.rewrites)
    if record is not None:
        pack_parts.require_about(record, request.name, digest)
    report = check_model(model, digest, request.check, request.name, drawn=True)
    boxed = _boxed(request, report, model) if request.box else None
    report = boxed.report if boxed is not None else report
    if request.deviations is not None and request.date is not None:
        [report] = deviations.apply((report,), deviation_records.read(request.deviations), request.date)
    code = report.exit_code(request.accept_assumptions)
    run = CheckRun([report], {}, code, request.accept_assumptions)
    own = None if isinstance(request.model, bytes) else Path(request.model)
    derived = None
    if request.original is not None:
        derived = derivation(request.original, model, request.name, digest, own and own.parent, request.check)
        code = derived.worst(code)
    shown_properties = certified_properties(request.properties, data)
    files = {
        f"report.{name}": render(format_, run).encode("utf-8")
        for format_, name in (("html", "html"), ("json", "json"), ("sarif", "sarif"))
    }
    files |= _configuration(request, report, record) | (dict(boxed.files) if boxed is not None else {})
    files |= shown_properties.files
    versions = identity.operators_used(model)
    used = list(dict.fromkeys(name for name, _ in versions))
    tested, copies = suite_reports.suite_reports(request.suites, used)
    files |= copies
    named = pack_parts.theorems(record) if record is not None else set()
    named |= pack_parts.theorems_about(box_evidence.TOPIC) if boxed is not None else set()
    named |= derived.theorems if derived is not None else set()
    found = pack_parts.relied_on(report.rules.values(), versions, report.edition, named)
    certificates, questions = pack_parts.evidence(found)
    files |= {f"theorems/{name}": text.encode("utf-8") for name, text in questions.items()}
    if request.proofs is not None:
        asked = [each for row in certificates for each in row["obligations"]]
        copies, proofs = pack_parts.certified(request.proofs, {each["smt2_sha256"] for each in asked})
        files |= copies
        for each in asked:
            each["proof"] = proofs.get(each["smt2_sha256"])
    matrix = list(traces(found, {rule.slug: rule for rule in _known(report, used)}).values())
    about = _audit(request, report, record, boxed, derived, shown_properties, tested, code, used, matrix, certificates)
    about["model"] = identity.about_model(
        model, request.name, digest, len(data), None if isinstance(request.model, bytes) else request.model.parent
    )
    if request.since is not None:
        before = change_impact.earlier_pack(request.since)
        about["since"] = change_impact.change_impact(before, about)
        files[f"configuration/since/{AUDIT}"] = before.content
    files[AUDIT] = as_bytes(about)
    files |= _exchanged(about, model, matrix)
    files["index.html"] = pack_page.page(about, report).encode("ascii")
    files["statement.html"] = pack_page.statement(about, report).encode("ascii")
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    files[MANIFEST] = as_bytes({"format": FORMAT, "files": hashes})
    return EvidencePack(files, report, code)


def _exchanged(about: Mapping[str, Any], model: Model, matrix: Sequence[Trace]) -> dict[str, bytes]:
    """The files in the formats of other tools: requirements, the argument, and what the model consists of."""
    elements = argument(about)
    answers = {row["rule"]: row["answers"] for row in about["rules"]}
    return {
        "requirements.reqif": requirements_document(matrix, about["edition"]["name"], answers),
        "argument.json": as_bytes(argument_data(elements)),
        "argument.svg": argument_drawing(elements).encode("utf-8"),
        "model.cdx.json": as_bytes(model_bill_of_materials(model, about["model"])),
    }


def _boxed(request: PackRequest, report: Report, model: Model) -> BoxEvidence:
    """What the box of the request shows."""
    sized = bind_symbols(model, request.check.bind, request.check.input_shapes)
    path = None if isinstance(request.model, bytes) else request.model
    return box_evidence.evidence(report, sized, path, request.box, request.box_folder, request.hypotheses)


def as_bytes(document: Mapping[str, Any]) -> bytes:
    """A JSON document in ASCII, ending in a line feed."""
    return (json.dumps(document, indent=1, ensure_ascii=True) + "\n").encode("ascii")


def _configuration(request: PackRequest, report: Report, record: rewrites_json.Record | None) -> dict[str, bytes]:
    """The files of the project as they were read, so that the pack can be rebuilt from itself and the model."""
    files: dict[str, bytes] = {}
    for kind, path, read_ in (
        ("tailoring", request.tailoring, report.tailoring),
        ("deviations", request.deviations, report.deviations),
        ("rewrites", request.rewrites, record),
    ):
        if path is not None and read_ is not None:
            content = whole_bytes(path)
            if hashlib.sha256(content).hexdigest() != read_.sha256:
                raise UsageError(f"{path} changed while the pack was made")
            files[f"configuration/{kind}/{read_.file}"] = content
    return files


def _audit(
    request: PackRequest,
    report: Report,
    record: rewrites_json.Record | None,
    boxed: BoxEvidence | None,
    derived: Derivation | None,
    shown_properties: CertifiedProperties,
    tested: Sequence[Mapping[str, Any]],
    code: int,
    used: Sequence[str],
    matrix: Sequence[Trace],
    certificates: list[dict[str, Any]],
) -> dict[str, Any]:
    edition = catalogue.editions().editions[report.edition]
    return {
        "format": FORMAT,
        "report_format": REPORT_FORMAT,
        "model": {},
        "verdict": report.verdict,
        "exit": code,
        "command": _command(request, report, record, boxed),
        "options": {
            "edition": report.edition,
            "bind": dict(report.bound),
            "input_shapes": {name: list(shape) for name, shape in report.input_shapes},
            "strict_versions": report.strict_versions,
            "limits": changed_limits(request.check.limits),
            "accept_assumptions": request.accept_assumptions,
            "tailoring": report.tailoring and report.tailoring.file,
            "deviations": report.deviations and report.deviations.file,
            "date": str(request.date) if report.deviations else None,
            "rewrites": record and record.file,
            "proofs": None if request.proofs is None else pack_parts.CERTIFICATES,
            "box": list(boxed.texts) if boxed is not None else [],
            "since": request.since is not None,
            "derived_from": derived is not None,
            "properties": [each["file"] for each in shown_properties.about],
            "suite": [each["file"] for each in tested],
        },
        "tool": identity.about_tool(),
        "packages": identity.about_packages(),
        "edition": identity.about_edition(edition, used),
        "rewrites": record and to_builtins(record),
        "since": None,
        "derived_from": derived.about if derived is not None else None,
        "properties": list(shown_properties.about),
        "suite": list(tested),
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
        "box": boxed.about if boxed is not None else None,
        "known_problems": _problems([each.rule for each in matrix], used),
        "limits": [
            *LIMITS,
            *([pack_parts.LIMIT] if record else []),
            *([box_evidence.LIMIT] if boxed is not None else []),
            *([DERIVATION_LIMIT] if derived is not None else []),
            *([PROPERTIES_LIMIT] if shown_properties.about else []),
            *([suite_reports.LIMIT] if tested else []),
        ],
    }


def _command(
    request: PackRequest, report: Report, record: rewrites_json.Record | None, boxed: BoxEvidence | None
) -> list[str]:
    """The command that builds the pack, with base names."""
    command = ["sonnx", "audit", request.name, "--edition", report.edition]
    command += [text for symbol, number in report.bound for text in ("--bind", f"{symbol}={number}")]
    shapes = [f"{name}={','.join(map(str, shape))}" for name, shape in report.input_shapes]
    command += [text for shape in shapes for text in ("--input-shape", shape)]
    command += ["--tailoring", report.tailoring.file] if report.tailoring else []
    command += ["--deviations", report.deviations.file, "--date", str(request.date)] if report.deviations else []
    command += ["--rewrites", record.file] if record else []
    command += [text for each in boxed.texts for text in ("--box", each)] if boxed is not None else []
    command += ["--proofs", pack_parts.CERTIFICATES] if request.proofs is not None else []
    command += ["--since", "configuration/since"] if request.since is not None else []
    command += ["--derived-from", request.original.name] if request.original is not None else []
    command += [text for each in request.properties for text in ("--property", f"{PROPERTIES_FOLDER}/{each.name}")]
    command += [text for each in request.suites for text in ("--suite", f"{suite_reports.FOLDER}/{each.name}")]
    limits = changed_limits(request.check.limits)
    command += [text for name, number in limits.items() for text in ("--limit", f"{name}={number}")]
    command += ["--strict-versions"] if report.strict_versions else []
    return command + (["--accept-assumptions"] if request.accept_assumptions else [])


def _known(report: Report, used: Iterable[str]) -> list[Rule]:
    """Every rule that was evaluated, and every rule in force that had no subject."""
    active = ActiveRules(catalogue.editions().editions[report.edition], False, report.tailoring)
    rules = {rule.slug: rule for rule in (*(rule for rule, _ in active.general), *active.graph)}
    rules |= {rule.slug: rule for rule in report.rules.values()}
    return [rules[slug] for slug in sorted(rules)]


def _row(trace: Trace, report: Report) -> dict[str, Any]:
    """One line of the matrix: the source of the rule, its cases and theorems, and its results on this model."""
    rule, answers = trace.rule, Counter[str]()
    for count in report.counts:
        if count.rule == rule.slug:
            answers[count.verdict.value] += count.number
    return {
        "rule": rule.slug,
        "requirement": requirement_identifier(rule, report.edition),
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
    """What the matrix lacks, listed, so that a gap is not just an empty cell."""
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
    """The errata that concern the rules and operators used."""
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


def rebuilt(folder: Path, model: Path, original: Path | None = None) -> Mapping[str, bytes]:
    """The files of a pack, rebuilt with the options that the pack states.

    Args:
        folder: the pack.
        model: the model file.
        original: the model file that it was derived from, where the pack has the comparison.

    Raises:
        Unreadable, UsageError: as `pack`; the pack does not state its options.
    """
    try:
        document = json_value(whole_bytes(folder / AUDIT))
        options, name = document["options"], document["model"]["file"]
        paths = {
            kind: folder / "configuration" / kind / options[kind] if options[kind] else None
            for kind in ("tailoring", "deviations", "rewrites")
        }
        day = date.fromisoformat(options["date"]) if options["date"] else None
        check = CheckRequest(
            options["edition"],
            dict(options["bind"]),
            dict(options["input_shapes"]),
            strict_versions=bool(options["strict_versions"]),
            limits=parse_limits([f"{name}={number}" for name, number in options["limits"].items()]),
        )
        accept = bool(options["accept_assumptions"])
        proofs = folder / pack_parts.CERTIFICATES if options["proofs"] else None
        box = tuple(map(str, options["box"]))
        hypotheses = str(document["box"]["hypotheses"]["name"]) if box else ""
        since = folder / "configuration" / "since" if options["since"] else None
        derived = bool(options.get("derived_from"))
        stated = tuple(folder / PROPERTIES_FOLDER / str(each) for each in options.get("properties", ()))
        suites = tuple(folder / suite_reports.FOLDER / str(each) for each in options.get("suite", ()))
    except (OSError, ValueError, KeyError, TypeError) as reason:
        raise UsageError(f"{folder / AUDIT} does not state the options of the pack ({type(reason).__name__})") from None
    if derived != (original is not None):
        raise UsageError(
            "the model it was derived from is not known: name it with --derived-from" if derived
            else "the pack has no comparison with an original: leave out --derived-from"
        )  # fmt: skip
    own = tailoring.read(paths["tailoring"]) if paths["tailoring"] else None
    check = replace(check, tailoring=own)
    request = PackRequest(
        model, name, check, accept, paths["tailoring"], paths["deviations"], day, paths["rewrites"], proofs, box,
        folder / box_evidence.FOLDER, hypotheses, since, original, stated, suites,
    )  # fmt: skip
    return pack(request).files


# ------------------------------------------------------------------ verification


def differences(folder: Path, model: Path | None, original: Path | None = None) -> Iterator[str]:
    """One sentence for each difference between the pack and a fresh run; none if it is complete and reproducible.

    Args:
        folder: the pack.
        model: the model file; None for the one that run.json names.
        original: the model file that it was derived from; None for the one that run.json names.

    Raises:
        UsageError: the folder is not an evidence pack, or the model is not known.
    """
    found = _files(folder)
    listed = _manifest(folder)
    yield from _against_manifest(found, listed)
    source = model or _model(found)
    try:
        expected = rebuilt(folder, source, original or _original(found))
    except (UsageError, Unreadable) as reason:
        yield f"the pack cannot be rebuilt: {reason}"
        return
    yield from _against_rebuilt(found, expected)


def _files(folder: Path) -> dict[str, bytes]:
    if not (folder / MANIFEST).is_file():
        raise UsageError(f"{folder} is not an evidence pack: it has no {MANIFEST}")
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): whole_bytes(path) for path in paths}


def _manifest(folder: Path) -> dict[str, str]:
    try:
        files = json_value(whole_bytes(folder / MANIFEST))["files"]
        return {str(name): str(digest) for name, digest in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{folder / MANIFEST} is not the manifest of an evidence pack") from None


def _against_manifest(found: Mapping[str, bytes], listed: Mapping[str, str]) -> Iterator[str]:
    for name, digest in listed.items():
        if name not in found:
            yield f"{escape(name)} is listed in the manifest and missing"
        elif hashlib.sha256(found[name]).hexdigest() != digest:
            yield f"{escape(name)} was changed: its SHA-256 differs from that in the manifest"
    for name in found.keys() - listed.keys() - {MANIFEST, RUN, SIGNATURE}:
        yield f"{escape(name)} is not listed in the manifest"


def _model(found: Mapping[str, bytes]) -> Path:
    try:
        return Path(json_value(found[RUN])["model"])
    except (KeyError, ValueError, TypeError):
        raise UsageError(f"{RUN} does not name the model file: give it after the folder") from None


def _original(found: Mapping[str, bytes]) -> Path | None:
    """The model file that run.json says the model was derived from."""
    try:
        named = json_value(found[RUN]).get("derived_from")
    except (KeyError, ValueError, AttributeError):
        return None
    return Path(named) if isinstance(named, str) else None


def _against_rebuilt(found: Mapping[str, bytes], expected: Mapping[str, bytes]) -> Iterator[str]:
    yield from _causes(found.get(AUDIT, b"{}"), expected[AUDIT])
    for name in sorted(expected.keys() | found.keys() - {RUN, SIGNATURE}):
        if name not in found:
            yield f"{escape(name)} is missing: a fresh run writes it"
        elif name not in expected:
            yield f"{escape(name)} is extra: a fresh run does not write it"
        elif found[name] != expected[name]:
            yield f"{escape(name)} differs from a fresh run"


def _causes(found: bytes, expected: bytes) -> Iterator[str]:
    """The differences between the two versions of audit.json, by its keys."""
    try:
        was, now = json_value(found), json_value(expected)
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
