"""Whether two models are the same function: the terms of both, the walk over pairs, and the search for an input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from sonnx.base.errors import BadInput, Stop
from sonnx.base.escaping import quote
from sonnx.bounds.analysis import Analyser
from sonnx.bounds.box import box_of_texts
from sonnx.equivalence.axioms import axioms
from sonnx.equivalence.counterexamples import NO_VALUE, Search, Searched
from sonnx.equivalence.interpretation import required, terms_of
from sonnx.equivalence.options import EquivalenceOptions, PairOptions
from sonnx.equivalence.reach import reach
from sonnx.equivalence.result import (
    Answer,
    ComparedOutput,
    DifferingInput,
    Equivalence,
    File,
    Quantum,
    RoundedConstant,
    Unmatched,
)
from sonnx.equivalence.terms import Store, Term, empty_store
from sonnx.equivalence.walk import Cut, Mismatch, Walk
from sonnx.executor.executor import required_inputs
from sonnx.executor.preparation import RunDomain
from sonnx.executor.probes import probe
from sonnx.model.ir import NOT_STATED, Model, Type
from sonnx.model.scopes import stored_tensors
from sonnx.model.symbols import UnknownSymbol, bind_symbols
from sonnx.numerics.application import NoValue
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.formats import Array
from sonnx.profile import catalogue

BOUND_TO = (1, 2)
"""Numbers of symbols for which models are compared that are not matched for all numbers: the answer is that for the
first one, unless the second one shows a difference, or a value that only one model has."""


NO_KIND = NOT_STATED.kind


class Side(Struct, frozen=True):
    """One of the two models, with where its file stands."""

    model: Model
    file: File
    folder: Path | None


class Pairing(Struct, frozen=True):
    """For inputs and outputs of the first model their names in the second one."""

    inputs: Mapping[str, str]
    outputs: Mapping[str, str]

    @property
    def keeps_names(self) -> bool:
        """Whether every name is paired with itself."""
        return all(name == other for names in (self.inputs, self.outputs) for name, other in names.items())


class Matched(Struct, frozen=True):
    """What the terms of both models gave."""

    answers: Mapping[str, Answer]
    walk: Walk
    named: tuple[Mapping[int, str], Mapping[int, str]]

    @property
    def decided(self) -> bool:
        """Whether every pair of outputs is equal."""
        return all(answer in (Answer.IDENTICAL, Answer.ROUNDING) for answer in self.answers.values())


def compare_models(
    first: Side, second: Side, options: EquivalenceOptions, domain: RunDomain | None = None
) -> Equivalence:
    """Whether two models are the same function; `domain` has what earlier runs have prepared of calls.

    Raises:
        BadInput: other inputs or outputs, or other types.
        UsageError: an unknown edition, a symbol that neither model has, or hypotheses that do not exist.
    """
    edition = catalogue.edition_named(options.edition).name
    first, second = (sized_side(side, options) for side in _with_known_symbols(first, second, options))
    pairing = paired(first.model, second.model, options.renamed)
    if pairing.keeps_names and not options.box and _same_content(first, second):
        outputs = tuple(ComparedOutput(name, other, Answer.IDENTICAL) for name, other in pairing.outputs.items())
        return Equivalence(first.file, second.file, edition, Answer.IDENTICAL, outputs, same_content=True)
    matched = _matched(first, second, pairing, edition, domain)
    if matched.decided:
        return _result(first, second, pairing, edition, options, matched, {}, Searched(None, 0, ""))
    asked = Asked(pairing, edition, options, domain)
    shapes = [_open_inputs(first.model, pairing, number) for number in BOUND_TO]
    if not shapes[0]:
        return asked.bound(first, second, {}, matched)
    equivalence = asked.bound(first, second, shapes[0], None)
    other = asked.bound(first, second, shapes[1], None) if equivalence.proved else equivalence
    return other if other.answer is Answer.DIFFERENT or (not other.proved and NO_VALUE in other.bits) else equivalence


def _same_content(first: Side, second: Side) -> bool:
    """Whether both are one file; equal files in two folders may have other external data."""
    if not first.file.sha256 or first.file.sha256 != second.file.sha256:
        return False
    if all(tensor.external is None for side in (first, second) for tensor in stored_tensors(side.model)):
        return True
    return first.folder is not None and second.folder is not None and first.folder.samefile(second.folder)


class Asked(Struct, frozen=True):
    """What two models are asked for."""

    pairing: Pairing
    edition: str
    options: EquivalenceOptions
    domain: RunDomain | None

    def bound(
        self, first: Side, second: Side, binding: Mapping[str, tuple[int, ...]], matched: Matched | None
    ) -> Equivalence:
        """The result for inputs of these shapes; of models that do not match by a search too."""
        first = shaped_side(first, binding)
        second = shaped_side(second, {self.pairing.inputs[name]: shape for name, shape in binding.items()})
        matched = matched or _matched(first, second, self.pairing, self.edition, self.domain)
        searched, options = Searched(None, 0, ""), self.options
        if not matched.decided and options.runs:
            search = Search(
                first.model, second.model, (first.folder, second.folder), self.edition, self.pairing.inputs,
                self.pairing.outputs, options.hypotheses, _operators(first.model) != _operators(second.model),
            )  # fmt: skip
            searched = search.found(options.runs, options.seed)
        return _result(first, second, self.pairing, self.edition, options, matched, binding, searched)


def _matched(first: Side, second: Side, pairing: Pairing, edition: str, domain: RunDomain | None) -> Matched:
    store = empty_store(edition) if domain is None else Store(domain)
    names = {name: name for name in pairing.inputs}
    mine, every = terms_of(first.model, store, first.folder, names)
    others = {other: name for name, other in pairing.inputs.items()}
    its, every_other = terms_of(second.model, store, second.folder, others)
    walk, answers = Walk(store), {}
    for name, other in pairing.outputs.items():
        one, another = mine.get(name), its.get(other)
        if one is None or another is None or "declared" in (one.operator, another.operator):
            answers[name] = Answer.UNDECIDED
        elif one is another:
            answers[name] = Answer.IDENTICAL
        else:
            answers[name] = Answer.ROUNDING if walk.matches(one, another) else Answer.UNDECIDED
    return Matched(answers, walk, (_names(every), _names(every_other)))


def _names(values: Mapping[str, Term]) -> dict[int, str]:
    names: dict[int, str] = {}
    for name, term in values.items():
        names.setdefault(term.number, name)
    return names


def _result(
    first: Side,
    second: Side,
    pairing: Pairing,
    edition: str,
    options: EquivalenceOptions,
    matched: Matched,
    binding: Mapping[str, tuple[int, ...]],
    searched: Searched,
) -> Equivalence:
    walk, witness = matched.walk, searched.witness
    cuts = [cut for cut in walk.cuts.values() if not cut.is_exact] if matched.decided else []
    bounds = _bounds(first, second, pairing, options, exact=not cuts) if options.box and matched.decided else {}
    outputs = tuple(
        ComparedOutput(name, other, _answer(matched.answers[name], name, witness), bounds.get(name))
        for name, other in pairing.outputs.items()
    )
    answer = _weakest([output.answer for output in outputs])
    if answer is Answer.ROUNDING:
        for axiom in axioms().values():
            if axiom.level == "real":
                walk.store.rest_on(axiom.name)
    quanta = [(pair, _quantum(pair, matched)) for pair in walk.quanta.values()]
    jumps = [*walk.decisions.values(), *(pair for pair, quantum in quanta if quantum is None)]
    theorems = tuple(walk.store.theorems) if answer in (Answer.IDENTICAL, Answer.ROUNDING) else ()
    return Equivalence(
        first=first.file,
        second=second.file,
        edition=edition,
        answer=answer,
        outputs=outputs,
        binding=binding,
        constants=tuple(sorted((_constant(cut, matched) for cut in cuts), key=lambda constant: -constant.relative)),
        decisions=tuple(
            dict.fromkeys(f"{one.operator}: {_name(one, matched.named[0])}" for one, _ in jumps)
        ) if answer is Answer.ROUNDING else (),
        quanta=tuple(quantum for _, quantum in quanta if quantum is not None) if answer is Answer.ROUNDING else (),
        unmatched=None if matched.decided else _unmatched(matched),
        witness=witness,
        searched=searched.runs,
        bits="" if witness is not None else searched.bits,
        assumptions=tuple(walk.store.assumptions),
        theorems=theorems,
        hypotheses=options.hypotheses if options.box else "",
        box=tuple(options.box),
    )  # fmt: skip


def _answer(found: Answer, name: str, witness: DifferingInput | None) -> Answer:
    return Answer.DIFFERENT if witness is not None and witness.output == name else found


def _weakest(answers: Sequence[Answer]) -> Answer:
    order = (Answer.DIFFERENT, Answer.UNDECIDED, Answer.ROUNDING, Answer.IDENTICAL)
    return next((answer for answer in order if answer in answers), Answer.IDENTICAL)


def _constant(cut: Cut, matched: Matched) -> RoundedConstant:
    one, other = _name(cut.one, matched.named[0]), _name(cut.other, matched.named[1])
    return RoundedConstant(one, other, cut.gain, cut.offset, cut.relative, cut.roundings)


def _quantum(pair: tuple[Term, Term], matched: Matched) -> Quantum | None:
    """How two quantized values may differ, None where it may be by more than one quantum."""
    reaches = [reach(matched.walk.forms, term) for term in pair]
    if reaches[0] is None or reaches[1] is None:
        return None
    return Quantum(_name(pair[0], matched.named[0]), _name(pair[1], matched.named[1]), max(reaches[0], reaches[1]))


def _name(term: Term, names: Mapping[int, str]) -> str:
    name = names.get(term.number)
    if name is not None:
        return name
    return f"a value of {term.operator}" if term.operator != "moved" else "moved elements"


def witness_inputs(first: Side, options: EquivalenceOptions, found: Equivalence) -> dict[str, Array]:
    """The arrays of the input on which two models differ, by the names of the first one; none where there is none."""
    if found.witness is None:
        return {}
    side = shaped_side(sized_side(first, options), found.binding)
    return probe(required_inputs(side.model), found.witness.seed, found.witness.number)


# ------------------------------------------------------------------ where the models stop to match


def _unmatched(matched: Matched) -> Unmatched | None:
    """The pair that did not match by itself with the most equal ancestors, the first of several."""
    known: dict[int, frozenset[int]] = {}
    listed = [
        (_likeness(mismatch, known), -index, mismatch) for index, mismatch in enumerate(matched.walk.mismatches[:512])
    ]
    if not listed:
        return None
    likeness, _, worst = max(listed, key=lambda each: each[:2])
    one, other = _name(worst.one, matched.named[0]), _name(worst.other, matched.named[1])
    return Unmatched(one, other, worst.reason, round(likeness[0], 4))


def _likeness(found: Mismatch, known: dict[int, frozenset[int]]) -> tuple[float, int]:
    one, other = (_ancestors(term, known) for term in (found.one, found.other))
    both = one | other
    alike = found.one.operator == found.other.operator
    return (len(one & other) / len(both) if both else 0.0), int(alike)


def _ancestors(term: Term, known: dict[int, frozenset[int]]) -> frozenset[int]:
    if term.number not in known:
        seen, waiting = {term.number}, [term]
        while waiting:
            for operand in waiting.pop().inputs:
                if operand is not None and operand.number not in seen:
                    seen.add(operand.number)
                    waiting.append(operand)
        known[term.number] = frozenset(seen)
    return known[term.number]


# ------------------------------------------------------------------ inputs and outputs


def paired(first: Model, second: Model, renamed: Mapping[str, str]) -> Pairing:
    """For inputs and outputs of the first model those of the second: of the same name, or as `renamed` says.

    Raises:
        BadInput: other inputs or outputs, or other types.
    """
    inputs = _by_name("input", required(first), required(second), renamed)
    names = [value.name for value in first.graph.outputs], [value.name for value in second.graph.outputs]
    outputs = _by_name("output", *names, renamed)
    unused = renamed.keys() - inputs.keys() - outputs.keys()
    if unused:
        raise BadInput(f"the first model has no input or output {quote(min(unused))}, which --map names")
    types = {value.name: value.type for value in first.graph.inputs}
    others = {value.name: value.type for value in second.graph.inputs}
    for name, other in inputs.items():
        demand_same_type(name, types[name], others[other])
    types = {value.name: value.type for value in first.graph.outputs}
    others = {value.name: value.type for value in second.graph.outputs}
    for name, other in outputs.items():
        one, another = types[name], others[other]
        if _elements(one) != _elements(another) and one.kind != NO_KIND != another.kind:
            raise BadInput(f"the output {quote(name)} is {one} in the first model and {another} in the second one")
    return Pairing(inputs, outputs)


def _by_name(what: str, first: Sequence[str], second: Sequence[str], renamed: Mapping[str, str]) -> dict[str, str]:
    made = {name: renamed.get(name, name) for name in first}
    if len(set(made.values())) < len(made):
        twice = next(other for other, number in Counter(made.values()).items() if number > 1)
        raise BadInput(f"--map pairs two {what}s of the first model with {quote(twice)}")
    missing, extra = set(made.values()) - set(second), set(second) - set(made.values())
    if missing or extra:
        one, other = (", ".join(map(quote, texts)) or "none" for texts in (first, second))
        hint = "; --map OLD=NEW pairs them" if len(first) == len(second) else ""
        raise BadInput(f"the first model has the {what}s {one}, the second one {other}{hint}")
    return made


def demand_same_type(name: str, one: Type, other: Type) -> None:
    """Refuse an input that both models have with other types; a symbol of one may have another name in the other.

    Raises:
        BadInput: the types differ.
    """
    shapes = one.shape, other.shape
    fits = _elements(one) == _elements(other)
    if shapes[0] is not None and shapes[1] is not None:
        fits = fits and len(shapes[0]) == len(shapes[1])
        pairs = zip(*shapes, strict=False)  # type: ignore[arg-type]  # neither is None
        fits = fits and all(isinstance(a, int) == isinstance(b, int) and (a == b or isinstance(a, str | None))
                            for a, b in pairs)  # fmt: skip
    if not fits:
        raise BadInput(f"the input {quote(name)} is {one} in the first model and {other} in the second one"
                       f"{_binding_hint(one, other)}")  # fmt: skip


def _elements(type_: Type) -> tuple[str | None, ...]:
    """Kind and element type of a value, then those of what is inside."""
    inner = () if type_.inner is None else _elements(type_.inner)
    return (type_.kind, type_.element, *inner)


def _binding_hint(one: Type, other: Type) -> str:
    symbols = [text for type_ in (one, other) for text in type_.shape or () if not isinstance(text, int)]
    return "; --bind or --input-shape gives symbols numbers" if symbols and one.element == other.element else ""


def _with_known_symbols(first: Side, second: Side, options: EquivalenceOptions) -> tuple[Side, Side]:
    if options.bind:
        missing = set(options.bind)
        for side in (first, second):
            missing &= _missing(side.model, options.bind)
        if missing:
            raise UnknownSymbol(f"no dimension of either model is the symbol {', '.join(sorted(missing))}")
    return first, second


def _missing(model: Model, bind: Mapping[str, int]) -> set[str]:
    texts = set()
    for name, number in bind.items():
        try:
            bind_symbols(model, {name: number})
        except UnknownSymbol:
            texts.add(name)
    return texts


def sized_side(side: Side, options: PairOptions) -> Side:
    """The model with the numbers of the options that it has symbols or inputs for."""
    missing = _missing(side.model, options.bind)
    numbers = {name: number for name, number in options.bind.items() if name not in missing}
    shapes = {name: shape for name, shape in options.input_shapes.items() if name in required(side.model)}
    shapes |= {
        options.renamed[name]: shape for name, shape in options.input_shapes.items()
        if name in options.renamed and options.renamed[name] in required(side.model)
    }  # fmt: skip
    return _replaced(side, bind_symbols(side.model, numbers, shapes))


def _replaced(side: Side, model: Model) -> Side:
    return Side(model, side.file, side.folder)


def shaped_side(side: Side, shapes: Mapping[str, tuple[int, ...]]) -> Side:
    """The model with these shapes of its inputs."""
    return _replaced(side, bind_symbols(side.model, {}, shapes))


def _open_inputs(first: Model, pairing: Pairing, number: int) -> dict[str, tuple[int, ...]]:
    """A shape for each input without a complete one; empty where one has no rank, or none is open."""
    types = {value.name: value.type for value in first.graph.inputs}
    inputs = {}
    for name in pairing.inputs:
        shape = types[name].shape
        if shape is None:
            return {}
        if not all(isinstance(extent, int) and extent >= 0 for extent in shape):
            inputs[name] = tuple([extent if isinstance(extent, int) and extent >= 0 else number for extent in shape])
    return inputs


def _operators(model: Model) -> Counter[tuple[str, str]]:
    return Counter((node.domain, node.operator) for node in model.graph.nodes)


# ------------------------------------------------------------------ a bound on two implementations


def _bounds(
    first: Side, second: Side, pairing: Pairing, options: EquivalenceOptions, *, exact: bool
) -> dict[str, float]:
    """At least the difference of any two implementations, by output: both errors and the distance of the ideal values.

    Where constants were rounded, that distance is at most that of the ends of their ranges.

    Raises:
        BadInput: the box does not fit the model.
    """
    hypotheses = hypotheses_named(options.hypotheses)
    runs = []
    for side, names in ((first, None), (second, pairing.inputs)):
        texts = list(options.box) if names is None else [_renamed(text, names) for text in options.box]
        box = box_of_texts(side.model, texts, _no_file)
        try:
            runs.append(Analyser(side.model, hypotheses, side.folder, options.edition).run(box).values)
        except (Stop, NoValue):
            return {}
    bounds: dict[str, float] = {}
    for name, other in pairing.outputs.items():
        one, its = runs[0].get(name), runs[1].get(other)
        if one is None or its is None or one.unbounded or its.unbounded:
            continue
        apart = np.zeros(()) if exact else np.maximum(one.high - its.low, its.high - one.low)
        most = (one.error + its.error + np.maximum(apart, 0.0)) * (1 + 2.0**-40)
        bounds[name] = float(most.max(initial=0.0))
    return bounds


def _renamed(text: str, names: Mapping[str, str]) -> str:
    name, equals, rest = text.partition("=")
    return f"{names.get(name, name)}{equals}{rest}"


def _no_file(name: str) -> Array:
    raise BadInput(f"--box takes NAME=[LOW,HIGH], not the file {quote(name)}")


def side_of(model: Model, name: str, digest: str, folder: Path | None) -> Side:
    """A model as one of the two."""
    return Side(model, File(name, digest, len(model.graph.nodes)), folder)
