"""What a semantics module is given beside the input tensors, and how it says that a text gives no value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sonnx.model import Attribute


@dataclass(frozen=True, slots=True)
class Application:
    """One use of an operator.

    `names` are the parameters and defined names of the operator's data file by their effective values (an absent
    attribute has the value its absence means); it is empty for an operator without a data file.  `attributes` are those
    the node has, as written.  `text` is the text of the profile that speaks, "onnx" where none does.
    """

    operator: str
    version: int
    text: str
    names: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


class NoValue(Exception):
    """The operator's text gives no value here; `rule` is the identifier of the error condition it names."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(sentence)
        self.rule = rule
