"""What the operators on constants take for attributes that are not written, against the definitions of ONNX."""

from __future__ import annotations

import onnx.defs
import onnx.helper

from sonnx.equivalence.interpretation.constant_results import absent_values, has_constant_result
from sonnx.profile.onnx_schemas import schema_operators


def stated(operator: str) -> list[dict[str, int | str]]:
    """The default values that each version of an operator states, by attribute."""
    versions = [each for each in onnx.defs.get_all_schemas_with_history() if (each.domain, each.name) == ("", operator)]
    found = []
    for version in versions:
        written = {name: each.default_value for name, each in version.attributes.items() if each.default_value.type}
        values = {name: onnx.helper.get_attribute_value(value) for name, value in written.items()}
        found.append({name: value.decode() if isinstance(value, bytes) else value for name, value in values.items()})
    return found


def test_what_is_not_written_means_what_onnx_states() -> None:
    for operator in filter(has_constant_result, schema_operators("")):
        given = absent_values(operator)
        versions = stated(operator)
        assert set().union(*versions) - {"broadcast"} == given.keys(), operator  # of versions before broadcasting
        for values in versions:
            assert all(values.get(name, value) == value for name, value in given.items()), operator
