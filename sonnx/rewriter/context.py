"""What all rewrites of one model share: the model, the edition, and what was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from msgspec import Struct

from sonnx.checker.facts_domain import KnownCalls
from sonnx.checker.rules import ActiveRules
from sonnx.executor.preparation import RunDomain
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Function, Model
from sonnx.model.scopes import function_key, imports_of
from sonnx.rewriter.inlining import FunctionKey, inlined_size, inlined_sizes


class RewriteContext(Struct, frozen=True, dict=True):
    """The model with the rules in force, and which rewrites run.

    `run_domain` prepares the nodes for the executor, those of all models of the command equal ones once.
    `selected` are the slugs that rewrites may serve and `only` the names of the rewrites that run, None for all;
    `options` enable rewrites that change values.  `facts` are those of the values after the visit of the nodes, none
    before it.  `hints` are the types and shapes that the onnx package infers, used for the outputs of operators that
    sonnx does not know.  Nodes of the operators in `kept` stay as they are.
    """

    active_rules: ActiveRules
    model: Model
    run_domain: RunDomain
    selected: frozenset[str] | None = None
    options: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    facts: Mapping[str, TensorFacts] = {}
    hints: Mapping[str, TensorFacts] = {}
    kept: frozenset[str] = frozenset()
    kept_nodes: frozenset[str] = frozenset()
    """The first outputs of nodes that stay as they are."""
    sources: Mapping[str, int] = {}
    """For the first output of each node of the main graph, the index of the node in the original it was made from."""
    is_dry: bool = False
    """Nothing is written, so that no constant is read that only a comparison with others would read."""
    known_calls: KnownCalls | None = None
    """What the check of the model keeps of its calls."""

    @cached_property
    def operator_set(self) -> int | None:
        """The version of the standard operator set that the model imports."""
        return imports_of(self.model.imports).get("")

    @cached_property
    def functions(self) -> Mapping[FunctionKey, Function]:
        """The functions of the model, by domain, name and overload."""
        return {function_key(function): function for function in self.model.functions}

    @cached_property
    def inlined_sizes(self) -> Mapping[FunctionKey, int]:
        """The number of nodes that a call becomes, for each function that is not recursive."""
        return inlined_sizes(self.functions)

    @cached_property
    def inlined_size(self) -> int:
        """The number of nodes of the main graph after all calls are replaced."""
        return inlined_size(self.model.graph.nodes, self.inlined_sizes)

    def selects(self, slug: str) -> bool:
        """Whether rewrites may serve a rule: it is in force, or of an operator, and among the selected ones."""
        active = slug in self.active_rules.slugs or "." in slug
        return active and (self.selected is None or slug in self.selected)

    def selects_any(self, slugs: Iterable[str]) -> bool:
        """Whether rewrites may serve one of the rules."""
        return any(map(self.selects, slugs))
