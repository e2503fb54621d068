"""The domain of terms on the interpreter of models: a value is a term, shared by all models of one comparison.

What a call is, its shapes and its parameters are those of a run (`RunDomain`).  Constants are computed by the executor,
so a folded constant has the exact bits of the profile.  An operator without a definition here is an atom: equal inputs,
attributes and operator set give equal outputs, which is assumed and said.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from sonnx.base.errors import Stop
from sonnx.equivalence import absent, elementwise, keys, movements, padding, product_forms, quantization
from sonnx.equivalence.stated import fused_operators, stated_operators
from sonnx.equivalence.terms import Store, Term
from sonnx.executor.array_sizes import is_possible
from sonnx.executor.prepared_call import PreparedNode
from sonnx.graph.call import Call
from sonnx.graph.environment import NOTHING_STATED, declared_facts, environment
from sonnx.graph.interpreter import Transferred
from sonnx.graph.transfer import complete_types, output_facts
from sonnx.language.evaluator import RUN_TIME, TensorFacts, evaluate
from sonnx.model.ir import NOT_STATED, SparseTensor, Tensor, Type
from sonnx.model.scopes import canonical_domain
from sonnx.numerics.application import UNDEFINED_INPUT_ERRORS, Application, NoValue
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import ELEMENTS, Array
from sonnx.operators import find_operator

RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)
"""Operators whose output is not a function of their inputs."""

INFERS_SINCE, INPUT_SINCE = 7, 12
"""The operator sets from which on Dropout never trains, and from which on it trains where an input says so."""

MAX_FOLDED = 1 << 22
"""Elements of the operands of a computation on constants that is made; movements have a limit of their own."""

NO_DEFINITION = "operators without a definition here are functions of their inputs and attributes: {}"
INFERS = "Dropout whose training mode is computed does not train"
DEFAULTS = "inputs with a default keep it: {}"
DECLARED = "declared shapes of values that operators without a definition here make"


class TermDomain:
    """Values are terms; a call gives the node it was made for.

    Args:
        store: the terms of all models.
        folder: where the model file stands.
    """

    def __init__(self, store: Store, folder: Path | None) -> None:
        self.store, self.folder, self.run = store, folder, store.run
        self.rules = self.run.rules

    def declared(self, type_: Type) -> Term:
        """A value that no node has made yet; what reads it equals nothing."""
        facts = NOTHING_STATED if type_ == NOT_STATED else declared_facts(type_)
        return self.store.fresh("declared", facts, "")

    def constant(self, tensor: Tensor, replaceable: bool) -> Term:
        """The value of an initializer; a default stays as it is, which is assumed and said."""
        if replaceable:
            self.store.assume(DEFAULTS.format(tensor.name))
        return movements.constant_of(self.store, decode(tensor, self.folder))

    def sparse(self, tensor: SparseTensor) -> Term:
        """A sparse constant with its zeros written, where it is small enough and as ONNX requires."""
        dense = self._dense(tensor)
        if dense is None:
            return self.store.fresh("sparse", NOTHING_STATED, tensor.name)
        return movements.constant_of(self.store, dense)

    def _dense(self, tensor: SparseTensor) -> Array | None:
        kind, size = ELEMENTS.get(tensor.element or ""), prod(tensor.dims) if min(tensor.dims, default=0) >= 0 else None
        if tensor.values is None or tensor.indices is None or kind is None or size is None or size > MAX_FOLDED:
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
        operator = call.operator, call.domain, call.overload, call.operator_set, call.inputs, call.outputs
        attributes = tuple([attribute.identity for attribute in call.attributes])
        given = tuple([operand and operand.number for operand in inputs])
        known, key = self.store.known_calls, (operator, attributes, given)
        stated = *key, tuple([_facts(output) for output in outputs])
        terms = known.get(key, known.get(stated))
        if terms is None and self._is_open(call, inputs):
            terms = [self.store.fresh("unknown", _facts(output), call.operator) for output in outputs]
        elif terms is None:
            defined = self._defined(call, inputs, len(outputs))
            terms = self._unknown(call, inputs, outputs)[: len(outputs)] if defined is None else defined
            if all(term.operator != "unknown" for term in terms):
                known[stated if defined is None else key] = terms
        return Transferred(
            [term if stands is not None else None for term, stands in zip(terms, outputs, strict=True)], ""
        )

    def _defined(self, call: Call, inputs: Sequence[Term | None], count: int) -> list[Term] | None:
        """The terms of a call whose definition gives its outputs, whatever they are declared to be; else None."""
        facts = [None if operand is None else operand.facts for operand in inputs]
        with np.errstate(all="ignore"):
            after, prepared = self.run.call(call, facts, [NOTHING_STATED] * count)
            known = self._known(call, prepared, inputs, after) if isinstance(prepared, PreparedNode) else None
        return known[:count] if known is not None and len(known) >= count else None

    def _is_open(self, call: Call, inputs: Sequence[Term | None]) -> bool:
        """Whether nothing is known of the outputs, not even that an equal call gives the same."""
        undefined = any(operand is not None and operand.operator == "declared" for operand in inputs)
        has_graph = any(keyed.kind in ("graph", "graphs") for keyed in call.attributes)
        return (
            undefined or has_graph or call.calls_function or call.operator in RANDOM or _drops(self.store, call, inputs)
        )

    # ------------------------------------------------------------------ calls whose shapes are known

    def _known(
        self, call: Call, prepared: PreparedNode, inputs: Sequence[Term | None], after: Sequence[TensorFacts | None]
    ) -> list[Term] | None:
        operator = find_operator(call.operator)
        shapes = [operand.shape or () for operand in inputs if operand is not None]
        shapes += [shape for shape, _ in prepared.output_specs or ()]
        if operator is None or canonical_domain(call.domain) or not all(map(is_possible, shapes)):
            return None
        folded = self._folded(call, prepared, inputs, reads_shapes_only=operator.reads_shapes_only)
        if folded is not None:
            return folded
        if call.operator in movements.MOVING:
            try:
                moved = movements.moved_by(self.store, call.operator, prepared, inputs)
            except (Stop, NoValue, *UNDEFINED_INPUT_ERRORS):
                moved = None
            if moved is not None:
                return [self._joined(prepared, inputs) or moved[0]] if call.operator == "Concat" else moved
        key, given = self._key(call, prepared.application, inputs)
        specs = [tensor_facts if tensor_facts is not None else NOTHING_STATED for tensor_facts in after]
        if call.operator in quantization.OPERATORS:
            key = quantization.without_axis(key, given)
        if call.operator in elementwise.ALL and len(specs) == 1:
            return [elementwise.applied(self.store, call.operator, key, prepared.application, given, specs[0])]
        written = len(given)
        given = absent.without_neutral(call.operator, given, prepared.application.names)
        if len(given) < written:
            self.store.rest_on("neutral-input")
        result = prepared.output_specs[0][0] if prepared.output_specs else ()
        given, key, application = padding.without_pad(
            self.store, call.operator, given, key, prepared.application, result
        )
        given, key, application = product_forms.of_constants(self.store, call.operator, given, key, application)
        if call.operator == "MaxPool":
            found = quantization.pooled(self.store, given, key, application, result)
            if found is not None:
                self.store.rest_on("pooled-integers")
                outer, inner = found
                operands = [inner, *outer.inputs[1:]]
                assert outer.application is not None  # noqa: S101  it was applied
                return [
                    elementwise.applied(
                        self.store, outer.operator, outer.key, outer.application, operands, _varying(specs[0])
                    )
                ]
        if call.operator == "MatMul" and prepared.output_specs:
            term = product_forms.product(self.store, given, key, application, prepared.output_specs[0][0])
            if term is not None:
                self.store.rest_on("parts-of-products")
                return [term]
        return [
            self.store.applied(call.operator, key, given, index, _varying(spec), application=application)
            for index, spec in enumerate(specs)
        ]

    def _joined(self, prepared: PreparedNode, inputs: Sequence[Term | None]) -> Term | None:
        """The one operator whose parts are concatenated, None where there is none."""
        axis = prepared.application.names.get("axis")
        if type(axis) is not int or not prepared.output_specs:
            return None
        shape = prepared.output_specs[0][0]
        term = product_forms.joined(self.store, inputs, axis % len(shape), shape)
        if term is not None:
            self.store.rest_on("parts-of-products")
        return term

    def _folded(
        self, call: Call, prepared: PreparedNode, inputs: Sequence[Term | None], *, reads_shapes_only: bool
    ) -> list[Term] | None:
        """The outputs of a call on constants, as the executor computes them."""
        if not reads_shapes_only and any(operand is not None and operand.array is None for operand in inputs):
            return None
        if any(operand is not None and operand.array is None and operand.shape is None for operand in inputs):
            return None
        arrays = [None if operand is None else _array(operand) for operand in inputs]
        sizes = [array.size for array in arrays if array is not None]
        sizes += [prod(shape) for shape, _ in prepared.output_specs or ()]
        most = MAX_FOLDED if call.operator not in movements.MOVING else movements.MAX_ELEMENTS * 8
        if not reads_shapes_only and max(sizes, default=0) > most:
            return None
        try:
            found = prepared.results(arrays)
        except (Stop, NoValue, *UNDEFINED_INPUT_ERRORS):
            return None
        return [movements.constant_of(self.store, np.array(array)) for array in found]

    def _key(
        self, call: Call, application: Application, inputs: Sequence[Term | None]
    ) -> tuple[Hashable, list[Term | None]]:
        """The key of a call, and the inputs that it does not have."""
        if call.signature is None:
            return keys.written_key(call), list(inputs)
        rank = inputs[0].rank if inputs and inputs[0] is not None else None
        conforms = self._conforms(call, inputs)
        key = keys.effective_key(call, call.signature, application.names, rank, conforms=conforms)
        if keys.counts_from_last(call.operator, application.names):
            self.store.rest_on("axis")
        given = [
            None if keys.stated_by(call.signature, application.names, index) else operand
            for index, operand in enumerate(inputs)
        ]
        while given and given[-1] is None:
            given.pop()
        return key, given

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
        facts = [None if operand is None else operand.facts for operand in inputs]
        reported = self.run.facts.call(call, facts, [NOTHING_STATED] * len(call.outputs)).result.reported
        return all(rule_result.rule.slug not in needed for rule_result in reported)

    # ------------------------------------------------------------------ calls of which less is known

    def _unknown(self, call: Call, inputs: Sequence[Term | None], outputs: Sequence[Term | None]) -> list[Term]:
        """The outputs of a call whose shapes depend on symbols or values, or that has no definition here."""
        domain = canonical_domain(call.domain)
        if call.operator in ("Dropout", "Identity") and not domain:
            return self._passed_on(call, inputs, outputs)
        if call.signature is not None and not domain:
            facts = [None if operand is None else operand.facts for operand in inputs]
            names = environment(call.signature, call.attributes, facts, [NOTHING_STATED] * len(outputs))
            complete_types(call.signature, names)
            application = Application(
                call.operator, call.signature.version, call.signature.text, names,
                {attribute.name: attribute for attribute in call.attributes}, outputs=len(outputs),
            )  # fmt: skip
            key, given = self._key(call, application, inputs)
            specs = _shapes(call, names, len(outputs))
        else:
            key, given, application, specs = keys.written_key(call), list(inputs), None, [NOTHING_STATED] * len(outputs)
            known = stated_operators().get(call.operator) if not domain else None
            keeps = known is not None and known.keeps_shape and inputs and inputs[0] is not None
            if (find_operator(call.operator) is None or domain) and not _has_meaning(domain, call.operator):
                name = f"{domain}.{call.operator}" if domain else call.operator
                self.store.assume(NO_DEFINITION.format(name))
            if keeps and inputs[0] is not None:
                specs = [_varying(inputs[0].facts), *specs[1:]]
            elif any(output is not None and _facts(output).shape is not NOTHING_STATED.shape for output in outputs):
                self.store.assume(DECLARED)
                specs = [_facts(output) for output in outputs]
        if call.operator in elementwise.COMMUTATIVE and not domain:
            given = [*elementwise.in_order(self.store, [term for term in given if term is not None])]
        return [
            self.store.applied(call.operator, key, given, index, spec, application=application, domain=domain)
            for index, spec in enumerate(specs)
        ]

    def _passed_on(self, call: Call, inputs: Sequence[Term | None], outputs: Sequence[Term | None]) -> list[Term]:
        """Identity and Dropout of a value of unknown shape: the value itself."""
        fresh = [self.store.fresh("unknown", _facts(output), call.operator) for output in outputs]
        first = inputs[0] if inputs else None
        return [first, *fresh[1:]] if first is not None else fresh


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


def _has_meaning(domain: str, operator: str) -> bool:
    """Whether `expansion.py` knows a fused operator."""
    return (domain, operator) in fused_operators() or (domain, operator) == ("com.microsoft", "FusedMatMul")


def _array(term: Term) -> Array:
    """The value of a term, or zeros of its shape where the value is not read."""
    return np.broadcast_to(np.zeros(()), term.shape or ()) if term.array is None else term.array


def _facts(term: Term | None) -> TensorFacts:
    return NOTHING_STATED if term is None else term.facts


def _varying(facts: TensorFacts) -> TensorFacts:
    return facts._replace(values=RUN_TIME)


def _shapes(call: Call, names: dict[str, Any], count: int) -> list[TensorFacts]:
    """What the operator's data file says of the outputs, with dimensions that are not known."""
    signature = call.signature
    assert signature is not None  # noqa: S101  for the type checker
    stated = [NOTHING_STATED] * count
    after = output_facts(signature, names, stated, (), lambda output: evaluate(signature.shapes[output.name], names))
    return [
        _varying(tensor_facts) if isinstance(tensor_facts, TensorFacts) else NOTHING_STATED for tensor_facts in after
    ]
