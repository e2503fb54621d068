"""Families of models: one thing that a model can repeat grows, or two that could multiply, and all else stays.

Each function takes a number and returns the bytes of a file whose length grows in proportion to it.  Most files are no
useful models; a checker reads them all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sonnx.model.limits import DEFAULT_LIMITS
from tests.support.invariants import field

INT8, INT32, INT64, FLOAT, STRING = 3, 6, 7, 1, 8
GRAPH, GRAPHS, TENSORS, TYPES = 5, 10, 9, 14
"""Numbers of element types and of attribute kinds (onnx.proto)."""


def number(tag: int, value: int) -> bytes:
    """A varint field with a number of at most 63 bits."""
    encoded = bytearray([tag << 3] if tag < 16 else [tag << 3 & 127 | 128, tag >> 4])
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])


def text(value: str) -> bytes:
    """The bytes of a name."""
    return value.encode()


def part(number_: int, content: bytes) -> bytes:
    """A length-delimited field of any number; `field` takes numbers below 16 only."""
    whole = field(1, content)[1:]
    return bytes([number_ << 3 & 127 | 2 | 128, number_ >> 4]) + whole if number_ > 15 else field(number_, content)


def dimensions(*sizes: int | str) -> bytes:
    """A TensorShapeProto."""
    return b"".join(field(1, number(1, each) if isinstance(each, int) else field(2, text(each))) for each in sizes)


def value(name: str, *sizes: int | str, element: int = FLOAT) -> bytes:
    """A ValueInfoProto of a tensor."""
    return field(1, text(name)) + field(2, field(1, number(1, element) + field(2, dimensions(*sizes))))


def node(operator: str, inputs: Iterable[str], outputs: Iterable[str], *attributes: bytes) -> bytes:
    """A NodeProto."""
    named = [field(1, text(each)) for each in inputs] + [field(2, text(each)) for each in outputs]
    return b"".join([*named, field(4, text(operator)), *(field(5, each) for each in attributes)])


def attribute(name: str, kind: int, *content: bytes) -> bytes:
    """An AttributeProto; `content` are its value fields."""
    return field(1, text(name)) + b"".join(content) + number(20, kind)


def tensor(name: str, data: bytes, *sizes: int, element: int = INT32) -> bytes:
    """A TensorProto with raw data."""
    dims = b"".join(number(1, each) for each in sizes)
    return dims + number(2, element) + field(8, text(name)) + field(9, data)


def graph(*parts: bytes, name: str = "g") -> bytes:
    """A GraphProto."""
    return b"".join(parts) + field(2, text(name))


def nodes(each: Iterable[bytes]) -> bytes:
    """The nodes of a graph."""
    return b"".join(field(1, one) for one in each)


def initializers(each: Iterable[bytes]) -> bytes:
    """The initializers of a graph."""
    return b"".join(field(5, one) for one in each)


def inputs(each: Iterable[bytes]) -> bytes:
    """The inputs of a graph."""
    return b"".join(field(11, one) for one in each)


def outputs(each: Iterable[bytes]) -> bytes:
    """The outputs of a graph."""
    return b"".join(field(12, one) for one in each)


def infos(each: Iterable[bytes]) -> bytes:
    """The value infos of a graph."""
    return b"".join(field(13, one) for one in each)


def model(content: bytes, *more: bytes) -> bytes:
    """A ModelProto of IR version 8 and operator set 13."""
    return number(1, 8) + field(7, content) + field(8, field(1, b"") + number(2, 13)) + b"".join(more)


# ------------------------------------------------------------------ nodes and what they list


def empty_nodes(n: int) -> bytes:
    return model(graph(b"\x0a\x00" * n))


def foreign_nodes(n: int) -> bytes:
    return model(graph(nodes([node("Foreign", ["a"], [f"v{i}"]) for i in range(n)])))


def chain_of_equal_nodes(n: int) -> bytes:
    made = [node("Max", [f"v{i}", "v0"], [f"v{i + 1}"]) for i in range(n)]
    return model(graph(nodes(made), inputs([value("v0", 4)]), outputs([value(f"v{n}", 4)])))


def chain_of_different_shapes(n: int) -> bytes:
    made = [node("Max", [f"v{i}"], [f"w{i}"]) for i in range(n)]
    declared = inputs([value(f"v{i}", i + 1) for i in range(n)]), outputs([value(f"w{i}", i + 1) for i in range(n)])
    return model(graph(nodes(made), *declared))


def unsorted_nodes(n: int) -> bytes:
    made = [node("Max", [f"v{i}", "v0"], [f"v{i + 1}"]) for i in reversed(range(n))]
    return model(graph(nodes(made), inputs([value("v0", 4)]), outputs([value(f"v{n}", 4)])))


def a_cycle(n: int) -> bytes:
    made = [node("Max", [f"v{i}"], [f"v{(i + 1) % n}"]) for i in range(n)]
    return model(graph(nodes(made), outputs([value("v0", 4)])))


def names_used_but_not_defined(n: int) -> bytes:
    return model(graph(nodes([node("Max", [f"a{i}"], [f"b{i}"]) for i in range(n)]), outputs([value("b0", 4)])))


def one_name_defined_again(n: int) -> bytes:
    return model(graph(nodes([node("Max", ["a"], ["b"])] * n), inputs([value("a", 4)]), outputs([value("b", 4)])))


def inputs_of_a_node(n: int) -> bytes:
    return model(graph(nodes([node("Max", ["a"] * n, ["b"])]), inputs([value("a", 4)]), outputs([value("b", 4)])))


def different_inputs_of_a_node(n: int) -> bytes:
    listed = [f"a{i}" for i in range(n)]
    declared = inputs([value(each, 1, i + 1) for i, each in enumerate(listed)])
    return model(graph(nodes([node("Max", listed, ["b"])]), declared, outputs([value("b", 1, n)])))


def omitted_inputs_of_a_node(n: int) -> bytes:
    return model(graph(nodes([node("Max", [""] * n, ["b"])]), outputs([value("b", 4)])))


def outputs_of_a_node(n: int) -> bytes:
    listed = [f"b{i}" for i in range(n)]
    return model(graph(nodes([node("Split", ["a"], listed)]), inputs([value("a", n)]), outputs([value("b0", 1)])))


def inputs_times_rank(n: int) -> bytes:
    """Nodes of many inputs, drawn from two shapes of large rank."""
    size = min(30 + n // 10, 300)
    listed = [[f"{'ab'[i >> k & 1]}" for k in range(size)] for i in range(1, 1 + n // 10)]
    declared = inputs([value(each, *[2] * size) for each in "ab"])
    made = nodes([node("Max", each, [f"o{i}"]) for i, each in enumerate(listed)])
    return model(graph(made, declared, outputs([value(f"o{i}", 1) for i in range(len(listed))])))


def names_of_4096_bytes(n: int) -> bytes:
    listed = [node("Foreign" + "x" * 4000, ["a" * 4096], [f"{i:04096}"]) for i in range(n)]
    return model(graph(nodes(listed)))


# ------------------------------------------------------------------ constants and the nodes that read them


def readers_of_a_constant(n: int, elements: int, operator: str, element: int, data: bytes) -> bytes:
    """Nodes of different types that read one constant; `data` are the bytes of each of its elements."""
    constant = initializers([tensor("c", data * elements, elements, element=element)])
    declared = inputs([value(f"x{i}", 1, i + 5, element=INT8 if element == INT8 else FLOAT) for i in range(n)])
    attributes = [attribute("axis", 2, number(3, 1))] if operator == "Gather" else []
    made = nodes([node(operator, [f"x{i}", "c"], [f"y{i}"], *attributes) for i in range(n)])
    return model(graph(made, constant, declared, outputs([value(f"y{i}") for i in range(n)])))


def _readers(n: int, operator: str, element: int, data: bytes) -> bytes:
    """Nodes that read one constant of eight times as many elements."""
    return readers_of_a_constant(n, 8 * n, operator, element, data)


def gathers_of_one_constant(n: int) -> bytes:
    return _readers(n, "Gather", INT32, b"\1\0\0\0")


def failing_gathers_of_one_constant(n: int) -> bytes:
    return _readers(n, "Gather", INT32, b"\0\0\0\1")


def divisions_by_one_constant(n: int) -> bytes:
    return _readers(n, "Div", INT8, b"\2")


def failing_divisions_by_one_constant(n: int) -> bytes:
    return _readers(n, "Div", INT8, b"\0")


def reshapes_to_one_constant(n: int) -> bytes:
    return _readers(n, "Reshape", INT64, b"\1" + b"\0" * 7)


def scatters_of_one_constant(n: int) -> bytes:
    constant = initializers([tensor("c", b"\1\0\0\0\0\0\0\0" * (8 * n), 8 * n, 1, element=INT64)])
    declared = inputs([value(f"x{i}", i + 5) for i in range(n)] + [value("u", 8 * n)])
    made = nodes([node("ScatterND", [f"x{i}", "c", "u"], [f"y{i}"]) for i in range(n)])
    return model(graph(made, constant, declared, outputs([value(f"y{i}") for i in range(n)])))


def different_constants(n: int) -> bytes:
    made = [tensor(f"c{i}", i.to_bytes(4, "little"), 1) for i in range(n)]
    return model(graph(nodes([node("Max", [f"c{i}" for i in range(n)], ["o"])]), initializers(made)))


def entries_of_a_tensor(n: int) -> bytes:
    made = number(1, n) + number(2, INT32) + field(5, b"\1" * n) + field(8, b"c")
    return model(graph(initializers([made]), nodes([node("Identity", ["c"], ["o"])]), outputs([value("o", n)])))


def strings_of_a_tensor(n: int) -> bytes:
    made = number(1, n) + number(2, STRING) + field(6, b"s") * n + field(8, b"c")
    return model(graph(initializers([made])))


def empty_initializers(n: int) -> bytes:
    return model(graph(b"\x2a\x00" * n))


def sparse_initializers(n: int) -> bytes:
    return model(graph(b"\x7a\x00" * n))


def entries_of_external_data(n: int) -> bytes:
    made = number(14, 1) + b"".join(field(13, field(1, text(f"k{i}")) + field(2, b"v")) for i in range(n))
    return model(graph(initializers([made + field(8, b"c")])))


# ------------------------------------------------------------------ declarations


def empty_inputs(n: int) -> bytes:
    return model(graph(b"\x5a\x00" * n))


def different_inputs(n: int) -> bytes:
    return model(graph(inputs([value(f"x{i}", 1, 2, 3) for i in range(n)])))


def equal_inputs(n: int) -> bytes:
    return model(graph(inputs([value("x", i + 1) for i in range(n)])))


def symbols(n: int) -> bytes:
    return model(graph(inputs([value(f"x{i}", f"s{i}", 4) for i in range(n)])))


def symbols_through_nodes(n: int) -> bytes:
    declared = inputs([value(f"x{i}", f"s{i}", 4) for i in range(n)])
    made = nodes([node("Max", [f"x{i}", "b"], [f"y{i}"]) for i in range(n)])
    return model(
        graph(made, declared, inputs([value("b", "b")]), outputs([value(f"y{i}", f"s{i}", 4) for i in range(n)]))
    )


def value_infos_that_nothing_makes(n: int) -> bytes:
    return model(graph(infos([value(f"x{i}", 1) for i in range(n)]), outputs([value(f"y{i}", 1) for i in range(n)])))


def outputs_that_nothing_makes(n: int) -> bytes:
    return model(graph(outputs([value(f"y{i}", i) for i in range(n)])))


def dimensions_of_values(n: int) -> bytes:
    return model(graph(inputs([value(f"x{i}", *range(1, 20)) for i in range(n)])))


def dimension_of_a_value(n: int) -> bytes:
    return model(graph(inputs([value("x", *[f"d{i}" for i in range(min(n, 1000))])])))


def denotations(n: int) -> bytes:
    shape = b"".join(field(1, number(1, 2) + field(3, b"DATA_CHANNEL")) for _ in range(min(n, 1000)))
    declared = field(1, b"x") + field(2, field(1, number(1, FLOAT) + field(2, shape)))
    return model(graph(nodes([node("Conv", ["x"], [f"y{i}"]) for i in range(n)]), inputs([declared])))


def types_in_types(n: int) -> bytes:
    inner = field(1, number(1, FLOAT))
    for _ in range(20):
        inner = field(4, field(1, inner))
    return model(graph(inputs([field(1, text(f"x{i}")) + field(2, inner) for i in range(n)])))


# ------------------------------------------------------------------ attributes and graphs in them


def attributes_of_nodes(n: int) -> bytes:
    made = [
        node("Max", ["a"], [f"v{i}"], *[attribute(f"k{j}", 2, number(3, i)) for j in range(20)]) for i in range(n // 20)
    ]
    return model(graph(nodes(made)))


def empty_attributes(n: int) -> bytes:
    return model(graph(nodes([b"\x2a\x00" * 50 for _ in range(max(1, n // 50))])))


def integers_of_an_attribute(n: int) -> bytes:
    made = node("MaxPool", ["x"], ["y"], attribute("strides", 7, number(8, 1) * n))
    return model(graph(nodes([made]), inputs([value("x", 1, 1, 4, 4)])))


def text_of_an_attribute(n: int) -> bytes:
    made = node("MaxPool", ["x"], ["y"], attribute("auto_pad", 3, field(4, b"x" * n)))
    return model(graph(nodes([made]), inputs([value("x", 1, 1, 4, 4)])))


def texts_of_an_attribute(n: int) -> bytes:
    return model(graph(nodes([node("LSTM", ["x"], ["y"], attribute("activations", 8, field(9, b"Tanh") * n))])))


def tensors_of_an_attribute(n: int) -> bytes:
    return model(graph(nodes([node("Max", ["a"], ["b"], attribute("k", TENSORS, field(10, b"") * n))])))


def types_of_an_attribute(n: int) -> bytes:
    return model(graph(nodes([node("Max", ["a"], ["b"], attribute("k", TYPES, field(15, b"") * n))])))


def graphs_of_an_attribute(n: int) -> bytes:
    return model(graph(nodes([node("If", ["a"], ["b"], attribute("then_branch", GRAPHS, field(11, b"") * n))])))


def branches(n: int) -> bytes:
    def branch(name: str, index: int) -> bytes:
        return attribute(name, GRAPH, field(6, graph(nodes([node("Max", ["a"], ["o"])]), outputs([value("o", 4)]))))

    made = [node("If", ["c"], [f"y{i}"], branch("then_branch", i), branch("else_branch", i)) for i in range(n)]
    return model(graph(nodes(made), inputs([value("a", 4), value("c", element=9)])))


def nested_graphs_that_use_outer_names(n: int) -> bytes:
    inner = graph(nodes([node("Max", [f"a{i}"], [f"z{i}"]) for i in range(n)]))
    for level in range(10):
        inner = graph(nodes([node("If", ["c"], [f"y{level}"], attribute("then_branch", GRAPH, field(6, inner)))]))
    return model(graph(nodes([node("Foreign", [], [f"a{i}"]) for i in range(n)])) + inner)


# ------------------------------------------------------------------ the file


def functions(n: int) -> bytes:
    made = [part(25, field(1, text(f"f{i}")) + part(10, b"d")) for i in range(n)]
    return model(graph(), *made)


def values_of_a_function(n: int) -> bytes:
    listed = b"".join(field(7, node("Max", ["a"], [f"v{i}"])) for i in range(n))
    return model(graph(), part(25, field(1, b"f") + field(4, b"a") + field(5, b"v0") + listed + part(10, b"d")))


def operator_sets_imported_twice(n: int) -> bytes:
    made = [field(8, field(1, text(f"d{i % (n // 2 + 1)}")) + number(2, 1)) for i in range(n)]
    return model(graph(), *made)


def metadata(n: int) -> bytes:
    return model(graph(), *[part(14, field(1, text(f"k{i}")) + field(2, b"v")) for i in range(n)])


def training_graphs(n: int) -> bytes:
    return model(graph(), *[part(20, field(1, graph(inputs([value("x", 2)])))) for i in range(n)])


def unknown_fields(n: int) -> bytes:
    return model(graph(nodes([node("Max", ["a"], ["b"]) + part(99, b"")] * n)))


def quantization_annotations(n: int) -> bytes:
    return model(graph(field(14, b"") * n))


def unprintable_names(n: int) -> bytes:
    return model(graph(inputs([value(f"x{i}\n", 1) for i in range(n)])))


@dataclass(frozen=True)
class Family:
    """Files by size; `most` is the largest number below every limit."""

    make: Callable[[int], bytes]
    most: int = 1 << 20

    @property
    def steps(self) -> int:
        """The limit on steps under which its growth is measured: small for a family that only this limit bounds."""
        return 20 if self.make in (scatters_of_one_constant, reshapes_to_one_constant) else DEFAULT_LIMITS["steps"]

    @property
    def name(self) -> str:
        return self.make.__name__

    def number(self, size: int) -> int:
        """The number of the largest file of at most about this many bytes."""
        n = 32
        per = max(1, len(self.make(4 * n)) - len(self.make(2 * n))) / (2 * n)
        return max(1, min(self.most, int(size / per)))

    def of_size(self, size: int) -> bytes:
        """The largest file of at most about this many bytes."""
        return self.make(self.number(size))

    def doubling(self, size: int, times: int = 3) -> list[bytes]:
        """Files from about this many bytes on, each with twice the number of the one before."""
        first = min(self.number(size), self.most >> times)
        return [self.make(first << step) for step in range(times + 1)]


LIMITED: Mapping[Callable[[int], bytes], int] = {
    empty_nodes: 200_000, empty_initializers: 249_000, sparse_initializers: 249_000, empty_inputs: 249_000,
    dimension_of_a_value: 1000, denotations: 4000, graphs_of_an_attribute: 4900, branches: 2400,
    functions: 9900, operator_sets_imported_twice: 9900, metadata: 9900, training_graphs: 9900,
    inputs_times_rank: 8000, gathers_of_one_constant: 30_000,
    failing_gathers_of_one_constant: 30_000, divisions_by_one_constant: 30_000,
    failing_divisions_by_one_constant: 30_000,
}  # fmt: skip

FAMILIES = tuple(
    Family(made, most=LIMITED.get(made, 1 << 20))
    for made in (
        empty_nodes, foreign_nodes, chain_of_equal_nodes, chain_of_different_shapes, unsorted_nodes, a_cycle,
        names_used_but_not_defined, one_name_defined_again, inputs_of_a_node, different_inputs_of_a_node,
        omitted_inputs_of_a_node, outputs_of_a_node, inputs_times_rank, names_of_4096_bytes, gathers_of_one_constant,
        failing_gathers_of_one_constant, divisions_by_one_constant, failing_divisions_by_one_constant,
        reshapes_to_one_constant, scatters_of_one_constant, different_constants, entries_of_a_tensor,
        strings_of_a_tensor, empty_initializers, sparse_initializers, entries_of_external_data, empty_inputs,
        different_inputs, equal_inputs, symbols, symbols_through_nodes, value_infos_that_nothing_makes,
        outputs_that_nothing_makes, dimensions_of_values, dimension_of_a_value, denotations, types_in_types,
        attributes_of_nodes, empty_attributes, integers_of_an_attribute, text_of_an_attribute, texts_of_an_attribute,
        tensors_of_an_attribute, types_of_an_attribute, graphs_of_an_attribute, branches,
        nested_graphs_that_use_outer_names, functions, values_of_a_function, operator_sets_imported_twice, metadata,
        training_graphs, unknown_fields, quantization_annotations, unprintable_names,
    )
)  # fmt: skip
