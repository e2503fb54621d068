"""The domain of terms on the interpreter of models: a value is a term, shared by all models of one comparison.

What a call is, its shapes and its parameters are those of a run (`RunDomain`).  Constants are computed by the executor,
so a folded constant has the exact bits of the profile.  An operator without a definition here is an atom: equal inputs,
attributes and version give equal outputs, which is assumed and said.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable, Stop
from sonnx.equivalence.interpretation.fused import has_meaning
from sonnx.equivalence.normal_forms import (  # the modules of NORMAL_FORMS register those of their operators
    conversions,
    element_forms,
    elementwise,
    identities,
    padding,
    product_forms,
    quantization,
    regrouping,
    unmoved,
)
from sonnx.equivalence.normal_forms.absent import without_neutral
from sonnx.equivalence.normal_forms.layouts import layout_operators
from sonnx.equivalence.terms import keys, movements, narrowings
from sonnx.equivalence.terms.store import Store, Term
from sonnx.equivalence.terms.term_calls import TermCall, simplified
from sonnx.executor.array_sizes import is_possible
from sonnx.executor.prepared_call import PreparedCall, PreparedNode, operand_facts
from sonnx.graph.call import Call
from sonnx.graph.environment import NOTHING_STATED, declared_facts
from sonnx.graph.interpreter import Transferred
from sonnx.language.evaluator import RUN_TIME, TensorFacts, Unknown
from sonnx.model.ir import NOT_STATED, SparseTensor, Tensor, Type
from sonnx.model.reader import element_names
from sonnx.model.scopes import canonical_domain
from sonnx.numerics.application import UNDEFINED_INPUT_ERRORS, Application, NoValue
from sonnx.numerics.broadcasting import common_shape
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import ELEMENTS, Array, has_array
from sonnx.operators import find_operator, operator_facts

NORMAL_FORMS = (identities, conversions, regrouping, element_forms, padding, product_forms, quantization, unmoved)
"""The modules that register normal forms of single operators."""

INFERS_SINCE, INPUT_SINCE = 7, 12
"""The operator sets from which on Dropout never trains, and from which on it trains where an input says so."""

MAX_FOLDED = 1 << 22
"""Elements of the operands of a computation on constants that is carried out; movements have a limit of their own."""

NO_DEFINITION = "operators without a definition here are functions of their inputs and attributes: {}"
INFERS = "Dropout whose training mode is computed does not train"
DEFAULTS = "inputs with a default keep it: {}"
DECLARED = "declared shapes of values that operators without a definition here give"


class TermDomain:
    """Values are terms; a call gives the node it was prepared for.

    Args:
        store: the terms of all models.
        folder: where the model file stands.
    """

    def __init__(self, store: Store, folder: Path | None) -> None:
        self.store, self.folder, self.run = store, folder, store.run
        self.rules = self.run.rules

    def declared(self, type_: Type) -> Term:
        """A value that no node has given yet; what reads it equals nothing."""
        facts = NOTHING_STATED if type_ == NOT_STATED else declared_facts(type_)
        return self.store.fresh("declared", self.facts_of(facts), "")

    def facts_of(self, facts: TensorFacts) -> TensorFacts:
        """The facts of a value; of one of a narrower type those of the wider type, where these are taken as one."""
        return facts if self.store.narrowings is None else narrowings.widened(facts)

    def _constant(self, array: Array) -> Term:
        """The term of a constant of a model."""
        return narrowings.constant_of_model(self.store, array)

    def constant(self, tensor: Tensor, replaceable: bool) -> Term:
        """The value of an initializer; a default stays as it is, which is assumed and said."""
        if replaceable:
            self.store.assume(DEFAULTS.format(tensor.name))
        return self._constant(decode(tensor, self.folder))

    def sparse(self, tensor: SparseTensor) -> Term:
        """A sparse constant with its zeros written, where it is small enough and as ONNX requires."""
        dense = self._dense(tensor)
        if dense is None:
            return self.store.fresh("sparse", NOTHING_STATED, tensor.name)
        return self._constant(dense)

    def _dense(self, tensor: SparseTensor) -> Array | None:
        kind, size = ELEMENTS.get(tensor.element or ""), prod(tensor.dims) if min(tensor.dims, default=0) >= 0 else None
        if tensor.values is None or tensor.indices is None or kind is None or size is None or size > MAX_FOLDED:
            return None
        if not has_array(tensor.dims, kind):
            return None
        try:
            values, indices = decode(tensor.values, self.folder), decode(tensor.indices, self.folder)
            flat = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), tensor.dims)
        except (Stop, NoValue, *UNDEFINED_INPUT_ERRORS):
            return None
        fits = values.dtype == kind and flat.shape == values.shape and indices.dtype == np.int64
        if not fits or (np.diff(flat) <= 0).any() or (flat.size and not 0 <= flat[0] <= flat[-1] < size):
            return None
        array = np.zeros(size, kind)
        array[flat] = values
        return array.reshape(tensor.dims)

    def call(self, call: Call, inputs: Sequence[Term | None], outputs: Sequence[Term | None]) -> Transferred[Term, str]:
        """The terms of the outputs of a call; equal calls on the same terms have the same, in both models."""
        if self.store.narrowings is not None:
            instead = narrowings.without_narrowing(self.store, call, inputs)
            if isinstance(instead, list):
                return Transferred([*instead, *outputs[len(instead) :]], "")
            call = call if instead is None else instead
        operator = call.operator, call.domain, call.overload, call.operator_set, call.inputs, call.outputs
        attributes = tuple([attribute.identity for attribute in call.attributes])
        numbers = tuple([operand and operand.number for operand in inputs])
        known_calls, key = self.store.known_calls, (operator, attributes, numbers)
        with_declared = *key, tuple([_facts(output) for output in outputs])
        terms = known_calls.get(key, known_calls.get(with_declared))
        if terms is None and self._is_open(call, inputs):
            terms = [self.store.fresh("unknown", _facts(output), call.operator) for output in outputs]
        elif terms is None:
            defined = self._defined(call, inputs, len(outputs))
            terms = self._stated(call, inputs, outputs)[: len(outputs)] if defined is None else defined
            if all(term.operator != "unknown" for term in terms):
                known_calls[with_declared if defined is None else key] = terms
        return Transferred(
            [term if output is not None else None for term, output in zip(terms, outputs, strict=True)], ""
        )

    def _is_open(self, call: Call, inputs: Sequence[Term | None]) -> bool:
        """Whether nothing is known of the outputs, not even that an equal call gives the same."""
        undefined = any(operand is not None and operand.operator == "declared" for operand in inputs)
        has_graph = any(attribute.kind in ("graph", "graphs") for attribute in call.attributes)
        if undefined or has_graph or call.calls_function or operator_facts(call.operator, call.domain).random:
            return True
        return _drops(self.store, call, inputs)

    # ------------------------------------------------------------------ calls whose shapes are known

    def _defined(self, call: Call, inputs: Sequence[Term | None], count: int) -> list[Term] | None:
        """The terms of a call whose definition gives its outputs, whatever they are declared to be; else None."""
        facts = operand_facts(inputs)
        with np.errstate(all="ignore"):
            after, prepared = self.run.call(call, facts, [NOTHING_STATED] * count)
            if not isinstance(prepared, PreparedNode) or not _is_defined(call, prepared, inputs):
                return None
            terms = self._folded(call, prepared, inputs) or self._moved(call, prepared, inputs)
            if terms is None:
                results = tuple([NOTHING_STATED if result is None else self.facts_of(result) for result in after])
                terms = self._applied(self._on_terms(call, prepared.application, inputs, results))
        return terms[:count] if len(terms) >= count else None

    def _applied(self, call: TermCall) -> list[Term]:
        """The outputs of a call on terms, in their normal form."""
        if elementwise.is_elementwise(call):
            return [elementwise.term_of(self.store, call)]
        simpler = simplified(self.store, call)
        return simpler if isinstance(simpler, list) else simpler.terms(self.store)

    def _folded(self, call: Call, prepared: PreparedNode, inputs: Sequence[Term | None]) -> list[Term] | None:
        """The outputs of a call on constants, as the executor computes them; None where they are not computed."""
        stated = operator_facts(call.operator, call.domain)
        if stated.moves and self._are_narrowed(inputs):
            return None
        varying = [operand for operand in inputs if operand is not None and not operand.is_constant]
        if varying and (not stated.reads_shapes_only or any(operand.shape is None for operand in varying)):
            return None
        arrays = [None if operand is None else _array(operand) for operand in inputs]
        sizes = [array.size for array in arrays if array is not None]
        sizes += [prod(shape) for shape, _ in prepared.output_specs or ()]
        most = movements.MAX_ELEMENTS * 8 if stated.moves else MAX_FOLDED
        if not stated.reads_shapes_only and max(sizes, default=0) > most:
            return None
        try:
            results = prepared.results(arrays)
        except (Stop, NoValue, *UNDEFINED_INPUT_ERRORS):
            return None
        return [self._constant(np.array(result)) for result in results]

    def _are_narrowed(self, inputs: Sequence[Term | None]) -> bool:
        """Whether an input is a constant that was narrowed, which a movement keeps."""
        return any(operand is not None and self.store.narrowing_of(operand) is not None for operand in inputs)

    def _moved(self, call: Call, prepared: PreparedNode, inputs: Sequence[Term | None]) -> list[Term] | None:
        """The outputs of a call that moves elements; None where it does not, or the map is not known."""
        try:
            moved = movements.moved_by(self.store, call.operator, prepared, inputs)
        except (Stop, NoValue, *UNDEFINED_INPUT_ERRORS):
            return None
        if moved is None or call.operator != "Concat" or not prepared.output_specs:
            return moved
        joined = product_forms.joined(
            self.store, inputs, prepared.application.names.get("axis"), prepared.output_specs[0][0]
        )
        return moved if joined is None else [joined]

    def _on_terms(
        self, call: Call, application: Application, inputs: Sequence[Term | None], outputs: tuple[TensorFacts, ...]
    ) -> TermCall:
        """A call on terms, without the inputs that its key has."""
        operands = tuple(inputs)
        if call.signature is None:
            key = keys.written_key(call)
        else:
            key = self._effective_key(call, application, inputs)
            in_key = [keys.stated_by(call.signature, application.names, index) for index in range(len(inputs))]
            operands = tuple([None if is_in else operand for operand, is_in in zip(inputs, in_key, strict=True)])
            operands = without_neutral(self.store, call.signature, operands, application.names)
        return TermCall(
            call.operator, canonical_domain(call.domain), key, operands, outputs, call.operator_set,
            call.attributes, application,
        )  # fmt: skip

    def _effective_key(self, call: Call, application: Application, inputs: Sequence[Term | None]) -> Hashable:
        assert call.signature is not None  # noqa: S101  for the type checker
        rank = inputs[0].rank if inputs and inputs[0] is not None else None
        if keys.counts_from_last(call.operator, application.names):
            self.store.rest_on("axis")
        return keys.effective_key(call, call.signature, application.names, rank, conforms=self._conforms(call, inputs))

    def _conforms(self, call: Call, inputs: Sequence[Term | None]) -> bool:
        """Whether the rules hold under which the data file calls the version equivalent to the specified one: those
        that older versions have, and those that the reason names.
        """
        known, signature = call.definition, call.signature
        if known is None or signature is None or signature.version not in known.equivalent:
            return True
        reason = known.equivalent[signature.version]
        needed = {rule.slug for rule in signature.rules if rule.before is not None or rule.slug in reason}
        if not needed:
            return True
        facts = operand_facts(inputs)
        reported = self.run.facts.call(call, facts, [NOTHING_STATED] * len(call.outputs)).result.reported
        return all(rule_result.rule.slug not in needed for rule_result in reported)

    # ------------------------------------------------------------------ calls of which less is known

    def _stated(self, call: Call, inputs: Sequence[Term | None], outputs: Sequence[Term | None]) -> list[Term]:
        """The outputs of a call whose shapes depend on symbols or values, or that has no definition here."""
        domain = canonical_domain(call.domain)
        stated = operator_facts(call.operator, call.domain)
        if stated.keeps_order and (stated.keeps_shape or stated.elementwise):
            return self._passed_on(call, inputs, outputs)
        if call.signature is not None and not domain:
            on_terms = self._by_signature(call, inputs)
        else:
            on_terms = self._by_stated_facts(call, inputs, outputs)
        if elementwise.is_elementwise(on_terms):
            return [elementwise.term_of(self.store, on_terms)]
        if any(operand is not None and operand.shape is None for operand in on_terms.operands):
            simpler = simplified(self.store, on_terms)
            if isinstance(simpler, list):
                return simpler
            on_terms = simpler
        return elementwise.with_sorted_operands(self.store, on_terms).terms(self.store)

    def _passed_on(self, call: Call, inputs: Sequence[Term | None], outputs: Sequence[Term | None]) -> list[Term]:
        """Identity and Dropout of a value of unknown shape: the value itself."""
        fresh = [self.store.fresh("unknown", _facts(output), call.operator) for output in outputs]
        first = inputs[0] if inputs else None
        return [first, *fresh[1:]] if first is not None else fresh

    def _by_signature(self, call: Call, inputs: Sequence[Term | None]) -> TermCall:
        """A call whose operator has a data file: it gives the key, and shapes with dimensions that are not known."""
        prepared = PreparedCall.of(call, operand_facts(inputs))
        return self._on_terms(
            call, prepared.application(), inputs, tuple([self.facts_of(facts) for facts in prepared.output_facts()])
        )

    def _by_stated_facts(self, call: Call, inputs: Sequence[Term | None], outputs: Sequence[Term | None]) -> TermCall:
        """A call whose operator has no data file, or is of another domain: the output has the type and the shape that
        are stated of the operator, else those that are declared.
        """
        domain = canonical_domain(call.domain)
        is_stated = has_meaning(domain, call.operator) or (domain, call.operator) in layout_operators()
        if (find_operator(call.operator) is None or domain) and not is_stated:
            self.store.assume(NO_DEFINITION.format(f"{domain}.{call.operator}" if domain else call.operator))
        declared = [_facts(output) for output in outputs]
        shape = _stated_shape(call, inputs)
        element = _stated_element(call, inputs)
        if shape is None and any(facts.shape is not NOTHING_STATED.shape for facts in declared):
            self.store.assume(DECLARED)
        if declared:
            first = declared[0] if shape is None else declared[0]._replace(shape=shape)
            declared[0] = first if element is None else first._replace(type=element)
        return TermCall(
            call.operator, domain, self._written_key(call, inputs), tuple(inputs),
            tuple([facts._replace(values=RUN_TIME) for facts in declared]), call.operator_set, call.attributes,
        )  # fmt: skip

    def _written_key(self, call: Call, inputs: Sequence[Term | None]) -> Hashable:
        rank = inputs[0].rank if inputs and inputs[0] is not None else None
        key = keys.written_key(call, rank)
        if rank and key != keys.written_key(call):
            self.store.rest_on("axis")
        return key


def _stated_shape(call: Call, inputs: Sequence[Term | None]) -> Any:
    """The shape of the first output by what is stated of the operator, None where nothing is."""
    stated = operator_facts(call.operator, call.domain)
    first = inputs[0] if inputs else None
    if stated.keeps_shape and first is not None:
        return first.facts.shape
    shapes = [operand.shape for operand in inputs if operand is not None]
    if not stated.elementwise or not shapes or any(shape is None for shape in shapes):
        return None
    if call.operator_set is not None and not stated.elementwise_at(call.operator_set) and len(set(shapes)) > 1:
        return None
    try:
        return movements.known_extents(common_shape(call.operator, [shape for shape in shapes if shape is not None]))
    except NotExecutable:
        return None


def _stated_element(call: Call, inputs: Sequence[Term | None]) -> Any:
    """The element type of the first output by what is stated of the operator, None where nothing is."""
    stated = operator_facts(call.operator, call.domain)
    element = stated.output_element
    if stated.elementwise and not element:
        to = next((attribute.value for attribute in call.attributes if attribute.name == "to"), None)
        return element_names().get(to) if type(to) is int else None
    if element != "first":
        return element or None
    first = inputs[0] if inputs else None
    return None if first is None or isinstance(first.facts.type, Unknown) else first.facts.type


def _is_defined(call: Call, prepared: PreparedNode, inputs: Sequence[Term | None]) -> bool:
    """Whether the executor has a definition of the operator, for shapes that an array can have."""
    shapes = [operand.shape or () for operand in inputs if operand is not None]
    shapes += [shape for shape, _ in prepared.output_specs or ()]
    is_standard = not canonical_domain(call.domain) and find_operator(call.operator) is not None
    return is_standard and all(map(is_possible, shapes))


def _drops(store: Store, call: Call, inputs: Sequence[Term | None]) -> bool:
    """Whether a node is a Dropout that drops elements at random; that it does not is assumed where an input decides."""
    if call.operator != "Dropout" or canonical_domain(call.domain):
        return False
    version = call.operator_set or 0
    if version < INFERS_SINCE:
        return not any(attribute.name == "is_test" and attribute.value for attribute in call.attributes)
    ratio, training = (*inputs[1:], None, None)[:2]
    keeps = ratio is not None and ratio.array is not None and not ratio.array.any()
    if version < INPUT_SINCE or training is None or keeps:
        return False
    if training.array is None:
        store.assume(INFERS)
        return False
    return bool(training.array.any())


def _array(term: Term) -> Array:
    """The value of a term, or zeros of its shape where the value is not read."""
    return np.broadcast_to(np.zeros(()), term.shape or ()) if term.array is None else term.array


def _facts(term: Term | None) -> TensorFacts:
    return NOTHING_STATED if term is None else term.facts
