"""Families of models: one thing that a model can repeat grows, or two that could multiply, and all else stays.

Each maker takes a number and returns the bytes of a file whose length grows in proportion to it.  Most files are no
useful models; a checker reads them all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

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


def listed(tag: int, each: Iterable[bytes]) -> bytes:
    """Fields of one number."""
    return b"".join(field(tag, one) for one in each)


nodes, initializers, inputs, outputs, infos = (partial(listed, tag) for tag in (1, 5, 11, 12, 13))
"""Those of a graph."""


def model(content: bytes, *more: bytes) -> bytes:
    """A ModelProto of IR version 8 and operator set 13."""
    return number(1, 8) + field(7, content) + field(8, field(1, b"") + number(2, 13)) + b"".join(more)


# ------------------------------------------------------------------ families that take several steps to make


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


def different_inputs_of_a_node(n: int) -> bytes:
    listed = [f"a{i}" for i in range(n)]
    declared = inputs([value(each, 1, i + 1) for i, each in enumerate(listed)])
    return model(graph(nodes([node("Max", listed, ["b"])]), declared, outputs([value("b", 1, n)])))


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


def entries_of_external_data(n: int) -> bytes:
    made = number(14, 1) + b"".join(field(13, field(1, text(f"k{i}")) + field(2, b"v")) for i in range(n))
    return model(graph(initializers([made + field(8, b"c")])))


def symbols_through_nodes(n: int) -> bytes:
    declared = inputs([value(f"x{i}", f"s{i}", 4) for i in range(n)])
    made = nodes([node("Max", [f"x{i}", "b"], [f"y{i}"]) for i in range(n)])
    return model(
        graph(made, declared, inputs([value("b", "b")]), outputs([value(f"y{i}", f"s{i}", 4) for i in range(n)]))
    )


def denotations(n: int) -> bytes:
    shape = b"".join(field(1, number(1, 2) + field(3, b"DATA_CHANNEL")) for _ in range(min(n, 1000)))
    declared = field(1, b"x") + field(2, field(1, number(1, FLOAT) + field(2, shape)))
    return model(graph(nodes([node("Conv", ["x"], [f"y{i}"]) for i in range(n)]), inputs([declared])))


def types_in_types(n: int) -> bytes:
    inner = field(1, number(1, FLOAT))
    for _ in range(20):
        inner = field(4, field(1, inner))
    return model(graph(inputs([field(1, text(f"x{i}")) + field(2, inner) for i in range(n)])))


def attributes_of_nodes(n: int) -> bytes:
    made = [
        node("Max", ["a"], [f"v{i}"], *[attribute(f"k{j}", 2, number(3, i)) for j in range(20)]) for i in range(n // 20)
    ]
    return model(graph(nodes(made)))


def integers_of_an_attribute(n: int) -> bytes:
    made = node("MaxPool", ["x"], ["y"], attribute("strides", 7, number(8, 1) * n))
    return model(graph(nodes([made]), inputs([value("x", 1, 1, 4, 4)])))


def text_of_an_attribute(n: int) -> bytes:
    made = node("MaxPool", ["x"], ["y"], attribute("auto_pad", 3, field(4, b"x" * n)))
    return model(graph(nodes([made]), inputs([value("x", 1, 1, 4, 4)])))


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


def functions(n: int) -> bytes:
    made = [part(25, field(1, text(f"f{i}")) + part(10, b"d")) for i in range(n)]
    return model(graph(), *made)


def values_of_a_function(n: int) -> bytes:
    listed = b"".join(field(7, node("Max", ["a"], [f"v{i}"])) for i in range(n))
    return model(graph(), part(25, field(1, b"f") + field(4, b"a") + field(5, b"v0") + listed + part(10, b"d")))


def operator_sets_imported_twice(n: int) -> bytes:
    made = [field(8, field(1, text(f"d{i % (n // 2 + 1)}")) + number(2, 1)) for i in range(n)]
    return model(graph(), *made)


def ints(name: str, *numbers: int) -> bytes:
    """An attribute of a list of integers."""
    return attribute(name, 7, *(number(8, each) for each in numbers))


def recurrent_nodes(n: int) -> bytes:
    """LSTM nodes that differ in an attribute."""
    made = [node("LSTM", "xwr", [f"y{i}"], attribute("hidden_size", 2, number(3, i + 1))) for i in range(n)]
    declared = inputs([value("x", 2, 1, 3), value("w", 1, 8, 3), value("r", 1, 8, 2)])
    return model(graph(nodes(made), declared, outputs([value(f"y{i}", 2, 1, 1, 2) for i in range(n)])))


def convolutions(n: int) -> bytes:
    """Conv nodes that differ in attributes."""
    made = [
        node("Conv", "xw", [f"y{i}"], ints("kernel_shape", 3, 3), ints("strides", 1 + i, 1), ints("pads", 0, 0, 0, 0),
             ints("dilations", 1, 1), attribute("group", 2, number(3, 1)))
        for i in range(n)
    ]  # fmt: skip
    declared = inputs([value("x", 1, 3, 8, 8), value("w", 2, 3, 3, 3)])
    return model(graph(nodes(made), declared, outputs([value(f"y{i}") for i in range(n)])))


def _axis(number_: int) -> bytes:
    return attribute("axis", 2, number(3, number_))


def doubled_lists(n: int) -> bytes:
    """Concat of a value with itself, again and again: the last has 2 ** n elements."""
    made = nodes([node("Concat", [f"v{i}", f"v{i}"], [f"v{i + 1}"], _axis(0)) for i in range(n)])
    return model(graph(made, inputs([value("v0", 1)]), outputs([value(f"v{n}", "N")])))


def growing_constants(n: int) -> bytes:
    """Concat of a constant with one element, again and again."""
    one = initializers([tensor("v0", b"\1\0\0\0", 1), tensor("c", b"\1\0\0\0", 1)])
    made = nodes([node("Concat", [f"v{i}", "c"], [f"v{i + 1}"], _axis(0)) for i in range(n)])
    return model(graph(made, one, outputs([value(f"v{n}", n + 1, element=INT32)])))


def growing_sums(n: int) -> bytes:
    """Concat of values with symbols: the extents are sums of ever more symbols."""
    declared = inputs([value(f"x{i}", f"s{i}") for i in range(n + 1)])
    made = [node("Concat", [f"v{i}" if i else "x0", f"x{i + 1}"], [f"v{i + 1}"], _axis(0)) for i in range(n)]
    return model(graph(nodes(made), declared, outputs([value(f"v{n}", "N")])))


def flattened_symbols(n: int) -> bytes:
    """Flatten of tensors of ten symbols: the extents are products."""
    declared = inputs([value(f"x{i}", *[f"s{i}_{j}" for j in range(10)]) for i in range(n)])
    made = nodes([node("Flatten", [f"x{i}"], [f"y{i}"], _axis(5)) for i in range(n)])
    return model(graph(made, declared, outputs([value(f"y{i}", "A", "B") for i in range(n)])))


def product_of_symbols(n: int) -> bytes:
    """Flatten of one tensor of many symbols, up to the limit on dimensions."""
    declared = inputs([value("x", *[f"s{i}" for i in range(n)])])
    return model(graph(nodes([node("Flatten", ["x"], ["y"], _axis(0))]), declared, outputs([value("y", 1, "N")])))


def slices_of_a_constant(n: int) -> bytes:
    """Slice nodes of an input, with different constants."""
    made = [
        tensor(f"c{i}_{j}", end.to_bytes(8, "little"), 1, element=INT64)
        for i in range(n)
        for j, end in enumerate((i % 7, i % 7 + 1))
    ]
    listed = nodes([node("Slice", ["x", f"c{i}_0", f"c{i}_1"], [f"y{i}"]) for i in range(n)])
    return model(
        graph(listed, initializers(made), inputs([value("x", 9)]), outputs([value(f"y{i}", 1) for i in range(n)]))
    )


def function(name: str, called: Iterable[bytes], imports: Iterable[str] = ("d", "")) -> bytes:
    """A FunctionProto of the domain "d" from "x" to the output "y"."""
    sets = b"".join(field(9, field(1, text(each)) + number(2, 13)) for each in imports)
    return part(25, field(1, text(name)) + field(4, b"x") + field(5, b"y") + listed(7, called) + sets + part(10, b"d"))


def of_functions(made: Iterable[bytes], called: Iterable[bytes]) -> bytes:
    """A model of calls from "x" to "y"."""
    imported = field(8, field(1, b"d") + number(2, 13))
    return model(graph(nodes(called), inputs([value("x", 4)]), outputs([value("y", 4)])), imported, *made)


def call(name: str, read: str, written: str) -> bytes:
    """A node that calls a function."""
    return node(name, [read], [written]) + field(7, b"d")


def calls_of_the_next_function(n: int, *last: bytes) -> bytes:
    """Functions that each call the next one twice; the last one has these nodes."""
    made = [function(f"f{i}", [call(f"f{i + 1}", "x", "m"), call(f"f{i + 1}", "m", "y")]) for i in range(n)]
    return of_functions([*made, function(f"f{n}", last)], [call("f0", "x", "y")])


def chain_of_functions(n: int) -> bytes:
    """Functions that each call the next one."""
    made = [function(f"f{i}", [call(f"f{i + 1}", "x", "y")]) for i in range(n)]
    return of_functions([*made, function(f"f{n}", [node("Relu", ["x"], ["y"])])], [call("f0", "x", "y")])


def calls_of_long_functions(n: int) -> bytes:
    """Calls of a function with as many nodes as there are calls."""
    body = [node("Relu", [f"v{i}" if i else "x"], [f"v{i + 1}" if i + 1 < n else "y"]) for i in range(n)]
    called = [call("f", f"w{i}" if i else "x", f"w{i + 1}" if i + 1 < n else "y") for i in range(n)]
    return of_functions([function("f", body)], called)


def loops(n: int) -> bytes:
    """Loop nodes."""
    body = graph(
        nodes([node("Identity", ["c"], ["k"]), node("Relu", ["v"], ["w"])]),
        inputs([value("i", element=INT64), value("c", element=9), value("v", 4)]),
        outputs([value("k", element=9), value("w", 4)]),
    )
    made = [
        node("Loop", ["m", "t", f"v{i}"], [f"v{i + 1}"], attribute("body", GRAPH, field(6, body))) for i in range(n)
    ]
    constants = [tensor("m", b"\2" + b"\0" * 7, element=INT64), tensor("t", b"\1", element=9)]
    return model(graph(nodes(made), initializers(constants), inputs([value("v0", 4)]), outputs([value(f"v{n}", 4)])))


def permutations(n: int) -> bytes:
    """Transpose nodes that undo one another."""
    made = [node("Transpose", [f"v{i}"], [f"v{i + 1}"], ints("perm", 1, 0)) for i in range(2 * n)]
    return model(graph(nodes(made), inputs([value("v0", 2, 3)]), outputs([value(f"v{2 * n}", 2, 3)])))


def dense_layers(n: int) -> bytes:
    """MatMul, Add and Relu with weights of their own."""
    made, constants = [], []
    for i in range(n):
        constants += [tensor(f"w{i}", b"\0\0\x80\x3e" * 16, 4, 4, element=FLOAT)]
        constants += [tensor(f"b{i}", b"\0\0\x80\xbd" * 4, 1, 4, element=FLOAT)]
        made += [node("MatMul", [f"v{i}", f"w{i}"], [f"m{i}"]), node("Add", [f"m{i}", f"b{i}"], [f"a{i}"])]
        made += [node("Relu", [f"a{i}"], [f"v{i + 1}"])]
    return model(
        graph(nodes(made), initializers(constants), inputs([value("v0", 1, 4)]), outputs([value(f"v{n}", 1, 4)]))
    )


def elements_of_a_layer(n: int) -> bytes:
    """A product with a matrix of n rows."""
    weights = tensor("w", b"\0\0\x80\x3e" * (8 * n), n, 8, element=FLOAT)
    declared = inputs([value("x", 1, n)]), outputs([value("y", 1, 8)])
    return model(graph(nodes([node("MatMul", "xw", "y")]), initializers([weights]), *declared))


MAKERS: Mapping[str, Callable[[int], bytes]] = {
    "empty_nodes": lambda n: model(graph(b"\x0a\x00" * n)),
    "foreign_nodes": lambda n: model(graph(nodes([node("Foreign", ["a"], [f"v{i}"]) for i in range(n)]))),
    "chain_of_equal_nodes": chain_of_equal_nodes,
    "chain_of_different_shapes": chain_of_different_shapes,
    "unsorted_nodes": unsorted_nodes,
    "a_cycle": a_cycle,
    "names_used_but_not_defined": lambda n: model(
        graph(nodes([node("Max", [f"a{i}"], [f"b{i}"]) for i in range(n)]), outputs([value("b0", 4)]))
    ),
    "one_name_defined_again": lambda n: model(
        graph(nodes([node("Max", ["a"], ["b"])] * n), inputs([value("a", 4)]), outputs([value("b", 4)]))
    ),
    "inputs_of_a_node": lambda n: model(
        graph(nodes([node("Max", ["a"] * n, ["b"])]), inputs([value("a", 4)]), outputs([value("b", 4)]))
    ),
    "different_inputs_of_a_node": different_inputs_of_a_node,
    "omitted_inputs_of_a_node": lambda n: model(graph(nodes([node("Max", [""] * n, ["b"])]), outputs([value("b", 4)]))),
    "outputs_of_a_node": outputs_of_a_node,
    "inputs_times_rank": inputs_times_rank,
    "names_of_4096_bytes": names_of_4096_bytes,
    "gathers_of_one_constant": lambda n: _readers(n, "Gather", INT32, b"\1\0\0\0"),
    "failing_gathers_of_one_constant": lambda n: _readers(n, "Gather", INT32, b"\0\0\0\1"),
    "divisions_by_one_constant": lambda n: _readers(n, "Div", INT8, b"\2"),
    "failing_divisions_by_one_constant": lambda n: _readers(n, "Div", INT8, b"\0"),
    "reshapes_to_one_constant": lambda n: _readers(n, "Reshape", INT64, b"\1" + b"\0" * 7),
    "scatters_of_one_constant": scatters_of_one_constant,
    "different_constants": different_constants,
    "entries_of_a_tensor": entries_of_a_tensor,
    "strings_of_a_tensor": strings_of_a_tensor,
    "empty_initializers": lambda n: model(graph(b"\x2a\x00" * n)),
    "sparse_initializers": lambda n: model(graph(b"\x7a\x00" * n)),
    "entries_of_external_data": entries_of_external_data,
    "empty_inputs": lambda n: model(graph(b"\x5a\x00" * n)),
    "different_inputs": lambda n: model(graph(inputs([value(f"x{i}", 1, 2, 3) for i in range(n)]))),
    "equal_inputs": lambda n: model(graph(inputs([value("x", i + 1) for i in range(n)]))),
    "symbols": lambda n: model(graph(inputs([value(f"x{i}", f"s{i}", 4) for i in range(n)]))),
    "symbols_through_nodes": symbols_through_nodes,
    "value_infos_that_nothing_makes": lambda n: model(
        graph(infos([value(f"x{i}", 1) for i in range(n)]), outputs([value(f"y{i}", 1) for i in range(n)]))
    ),
    "outputs_that_nothing_makes": lambda n: model(graph(outputs([value(f"y{i}", i) for i in range(n)]))),
    "dimensions_of_values": lambda n: model(graph(inputs([value(f"x{i}", *range(1, 20)) for i in range(n)]))),
    "dimension_of_a_value": lambda n: model(graph(inputs([value("x", *[f"d{i}" for i in range(min(n, 1000))])]))),
    "denotations": denotations,
    "types_in_types": types_in_types,
    "attributes_of_nodes": attributes_of_nodes,
    "empty_attributes": lambda n: model(graph(nodes([b"\x2a\x00" * 50 for _ in range(max(1, n // 50))]))),
    "integers_of_an_attribute": integers_of_an_attribute,
    "text_of_an_attribute": text_of_an_attribute,
    "texts_of_an_attribute": lambda n: model(
        graph(nodes([node("LSTM", ["x"], ["y"], attribute("activations", 8, field(9, b"Tanh") * n))]))
    ),
    "tensors_of_an_attribute": lambda n: model(
        graph(nodes([node("Max", ["a"], ["b"], attribute("k", TENSORS, field(10, b"") * n))]))
    ),
    "types_of_an_attribute": lambda n: model(
        graph(nodes([node("Max", ["a"], ["b"], attribute("k", TYPES, field(15, b"") * n))]))
    ),
    "graphs_of_an_attribute": lambda n: model(
        graph(nodes([node("If", ["a"], ["b"], attribute("then_branch", GRAPHS, field(11, b"") * n))]))
    ),
    "branches": branches,
    "nested_graphs_that_use_outer_names": nested_graphs_that_use_outer_names,
    "functions": functions,
    "values_of_a_function": values_of_a_function,
    "operator_sets_imported_twice": operator_sets_imported_twice,
    "metadata": lambda n: model(graph(), *[part(14, field(1, text(f"k{i}")) + field(2, b"v")) for i in range(n)]),
    "training_graphs": lambda n: model(
        graph(), *[part(20, field(1, graph(inputs([value("x", 2)])))) for i in range(n)]
    ),
    "unknown_fields": lambda n: model(graph(nodes([node("Max", ["a"], ["b"]) + part(99, b"")] * n))),
    "quantization_annotations": lambda n: model(graph(field(14, b"") * n)),
    "unprintable_names": lambda n: model(graph(inputs([value(f"x{i}\n", 1) for i in range(n)]))),
    "recurrent_nodes": recurrent_nodes,
    "convolutions": convolutions,
    "doubled_lists": doubled_lists,
    "growing_constants": growing_constants,
    "growing_sums": growing_sums,
    "flattened_symbols": flattened_symbols,
    "product_of_symbols": product_of_symbols,
    "slices_of_a_constant": slices_of_a_constant,
    "calls_of_the_next_function": lambda n: calls_of_the_next_function(n, node("Relu", ["x"], ["y"])),
    "calls_of_functions_without_nodes": calls_of_the_next_function,
    "chain_of_functions": chain_of_functions,
    "calls_of_long_functions": calls_of_long_functions,
    "loops": loops,
    "permutations": permutations,
    "dense_layers": dense_layers,
    "elements_of_a_layer": elements_of_a_layer,
}
"""The file for a number, by family."""
LIMITED = {
    "empty_nodes": 200_000,
    "empty_initializers": 249_000,
    "sparse_initializers": 249_000,
    "empty_inputs": 249_000,
    "dimension_of_a_value": 1000,
    "denotations": 4000,
    "graphs_of_an_attribute": 4900,
    "branches": 2400,
    "functions": 9900,
    "operator_sets_imported_twice": 9900,
    "metadata": 9900,
    "training_graphs": 9900,
    "inputs_times_rank": 8000,
    "product_of_symbols": 1000,
    "loops": 4900,
    "calls_of_the_next_function": 9900,
    "calls_of_functions_without_nodes": 9900,
    "chain_of_functions": 9900,
    "gathers_of_one_constant": 30_000,
    "failing_gathers_of_one_constant": 30_000,
    "divisions_by_one_constant": 30_000,
    "failing_divisions_by_one_constant": 30_000,
}
"""The largest number below every limit, where it is less than a million."""


@dataclass(frozen=True)
class Family:
    """Files by size; `most` is the largest number below every limit."""

    name: str
    make: Callable[[int], bytes]
    most: int

    @property
    def steps(self) -> int:
        """The limit on steps under which its growth is measured: small for a family that only this limit bounds."""
        return 20 if self.name in ("scatters_of_one_constant", "reshapes_to_one_constant") else DEFAULT_LIMITS["steps"]

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


FAMILIES = tuple(Family(name, make, LIMITED.get(name, 1 << 20)) for name, make in MAKERS.items())
