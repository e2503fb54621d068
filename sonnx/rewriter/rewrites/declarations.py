"""Declarations of types and shapes.

They are computed by the shape expressions of the operators' data files, from those of the inputs.  A dimension that is
not known keeps its declaration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from sonnx.checker.verdicts import Where
from sonnx.language.evaluator import TensorFacts, Unknown
from sonnx.model.ir import NOT_STATED, Dimension, Graph, Type, ValueInfo
from sonnx.model.scopes import Scope
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.rewrite import Edit, ModelChange, Trigger, rewrite
from sonnx.rewriter.shape_hints import unknown_nodes

HINTED = "types and shapes behind operators that sonnx does not know are those that the onnx package infers"
EXPLICIT_SHAPE, EXPLICIT_TYPE = "explicit-shape", "explicit-type"


@rewrite("explicit-declarations", Trigger.RULE_SELECTED)
def explicit_declarations(context: RewriteContext) -> ModelChange:
    """The model with a declaration for every value that is known."""
    graph = context.model.graph
    stated = Counter(operand.name for operand in (*graph.inputs, *graph.outputs, *graph.value_info))
    several = frozenset(name for name, number in stated.items() if number > 1)
    rules = tuple(filter(context.selects, explicit_declarations.rules))
    hinted = frozenset(name for node in unknown_nodes(context.model) for name in node.outputs if name in context.hints)
    declarations = _Declarations(Scope("graph", graph, {}).declared, context.facts, rules, several, hinted)
    outputs = tuple(
        output if output.name in several else ValueInfo(output.name, declarations.type_of(output.name))
        for output in graph.outputs
    )
    fixed = {operand.name for operand in (*graph.inputs, *graph.outputs)} | several
    inner = [name for node in graph.nodes for name in node.outputs if name and name not in fixed]
    texts = set(inner)
    info = tuple(value for value in graph.value_info if value.name not in texts)
    info += tuple(
        ValueInfo(name, declarations.type_of(name)) for name in inner if declarations.type_of(name) != NOT_STATED
    )
    edits = list(declarations.edits(graph, [output.name for output in outputs], inner))
    return ModelChange(replace(context.model, graph=replace(graph, outputs=outputs, value_info=info)), edits)


class _Declarations(Struct, frozen=True):
    """What is declared, what is known, and the rules to serve.

    Values with several declarations stay; of `hinted` ones the onnx package, not sonnx, says what is known.
    """

    declared: Mapping[str, Type]
    facts: Mapping[str, TensorFacts]
    rules: tuple[str, ...]
    several: frozenset[str]
    hinted: frozenset[str]

    def type_of(self, name: str) -> Type:
        """The declaration with each part that states nothing replaced by what is known."""
        stated, known = self.declared.get(name, NOT_STATED), self.facts.get(name)
        if known is None or stated.kind not in ("tensor", "not stated"):
            return stated
        element = stated.element
        if element is None and EXPLICIT_TYPE in self.rules and isinstance(known.type, str):
            element = known.type
        shape = _with_known_dimensions(stated.shape, known.shape) if EXPLICIT_SHAPE in self.rules else stated.shape
        nothing = element is None and stated == NOT_STATED  # a declared type without element type is not valid ONNX
        return NOT_STATED if nothing else Type("tensor", element, shape)

    def edits(self, graph: Graph, outputs: list[str], inner: list[str]) -> Iterator[Edit]:
        """Each declaration that changes."""
        places = {name: f"graph/node[{index}]" for index, node in enumerate(graph.nodes) for name in node.outputs}
        places |= {name: f"graph/output[{index}]" for index, name in enumerate(outputs)}
        for name in (*inner, *outputs):
            before, after = self.declared.get(name, NOT_STATED), self.type_of(name)
            if before != after and name not in self.several:
                changed = {EXPLICIT_TYPE: before.element != after.element, EXPLICIT_SHAPE: before.shape != after.shape}
                served = tuple(rule for rule in self.rules if changed.get(rule))
                yield Edit(
                    Where(places[name], "value", name),
                    str(before),
                    str(after),
                    served,
                    HINTED if name in self.hinted else "",
                )


def _with_known_dimensions(stated: tuple[Dimension, ...] | None, known: object) -> tuple[Dimension, ...] | None:
    """A declared shape with a number for each dimension that has none, or a negative one, which older exporters write
    for it; another declared number stays.
    """
    if not isinstance(known, tuple):
        return stated
    if stated is None:
        return tuple(None if isinstance(each, Unknown) else each for each in known)
    if len(stated) != len(known):
        return stated
    pairs = zip(stated, known, strict=True)
    return tuple(a if isinstance(b, Unknown) or (isinstance(a, int) and a >= 0) else b for a, b in pairs)
