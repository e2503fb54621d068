"""The signature of an operator in one version and edition, with the rules derived from it.

Derived rules are expressions of the rule language like those of the files, so every interpretation applies to them:
`Max.X-type` (the element types), `ArgMax.Y-type`, `ReduceMax.axes-type`, `ReduceMax.axes-rank`, `Max.Y-shape`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from sonnx.language.domain import Expression, given_key, input_key, written_key
from sonnx.language.parser import operand, parsed_later
from sonnx.profile import catalogue
from sonnx.profile.definitions import (
    Editions,
    Formal,
    Input,
    OperatorDefinition,
    Output,
    Parameter,
    Rule,
    T,
    Tag,
    at,
    covers,
    expand,
)
from sonnx.profile.profile_data import of_profile


class Signature(Struct, frozen=True, eq=False, dict=True):
    """One operator in one version and edition.

    `inputs` and `outputs` are in the order of the node, `attributes` the parameters that are attributes, `values` those
    that are constant inputs; `absent` and `define` are evaluated in their order; `groups` name the tensors that must
    share one element type, by type variable; `single` the element type of a variable that can have one only; `typed`
    names the tensors that each rule about listed element types constrains, by the name of the rule.
    """

    operator: str
    version: int
    text: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    attributes: tuple[Parameter, ...]
    values: tuple[Parameter, ...]
    absent: Mapping[str, Expression | None]
    define: Mapping[str, Expression]
    groups: Mapping[str, tuple[str, ...]]
    single: Mapping[str, str]
    typed: Mapping[str, tuple[str, ...]]
    one_type: tuple[tuple[str, ...], ...]
    rules: tuple[Rule, ...]

    @property
    def formals(self) -> tuple[Formal, ...]:
        """Inputs and outputs."""
        return (*self.inputs, *self.outputs)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters of this version."""
        return (*self.attributes, *self.values)

    @cached_property
    def shapes(self) -> Mapping[str, Expression]:
        """The shape of each output as a function of the inputs; for a variadic output the list of all its shapes."""
        return {output.name: shape for output in self.outputs if (shape := at(output.shape, self.version)) is not None}

    @cached_property
    def elements(self) -> Mapping[str, Expression]:
        """The elements of each output that has an expression for them."""
        return {
            output.name: expression
            for output in self.outputs
            if (expression := at(output.values, self.version)) is not None
        }


@of_profile
def signature(name: str, version: int, edition: str) -> Signature | None:
    """The signature of an operator, None where it has no file or the edition does not name it."""
    definition, editions = catalogue.operator(name), catalogue.editions()
    text = editions.editions[edition].text_of(name)
    return None if definition is None or text is None else resolve(definition, version, text, editions, edition)


def resolve(definition: OperatorDefinition, version: int, text: str, editions: Editions, edition: str) -> Signature:
    """The signature of an operator at a version, under a text of an edition."""
    inputs = tuple(formal for formal in definition.inputs if covers(formal, version))
    outputs = tuple(output for output in definition.outputs if covers(output, version))
    parameters = [parameter for parameter in definition.parameters if covers(parameter, version)]
    written = tuple(
        rule for rule in definition.rules if covers(rule, version) and active_condition(rule, text, editions)
    )
    types = _allowed(definition, version, text, editions, edition)
    base = Signature(
        operator=definition.name,
        version=version,
        text=text,
        inputs=inputs,
        outputs=outputs,
        attributes=tuple(parameter for parameter in parameters if parameter.input is None or version < parameter.input),
        values=tuple(
            parameter for parameter in parameters if parameter.input is not None and version >= parameter.input
        ),
        absent={parameter.name: at(parameter.absent, version) for parameter in parameters},
        define={
            name: expression
            for name, values in definition.define.items()
            if (expression := at(values, version)) is not None
        },
        groups=_groups((*inputs, *outputs), definition),
        single={variable: onnx[0] for variable, (onnx, _) in types.items() if len(onnx) == 1},
        typed=_typed((*inputs, *outputs), definition),
        one_type=definition.one_type if text != "onnx" else (),
        rules=written,
    )
    computed = (*_chosen_types(base, definition), *_shapes(base))
    return replace(base, rules=(*_types(base, definition, types), *written, *computed))


