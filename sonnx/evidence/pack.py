"""The evidence pack as files in memory: equal models, options and files of the project give equal bytes.

docs/audit.md describes each file.  Folder, clock and host are only in run.json, which the caller adds.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from sonnx.base.errors import TOOL_FAILED, UsageError, worst_exit_code
from sonnx.base.escaping import escape
from sonnx.base.files import whole_bytes, write_folder
from sonnx.base.reported import indented, json_text
from sonnx.checker import deviation_records, deviations
from sonnx.checker.conditions import MODEL, settings_of
from sonnx.checker.report import Report
from sonnx.checker.request import CheckRequest, check_model
from sonnx.checker.rules import ActiveRules
from sonnx.checker.verdicts import Verdict
from sonnx.evidence import change_impact, extracted_verdict, identity, pack_page, pack_parts, suite_reports
from sonnx.evidence.argument import argument, argument_data, argument_drawing
from sonnx.evidence.audit_document import (
    AssumedCondition,
    AuditDocument,
    Gaps,
    KnownProblem,
    Manifest,
    RunRecord,
    TracedRule,
)
from sonnx.evidence.bill_of_materials import model_bill_of_materials
from sonnx.evidence.certified_properties import FOLDER as PROPERTIES_FOLDER
from sonnx.evidence.certified_properties import LIMIT as PROPERTIES_LIMIT
from sonnx.evidence.certified_properties import CertifiedProperties, certified_properties
from sonnx.evidence.derivation import LIMIT as DERIVATION_LIMIT
from sonnx.evidence.derivation import Derivation, derivation
from sonnx.evidence.extracted_verdict import ExtractedVerdict
from sonnx.evidence.identity import PackageIdentity
from sonnx.evidence.objectives import absent_files, objectives_data
from sonnx.evidence.options import AuditOptions
from sonnx.evidence.requirements_exchange import requirements_document
from sonnx.evidence.signature import SIGNATURE, sign
from sonnx.evidence.traceability import Trace, traces
from sonnx.model.ir import Model
from sonnx.model.reader import file_bytes, read
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

INDEX = "index.html"
MANIFEST = "manifest.json"
AUDIT = "audit.json"
RUN = "run.json"
CONFIGURATION = "configuration"
"""The folder of the files of the project, by kind."""
SINCE = f"{CONFIGURATION}/since"
"""The folder of the document of an earlier pack."""
EVIDENCE_PATHS = ("rewrites", "proofs", "since", "derived_from")
"""The options that name evidence; the digests of what is read state it, whatever its path."""
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
    document: AuditDocument
    """What audit.json says."""

    @property
    def about_original(self) -> str:
        """The answer of the comparison with the original in one line, "" where there is none."""
        derived = self.document.derived_from
        return f"{escape(derived.original.file)}, which it was derived from: {derived.answer}" if derived else ""

    def write(self, folder: Path, run: RunRecord | Mapping[str, Any], key: Path | None = None) -> None:
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
        write_folder(folder, {**self.files, **signature, RUN: json_text(run).encode()})


def python_version() -> str:
    """The implementation and the version of Python."""
    return f"{platform.python_implementation()} {platform.python_version()}"


def run_record(model: Path, derived_from: Path | None, started: datetime) -> RunRecord:
    """What run.json says of the run that writes a pack."""
    return RunRecord(
        command=tuple(sys.argv),
        folder=str(Path.cwd()),
        model=str(model.resolve()),
        derived_from=None if derived_from is None else str(derived_from.resolve()),
        started=started.isoformat(timespec="seconds"),
        ended=datetime.now(UTC).isoformat(timespec="seconds"),
        host=platform.node(),
        system=platform.platform(),
        python=python_version(),
        executable=sys.executable,
    )


def pack(
    source: Path | bytes,
    options: AuditOptions,
    folder: Path | None = None,
    packages: tuple[PackageIdentity, ...] | None = None,
    extracted: ExtractedVerdict | None = None,
) -> EvidencePack:
    """Check the model and collect the evidence.

    Args:
        source: the model.
        options: of the pack.
        folder: the pack that has the files of the box, where it is rebuilt.
        packages: what the pack says of the packages of its environment; those of this one if None.
        extracted: what the pack that is rebuilt says of the program extracted from the specification.

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
    second = None if own is None else extracted_verdict.of_pack(own, data, check.edition, extracted, folder)
    boxed = _boxed(report, model, own, check, options, folder) if options.box else None
    report = boxed.report if boxed is not None else report
    if options.deviations is not None and options.date is not None:
        [report] = deviations.apply((report,), deviation_records.read(options.deviations), options.date)
    settings = settings_of(replace(options, **dict.fromkeys(EVIDENCE_PATHS), properties=(), suites=()))
    report = replace(report, conditions=replace(report.conditions, settings=settings))
    code = report.exit_code(options.accept_assumptions)
    run = CheckRun([report], {}, code, options.accept_assumptions)
    derived = None
    if options.derived_from is not None:
        derived = derivation(options.derived_from, model, name, digest, own and own.parent, check)
        code = derived.worst(code)
    shown_properties = certified_properties(tuple(options.properties), data, model, report.conditions)
    files = {
        f"report.{name}": render(format_, run).encode("utf-8")
        for format_, name in (("html", "html"), ("json", "json"), ("sarif", "sarif"))
    }
    if second is not None:
        files[extracted_verdict.FILE] = second[1]
        code = worst_exit_code({code, TOOL_FAILED}) if second[0].differences else code
    files |= _configuration(options, report, record) | (dict(boxed.files) if boxed is not None else {})
    files |= shown_properties.files
    versions = identity.operators_used(model)
    used = list(dict.fromkeys(name for name, _ in versions))
    tested, copies = suite_reports.suite_reports(tuple(options.suites), used, report.edition)
    files |= copies
    named = pack_parts.theorems(record) if record is not None else set()
    named |= pack_parts.theorems_about(box_evidence.TOPIC) if boxed is not None else set()
    named |= derived.theorems if derived is not None else set()
    relied_on = pack_parts.relied_on(report.rules.values(), versions, report.edition, named)
    copies, proofs = pack_parts.certified(options.proofs, relied_on) if options.proofs is not None else ({}, {})
    files |= copies
    theorems, questions = pack_parts.evidence(relied_on, proofs)
    files |= {f"theorems/{name}": text.encode("utf-8") for name, text in questions.items()}
    matrix = list(traces(relied_on, {rule.slug: rule for rule in _known(report, used)}).values())
    rows = tuple(_row(trace, report) for trace in matrix)
    stated = _stated(options, report, record, boxed, shown_properties, tested)
    about = AuditDocument(
        conditions=replace(report.conditions, digests=_digests(digest, stated, derived, shown_properties, tested)),
        report_format=CheckDocument(0, (), ()).format,
        model=identity.about_model(model, name, digest, len(data), own and own.parent),
        verdict=report.verdict,
        extracted=None if second is None else second[0],
        exit=code,
        command=("sonnx", "audit", name, *stated.command_line()),
        options=stated.as_json(complete=True),
        tool=identity.about_tool(),
        packages=identity.about_packages() if packages is None else packages,
        edition=identity.about_edition(catalogue.editions().editions[report.edition], used),
        rewrites=record,
        derived_from=derived.about if derived is not None else None,
        properties=shown_properties.about,
        suite=tested,
        rules=rows,
        without=_without(matrix, used),
        theorems=theorems,
        assumptions=tuple(_assumed(report)),
        box=boxed.about if boxed is not None else None,
        known_problems=tuple(_problems(rows, used)),
        limits=tuple(_limits(options)),
    )
    if options.since is not None:
        before = change_impact.earlier_pack(options.since)
        about = replace(about, since=change_impact.change_impact(before, about))
        files[f"{SINCE}/{AUDIT}"] = before.content
    files[AUDIT] = json_text(about).encode()
    files |= _exchanged(about, model, matrix)
    files["statement.html"] = pack_page.statement(about, report).encode("ascii")
    absent = absent_files({*files, "objectives.html", "objectives.json", INDEX, MANIFEST, RUN})
    files["objectives.html"] = pack_page.objectives(absent).encode("ascii")
    files["objectives.json"] = as_bytes(objectives_data(absent))
    files[INDEX] = pack_page.page(about, report, sorted({*files, MANIFEST, RUN})).encode("ascii")
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    files[MANIFEST] = json_text(Manifest(files=hashes)).encode()
    return EvidencePack(files, report, code, about)


