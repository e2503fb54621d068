"""One call of an operator: a node as the rules of its operator see it.  Calls are built here and nowhere else."""

from __future__ import annotations

from msgspec import Struct

from sonnx.model.ir import Attribute, Function, Model, Node
from sonnx.model.scopes import Scope, canonical_domain, function_key
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition, OperatorDefinition
from sonnx.profile.signature import Signature, resolve, signature


class Call(Struct, frozen=True, eq=False):
    """A node without the names of its values: nodes that differ in names only share one call.

    `inputs` and `outputs` say which are connected.  `status` is specified, draft or planned, "" where the edition does
    not name the operator.  `definition` is the data file of the operator, `version` the version that the operator set
    has in force, `signature` the operator in that version and edition; each is None where there is none.
    """

    operator: str
    domain: str
    overload: str
    operator_set: int | None
    version: int | None
    attributes: tuple[Attribute, ...]
    inputs: tuple[bool, ...]
    outputs: tuple[bool, ...]
    definition: OperatorDefinition | None
    signature: Signature | None
    status: str
    imported: bool
    in_function: bool
    function: Function | None
    """The model-local function the node calls, which decides before the operators do."""
    strict: bool
    """Only the version that the operator's text specifies is admitted."""
    ir_version: int | None = None

    @property
    def calls_function(self) -> bool:
        """Whether the node calls a model-local function."""
        return self.function is not None


class Calls:
    """The calls of one model under one edition.

    Args:
        model: whose functions nodes may call.
        edition: what names the operators and their texts.
        strict: see `Call.strict`.
        beyond_edition: give operators that the edition does not name the signature of their ONNX text, for their shapes
            and values; else they have none.
    """

    def __init__(self, model: Model, edition: Edition, *, strict: bool = False, beyond_edition: bool = False) -> None:
        self.edition, self.strict, self.beyond_edition = edition, strict, beyond_edition
        self.ir_version = model.ir_version
        self.functions = {function_key(function): function for function in model.functions}
        self._known: dict[object, Call] = {}

    def of(self, scope: Scope, node: Node) -> Call:
        """The call of a node in its scope; equal calls are one object."""
        connected = tuple(map(bool, node.inputs)), tuple(map(bool, node.outputs))
        attributes = tuple([attribute.identity for attribute in node.attributes])
        key = (node.operator, node.domain, node.overload, *connected, attributes, scope.kind)
        call = self._known.get(key)
        if call is None:
            call = self._known[key] = self._new_call(scope, node, *connected)
        return call

    def signatures(self) -> list[Signature]:
        """The different signatures, in the order of their first call."""
        called = [call.signature for call in self._known.values() if call.signature is not None]
        return list({(signature.operator, signature.version): signature for signature in called}.values())

    def _new_call(self, scope: Scope, node: Node, inputs: tuple[bool, ...], outputs: tuple[bool, ...]) -> Call:
        domain = canonical_domain(node.domain)
        function = self.functions.get((domain, node.operator, node.overload))
        status = "" if domain or function else self.edition.status(node.operator)
        definition = catalogue.operator(node.operator) if status or self._of_onnx(domain, function) else None
        operator_set = scope.imports.get(domain)
        version = definition.version_at(operator_set) if definition and operator_set is not None else None
        return Call(
            operator=node.operator,
            domain=domain,
            overload=node.overload,
            operator_set=operator_set,
            version=version,
            attributes=node.attributes,
            inputs=inputs,
            outputs=outputs,
            definition=definition,
            signature=self._signature(definition, version),
            status=status,
            imported=domain in scope.imports,
            in_function=scope.function is not None,
            function=function,
            strict=self.strict,
            ir_version=self.ir_version,
        )

    def _of_onnx(self, domain: str, function: Function | None) -> bool:
        return self.beyond_edition and not domain and function is None

    def _signature(self, definition: OperatorDefinition | None, version: int | None) -> Signature | None:
        if definition is None or version is None:
            return None
        candidate = signature(definition.name, version, self.edition.name)
        if candidate is None and self.beyond_edition:
            candidate = resolve(definition, version, "onnx", catalogue.editions(), self.edition.name)
        return candidate
