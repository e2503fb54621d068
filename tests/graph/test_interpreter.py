"""The interpreter on a domain of terms: a value is the text of how it is computed, so every walk can be read."""

from __future__ import annotations

from collections import Counter

import onnx.parser
from msgspec.structs import replace

from sonnx.graph.call import Calls
from sonnx.graph.interpreter import OMITTED, Transferred, interpret
from sonnx.model.reader import read
from sonnx.profile.catalogue import editions
from tests.support.cases import each_case


class Terms:
    """Declared values are their types, constants their names, results of calls the call."""

    def __init__(self):
        self.calls = Counter()

    def declared(self, type_):
        return "?" if type_.element is None else f"{type_.element}{list(type_.shape or ())}"

    def constant(self, tensor, replaceable):
        return f"default {tensor.name}" if replaceable else f"constant {tensor.name}"

    def sparse(self, tensor):
        return f"sparse {tensor.name}"

    def call(self, call, inputs, outputs):
        term = f"{call.operator}({', '.join(str(each) for each in inputs)})"
        self.calls[term] += 1
        return Transferred([None if each is None else term for each in outputs], term)


def interpreted(text, **options):
    model = read(onnx.parser.parse_model(text).SerializeToString())
    domain = Terms()
    edition = editions().editions[editions().default]
    return interpret(model, domain, Calls(model, edition), **options), domain


HEAD = '<ir_version: 10, opset_import: ["" : 18]>'


def test_values_follow_the_calls():
    found, _ = interpreted(f"{HEAD} g (float[2] a, float[3] b) => (float[2] y) {{ t = Relu(a)  y = Max(t, a, b) }}")
    assert found.value("a") == "float[2]"
    assert found.value("t") == "Relu(float[2])"
    assert found.value("y") == "Max(Relu(float[2]), float[2], float[3])"
    assert [visit.position for _, visit in found.visits()] == [0, 1]


def test_a_call_sees_the_declared_outputs_and_omitted_inputs():
    found, _ = interpreted(f"{HEAD} g (float[2] a) => (float[2] y) {{ y = Clip(a, , a) }}")
    [(_, visit)] = found.visits()
    assert found.values.all(visit.inputs) == ["float[2]", None, "float[2]"]
    assert visit.inputs[1] == OMITTED
    assert visit.call.inputs == (True, False, True)


def test_equal_calls_on_equal_values_are_evaluated_once():
    nodes = "  ".join(f"t{i} = Relu(a)  u{i} = Neg(t{i})" for i in range(50))
    found, domain = interpreted(f"{HEAD} g (float[2] a) => (float[2] y) {{ {nodes}  y = Abs(u0) }}")
    assert domain.calls == {"Relu(float[2])": 1, "Neg(Relu(float[2]))": 1, "Abs(Neg(Relu(float[2])))": 1}
    assert len({visit.call for _, visit in found.visits()}) == 3


def test_attributes_that_differ_in_the_bytes_of_a_tensor_make_two_calls():
    text = f"{HEAD} g () => (float[1] x, float[1] y) {{ x = Constant <value = float[1] {{1.0}}> ()"
    text += "  y = Constant <value = float[1] {2.0}> () }"
    found, domain = interpreted(text)
    assert domain.calls == {"Constant()": 2}
    assert len({visit.call for _, visit in found.visits()}) == 2


@each_case(("version", "expected"), [(3, "constant w"), (4, "default w")])
def test_an_initializer_that_is_an_input_is_a_default_from_ir_version_4_on(version, expected):
    text = f'<ir_version: {version}, opset_import: ["" : 18]> g (float[2] a, float[2] w) => (float[2] y)'
    found, _ = interpreted(f"{text} <float[2] w = {{1.0, 2.0}}> {{ y = Add(a, w) }}")
    assert found.value("w") == expected
    assert found.value("y") == f"Add(float[2], {expected})"


NESTED = f"""{HEAD} g (bool c, float[2] a) => (float[2] y) {{
  t = Neg(a)
  y = If (c) <then_branch = first () => (float[2] u) {{ u = Relu(t) }},
              else_branch = second () => (float[2] v) {{ t = Abs(a)  v = Relu(t) }}>
}}"""


def test_a_nested_graph_sees_the_names_around_it_unless_it_hides_them():
    found, _ = interpreted(NESTED)
    by_place = {each.scope.place: each for each in found.scopes}
    assert list(by_place) == ["graph", "graph/node[1]/then_branch", "graph/node[1]/else_branch"]
    then, otherwise = by_place["graph/node[1]/then_branch"], by_place["graph/node[1]/else_branch"]
    assert found.values[then.values["u"]] == "Relu(Neg(float[2]))"
    assert found.values[otherwise.values["v"]] == "Relu(Abs(float[2]))"
    assert found.value("t") == "Neg(float[2])", "the name of the graph around keeps its value"


def test_the_main_graph_can_be_interpreted_alone():
    found, _ = interpreted(NESTED, main_only=True)
    assert [each.scope.place for each in found.scopes] == ["graph"]


FUNCTION = """<ir_version: 10, opset_import: ["" : 18, "own" : 1]> g (float[2] a) => (float[2] y) { y = own.Twice(a) }
<domain: "own", opset_import: ["" : 18]> Twice (x) => (z) { z = Add(x, x) }"""


def test_a_call_knows_the_function_it_calls_and_bodies_have_values_without_types():
    found, _ = interpreted(FUNCTION)
    main, body = found.scopes
    assert main.visits[0].call.function is not None
    assert main.visits[0].call.calls_function
    assert main.visits[0].call.signature is None
    assert found.values[body.values["z"]] == "Add(?, ?)"
    assert body.visits[0].call.in_function


def test_given_values_replace_declarations():
    found, _ = interpreted(f"{HEAD} g (float[N] a) => (float[N] y) {{ y = Relu(a) }}", given={"a": "known"})
    assert found.value("y") == "Relu(known)"


def test_a_name_used_before_its_definition_has_no_value_yet():
    found, _ = interpreted(f"{HEAD} g (float[2] a) => (float[2] y) {{ y = Relu(t)  t = Neg(a) }}")
    assert found.value("y") == "Relu(?)"


class TwoInstead:
    """Puts Neg and Abs in the place of each Relu, and renames what reads `old`."""

    def before(self, node):
        return replace(node, inputs=tuple("new" if name == "old" else name for name in node.inputs))

    def after(self, visit, place):
        if visit.call.operator != "Relu":
            return None
        [name], node = visit.node.outputs, visit.node
        return (
            replace(node, operator="Neg", outputs=(f"{name}.neg",)),
            replace(node, operator="Abs", inputs=(f"{name}.neg",)),
        )


def test_a_transformer_replaces_nodes_and_what_it_puts_in_is_visited():
    text = f"{HEAD} g (float[2] a, float[2] old, float[2] new) => (float[2] y, float[2] z)"
    found, _ = interpreted(f"{text} {{ y = Relu(a)  z = Add(y, old) }}", transformer=TwoInstead())
    assert [visit.node.operator for _, visit in found.visits()] == ["Neg", "Abs", "Add"]
    assert [visit.position for _, visit in found.visits()] == [0, 0, 1]
    assert found.value("z") == "Add(Abs(Neg(float[2])), float[2])"