def _exchanged(about: AuditDocument, model: Model, matrix: Sequence[Trace]) -> dict[str, bytes]:
    """The files in the formats of other tools: requirements, the argument, and what the model consists of."""
    elements = argument(about)
    answers = {row.rule: row.answers for row in about.rules}
    return {
        "requirements.reqif": requirements_document(matrix, about.edition.name, answers),
        "argument.json": as_bytes(argument_data(elements)),
        "argument.svg": argument_drawing(elements).encode("utf-8"),
        "model.cdx.json": as_bytes(model_bill_of_materials(model, about.model)),
    }


def _boxed(
    report: Report, model: Model, path: Path | None, check: CheckRequest, options: AuditOptions, folder: Path | None
) -> BoxEvidence:
    """The evidence for the box of inputs that the options state."""
    sized = bind_symbols(model, check.bind, check.input_shapes)
    place = None if folder is None else folder / box_evidence.FOLDER
    return box_evidence.evidence(report, sized, path, tuple(options.box), place, DEFAULT_HYPOTHESES)


def as_bytes(document: Mapping[str, Any]) -> bytes:
    """A JSON document in ASCII, ending in a line feed."""
    return indented(document).encode("ascii")


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
    tested: Sequence[suite_reports.TestedImplementation],
) -> AuditOptions:
    """The options with which the pack is rebuilt: of its own files, with the edition that was taken."""
    files = {"tailoring": report.tailoring, "deviations": report.deviations, "rewrites": record}
    inside = {kind: None if file is None else Path(CONFIGURATION, kind, file.file) for kind, file in files.items()}
    return replace(
        options,
        edition=report.edition,
        bind=report.bound,
        input_shapes=report.input_shapes,
        **inside,
        proofs=options.proofs and Path(pack_parts.CERTIFICATES),
        box=() if boxed is None else boxed.texts,
        since=options.since and Path(SINCE),
        derived_from=options.derived_from and Path(options.derived_from.name),
        properties=tuple(Path(PROPERTIES_FOLDER, shown.file) for shown in properties.about),
        suites=tuple(Path(suite_reports.FOLDER, implementation.file) for implementation in tested),
    )


