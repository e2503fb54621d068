"""The rules of graph.toml: one function each, in the module of its subject, with the name of the rule.

no-dead-node, whose subject is a graph, is `graphs.no_dead_node`.  A function decides its one rule and yields the
violations; `sonnx.checker.rules.ActiveRules` says which rules are active.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sonnx.checker.graph_rules import devices, files, functions, graphs, nodes, operators, tensors, types
from sonnx.checker.verdicts import Violation
from sonnx.profile.definitions import Rule

Decision = Callable[..., Iterable[Violation]]
"""A function that yields the violations of one rule by a subject."""


def _by_slug(*functions: Decision) -> Mapping[str, Decision]:
    return {function.__name__.replace("_", "-"): function for function in functions}


DECISIONS: Mapping[str, Mapping[str, Decision]] = {
    "model": _by_slug(
        files.ir_version_known,
        files.operator_set_imported_once,
        files.some_operator_set_imported,
        files.imports_since_ir_version_3,
        files.no_import_before_ir_version_3,
        files.initializers_are_inputs,
        files.operator_set_known,
        files.no_training_info,
        files.no_unknown_field,
        files.metadata_keys_distinct,
        files.printable_name,
        files.no_model_local_function,
        files.enumeration_values,
        files.subgraph_initializers,
        types.interface_declared,
        functions.functions_distinct,
        functions.functions_not_recursive,
        functions.function_operator_sets_compatible,
        devices.device_configurations,
        devices.node_device_configurations,
        devices.quantization_annotations,
        devices.training_bindings,
        devices.training_graphs,
    ),
    "function": _by_slug(
        files.function_overrides_operator,
        functions.function_named,
        functions.function_attributes_distinct,
        functions.function_names_declared,
    ),
    "graph": _by_slug(
        graphs.graph_named,
        graphs.values_named,
        graphs.names_defined_once,
        graphs.names_defined_before_use,
        graphs.acyclic,
        graphs.outputs_produced,
        graphs.node_names_distinct,
        graphs.value_info_once,
        graphs.no_dead_node,
        graphs.no_unused_value,
        graphs.axis_denotations,
        graphs.consistent_declarations,
        types.types_complete,
        tensors.sparse_tensor_data,
        functions.attribute_reference_declared,
    ),
    "tensor": _by_slug(tensors.tensor_data, tensors.external_data),
    "node": _by_slug(
        nodes.operator_named,
        nodes.operator_set_imported,
        operators.operator_exists,
        operators.operator_conditions,
        operators.body_signature,
        nodes.operator_in_profile,
        nodes.operator_version,
        nodes.known_attribute,
        nodes.required_attribute,
        nodes.attribute_once,
        nodes.attribute_kind,
        nodes.attribute_reference,
        nodes.input_count,
        nodes.output_count,
        nodes.outputs_connected,
    ),
}
"""The function of each rule, by subject and slug."""


def decision_of(rule: Rule) -> Decision:
    """The function that decides a rule of graph.toml."""
    return DECISIONS[rule.subject][rule.slug]


__all__ = ["DECISIONS", "Decision", "Violation", "decision_of"]
