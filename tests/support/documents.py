"""Results of every command with different values everywhere, and the JSON documents made of them.

Each document names its schema and has two results at least, so that every key takes two values (test_json_keys.py).
`python -m tests.support.documents` writes the expected documents of tests/data/documents; read what it changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
from msgspec import structs

from sonnx.base.reported import json_text
from sonnx.base.resources import tool_version
from sonnx.bounds.box import Interval
from sonnx.bounds.result import Bounds, DecisionBounds, SplitResult, TensorBounds
from sonnx.checker.conditions import MODEL, Conditions, DeviationDay, StatedDeviations, StatedTailoring
from sonnx.checker.deviation_records import Applied, DeviationRecord
from sonnx.checker.edition_difference import Changed, EditionDifference, ModelDifference, UnreadableModel
from sonnx.checker.report import Baseline, Count, Coverage, Finding, GoneFinding, NoVerdict, NoVerdictSentence, Report
from sonnx.checker.tailoring import Tailoring
from sonnx.checker.verdicts import Verdict, Where
from sonnx.equivalence.diff.changes import ModelChanges
from sonnx.equivalence.result import Answer, Equivalence
from sonnx.evidence.audit_document import AuditDocument, ChangeImpact
from sonnx.evidence.derivation import ComparedOriginal
from sonnx.executor.comparison import EQUAL, Comparison, Row
from sonnx.executor.distance import Difference, Distance
from sonnx.numerics.enclosures.arithmetic import SumOrder
from sonnx.numerics.enclosures.hypotheses import Accuracy, Hypotheses
from sonnx.numerics.enclosures.values import Condition
from sonnx.profile import catalogue
from sonnx.profile.definitions import Rule, Tag
from sonnx.properties.result import PropertyAnswer, PropertyResult
from sonnx.prover.model_proof import ModelProof
from sonnx.prover.results import ObligationResult, SolverAnswer, TheoremResult
from sonnx.prover.theorem import Theorem
from sonnx.report import (
    check,
    comparison_json,
    rendered,
)
from sonnx.report import json as check_json
from sonnx.report.box_evidence import ShownByBox
from sonnx.report.check import CheckReport
from sonnx.report.check_run import CheckRun
from sonnx.report.cut_record import CutRecord
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing
from sonnx.report.equivalence import EquivalenceReport
from sonnx.report.facts_json import FactsDocument
from sonnx.report.fix_record import AppliedRewrite, KeptNode, ReadRecord, Validation
from sonnx.report.model_changes import ModelChangesReport
from sonnx.report.rules import rules_of
from sonnx.report.run import ExpectedOutput, RunReport
from sonnx.report.theorems import TheoremReport
from sonnx.rewriter.cost import Cost
from sonnx.rewriter.fix_report import FixResult
from sonnx.suite.archive import Suite
from sonnx.suite.difference import RunDifference
from sonnx.suite.result import AppliedRecords, SuiteRun
from tests.support.filled import filled
from tests.support.paths import ROOT

FOLDER = ROOT / "tests" / "data" / "documents"


def digest(letter: str) -> str:
    """A text that looks like a SHA-256."""
    return letter * 64


# ------------------------------------------------------------------ conditions

FULL = Conditions(
    "2025-10", False, {"N": 3}, {"a": (1, 2)}, {"x": (1, 3)}, ("x=[0,1]",), ("N >= 1",), "only Max", True,
    StatedTailoring("Project", "t.toml", digest("e")),
    StatedDeviations("d.toml", digest("f"), "2026-05-06", (
        DeviationDay("record-7", "Max.broadcastable", "2027-01-02"),
        DeviationDay("record-8", "explicit-shape", "2028-03-04"),
    )),
    "ieee-any", ("--accept-assumptions", "--max-error 2"), ("--split 3 s", "--search 2 s"),
    {MODEL: digest("d"), "property": digest("e")},
)  # fmt: skip
PLAIN = Conditions("2026-11")
OTHER = Conditions(
    "2026-08", tailoring=StatedTailoring("Company", "u.toml", digest("1")),
    deviations=StatedDeviations("g.toml", digest("2"), "2027-08-09", ()), hypotheses="narrow",
    sizes={"M": 4}, input_shapes={"b": (2,)}, tried={"y": (4,)}, box=("z=[2,3]",), assume=("M >= 2",),
    selection="only Add", settings=("--seed 4",), budgets=("--timeout",), digests={MODEL: digest("3")},
)  # fmt: skip


def conditioned(kind: Any, number: int) -> Any:
    """A result with every field filled, with conditions that a result can have."""
    return structs.replace(filled(kind, number), conditions=(FULL, OTHER, PLAIN)[number])


# ------------------------------------------------------------------ check

RULES = {
    "no-sparse-tensor": Rule("no-sparse-tensor", "graph", "restriction", "No tensor is sparse.", "Sparse is hard.",
                             "Make it dense.", "Text, GR1", errata=("sparse-one",)),
    "Max.same-shape": Rule("Max.same-shape", "node", "validity", "All have one shape.", "They are compared.",
                           "Reshape them.", "Text, R2"),
    "Max.broadcastable": Rule("Max.broadcastable", "node", "error-condition", "They broadcast.", "Else no value.",
                              "Expand them.", "Text, E1"),
    "tailoring.no-lstm": Rule("tailoring.no-lstm", "node", "project", "No LSTM.", "It is slow.", "Unroll it.", "Plan"),
    "explicit-shape": Rule("explicit-shape", "value", "restriction", "Shapes are stated.", "Memory is planned.",
                           "Declare it.", "Text, GR2", errata=("shape-one", "shape-two")),
}  # fmt: skip
NODE = Where("graph/node[4]", "node", "conv1", "Max", 13, "c1")
VALUE = Where("graph/value_info[2]", "value", "")
FINDINGS = (
    Finding("no-sparse-tensor", Verdict.FAIL, VALUE, "w is sparse", "dense tensors",
            tags=(Tag("2025-10", "GR1", "Transient"), Tag("2025-11", "E1", "Link"))),
    Finding("Max.same-shape", Verdict.UNDECIDED, NODE, "A is [2]", "", True, (), "Max.broadcastable",
            (("A", "'x'"), ("B", "'y'")), "axes = [1]", state="new"),
    Finding("Max.broadcastable", Verdict.DEVIATED, NODE, "B is [3]", "A fits B", deviation="record-7",
            state="unchanged"),
    Finding("explicit-shape", Verdict.FAIL, VALUE, "x has no shape", "a shape", errata=("dequantize-int32-only",)),
)  # fmt: skip
GONE = (
    GoneFinding("Max.same-shape", Verdict.FAIL, NODE, "A was [7]"),
    GoneFinding("explicit-shape", Verdict.UNDECIDED, Where("graph/input[0]", "value", "z", "", None), "z had no shape"),
)
DEVIATIONS = (
    DeviationRecord(
        "record-7", "Max.broadcastable", digest("b"), (), "It is known.", "None.", "A. Person", date(2027, 1, 2)
    ),
    DeviationRecord(
        "record-8", "explicit-shape", digest("c"), (), "It is old.", "Some.", "B. Person", date(2028, 3, 4)
    ),
)


def full_report() -> Report:
    """A report with everything."""
    return Report(
        "full.onnx", structs.replace(FULL, digests={MODEL: digest("d")}), Verdict.FAIL, FINDINGS,
        (Count("Max.same-shape", Verdict.UNDECIDED, "", 5),
         Count("no-sparse-tensor", Verdict.NOT_APPLICABLE, "none", 6)),
        Coverage(11, 9, 8, 7, 6, 5), ("A note.", "Another note."), RULES,
        (("b", ("batch", "?", "4")),), None,
        Tailoring("t.toml", digest("e"), "Project", "2025-10", True, (), ()),
        Applied("d.toml", digest("f"), date(2026, 5, 6), DEVIATIONS),
        Baseline("old.json", digest("a"), 3, 1, GONE),
    )  # fmt: skip


def plain_report() -> Report:
    """A report with nothing beside the verdict."""
    return Report(
        "plain.onnx", PLAIN, Verdict.ASSUMED, (), (), Coverage(1, 2, 3, 4, 10, 12), (), {},
    )  # fmt: skip


def other_report() -> Report:
    """A report with other project files."""
    return Report(
        "other.onnx", OTHER, Verdict.PASS, (), (), Coverage(0, 0, 0, 0, 0, 0), (), {},
        tailoring=Tailoring("u.toml", digest("1"), "Company", "2026-08", False, (), ()),
        deviations=Applied("g.toml", digest("2"), date(2027, 8, 9), ()),
        baseline=Baseline("older.json", digest("9"), 0, 2, ()),
    )  # fmt: skip


def check_documents() -> list[str]:
    """Reports and files without a report; assumptions that count as open, and that do not."""
    without = {
        "bad.onnx": NoVerdictSentence("it is not a model"),
        "slow.onnx": NoVerdictSentence("it was stopped", NoVerdict.STOPPED),
        "odd.onnx": NoVerdictSentence("the tool failed", NoVerdict.FAILED),
    }
    return [
        check_json.render(CheckRun([full_report(), plain_report()], without, 4)),
        check_json.render(CheckRun([plain_report(), other_report()], {}, 0, accept_assumptions=True)),
    ]


def facts_documents() -> list[str]:
    """Three documents of facts."""
    return [json_text(filled(FactsDocument, number)) for number in range(3)]


# ------------------------------------------------------------------ run, compare, bound


def run_documents() -> list[str]:
    """A checked run and an unchecked one."""
    compared = (
        ExpectedOutput("y", 6, Difference("at [1, 2]", "1.5", "2.5", 4, 6)),
        ExpectedOutput("z", 7, None),
        ExpectedOutput("w", 8, Difference("in its type", "float", "double", 8, 8)),
    )
    arrays: dict[str, Any] = {"y": np.zeros((2, 3), np.float32), "z": np.zeros(7, np.int64)}
    counts = {"Sin": (100, 3), "MatMul": (50, 0)}
    full = RunReport("m.onnx", arrays, CheckReport.of(plain_report()), True, counts, FULL, ("Erf", "Einsum"), compared)
    written = structs.replace(full, written=("out/y.npy", "out/z.npy"))
    return [written.to_json(), RunReport("n.onnx", {}, None, False, {}, OTHER).to_json()]


def comparison_documents() -> list[str]:
    """Three comparisons, two of them with reasons for their exit codes."""
    reasons: list[list[str]] = [["y is 7 ulp away", "t fails"], [], ["u fails"]]
    comparisons = [
        replace(filled(Comparison, number), conditions=conditions)
        for number, conditions in enumerate((FULL, OTHER, PLAIN))
    ]
    diverging = structs.replace(filled(Row, 1), way=EQUAL, distance=structs.replace(filled(Distance, 1), identical=0))
    comparisons[0] = replace(comparisons[0], rows=(diverging, *comparisons[0].rows))
    return [comparison_json.render(each, said) for each, said in zip(comparisons, reasons, strict=True)]


def bounds_documents() -> list[str]:
    """Bounds with everything, and of a model that was not checked."""
    functions = {"default": Accuracy(1.0, 0.5), "Exp": Accuracy(4.0, 0.25)}
    full_hypotheses = Hypotheses(
        "wide", "Sums in lanes.", SumOrder("lanes", 8), True, True, True, {"float16": "float", "bfloat16": "double"},
        functions, ("TF32", "Winograd"), {"someruntime": ("1.2", "1.3")},
    )  # fmt: skip
    other = Hypotheses(
        "narrow", "Any order.", SumOrder("any"), False, False, False, {}, {"default": Accuracy(2.0, 0.0)}, ()
    )

    def array(*values: float) -> Any:
        return np.array(values)

    tensors = (
        TensorBounds("t", "add", "float", array(-1, -2), array(3, 1), array(0.25, 0.5), array(0.75, 2.5)),
        TensorBounds("v", "tanh", "float", array(-1), array(1), array(0.125), array(800.0)),
        TensorBounds("y", "conv", "float16", array(-4), array(5), array(0.125), array(0.375), True),
        TensorBounds("z", "div", "double", array(0), array(0), array(0), array(0), True, "div by 0"),
        TensorBounds("e", "pad", "int8", array(), array(), array(), array(), True),
        TensorBounds("l", "max", "float", np.arange(65.0), np.arange(65.0) + 1, np.ones(65) / 8, np.ones(65) / 4, True),
    )
    full = Bounds(
        "m.onnx", OTHER, full_hypotheses, tensors,
        (Condition("div", "divisor-not-zero", True, "from 1 to 2"), Condition("log", "positive", False, "from -1")),
        (DecisionBounds("0 - 1", -1.0, 2.0, 0.5, False), DecisionBounds("argmax is 3", np.inf, np.inf, np.inf, True),
         DecisionBounds("2 - 1", 3.0, 4.0, 0.25, True)),
        {"a": Interval(array(-1, 0), array(1, 4)), "p": Interval(array(2), array(2)), "n": Interval(array(), array())},
        (("conv", 0.75), ("add", 0.25)),
        SplitResult(8, 0.5, False, "8 boxes"), coarse=("t", "u"),
        files={"a.npy": digest("c")}, attained=0.75, not_run=("pool",),
    )  # fmt: skip
    split = SplitResult(2, 1.0, True, "2 boxes")
    plain = structs.replace(
        full, model="n.onnx", conditions=structs.replace(FULL, digests={}), hypotheses=other, tensors=tensors[:2],
        met=(), decisions=(), box={}, shares=(), split=None, coarse=(), files={}, attained=None, not_run=(),
    )  # fmt: skip
    return [
        json_text(full),
        json_text(structs.replace(plain, every_node=False)),
        json_text(structs.replace(plain, split=split, every_node=False)),
    ]


# ------------------------------------------------------------------ prove


def proof_documents() -> list[str]:
    """Three proofs of models, of which one is proved."""
    full, plain, other = (conditioned(ModelProof, number) for number in range(3))
    proved = structs.replace(plain, refuted=(), open=(), nodes=plain.nodes_judged)
    first, *further = full.questions
    confirmed = structs.replace(first, answers=(SolverAnswer("cvc5", "1", first.expected),))
    return [json_text(each) for each in (structs.replace(full, questions=(confirmed, *further)), proved, other)]


def theorem_documents() -> list[str]:
    """Theorems of all kinds."""

    def none() -> tuple[()]:
        return ()

    def result(theorem: Theorem, *obligations: ObligationResult, **more: Any) -> TheoremResult:
        return TheoremResult(theorem, obligations, digest(theorem.id[0]), **more)

    decided = [
        ObligationResult("first", digest("3"), (SolverAnswer("z3", "4.1", "unsat", 7),
                                                SolverAnswer("cvc5", "1.2", "unsat", 8))),
        ObligationResult("second", digest("4"), (SolverAnswer("z3", "4.1", "sat", 9),)),
        ObligationResult("third", digest("5"), (), computed="one text"),
        ObligationResult("fourth", digest("6"), (SolverAnswer("z3", "4.1", "unknown", 2),)),
        ObligationResult("fifth", digest("6"), (SolverAnswer("bitwuzla", "0.7", "refused"),), trivial="the same"),
        ObligationResult("sixth", digest("6"), (), vacuous="unsat"),
    ]  # fmt: skip
    full = Theorem("b.false", "It is so.", "a < b", none, expected="refuted", bounds="rank <= 4", sort="bits",
                   bound_reason="ranks are listed", reason_single="cvc5 cannot", because="It is printed.",
                   erratum="e-one")  # fmt: skip
    proved = Theorem("a.true", "It holds.", "a <= b", none, any_size="by induction", induction="prose: over the axes")
    return [
        json_text(TheoremReport((
            result(full, decided[1], counterexample=(("a", 1), ("b", 0)), replayed="1 < 0", unconfirmed="it is 1"),
            result(proved, decided[0], recorded=True),
            result(replace(proved, id="c.text", sort="float"), decided[2]),
            result(replace(proved, id="d.witness", expected="found"), decided[1]),
            result(replace(proved, id="e.absent", expected="found"), decided[0]),
            result(replace(proved, id="f.open"), decided[3], unanswered=NoVerdictSentence("it was stopped")),
            result(proved, decided[4]),
            result(proved, decided[5]),
        ))),
        json_text(TheoremReport(())),
    ]  # fmt: skip


# ------------------------------------------------------------------ fix, editions


COSTS = Cost(10, 20, 0), Cost(12, 18, 1)


def rewrite_documents() -> list[str]:
    """Records of a model that still fails, and of one that was not compared."""
    full_before = structs.replace(full_report(), findings=(*FINDINGS, FINDINGS[2]))
    before, after = CheckReport.of(full_before), CheckReport.of(plain_report())
    applied = (
        AppliedRewrite("explicit-padding", "t", ("Conv.explicit-padding",), NODE, "SAME", "pads", "pads.same", ""),
        AppliedRewrite(
            "rename", "u", (), VALUE, "x", "y", changes="the name of an input", value="y", difference=0.5, bounded=True
        ),
    )
    validation = Validation(
        5, 4, 3, 200, False, 2, ("rename",), "it has no type", ("Erf",), ("fold",), "one run failed",
        Answer.UNDECIDED, "'a' and 'b': two constants differ", ("x=[0,1]",), "ieee-any",
        {"y": 0.5, "z": None}, ("pow-constant",), ("channels",),
    )  # fmt: skip
    failing = CheckReport.of(Report(
        "new.onnx", structs.replace(FULL, deviations=None), Verdict.FAIL, (*FINDINGS[::2], FINDINGS[0]), (),
        Coverage(0, 0, 0, 0, 0, 0), (), RULES,
    ))  # fmt: skip
    kept = (KeptNode("graph/node[3]", "mixed", "Conv", 2.5), KeptNode("graph/node[4]", "", "Transpose", 8.0))
    full = FixResult(before, failing, applied, {}, validation, FULL, b"new", COSTS, kept=kept)
    quiet = FixResult(after, after, (), {}, Validation(1, 1, 2, 8), OTHER, b"other", COSTS)
    return [full.to_json("folder/out.onnx"), quiet.to_json()]


def difference_documents() -> list[str]:
    """Two editions with a model of each kind, and two that are equal."""
    full = EditionDifference(
        FULL, "2025-10", "2026-08", ("Sin",), ("Cos", "Tan"), ("Max.same-shape",),
        ("Max.broadcastable", "explicit-shape"),
        (Changed("Max", "the text", "2025-10", "2026-08"), Changed("Add.same-type", "the class", "a", "b")),
    )  # fmt: skip
    models = [
        ModelDifference("m.onnx", full_report(), plain_report(), FINDINGS[:2], FINDINGS[1:]),
        ModelDifference("n.onnx", plain_report(), other_report(), (), ()),
    ]
    same = EditionDifference(OTHER, "2026-08", "2026-11", (), (), (), (), ())
    unreadable = (UnreadableModel("bad.onnx", "it is not a model"), UnreadableModel("worse.onnx", "it is empty"))
    return [json_text(structs.replace(full, models=tuple(models), unreadable=unreadable)), json_text(same)]


def equivalence_documents() -> list[str]:
    """Three comparisons of models."""
    return [EquivalenceReport(conditioned(Equivalence, number)).to_json() for number in range(3)]


def change_documents() -> list[str]:
    """Changes between two models, and none."""
    first = conditioned(ModelChanges, 0)
    unchanged = structs.replace(conditioned(ModelChanges, 1), nodes=(), findings=(), header=(), answer=Answer.IDENTICAL)
    return [ModelChangesReport(each).to_json() for each in (first, conditioned(ModelChanges, 1), unchanged)]


def property_documents() -> list[str]:
    """A property that is violated, with the input, and one that is not decided."""
    violated = structs.replace(conditioned(PropertyResult, 1), witness={"x": np.array([[0.5, -2.0]], np.float32)})
    mixed = conditioned(PropertyResult, 0)
    holding = tuple(structs.replace(task, answer=PropertyAnswer.HOLDS) for task in mixed.tasks)
    return [mixed.to_json(), violated.to_json(), structs.replace(mixed, tasks=holding).to_json()]


def cut_documents() -> list[str]:
    """The parts of two models."""
    return [json_text(filled(CutRecord, number)) for number in range(2)]


def audit_documents() -> list[str]:
    """Documents of evidence packs: two with every optional part, one with none, and one with parts that lack theirs."""
    parts = {"rewrites": ReadRecord, "since": ChangeImpact, "derived_from": ComparedOriginal, "box": ShownByBox}
    full, plain, other = (conditioned(AuditDocument, number) for number in range(3))
    partial = structs.replace(plain, **{name: filled(kind, 1) for name, kind in parts.items()})
    return [json_text(each) for each in (full, plain, other, partial)]


def suite_documents() -> list[str]:
    """Two suites."""
    suites = [filled(Suite, number) for number in range(2)]
    editions = ("2026-11", "2025-10")
    return [
        json_text(structs.replace(suite, parts=tuple(structs.replace(part, edition=edition) for part in suite.parts)))
        for suite, edition in zip(suites, editions, strict=True)
    ]


def suite_run_documents() -> list[str]:
    """Two runs of a suite, and one without deviations."""
    editions = ("2026-11", "2025-10")
    runs = [
        structs.replace(filled(SuiteRun, number), edition=edition, suite_sha256=digest(str(number)))
        for number, edition in enumerate(editions)
    ]
    known = structs.replace(filled(AppliedRecords, 2), records=(), without_bound=())
    plain = structs.replace(runs[0], deviations=(), problems=(), operators={}, known=known)
    return [each.to_json() for each in (*runs, plain)]


def suite_difference_documents() -> list[str]:
    """Two differences of runs, and one without changes."""
    made = [
        structs.replace(filled(RunDifference, number), edition=edition)
        for number, edition in enumerate(("2026-11", "2025-10"))
    ]
    return [each.to_json() for each in (*made, structs.replace(made[0], changes=(), not_run=()))]


DOCUMENTS: Mapping[str, Callable[[], list[str]]] = {
    "report": check_documents,
    "facts": facts_documents,
    "run": run_documents,
    "comparison": comparison_documents,
    "bounds": bounds_documents,
    "proof": proof_documents,
    "theorems": theorem_documents,
    "rewrites": rewrite_documents,
    "difference": difference_documents,
    "equivalence": equivalence_documents,
    "model_changes": change_documents,
    "property": property_documents,
    "cut": cut_documents,
    "audit": audit_documents,
    "suite": suite_documents,
    "suite_run": suite_run_documents,
    "suite_difference": suite_difference_documents,
}
"""By the name of the schema."""


def case(criterion: str, name: str, standing: Standing, **more: Any) -> CaseResult:
    """A result whose message names it."""
    return CaseResult(criterion, name, f"is {standing}", standing, f"of {name} <{{&}}>", **more)


def rendered_document() -> Document:
    """A document with results of each standing, equal ones, and more places than GitHub lists."""
    node = Where("graph/node[1]", "node", "n", "Max", 13)
    criteria = {
        "one": Criterion("It is one.", "validity", "So it is.", "Mend it.", "Text", ("R1@2025-10", "E1@2025-11"),
                         "https://e.org/one", "sonnx explain one", "rename"),
        "two": Criterion("It is [two](x).", "theorem"),
    }  # fmt: skip
    details = (("required", "a {brace}"), ("meaning", "not valid"))
    cases = (
        case("two", "a", Standing.GOOD, details=details),
        case("one", "b", Standing.BAD, where=node, details=details, grave=True),
        case("one", "b", Standing.BAD, where=node),
        case("two", "c", Standing.BAD),
        case("two", "d", Standing.OPEN, where=Where("graph", "graph", "g")),
        case("two", "e", Standing.OPEN, folded=True, where=Where("graph/input[0]", "value")),
        case("one", "f", Standing.ASSUMED, where=Where("graph/initializer[2]", "tensor", "w"), properties={"own": 1}),
        case("one", "g", Standing.NOTE, where=Where("m", "model", "m")),
        case("one", "h", Standing.SKIPPED, where=Where("functions[0]", "function", "fun")),
        case("one", "i", Standing.JUSTIFIED, where=node, justification="It is known."),
        case("one", "j", Standing.NOT_APPLICABLE),
    )
    many = tuple(case("two", f"k{place}", Standing.BAD) for place in range(22))
    sections = (
        Section("first", "a folder/m.onnx", cases, note="A remark.", heads=("#number",)),
        Section("second", "/n.onnx", many),
    )
    return Document(
        "prove", "proof of it", "m.onnx", "it fails", 1, criteria, sections, (("edition", "2026-11"),), ("A note.",),
        {"a folder/m.onnx": digest("a")}, (("next", "mend it"),), unreadable={"bad.onnx": "it is `bad`"},
    )  # fmt: skip


def overview_document() -> Document:
    """A document whose sections have verdicts of their own, with assumptions that are accepted."""
    found = rendered_document()
    plain, _ = found.sections
    sections = (
        structs.replace(plain, headline="it conforms", facts=(("verdict", "fail"),), notes=("Own.", "Two.")),
        Section("third", "standard input", plain.cases[:1] + plain.cases[6:7], headline="it passes"),
    )
    heads = ("model", "verdict", "edition")
    rows = (("first", "fail", "2025-10"), ("th|ird", "pass", "2026-11"))
    return structs.replace(
        found, sections=sections, overview=(heads, *rows), accepted=True, properties={"reports": []}, unreadable={}
    )


RENDERED = {"cases": rendered_document, "overview": overview_document}
FORMATTED = ("check.sarif", "check.junit", "check.github") + tuple(
    f"{document}.{form}" for document in RENDERED for form in ("sarif", "junit", "github", "markdown")
)
"""Documents in formats that programs read, as NAME.FORMAT."""


def formatted(file: str) -> str:
    """A document in a format, without the version of the tool and what SARIF states of the rules of the profile."""
    document, name = file.split(".")
    if document in RENDERED:
        text = rendered.render_document(name, RENDERED[document]())
        return text.replace(f'"version": "{tool_version()}"', '"version": "VERSION"').replace(
            f"# sonnx {tool_version()}:", "# sonnx VERSION:"
        )
    run = CheckRun([full_report(), plain_report()], {"bad.onnx": NoVerdictSentence("it is not a model")}, 2)
    text = check.render(name, run)
    if name != "sarif":
        return text
    log = json.loads(text)
    driver, results = log["runs"][0]["tool"]["driver"], log["runs"][0]["results"]
    assert driver.pop("version") == tool_version()
    rules = driver["rules"]
    assert [rules[result["ruleIndex"]]["id"] for result in results] == [result.pop("ruleId") for result in results]
    named = [rules[place] for place in dict.fromkeys(result.pop("ruleIndex") for result in results)]
    of_profile = {rule.slug for rule in rules_of(catalogue.editions().editions[full_report().edition])}
    driver["rules"] = [rule for rule in named if rule["id"] not in of_profile]
    return json.dumps(log, indent=1) + "\n"


def documents(name: str) -> list[Any]:
    """The documents of a schema, with the version of the tool left out."""
    found = [json.loads(text) for text in DOCUMENTS[name]()]
    for each in found:
        each["tool"]["version"] = "VERSION"
    return found


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in FORMATTED:
        (FOLDER / each).write_text(formatted(each), "utf-8")
    for each in DOCUMENTS:
        (FOLDER / f"{each}.json").write_text(json.dumps(documents(each), indent=1, ensure_ascii=False) + "\n", "utf-8")
