"""The evidence pack as files in memory: equal models, options and files of the project give equal bytes.

docs/audit.md describes each file.  Folder, clock and host are only in run.json, which the caller adds.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import MsgspecError, to_builtins
from msgspec.structs import asdict, replace

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape, quote
from sonnx.base.files import json_value, whole_bytes, write_folder
from sonnx.base.resources import tool_version
from sonnx.checker import deviation_records, deviations
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
from sonnx.evidence.objectives import absent_files, objectives_data
from sonnx.evidence.options import AuditOptions
from sonnx.evidence.requirements_exchange import requirements_document
from sonnx.evidence.signature import SIGNATURE, sign
from sonnx.evidence.traceability import Trace, traces
from sonnx.model.ir import Model
from sonnx.model.reader import Unreadable, file_bytes, read
from sonnx.model.sources import name_of
from sonnx.model.symbols import bind_symbols
from sonnx.numerics.enclosures.options import DEFAULT_HYPOTHESES
from sonnx.profile import catalogue
from sonnx.profile.definitions import Rule
from sonnx.profile.requirement_identifiers import requirement_identifier
from sonnx.report import box_evidence, fix_record
from sonnx.report.box_evidence import BoxEvidence
from sonnx.report.check import render
from sonnx.report.check_run import CheckRun
from sonnx.report.json import CheckDocument

FORMAT = 1
MANIFEST = "manifest.json"
AUDIT = "audit.json"
RUN = "run.json"
CONFIGURATION = "configuration"
"""The folder of the files of the project, by kind."""
SINCE = f"{CONFIGURATION}/since"
"""The folder of the document of an earlier pack."""
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
class EvidencePack:
    """All files of a pack but run.json, by name, the report on the model, and the exit code of both."""

    files: Mapping[str, bytes]
    report: Report
    code: int

    @property
    def about_original(self) -> str:
        """The answer of the comparison with the original in one line, "" where there is none."""
        derived = json_value(self.files["audit.json"])["derived_from"]
        name = "" if derived is None else escape(derived["original"]["file"])
        return name and f"{name}, which it was derived from: {derived['answer']}"

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


def run_record(model: Path, derived_from: Path | None, started: datetime) -> dict[str, Any]:
    """What run.json says of the run that writes a pack: the command, its place, its times and the machine."""
    return {
        "command": sys.argv,
        "folder": str(Path.cwd()),
        "model": str(model.resolve()),
        **({"derived_from": str(derived_from.resolve())} if derived_from is not None else {}),
        "started": started.isoformat(timespec="seconds"),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": platform.node(),
        "system": platform.platform(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "executable": sys.executable,
    }


def pack(source: Path | bytes, options: AuditOptions, folder: Path | None = None) -> EvidencePack:
    """Check the model and collect the evidence.

    Args:
        source: the model.
        options: of the pack.
        folder: the pack that has the files of the box, where it is rebuilt.

    Raises:
        Unreadable: the file is not a readable ONNX model.
        UsageError: options that cannot be met, or files of the project that are malformed or change while they are
            read.
    """
    own = None if isinstance(source, bytes) else source
    name, check = name_of(source, options.name), options.request()
    shown = repr(name if own is None else str(own))
    data = source if isinstance(source, bytes) else file_bytes(source, shown)
    model = read(data, shown, check.limits, own and own.parent)
    digest = hashlib.sha256(data).hexdigest()
    record = None if options.rewrites is None else fix_record.read(options.rewrites)
    if record is not None:
        pack_parts.require_about(record, name, digest)
    report = check_model(model, digest, check, name, drawn=True)
    boxed = _boxed(report, model, own, check, options, folder) if options.box else None
    report = boxed.report if boxed is not None else report
    if options.deviations is not None and options.date is not None:
        [report] = deviations.apply((report,), deviation_records.read(options.deviations), options.date)
    code = report.exit_code(options.accept_assumptions)
    run = CheckRun([report], {}, code, options.accept_assumptions)
    derived = None
    if options.derived_from is not None:
        derived = derivation(options.derived_from, model, name, digest, own and own.parent, check)
        code = derived.worst(code)
    shown_properties = certified_properties(tuple(options.properties), data)
    files = {
        f"report.{name}": render(format_, run).encode("utf-8")
        for format_, name in (("html", "html"), ("json", "json"), ("sarif", "sarif"))
    }
    files |= _configuration(options, report, record) | (dict(boxed.files) if boxed is not None else {})
    files |= shown_properties.files
    versions = identity.operators_used(model)
    used = list(dict.fromkeys(name for name, _ in versions))
    tested, copies = suite_reports.suite_reports(tuple(options.suites), used)
    files |= copies
    named = pack_parts.theorems(record) if record is not None else set()
    named |= pack_parts.theorems_about(box_evidence.TOPIC) if boxed is not None else set()
    named |= derived.theorems if derived is not None else set()
    found = pack_parts.relied_on(report.rules.values(), versions, report.edition, named)
    certificates, questions = pack_parts.evidence(found)
    files |= {f"theorems/{name}": text.encode("utf-8") for name, text in questions.items()}
    if options.proofs is not None:
        asked = [each for row in certificates for each in row["obligations"]]
        copies, proofs = pack_parts.certified(options.proofs, {each["smt2_sha256"] for each in asked})
        files |= copies
        for each in asked:
            each["proof"] = proofs.get(each["smt2_sha256"])
    matrix = list(traces(found, {rule.slug: rule for rule in _known(report, used)}).values())
    stated = _stated(options, report, record, boxed, shown_properties, tested)
    about = _audit(
        name, stated, report, record, boxed, derived, shown_properties, tested, code, used, matrix, certificates
    )
    about["model"] = identity.about_model(model, name, digest, len(data), own and own.parent)
    if options.since is not None:
        before = change_impact.earlier_pack(options.since)
        about["since"] = change_impact.change_impact(before, about)
        files[f"{SINCE}/{AUDIT}"] = before.content
    files[AUDIT] = as_bytes(about)
    files |= _exchanged(about, model, matrix)
    files["index.html"] = pack_page.page(about, report).encode("ascii")
    files["statement.html"] = pack_page.statement(about, report).encode("ascii")
    absent = absent_files({*files, MANIFEST, RUN})
    files["objectives.html"] = pack_page.objectives(absent).encode("ascii")
    files["objectives.json"] = as_bytes(objectives_data(absent))
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


def _boxed(
    report: Report, model: Model, path: Path | None, check: CheckRequest, options: AuditOptions, folder: Path | None
) -> BoxEvidence:
    """What the box of the options shows."""
    sized = bind_symbols(model, check.bind, check.input_shapes)
    place = None if folder is None else folder / box_evidence.FOLDER
    return box_evidence.evidence(report, sized, path, tuple(options.box), place, DEFAULT_HYPOTHESES)


def as_bytes(document: Mapping[str, Any]) -> bytes:
    """A JSON document in ASCII, ending in a line feed."""
    return (json.dumps(document, indent=1, ensure_ascii=True) + "\n").encode("ascii")


def _configuration(options: AuditOptions, report: Report, record: fix_record.ReadRecord | None) -> dict[str, bytes]:
    """The files of the project as they were read, so that the pack can be rebuilt from itself and the model."""
    files: dict[str, bytes] = {}
    for kind, path, read_ in (
        ("tailoring", options.tailoring, report.tailoring),
        ("deviations", options.deviations, report.deviations),
        ("rewrites", options.rewrites, record),
    ):
        if path is not None and read_ is not None:
            content = whole_bytes(path)
            if hashlib.sha256(content).hexdigest() != read_.sha256:
                raise UsageError(f"{path} changed while the pack was made")
            files[f"{CONFIGURATION}/{kind}/{read_.file}"] = content
    return files


def _stated(
    options: AuditOptions,
    report: Report,
    record: fix_record.ReadRecord | None,
    boxed: BoxEvidence | None,
    properties: CertifiedProperties,
    tested: Sequence[Mapping[str, Any]],
) -> AuditOptions:
    """The options with which the pack is rebuilt: of its own files, with the edition that was taken."""
    files = {"tailoring": report.tailoring, "deviations": report.deviations, "rewrites": record}
    inside = {kind: None if file is None else Path(CONFIGURATION, kind, file.file) for kind, file in files.items()}
    return replace(
        options,
        edition=report.edition,
        bind=dict(report.bound),
        input_shapes=dict(report.input_shapes),
        **inside,
        proofs=options.proofs and Path(pack_parts.CERTIFICATES),
        box=() if boxed is None else boxed.texts,
        since=options.since and Path(SINCE),
        derived_from=options.derived_from and Path(options.derived_from.name),
        properties=tuple(Path(PROPERTIES_FOLDER, each["file"]) for each in properties.about),
        suites=tuple(Path(suite_reports.FOLDER, each["file"]) for each in tested),
    )


def _audit(
    name: str,
    options: AuditOptions,
    report: Report,
    record: fix_record.ReadRecord | None,
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
        "report_format": CheckDocument(0, (), ()).format,
        "model": {},
        "verdict": report.verdict,
        "exit": code,
        "command": ["sonnx", "audit", name, *options.command_line()],
        "options": options.as_json(complete=True),
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
    document: Any = None
    try:
        document = json_value(whole_bytes(folder / AUDIT))
        options, name = AuditOptions.from_json(document["options"]), str(document["model"]["file"])
    except (OSError, ValueError, KeyError, TypeError, MsgspecError, UsageError) as reason:
        raise UsageError(
            f"{folder / AUDIT} does not state the options of the pack as this version writes them "
            f"({type(reason).__name__}){_another_version(document)}"
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
    return pack(model, options, folder).files


def _another_version(document: Any) -> str:
    """What to do where another version of the tool made a pack; "" where it was this one, or is not stated."""
    tool = document.get("tool") if isinstance(document, dict) else None
    made = tool.get("version") if isinstance(tool, dict) else None
    own = tool_version()
    return (
        ""
        if made in (None, own)
        else f"; sonnx {escape(str(made))} made it: verify it with that version, this is {own}"
    )


# ------------------------------------------------------------------ verification


def differences(folder: Path, model: Path | None, original: Path | None = None) -> Iterator[str]:
    """One sentence for each difference between the pack and a fresh run; none if it is complete and reproducible.

    Args:
        folder: the pack.
        model: the model file; None for the one that run.json names.
        original: the model file that it was derived from; None for the one that run.json names.

    Raises:
        UsageError: the folder is not an evidence pack, or the model is not known or not there.
    """
    found = _files(folder)
    for path in (model, original):
        if path is not None and not path.exists():
            raise UsageError(f"there is no model file {quote(str(path))}; name the one that the pack is for")
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
