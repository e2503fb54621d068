"""The two models of a comparison: their numbers for symbols, and which inputs and outputs belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.errors import BadInput, UsageError
from sonnx.base.escaping import quote
from sonnx.equivalence.options import EquivalenceOptions, PairOptions
from sonnx.equivalence.result import File
from sonnx.equivalence.terms.narrowed_numbers import DIGITS, WIDE
from sonnx.executor.fixed_inputs import fixed_array, named_numbers
from sonnx.executor.model_inputs import required_inputs
from sonnx.model.ir import NOT_STATED, Model, Tensor, Type
from sonnx.model.scopes import stored_tensors
from sonnx.model.symbols import UnknownSymbol, bind_symbols, symbols_of


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
    def inverse_inputs(self) -> dict[str, str]:
        """For inputs of the second model their names in the first one."""
        return {partner: name for name, partner in self.inputs.items()}

    @property
    def keeps_names(self) -> bool:
        """Whether every name is paired with itself."""
        return all(first == second for names in (self.inputs, self.outputs) for first, second in names.items())


def side_of(model: Model, name: str, digest: str, folder: Path | None) -> Side:
    """A model as one of the two."""
    return Side(model, File(name, digest, len(model.graph.nodes)), folder)


def same_content(first: Side, second: Side) -> bool:
    """Whether both are one file; equal files in two folders may have other external data."""
    if not first.file.sha256 or first.file.sha256 != second.file.sha256:
        return False
    if all(tensor.external is None for side in (first, second) for tensor in stored_tensors(side.model)):
        return True
    return first.folder is not None and second.folder is not None and first.folder.samefile(second.folder)


# ------------------------------------------------------------------ numbers for symbols, shapes for inputs


def sized_sides(first: Side, second: Side, options: PairOptions) -> tuple[Side, Side]:
    """Both models with the numbers and the shapes of the options that each has symbols and inputs for.

    Raises:
        UsageError: a symbol that neither model has, or a shape that does not fit.
    """
    symbols = [symbols_of(side.model) if options.bind else frozenset[str]() for side in (first, second)]
    missing = options.bind.keys() - symbols[0] - symbols[1]
    if missing:
        raise UnknownSymbol(f"no dimension of either model is the symbol {', '.join(sorted(missing))}")
    sized = []
    for side, known in zip((first, second), symbols, strict=True):
        inputs = {value.name for value in required_inputs(side.model)}
        named = [(name, shape) for name, shape in options.input_shapes.items() if name in inputs]
        named += [
            (options.renamed[name], shape) for name, shape in options.input_shapes.items()
            if options.renamed.get(name) in inputs
        ]  # fmt: skip
        numbers = {name: number for name, number in options.bind.items() if name in known}
        sized.append(replace(side, model=bind_symbols(side.model, numbers, dict(named))))
    return sized[0], sized[1]


def with_given_numbers(first: Side, second: Side, options: EquivalenceOptions) -> tuple[Side, Side]:
    """Both models with constants in the place of the inputs that `--input` gives numbers, named as in the first one.

    Raises:
        UsageError: neither model has an input, or its type or shape does not allow the number.
    """
    numbers = dict(named_numbers(options.input))
    theirs = {options.renamed.get(name, name): text for name, text in numbers.items()}
    known = [{value.name for value in required_inputs(side.model)} for side in (first, second)]
    missing = [name for name in numbers if name not in known[0] and options.renamed.get(name, name) not in known[1]]
    if missing:
        raise UsageError(f"--input names {quote(missing[0])}, which is not an input of either model")
    return _fixed(first, numbers), _fixed(second, theirs)


def _fixed(side: Side, numbers: Mapping[str, str]) -> Side:
    graph = side.model.graph
    fixed = [value for value in graph.inputs if value.name in numbers]
    names = {value.name for value in fixed}
    if not names:
        return side
    constants = []
    for value in fixed:
        array = fixed_array(value, numbers[value.name])
        if array.dtype.kind not in "fiub":
            raise UsageError(f"--input cannot fix {quote(value.name)}, which is {value.type}")
        data = memoryview(array.tobytes())
        constants.append(Tensor(value.name, value.type.element, array.shape, ("raw_data",), data))
    inputs = tuple(value for value in graph.inputs if value.name not in names)
    kept = tuple(tensor for tensor in graph.initializers if tensor.name not in names)
    return replace(
        side, model=replace(side.model, graph=replace(graph, inputs=inputs, initializers=(*kept, *constants)))
    )


def with_shapes(side: Side, shapes: Mapping[str, tuple[int, ...]]) -> Side:
    """The model with these shapes of its inputs."""
    return replace(side, model=bind_symbols(side.model, {}, shapes))


def shapes_of_open_inputs(first: Model, pairing: Pairing, number: int) -> dict[str, tuple[int, ...]]:
    """A shape for each input of the first model without a complete one, with a number in place of what is not stated;
    empty where an input has no rank, or none is open.
    """
    types = {value.name: value.type for value in first.graph.inputs}
    shapes = {}
    for name in pairing.inputs:
        shape = types[name].shape
        if shape is None:
            return {}
        extents = tuple([extent if isinstance(extent, int) and extent >= 0 else number for extent in shape])
        if extents != shape:
            shapes[name] = extents
    return shapes


# ------------------------------------------------------------------ inputs and outputs


def paired(first: Model, second: Model, renamed: Mapping[str, str], *, as_wide: bool = False) -> Pairing:
    """For inputs and outputs of the first model those of the second: of the same name, or as `renamed` says; with
    `as_wide` also where one has the type float and the other one a narrower type.

    Raises:
        BadInput: the models differ in inputs, outputs or their types.
    """
    inputs = [{each.name: _wide(each.type, as_wide) for each in required_inputs(model)} for model in (first, second)]
    outputs = [{each.name: _wide(each.type, as_wide) for each in model.graph.outputs} for model in (first, second)]
    pairs = _by_name("input", inputs[0], inputs[1], renamed), _by_name("output", outputs[0], outputs[1], renamed)
    unused = renamed.keys() - inputs[0].keys() - outputs[0].keys()
    if unused:
        raise BadInput(f"the first model has no input or output {quote(min(unused))}, which --map names")
    for name, partner in pairs[0].items():
        demand_same_type(name, inputs[0][name], inputs[1][partner])
    for name, partner in pairs[1].items():
        types = outputs[0][name], outputs[1][partner]
        if _elements(types[0]) != _elements(types[1]) and NOT_STATED.kind not in (types[0].kind, types[1].kind):
            raise BadInput(
                f"the output {quote(name)} is {types[0]} in the first model and {types[1]} in the second one"
            )
    return Pairing(*pairs)


def _wide(type_: Type, as_wide: bool) -> Type:
    return replace(type_, element=WIDE) if as_wide and type_.element in DIGITS else type_


def _by_name(
    what: str, first: Mapping[str, Type], second: Mapping[str, Type], renamed: Mapping[str, str]
) -> dict[str, str]:
    partners = {name: renamed.get(name, name) for name in first}
    if len(set(partners.values())) < len(partners):
        twice = next(partner for partner, number in Counter(partners.values()).items() if number > 1)
        raise BadInput(f"--map pairs two {what}s of the first model with {quote(twice)}")
    if set(partners.values()) != set(second):
        texts = [", ".join(map(quote, names)) or "none" for names in (first, second)]
        hint = "; --map OLD=NEW pairs them" if len(first) == len(second) else ""
        raise BadInput(f"the first model has the {what}s {texts[0]}, the second one {texts[1]}{hint}")
    return partners


def demand_same_type(name: str, first: Type, second: Type) -> None:
    """Refuse an input that both models have with other types; a symbol of one may have another name in the other.

    Raises:
        BadInput: the types differ.
    """
    if _elements(first) == _elements(second) and _may_be_one_shape(first.shape, second.shape):
        return
    symbols = [extent for type_ in (first, second) for extent in type_.shape or () if not isinstance(extent, int)]
    hint = "; --bind or --input-shape gives symbols numbers" if symbols and first.element == second.element else ""
    raise BadInput(f"the input {quote(name)} is {first} in the first model and {second} in the second one{hint}")


def _may_be_one_shape(first: Sequence[int | str | None] | None, second: Sequence[int | str | None] | None) -> bool:
    if first is None or second is None:
        return True
    return len(first) == len(second) and all(
        extents[0] == extents[1] if _is_number(extents[0]) else not _is_number(extents[1])
        for extents in zip(first, second, strict=True)
    )


def _is_number(extent: int | str | None) -> bool:
    """Whether a dimension is stated; a negative number, as some exporters write, states none."""
    return isinstance(extent, int) and extent >= 0


def _elements(type_: Type) -> tuple[str | None, ...]:
    """Kind and element type of a value, then those of what is inside."""
    inner = () if type_.inner is None else _elements(type_.inner)
    return (type_.kind, type_.element, *inner)