def _digests(
    model: str,
    stated: AuditOptions,
    derived: Derivation | None,
    properties: CertifiedProperties,
    tested: Sequence[suite_reports.TestedImplementation],
) -> dict[str, str]:
    """The SHA-256 of the model, and of each file of evidence that was given, by its role."""
    digests = {MODEL: model}
    if derived is not None:
        digests["original model"] = derived.about.original.sha256
    for shown in properties.about:
        digests |= {
            f"property {shown.file}": shown.sha256,
            f"certificate {shown.certificate}": shown.certificate_sha256,
        }
    return digests | {f"suite report {implementation.file}": implementation.sha256 for implementation in tested}


def _assumed(report: Report) -> Iterator[AssumedCondition]:
    for finding in report.findings:
        if finding.verdict is Verdict.ASSUMED:
            operands = {letter: escape(name) for letter, name in finding.operands}
            yield AssumedCondition(finding.where.place, finding.rule, finding.requires, finding.actual, operands)


def _limits(options: AuditOptions) -> Iterator[str]:
    """The sentences on what the pack does not claim."""
    yield from LIMITS
    parts = (
        (options.rewrites, pack_parts.LIMIT),
        (options.box, box_evidence.LIMIT),
        (options.derived_from, DERIVATION_LIMIT),
        (options.properties, PROPERTIES_LIMIT),
        (options.suites, suite_reports.LIMIT),
    )
    yield from (text for part, text in parts if part)


def _known(report: Report, used: Iterable[str]) -> list[Rule]:
    """Every rule that was evaluated, and every rule in force that had no subject."""
    active = ActiveRules(catalogue.editions().editions[report.edition], False, report.tailoring)
    rules = {rule.slug: rule for rule in (*(rule for rule, _ in active.general), *active.graph)}
    rules |= {rule.slug: rule for rule in report.rules.values()}
    return [rules[slug] for slug in sorted(rules)]


def _row(trace: Trace, report: Report) -> TracedRule:
    """One line of the matrix: the source of the rule, its cases and theorems, and its results on this model."""
    rule, answers = trace.rule, Counter[str]()
    for count in report.counts:
        if count.rule == rule.slug:
            answers[count.verdict.value] += count.number
    return TracedRule(
        rule=rule.slug,
        requirement=requirement_identifier(rule, report.edition),
        kind=rule.kind,
        statement=rule.statement,
        source=rule.source,
        tags=tuple(f"{tag.label}@{tag.text}" for tag in rule.tags),
        decided_by=rule.require.text if rule.require else None,
        code=tuple(trace.code),
        conforming_cases=tuple(trace.conforming),
        violating_cases=tuple(trace.violating),
        theorems=tuple(trace.theorems),
        errata=tuple(rule.errata),
        answers=answers,
    )


def _without(matrix: Sequence[Trace], used: Iterable[str]) -> Gaps:
    """What the matrix lacks, listed, so that a gap is not just an empty cell."""
    described = {name: catalogue.operator(name) for name in used}
    return Gaps(
        tuple(trace.rule.slug for trace in matrix if not trace.conforming),
        tuple(trace.rule.slug for trace in matrix if not trace.violating),
        tuple(trace.rule.slug for trace in matrix if not trace.theorems),
        tuple(name for name, operator in described.items() if operator is None),
        tuple(name for name, operator in described.items() if operator is not None and operator.specified is None),
    )


def _problems(rows: Iterable[TracedRule], used: Iterable[str]) -> Iterator[KnownProblem]:
    """The errata that concern the model: of the rules that had a subject in it, and of the operators that it uses."""
    names = {name for row in rows if row.answers for name in row.errata}
    for described in map(catalogue.operator, used):
        if described is not None:
            names.update(described.errata)
            names.update(name for output in described.outputs for name in output.errata)
            names.update(name for parameter in described.parameters for name in parameter.errata)
    errata = catalogue.errata()
    for name in sorted(names):
        erratum = errata[name]
        yield KnownProblem(
            name, tuple(erratum.document), erratum.place, erratum.defect, erratum.counterexample, erratum.reading
        )
