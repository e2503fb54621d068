"""Whether two models are the same function: the terms of both, the walk over pairs, and the search for an input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.errors import BadInput
from sonnx.bounds.bound import constant_files
from sonnx.checker.conditions import Conditions
from sonnx.checker.report import Finding, Report
from sonnx.checker.request import CheckRequest, check_model
from sonnx.equivalence.implementations import IDEAL, Domains, largest_differences
from sonnx.equivalence.interpretation.expansion import may_be_random
from sonnx.equivalence.interpretation.fused import has_meaning
from sonnx.equivalence.interpretation.model_terms import sorted_nodes, terms_of
from sonnx.equivalence.narrowed_bounds import domain_of, side_of_walk
from sonnx.equivalence.narrowing_list import narrowings_of
from sonnx.equivalence.normal_forms.layouts import block_sizes
from sonnx.equivalence.open_pair import open_pair
from sonnx.equivalence.options import EquivalenceOptions, PairOptions
from sonnx.equivalence.result import INEXACT, Answer, ComparedOutput, Equivalence, Quantum, RoundedConstant
from sonnx.equivalence.search.counterexamples import NO_VALUE, Search, Searched, Shape
from sonnx.equivalence.sides import (
    Pairing,
    Side,
    paired,
    same_content,
    shapes_of_open_inputs,
    sized_sides,
    with_given_numbers,
    with_shapes,
)
from sonnx.equivalence.terms.axioms import axioms
from sonnx.equivalence.terms.narrowed_numbers import DIGITS, Narrowings
from sonnx.equivalence.terms.narrowings import are_narrowed
from sonnx.equivalence.terms.store import Store, Term, first_names, run_domain
from sonnx.equivalence.unmatched import first_unmatched, term_name
from sonnx.equivalence.walk import Cut, Walk, may_jump
from sonnx.executor.fixed_inputs import named_numbers
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.preparation import RunDomain
from sonnx.model.ir import Model
from sonnx.model.scopes import canonical_domain, scopes, stored_tensors
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import Array
from sonnx.profile import catalogue

BOUND_TO = (1, 2)
"""Numbers of symbols for which models are compared that are not matched for all numbers: the answer is that for the
first one, unless the second one shows a difference, or a value that only one model has."""


MATCHED = frozenset({Answer.IDENTICAL, Answer.ROUNDING, Answer.NARROWED})
"""The answers that relate two outputs for every input."""

LEAVES = frozenset({"input", "constant", "moved", "narrowed"})
"""What terms are that compute nothing."""

ReportOn: TypeAlias = Callable[[Model], Report]
"""Gives the report on a model under the edition of a comparison, without the rules of `--strict-versions`."""

Terms: TypeAlias = tuple[Mapping[str, Term], Mapping[str, Term]]
"""The terms of the outputs of a model and of all its values, by name."""


class ModelComparison(Struct, frozen=True):
    """What is known of two models, with the input on which they differ, by the names of the first one; empty where none
    is known.
    """

    result: Equivalence
    inputs: Mapping[str, Array] = {}
    open_models: tuple[Model, Model] | None = None
    """With the option `extract`: the parts of both models that are left open, as models."""


def compare_models(
    first: Side,
    second: Side,
    options: EquivalenceOptions,
    domain: RunDomain | None = None,
    report_on: ReportOn | None = None,
) -> Equivalence:
    """Whether two models are the same function; see `compare_sides`."""
    return compare_sides(first, second, options, domain, report_on).result


def compare_sides(
    first: Side,
    second: Side,
    options: EquivalenceOptions,
    domain: RunDomain | None = None,
    report_on: ReportOn | None = None,
) -> ModelComparison:
    """Whether two models are the same function.

    Args:
        first: the first model.
        second: the second model.
        options: of the comparison.
        domain: what earlier runs have prepared of calls.
        report_on: gives the report on a model under the edition, where the caller has checked models; else each is
            checked.

    Raises:
        BadInput: the models differ in inputs, outputs or their types.
        UsageError: an unknown edition, a symbol that neither model has, or hypotheses that do not exist.
    """
    sized = with_given_numbers(*sized_sides(first, second, options), options)
    if options.input and any(name in dict(named_numbers(options.input)) for name in options.renamed):
        given = {name for name, _ in named_numbers(options.input)}
        options = replace(options, renamed={name: new for name, new in options.renamed.items() if name not in given})
    return compare_sized(*sized, options, domain, report_on)


def compare_sized(
    first: Side,
    second: Side,
    options: EquivalenceOptions,
    domain: RunDomain | None = None,
    report_on: ReportOn | None = None,
) -> ModelComparison:
    """Compare two models whose symbols have the numbers of the options; see `compare_sides`."""
    edition = catalogue.edition_named(options.edition).name
    pairing, other_types = _paired(first, second, options)
    not_valid = tuple(_not_valid((first, second), edition, report_on))
    if not_valid:
        undecided = tuple(ComparedOutput(*names, Answer.UNDECIDED) for names in pairing.outputs.items())
        conditions = conditions_of(first, second, options)
        return ModelComparison(
            Equivalence(first.file, second.file, conditions, Answer.UNDECIDED, undecided, not_valid=not_valid)
        )
    _require_external_data(first, second)
    if other_types is not None:
        task = _Task(pairing, edition, options, run_domain(edition) if domain is None else domain, False)
        return task.of_other_types(first, second, other_types)
    is_one_file = pairing.keeps_names and same_content(first, second)
    if is_one_file and not options.box and _is_function(first.model):
        outputs = tuple(ComparedOutput(name, partner, Answer.IDENTICAL) for name, partner in pairing.outputs.items())
        conditions = conditions_of(first, second, options)
        answer = Answer.IDENTICAL.at_sizes if conditions.has_sizes else Answer.IDENTICAL
        return ModelComparison(Equivalence(first.file, second.file, conditions, answer, outputs, same_content=True))
    task = _Task(pairing, edition, options, run_domain(edition) if domain is None else domain, is_one_file)
    matched = task.matched(first, second)
    if matched.decided:
        return ModelComparison(task.result(first, second, matched, {}, Searched(None, 0, "")))
    narrowed = task.narrowed(first, second, {}, matched)
    if narrowed is not None:
        return ModelComparison(narrowed)
    shapes = [shapes_of_open_inputs(first.model, pairing, number) for number in BOUND_TO]
    if not shapes[0]:
        return task.searched(first, second, {}, matched)
    comparison = task.for_shapes(first, second, shapes[0])
    if not comparison.result.matched:
        return comparison
    further = task.for_shapes(first, second, shapes[1])
    is_refuted = further.result.answer is Answer.DIFFERENT or (
        not further.result.matched and NO_VALUE in further.result.bits
    )
    return further if is_refuted else comparison


def _paired(first: Side, second: Side, options: PairOptions) -> tuple[Pairing, BadInput | None]:
    """Inputs and outputs of both models; where they have other types, which a narrowing may explain, with the reason
    why the models cannot be compared as they are.

    Raises:
        BadInput: the models differ in inputs, outputs or their types.
    """
    try:
        return paired(first.model, second.model, options.renamed), None
    except BadInput as stop:
        if not are_narrowed(first.model, second.model):
            raise
        try:
            return paired(first.model, second.model, options.renamed, as_wide=True), stop
        except BadInput:
            raise stop from None


def conditions_of(
    first: Side, second: Side, options: PairOptions, tried: Mapping[str, tuple[int, ...]] | None = None
) -> Conditions:
    """What an answer holds for; `tried` are the shapes that the tool chose."""
    digests = {f"{name} model": side.file.sha256 for name, side in (("first", first), ("second", second))}
    digests = {role: digest for role, digest in digests.items() if digest}
    for name, side in (("first", first), ("second", second)):
        if side.folder is not None:
            files = constant_files(side.model, side.folder)
            digests |= {f"{file} of the {name} model": digest for file, digest in files.items()}
    fixed = named_numbers(options.input) if isinstance(options, EquivalenceOptions) else ()
    return Conditions.of(
        options,
        assume=tuple([f"{name} = {number}" for name, number in fixed]),
        tried=dict(tried or {}),
        hypotheses=options.hypotheses if isinstance(options, EquivalenceOptions) and options.box else None,
        digests=digests,
    )


def _not_valid(sides: Sequence[Side], edition: str, report_on: ReportOn | None) -> Iterator[str]:
    """A sentence for each model that is not valid ONNX: it defines no function.

    An output without a declared type has that of the node that makes it, so that its declaration decides nothing here.
    An operator that onnxruntime adds to the domain of ONNX may have a stated meaning (fused.toml).
    """
    for place, side in zip(("first", "second"), sides, strict=True):
        if report_on is None:
            report = check_model(side.model, "", CheckRequest(edition), side.file.name)
        else:
            report = report_on(side.model)
        imports = Counter((canonical_domain(each.domain), each.version) for each in side.model.imports)
        is_one_set = len({domain for domain, _ in imports}) == len(imports)
        broken = next((finding for finding in report.findings if _breaks_function(finding, is_one_set)), None)
        if broken is not None:
            yield (
                f"the {place} model is not valid ONNX: {broken.rule} fails at {broken.where.place} ({broken.actual})"
            )


def _breaks_function(finding: Finding, is_one_set: bool) -> bool:
    """Whether a finding leaves it open which function a model is.

    Args:
        finding: of the check.
        is_one_set: each domain has one operator set, though it may be imported twice.
    """
    if finding.rule == "operator-set-imported-once" and is_one_set:
        return False
    is_undeclared_output = finding.rule == "interface-declared" and finding.where.place.startswith("graph/output")
    has_stated_meaning = finding.rule == "operator-exists" and has_meaning("", finding.where.operator)
    return finding.breaks_onnx and not is_undeclared_output and not has_stated_meaning


def _require_external_data(*sides: Side) -> None:
    """Read the constants that stand in other files.

    Raises:
        NotExecutable: one is missing, or has other bytes than its model states.
    """
    for side in sides:
        for tensor in stored_tensors(side.model):
            if tensor.external is not None:
                decode(tensor, side.folder)


def _is_function(model: Model) -> bool:
    """Whether the outputs are a function of the inputs: no node may be random or depends on itself."""
    every_node = (node for scope in scopes(model) for node in scope.graph.nodes)
    return sorted_nodes(model.graph) is not None and not any(map(may_be_random, every_node))


class _Matched(Struct, frozen=True, dict=True):
    """What the terms of both models gave: the answer for each output, and the terms of all values by name."""

    answers: Mapping[str, Answer]
    walk: Walk
    values: tuple[Mapping[str, Term], Mapping[str, Term]]

    @cached_property
    def names(self) -> tuple[Mapping[int, str], Mapping[int, str]]:
        """The first name of each term in both models."""
        return first_names(self.values[0]), first_names(self.values[1])

    @property
    def decided(self) -> bool:
        """Whether every pair of outputs is equal."""
        return all(answer in MATCHED for answer in self.answers.values())

    def constant(self, cut: Cut) -> RoundedConstant:
        """A cut as the result shows it."""
        names = term_name(cut.first, self.names[0]), term_name(cut.second, self.names[1])
        return RoundedConstant(*names, cut.gain, cut.offset, cut.relative, cut.roundings)


class _Task(Struct, frozen=True):
    """The comparison of two models, for any shapes of their inputs."""

    pairing: Pairing
    edition: str
    options: EquivalenceOptions
    domain: RunDomain
    is_one_file: bool

    def for_shapes(self, first: Side, second: Side, shapes: Mapping[str, tuple[int, ...]]) -> ModelComparison:
        """The result for inputs of these shapes."""
        first, second = self._shaped(first, second, shapes)
        matched = self.matched(first, second)
        narrowed = None if matched.decided else self.narrowed(first, second, shapes, matched)
        if narrowed is not None:
            return ModelComparison(narrowed)
        return self.searched(first, second, shapes, matched)

    def matched(self, first: Side, second: Side, *, narrowed: bool = False) -> _Matched:
        """The terms of both models, compared; with `narrowed`, narrower types are taken as the wide one.

        A file with blocks of channels does not say how many channels a block has: each number is tried.  The slope of a
        HardSigmoid is 1/6 where its own number does not decide, because a rewrite may keep that number.
        """
        for block in block_sizes(first.model, second.model):
            matched = self._matched_in_blocks(first, second, is_narrowed=narrowed, block=block)
            if matched.decided:
                break
        return matched

    def _matched_in_blocks(self, first: Side, second: Side, *, is_narrowed: bool, block: int) -> _Matched:
        for takes_sixths in (False, True):
            narrowings = Narrowings() if is_narrowed else None
            store = Store(self.domain, narrowings=narrowings, block=block, takes_sixths=takes_sixths)
            (outputs, values), (their_outputs, their_values) = self._terms(first, second, store, store)
            walk, answers = Walk(store), {}
            for name, partner in self.pairing.outputs.items():
                answers[name] = _answer(walk, outputs.get(name), their_outputs.get(partner))
            matched = _Matched(answers, walk, (values, their_values))
            if matched.decided or not store.met_sixths:
                break
        return matched

    def of_other_types(self, first: Side, second: Side, other_types: BadInput) -> ModelComparison:
        """The result for models whose inputs or outputs have other types.

        Raises:
            BadInput: they are not equal but for narrowings.
        """
        shapes = shapes_of_open_inputs(first.model, self.pairing, BOUND_TO[0])
        narrowed = self.narrowed(first, second, {}, None)
        if narrowed is None and shapes:
            narrowed = self.narrowed(*self._shaped(first, second, shapes), shapes, None)
        if narrowed is None:
            raise other_types
        return ModelComparison(narrowed)

    def _shaped(self, first: Side, second: Side, shapes: Mapping[str, tuple[int, ...]]) -> tuple[Side, Side]:
        """Both models with these shapes of inputs, which are named as in the first one."""
        theirs = {self.pairing.inputs[name]: shape for name, shape in shapes.items()}
        return with_shapes(first, shapes), with_shapes(second, theirs)

    def _terms(self, first: Side, second: Side, store: Store, their_store: Store) -> tuple[Terms, Terms]:
        """The terms of the outputs and of all values of both models, with inputs named as in the first one."""
        own = terms_of(first.model, store, first.folder, {name: name for name in self.pairing.inputs})
        return own, terms_of(second.model, their_store, second.folder, self.pairing.inverse_inputs)

    def narrowed(
        self, first: Side, second: Side, shapes: Mapping[str, tuple[int, ...]], as_typed: _Matched | None
    ) -> Equivalence | None:
        """The result where the models are equal but for narrowings; None where they are not shown to be.

        Args:
            first: the first model.
            second: the second model.
            shapes: of the inputs, which the tool chose.
            as_typed: their comparison with every type as it is; None where they cannot be compared so.
        """
        if not are_narrowed(first.model, second.model):
            return None
        matched = self.matched(first, second, narrowed=True)
        passages = [
            Counter(term.key for term in {*values.values()} if term.operator == "narrowed") for values in matched.values
        ]
        if not matched.decided or (passages[0] - passages[1] and passages[1] - passages[0]):
            return None  # each model passes values through integers where the other one does not
        if as_typed is not None:
            return self.result(first, second, matched, shapes, Searched(None, 0, ""), as_typed.values)
        (_, values), (_, their_values) = self._terms(first, second, Store(self.domain), Store(self.domain))
        return self.result(first, second, matched, shapes, Searched(None, 0, ""), (values, their_values))

    def narrowed_domains(self, first: Side, second: Side, matched: _Matched) -> Domains | None:
        """The domains in which both models have the ideal values of the wider one; None if a value would have two."""
        models = first.model, second.model
        elements = [{value.name: value.type.element for value in required_inputs(model)} for model in models]
        domains = []
        for index, partners in enumerate((self.pairing.inputs, self.pairing.inverse_inputs)):
            own, theirs = elements[index], elements[1 - index]
            narrower = {
                name: element for name, element in own.items()
                if element in DIGITS and element != theirs[partners[name]]
            }  # fmt: skip
            side = side_of_walk(matched.walk, matched.values[index], index, narrower)
            if side is None:
                return None
            domains.append(domain_of(side))
        return domains[0], domains[1]

    def searched(
        self, first: Side, second: Side, shapes: Mapping[str, tuple[int, ...]], matched: _Matched
    ) -> ModelComparison:
        """The result after a search for an input on which models differ that do not match."""
        searched, options = Searched(None, 0, ""), self.options
        if not matched.decided and options.runs:
            search = Search(
                first.model, second.model, (first.folder, second.folder), self.edition, self.pairing.inputs,
                self.pairing.outputs, options.hypotheses, _operators(first.model) != _operators(second.model),
                (first.file.name, second.file.name), dict(_shapes(matched, self.pairing.outputs)),
                any(map(_rounds_before_the_last_node, (first.model, second.model), matched.values)),
                not (_is_function(first.model) and _is_function(second.model)),
            )  # fmt: skip
            searched = search.found(options.runs, options.seed)
        result = self.result(first, second, matched, shapes, searched)
        pair = None if matched.decided else open_pair(matched.walk, (first, second), matched.values)
        if pair is None:
            return ModelComparison(result, searched.inputs)
        if searched.witness is None:
            result = replace(result, open=pair.stated(searched.runs))
        models = pair.models(first, second) if options.extract is not None else None
        return ModelComparison(result, searched.inputs, models)

    def result(
        self,
        first: Side,
        second: Side,
        matched: _Matched,
        shapes: Mapping[str, tuple[int, ...]],
        searched: Searched,
        as_typed: tuple[Mapping[str, Term], Mapping[str, Term]] | None = None,
    ) -> Equivalence:
        """The result of the comparison for inputs of these shapes; `as_typed` are the terms with every type as it is,
        where `matched` leaves narrowings out.
        """
        walk, witness, options = matched.walk, searched.witness, self.options
        cuts = [cut for cut in walk.cuts.values() if not cut.is_exact] if matched.decided else []
        bounds = {}
        if options.box and matched.decided:
            domains = IDEAL if as_typed is None else self.narrowed_domains(first, second, matched)
            exact = all(cut.is_narrowed for cut in cuts)
            if domains is not None:
                bounds = largest_differences(first, second, self.pairing, options, domains, exact=exact)
        answers = dict(matched.answers)
        if witness is not None:
            answers[witness.output] = Answer.DIFFERENT
        answer = _weakest([*answers.values()])
        is_inexact = answer in INEXACT
        if is_inexact:
            for axiom in axioms().values():
                if axiom.level == "real":
                    walk.store.rest_on(axiom.name)
        quanta = [
            Quantum(term_name(pair[0], matched.names[0]), term_name(pair[1], matched.names[1]), quanta_moved)
            for pair, quanta_moved in walk.quanta.values()
            if quanta_moved is not None
        ]
        jumps = [term for term, _ in walk.decisions.values()]
        jumps += [pair[0] for pair, moved in walk.quanta.values() if moved is None]
        jumps += [] if as_typed is None else filter(may_jump, matched.values[0].values())
        decisions = dict.fromkeys(f"{term.operator}: {term_name(term, matched.names[0])}" for term in jumps)
        constants = sorted(map(matched.constant, cuts), key=lambda constant: -constant.relative)
        conditions = conditions_of(first, second, options, shapes)
        return Equivalence(
            first=first.file,
            second=second.file,
            conditions=conditions,
            answer=answer.at_sizes if conditions.has_sizes else answer,
            outputs=tuple(
                ComparedOutput(name, partner, answers[name], bounds.get(name))
                for name, partner in self.pairing.outputs.items()
            ),
            constants=tuple(constants),
            decisions=tuple(decisions) if is_inexact else (),
            quanta=tuple(quanta) if is_inexact else (),
            narrowings=() if as_typed is None else tuple(narrowings_of(walk, matched.values, matched.names, as_typed)),
            unmatched=None if matched.decided else first_unmatched(walk.mismatches, matched.names),
            witness=witness,
            searched=searched.runs,
            bits="" if witness is not None else searched.bits,
            assumptions=tuple(walk.store.assumptions),
            theorems=tuple(walk.store.theorems) if matched.decided else (),
            same_content=self.is_one_file,
            max_difference=options.max_difference,
        )


def _answer(walk: Walk, first: Term | None, second: Term | None) -> Answer:
    """The answer that the terms of a pair of outputs give."""
    if first is None or second is None or "declared" in (first.operator, second.operator):
        return Answer.UNDECIDED
    if walk.store.narrowings is not None:
        return Answer.NARROWED if walk.matches(first, second) else Answer.UNDECIDED
    if first is second:
        return Answer.IDENTICAL
    return Answer.ROUNDING if walk.equal_up_to_rounding(first, second) else Answer.UNDECIDED


def _shapes(matched: _Matched, outputs: Mapping[str, str]) -> Iterator[tuple[str, tuple[Shape, Shape]]]:
    """The shapes of each output in both models that are known for all values of the inputs."""
    for name, partner in outputs.items():
        first, second = matched.values[0].get(name), matched.values[1].get(partner)
        yield name, (None if first is None else first.shape, None if second is None else second.shape)


def _rounds_before_the_last_node(model: Model, values: Mapping[str, Term]) -> bool:
    """Whether a node reads what another one computes in floating point, so that a decision may depend on a rounding."""
    computed = {name for node in model.graph.nodes for name in node.outputs}
    read = {name for node in model.graph.nodes for name in node.inputs} & computed
    terms = [values.get(name) for name in read]
    return any(term is None or (term.operator not in LEAVES and not term.is_discrete) for term in terms)


def _weakest(answers: Sequence[Answer]) -> Answer:
    order = (Answer.DIFFERENT, Answer.UNDECIDED, Answer.NARROWED, Answer.ROUNDING, Answer.IDENTICAL)
    return next((answer for answer in order if answer in answers), Answer.IDENTICAL)


def _operators(model: Model) -> Counter[tuple[str, str]]:
    return Counter((node.domain, node.operator) for node in model.graph.nodes)