def active_condition(rule: Rule, text: str, editions: Editions) -> Expression | None:
    """The condition of a rule under a text: the profile's, before its introduction that of ONNX; None for neither."""
    return rule.require if editions.in_force(rule, text) else rule.onnx


def _groups(formals: tuple[Formal, ...], definition: OperatorDefinition) -> dict[str, tuple[str, ...]]:
    groups = {
        variable: tuple(formal.name for formal in formals if formal.type == variable) for variable in definition.types
    }
    return {variable: members for variable, members in groups.items() if members}


def _typed(formals: tuple[Formal, ...], definition: OperatorDefinition) -> dict[str, tuple[str, ...]]:
    variables = {formal.name: formal.type for formal in formals}
    listed = {
        rule: tuple(name for name in alike if variables.get(name) in definition.types)
        for rule, alike in definition.type_rules.items()
    }
    return {rule: names for rule, names in listed.items() if names}


def _latest(values: Mapping[str, T], text: str, editions: Editions) -> T | None:
    order = list(editions.texts)
    stating = [name for name in order[: order.index(text) + 1] if name in values]
    return values[stating[-1]] if stating else None


def _allowed(
    definition: OperatorDefinition, version: int, text: str, editions: Editions, edition: str
) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """For each type variable the element types of ONNX, and those of them that the profile allows."""
    allowed = {}
    chosen = editions.editions[edition]
    for variable, by_version in definition.types.items():
        onnx = expand(at(by_version, version) or (), editions.families)
        lists = definition.profile.get(variable, {})
        chosen_here = lists.get(chosen.general) if chosen.consolidated else None
        listed = chosen_here or _latest(lists, text, editions)
        profile = expand(listed, editions.families) if listed else chosen.element_types
        unrestricted = definition.name in chosen.planned  # no text restricts it yet
        allowed[variable] = (onnx, onnx if unrestricted else tuple(name for name in onnx if name in profile))
    return allowed


def _each(base: Signature, name: str, condition: str) -> str:
    """The source text of a condition on an input or output; `?` stands for the tensor."""
    formal = next(candidate for candidate in base.formals if candidate.name == name)
    if formal.variadic:
        return f"all({condition.replace('?', 'x')} for x in {name})"
    value = any(parameter.name == name for parameter in base.values)
    plain = condition.replace("?", input_key(name) if value else name)
    return f"(not {given_key(name)} or {plain})" if formal.optional else plain


def _types(
    base: Signature, definition: OperatorDefinition, allowed: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
) -> Iterator[Rule]:
    variables = {formal.name: formal.type for formal in base.formals}
    for rule, members in base.typed.items():
        variable = variables[members[0]]
        onnx, profile = allowed[variable]
        conditions = [
            parsed_later(" and ".join(_each(base, name, f"?.type in {list(names)}") for name in members))
            for names in (profile, onnx)
        ]
        yield Rule(
            slug=f"{base.operator}.{rule}",
            subject="node",
            kind="restriction" if profile != onnx else "validity",
            statement=f"The element type of {' and '.join(members)} is one of {', '.join(profile)}.",
            require=conditions[0],
            onnx=conditions[1],
            because="The operator is specified for these element types only.",
            remedy="Export the model so that the tensor has one of these element types.",
            source=definition.source,
            errata=definition.type_errata.get(variable, ()),
        )
    values = {parameter.name for parameter in base.values}
    for formal in base.formals:
        if formal.type and formal.type not in base.groups and formal.name not in values:
            yield _fixed_type(base, definition, formal.name, formal.type, formal.type_tags)
    for parameter in base.values:
        yield from _value_input(base, definition, parameter)


def _fixed_type(
    base: Signature, definition: OperatorDefinition, name: str, element: str, tags: tuple[Tag, ...]
) -> Rule:
    return Rule(
        slug=f"{base.operator}.{name}-type",
        subject="node",
        kind="validity",
        statement=f"{name} has the element type {element}.",
        require=parsed_later(_each(base, name, f"?.type == '{element}'")),
        because=f"{base.operator} gives {name} this element type and no other.",
        remedy=f"Declare {name} with the element type {element}.",
        source=definition.source,
        tags=tags,
    )


