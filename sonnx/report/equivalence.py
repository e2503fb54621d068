"""The public result of a comparison of two models, as a document and as JSON (equivalence.schema.json)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from math import isnan
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from msgspec import structs

from sonnx.base.escaping import escape, escape_once, plural
from sonnx.base.files import write_folder
from sonnx.base.outward import lower_bound_text, upper_bound_text
from sonnx.base.reported import Result, json_text
from sonnx.equivalence.result import (
    INEXACT,
    Answer,
    Equivalence,
    Evidence,
    Narrowing,
    OpenPart,
    Quantum,
    RoundedConstant,
)
from sonnx.executor.tensor_files import npy
from sonnx.numerics.formats import Array
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing
from sonnx.report.graph_pair import Emphasis, PairedGraphs, pictures
from sonnx.report.rendered import Rendered

STANDINGS = {
    Answer.IDENTICAL: Standing.GOOD,
    Answer.ROUNDING: Standing.GOOD,
    Answer.NARROWED: Standing.OPEN,
    Answer.DIFFERENT: Standing.BAD,
    Answer.UNDECIDED: Standing.OPEN,
    Answer.IDENTICAL_AT_SIZES: Standing.OPEN,
    Answer.ROUNDING_AT_SIZES: Standing.OPEN,
    Answer.NARROWED_AT_SIZES: Standing.OPEN,
}
CRITERIA = {
    "output": "The output is the same function of the inputs in both models.",
    "constant": "The constants of both models differ by no more than the roundings of a fold explain.",
    "narrowing": "The values have fewer digits in one model than in the other one.",
    "open": "The nodes of both models between values that match, side by side.",
    "match": "Every value of one model that an output depends on has a partner in the other one.",
}
CLAIMS = {
    Answer.IDENTICAL: "the exact values are equal bit for bit, for every input",
    Answer.ROUNDING: "over the reals the functions are equal, for every input for which all values are finite",
    Answer.NARROWED: "over the reals the functions are equal once the listed narrowings are left out, for every input "
    "for which all values are finite",
    Answer.DIFFERENT: "an input shows that they are different functions",
    Answer.UNDECIDED: "neither is shown",
    Answer.IDENTICAL_AT_SIZES: "the exact values are equal bit for bit, for every input of these sizes",
    Answer.ROUNDING_AT_SIZES: "over the reals the functions are equal, for every input of these sizes for which all "
    "values are finite",
    Answer.NARROWED_AT_SIZES: "over the reals the functions are equal once the listed narrowings are left out, for "
    "every input of these sizes for which all values are finite",
}
RESTS_ON = {
    Evidence.EXACT: "shown by exact values in both precisions, not by enclosures of the ideal values",
    Evidence.REFERENCE: "shown by runs of {}, not by exact values",
}
"""What a difference rests on, where it is not shown for ideal values."""

IDEAL_ONLY = (
    "The answer is about exact and ideal values: two runs of one runtime may differ, because it may add up in another "
    "order in each model."
)
OPEN_MODELS = ("first.onnx", "second.onnx")
"""The files of the parts of both models that are left open."""

MAX_LISTED = 5
"""Operators that may jump, as formats for people list them."""


class EquivalenceDocument(Result, frozen=True):
    """Whether two models are the same function: sonnx equivalent --format json."""

    exit: Literal[0, 1, 3]
    """The exit code of the command."""
    result: Equivalence
    """What is known of the models."""


@dataclass(frozen=True, slots=True)
class EquivalenceReport(Rendered):
    """What is known of two models, with its renderings.

    Attributes:
        result: what is known.
        identical: whether only identical models pass.
        sizes_as_given: whether an answer for sizes that the tool chose passes.
        narrowings_as_listed: whether models that are equal but for narrowings pass.
        inputs: the arrays of the input on which the models differ, by the names of the first one.
        open_models: with the option `extract`, the bytes of both parts that are left open, as models.
        graphs: with the option `drawn`, both graphs.
    """

    result: Equivalence
    identical: bool = False
    sizes_as_given: bool = False
    narrowings_as_listed: bool = False
    inputs: Mapping[str, Array] = field(default_factory=dict)
    open_models: Sequence[bytes] = ()
    graphs: PairedGraphs | None = None

    @property
    def exit_code(self) -> Literal[0, 1, 3]:
        """0 where the models are the same function, 1 where they differ, 3 where neither is known."""
        return self.result.exit_code(
            identical=self.identical, sizes_as_given=self.sizes_as_given,
            narrowings_as_listed=self.narrowings_as_listed,
        )  # fmt: skip

    def witness_files(self) -> dict[str, bytes]:
        """The input on which the models differ: NAME.npy for each graph input of the first model, with `/` and other
        characters that a file name may lack as %2F.
        """
        return {f"{quote(name, safe='')}.npy": npy(name, array) for name, array in self.inputs.items()}

    def write_witness(self, folder: Path) -> bool:
        """Write the input on which the models differ to a new folder; whether one is known.

        Raises:
            OSError: the folder cannot be written.
        """
        files = self.witness_files()
        if files:
            write_folder(folder, files)
        return bool(files)

    def write_open_models(self, folder: Path) -> bool:
        """Write the parts of both models that are left open to a new folder; whether there are such.

        Raises:
            OSError: the folder cannot be written.
        """
        if self.open_models:
            write_folder(folder, dict(zip(OPEN_MODELS, self.open_models, strict=True)))
        return bool(self.open_models)

    def document(self) -> Document:
        """The result as a document."""
        return document(self.result, self.exit_code)

    def page(self) -> Document:
        """The document with drawings of both graphs."""
        if self.graphs is None:
            return self.document()
        names = self.result.first.name, self.result.second.name
        drawn = tuple(pictures(self.graphs.nodes, self.graphs.outlines, names, Emphasis.MATCHES))
        return structs.replace(self.document(), pictures=drawn)

    def to_json(self) -> str:
        """One JSON document (equivalence.schema.json)."""
        return json_text(EquivalenceDocument(exit=self.exit_code, result=self.result))


def document(result: Equivalence, code: int) -> Document:
    """The result of a comparison as a document: the outputs, the folded constants, where the models stop to match."""
    first, second = result.first.name, result.second.name
    outputs = tuple(
        CaseResult(
            "output",
            escape(output.first),
            output.answer.value,
            STANDINGS[output.answer],
            _output_text(result, output.first),
        )
        for output in result.outputs
    )
    sections = [Section("outputs", first, outputs)]
    if result.constants:
        rows = tuple(_constant_case(constant) for constant in result.constants)
        sections.append(Section("constants", first, rows, heads=("#gain", "#offset", "#relative", "#roundings")))
    if result.narrowings:
        sections.append(Section("narrowings", first, tuple(_narrowing_cases(result.narrowings))))
    if result.unmatched is not None and result.answer is not Answer.DIFFERENT:
        text = f"{result.unmatched.reason}; {result.unmatched.common:.0%} of what they are made of is the same"
        case = CaseResult(
            "match", f"{escape(result.unmatched.first)} / {escape(result.unmatched.second)}", "not matched",
            Standing.OPEN, escape_once(text),
        )  # fmt: skip
        sections.append(Section("first difference", first, (case,)))
    if result.open is not None:
        sections.append(Section("open part", first, tuple(_open_cases(result.open))))
    return Document(
        command="equivalent",
        title="are two models the same function?",
        subject=f"{escape(first)} and {escape(second)}",
        headline=headline(result),
        code=code,
        criteria={name: Criterion(text, "equivalence") for name, text in CRITERIA.items()},
        sections=tuple(sections),
        facts=tuple((term, escape_once(text)) for term, text in _facts(result)),
        notes=(IDEAL_ONLY,),
        tiles=tuple(_tiles(result)),
        hashes={file.name: file.sha256 for file in (result.first, result.second) if file.sha256},
    )


def _tiles(result: Equivalence) -> Iterator[tuple[str, str]]:
    """The outputs that are the same, the difference against its limit, and the sizes of both models."""
    same = sum(STANDINGS[output.answer] is Standing.GOOD for output in result.outputs)
    yield f"{same} of {len(result.outputs)}", "outputs are the same function"
    if result.largest_difference is not None:
        limit = "" if result.max_difference is None else f"; at most {result.max_difference!r} is accepted"
        yield upper_bound_text(result.largest_difference, 6), f"largest difference of two implementations{limit}"
    yield f"{result.first.nodes} and {result.second.nodes}", "nodes of both models"


def _narrowing_cases(narrowings: Sequence[Narrowing]) -> Iterator[CaseResult]:
    """A row for each format, kind and model: how many values have it, the first of them, and the largest quantum."""
    groups: dict[tuple[str, str, str], list[Narrowing]] = {}
    for narrowing in narrowings:
        groups.setdefault((narrowing.format, narrowing.kind, narrowing.narrower), []).append(narrowing)
    for (element, kind, model), listed in groups.items():
        names = [each.first if model == "first" else each.second for each in listed]
        more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
        text = f"{', '.join(names[:MAX_LISTED])}{more}"
        quanta = [each.quantum for each in listed if each.quantum is not None]
        if quanta:
            text += f"; neighbouring numbers are at most {upper_bound_text(max(quanta))} apart"
        ends = [(each.low, each.high) for each in listed if each.low is not None and each.high is not None]
        if ends:
            least, most = min(-low for low, _ in ends), min(high for _, high in ends)
            text += f"; numbers beyond the ends become these, of which the nearest are {-least:.6g} and {most:.6g}"
        title = f"{plural(len(names), kind)} to {element} in the {model} model"
        yield CaseResult("narrowing", title, "listed", Standing.OPEN, escape_once(text))


def _open_cases(part: OpenPart) -> Iterator[CaseResult]:
    """The nodes of both models side by side, what was tried, and what would decide them."""
    for first, second in zip_longest(part.first_nodes, part.second_nodes, fillvalue="-"):
        text = f"in the second model: {second}"
        yield CaseResult("open", escape(first), "not decided", Standing.OPEN, escape_once(text))
    text = f"tried: {', '.join(part.tried)}; what would decide it: {part.axiom}"
    name = f"{escape(part.first)} / {escape(part.second)}"
    yield CaseResult("open", name, "not decided", Standing.OPEN, escape_once(text))


def headline(result: Equivalence) -> str:
    """The answer, what it holds for, and for two models that round in other ways how far they may be apart."""
    claim = CLAIMS[result.answer]
    if result.not_valid:
        claim = escape_once("; ".join(result.not_valid))
    if result.constants:
        claim += ", but for the constants listed"
    return "; ".join([result.conditions.limited(f"{result.answer.value}: {claim}"), *_difference(result)])


def _difference(result: Equivalence) -> Iterator[str]:
    if result.answer.at_any_size not in INEXACT:
        return
    if result.largest_difference is None:
        yield "the difference is not bounded" + ("" if result.box else ": give --box")
    else:
        yield f"two implementations differ by at most {upper_bound_text(result.largest_difference, 6)}"
        if result.max_difference is not None and result.largest_difference > result.max_difference:
            yield f"more than the accepted {result.max_difference!r}"


def _output_text(result: Equivalence, name: str) -> str:
    output = next(each for each in result.outputs if each.first == name)
    parts = [] if output.second == name else [f"{escape(output.second)} in the second model"]
    witness = result.witness
    if witness is not None and witness.output == name:
        place = f"element {list(witness.at)}" if witness.at else "the shape"
        source = f"the generated input {witness.number}"
        if witness.non_zero is not None:
            numbers = plural(witness.non_zero, "number", "numbers")
            source = f"an input of {numbers} other than 0, made of {source}"
        has_numbers = witness.at and not all(map(isnan, witness.exact))
        numbers = f" is {witness.exact[0]!r} and {witness.exact[1]!r}" if has_numbers else " differs"
        parts.append(f"{place}{numbers} for {source} ({witness.kind} numbers, seed {witness.seed})")
        if witness.apart:
            parts.append(f"the ideal values there are at least {lower_bound_text(witness.apart)} apart")
        if witness.evidence in RESTS_ON:
            parts.append(RESTS_ON[witness.evidence].format(escape(witness.implementation)))
    return "; ".join(parts) or CLAIMS[output.answer]


def _constant_case(constant: RoundedConstant) -> CaseResult:
    gain, offset = upper_bound_text(constant.gain), upper_bound_text(constant.offset)
    text = f"on equal inputs x at most {gain} max |x| + {offset} apart"
    cells = (
        gain,
        offset,
        upper_bound_text(constant.relative),
        str(constant.roundings),
    )
    name = f"{escape(constant.first)} / {escape(constant.second)}"
    return CaseResult("constant", name, "explained", Standing.GOOD, text, cells=cells)


def _quantum_text(quantum: Quantum) -> str:
    return (
        f"{quantum.first} / {quantum.second}: on equal inputs at most one quantum apart, at elements whose ideal value "
        f"is within {upper_bound_text(quantum.reach, 2)} quanta of the middle between two integers"
    )


def _facts(result: Equivalence) -> Iterator[tuple[str, str]]:
    if result.same_content:
        yield "files", "both have the same bytes"
    if result.binding:
        yield "sizes", "chosen by the tool: the answer says nothing about others; --bind and --input-shape state yours"
    yield from result.conditions.facts()
    for output in result.outputs:
        if output.difference is not None:
            most = upper_bound_text(output.difference, 6)
            yield "difference", f"{output.first}: two implementations differ by at most {most} on the box"
    if result.constants:
        worst = max(constant.relative for constant in result.constants)
        many = plural(len(result.constants), "pair of values", "pairs of values")
        how = "folded or narrowed" if result.narrowings else "folded"
        yield how, f"the constants of {many}; the largest relative difference is {upper_bound_text(worst)}"
    yield from (("one quantum", _quantum_text(quantum)) for quantum in result.quanta[:MAX_LISTED])
    if len(result.quanta) > MAX_LISTED:
        yield "one quantum", f"and {plural(len(result.quanta) - MAX_LISTED, 'further pair', 'further pairs')} of values"
    yield from (("may jump", text) for text in result.decisions[:MAX_LISTED])
    if result.witness is not None:
        yield from (("program", line) for line in result.witness.program)
    if result.searched:
        ran = plural(result.searched, "generated set of inputs", "generated sets of inputs")
        yield "searched", f"both models ran exactly on {ran}"
    if result.bits:
        yield "seen", result.bits
    yield from (("theorem", name) for name in result.theorems)
    yield from (("assumed", text) for text in result.assumptions)