def _chosen_types(base: Signature, definition: OperatorDefinition) -> Iterator[Rule]:
    for output in base.outputs:
        element = at(output.element, base.version)
        if element is not None:
            yield Rule(
                slug=f"{base.operator}.{output.name}-type",
                subject="node",
                kind="validity",
                statement=f"{output.name} has the element type the operator gives it.",
                require=parsed_later(_each(base, output.name, f"?.type == {operand(element.text)}")),
                relies=output.relies,
                because=f"The parameters of {base.operator} decide the element type of {output.name}.",
                remedy=f"Declare {output.name} with that element type.",
                source=definition.source,
                tags=output.type_tags,
            )


def _value_input(base: Signature, definition: OperatorDefinition, parameter: Parameter) -> Iterator[Rule]:
    """A parameter that is an input has the type and rank of its kind; `<name>_input` is its tensor."""
    formal = next(candidate for candidate in base.inputs if candidate.name == parameter.name)
    tensor, rank = input_key(parameter.name), 1 if parameter.kind.endswith("s") else 0
    exact, onnx = f"{tensor}.rank == {rank}", ""
    if parameter.list_since is not None and base.version < parameter.list_since:
        onnx = f"{tensor}.rank <= {rank}"
    if onnx and definition.specified is None:
        demands = [("rank-limit", onnx, "", f"has a rank of at most {rank}")]
    else:
        demands = [("rank", exact, onnx, f"has rank {rank}")]
    if formal.type not in base.groups:
        typed = f"{tensor}.type == '{formal.type}'"
        demands.insert(0, ("type", typed, "", f"has the element type {formal.type}"))
    for subject, condition, less, statement in demands:
        yield Rule(
            slug=f"{base.operator}.{parameter.name}-{subject}",
            subject="node",
            kind="restriction" if less else "validity",
            statement=f"The input {parameter.name} {statement}.",
            require=parsed_later(condition),
            onnx=parsed_later(less) if less else None,
            errata=parameter.errata,
            when=parsed_later(written_key(parameter.name)),
            because="The operator reads the input as a list of numbers."
            if rank
            else "The operator reads the input as one number.",
            remedy=f"Give {parameter.name} that type and rank.",
            source=definition.source,
        )


def _shapes(base: Signature) -> Iterator[Rule]:
    for output in base.outputs:
        shape = base.shapes.get(output.name)
        if shape is None:
            continue
        when, require = _declared_shape(output, operand(shape.text))
        yield Rule(
            slug=f"{base.operator}.{output.name}-shape",
            subject="node",
            kind="validity",
            statement=f"{output.name} has the shape the operator computes.",
            require=parsed_later(require),
            when=parsed_later(when),
            relies=output.relies,
            implied_by=output.implied_by,
            because=output.because,
            remedy=f"Declare {output.name} with the computed shape, or correct the inputs.",
            source="ONNX; the shape expression of the operator file",
            tags=output.tags,
            errata=output.errata,
        )


def _declared_shape(output: Output, shape: str) -> tuple[str, str]:
    """The source texts of `when` and `require` of the rule about the declared shape of an output."""
    name = output.name
    if output.variadic:
        text = f"not stated({name}[nth].shape) or {name}[nth].shape == {shape}[nth]"
        return f"any(stated(one.shape) for one in {name})", f"all({text} for nth in range(len({name})))"
    stated = f"stated({name}.shape)"
    return f"{given_key(name)} and {stated}" if output.optional else stated, f"{name}.shape == {shape}"


def every_rule(definition: OperatorDefinition) -> tuple[Rule, ...]:
    """Every rule of an operator, derived ones included, each once.

    Where editions or versions differ, the rule is that of the default edition and the specified version.
    """
    editions = catalogue.editions()
    rules = {rule.slug: rule for rule in definition.rules if not rule.inert}
    order = sorted(editions.editions.values(), key=lambda edition: edition.name != editions.default)
    for edition in order:
        text = edition.text_of(definition.name)
        for version in definition.specified_first if text else ():
            for rule in resolve(definition, version, text or "", editions, edition.name).rules:
                rules.setdefault(rule.slug, rule)
    return tuple(rules.values())
