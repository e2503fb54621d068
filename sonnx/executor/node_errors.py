"""What stops a run inside a node, with the place of the node."""

from __future__ import annotations

from sonnx.base.errors import ErrorCondition, LackOfMemory, NotExecutable
from sonnx.base.escaping import quote
from sonnx.model.ir import Node
from sonnx.numerics.application import UNDEFINED_INPUT_ERRORS, NoValue


def place_of(node: Node, index: int) -> str:
    """A node as messages name it."""
    return f"node {quote(node.name)} ({quote(node.operator)[1:-1]}, graph/node[{index}])"


class NodeErrors:
    """A context that puts the node in front of the message of what stops a run inside it.

    In a model outside the profile a definition may get inputs that no text defines: the run stops with a message.  In a
    conforming model that is a defect of this tool, and not caught.  Values that do not fit into memory stop both.
    """

    def __init__(self, node: Node, index: int, *, conforming: bool) -> None:
        self.node, self.index, self.conforming = node, index, conforming

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            return
        place = place_of(self.node, self.index)
        if isinstance(error, NoValue):
            raise ErrorCondition(error.rule, f"{place}: {error} ({error.rule})") from None
        if isinstance(error, ErrorCondition):
            raise ErrorCondition(error.rule, f"{place}: {error}") from None
        if isinstance(error, NotExecutable):
            raise NotExecutable(f"{place}: {error}") from None
        if isinstance(error, MemoryError):
            raise LackOfMemory(f"{place}: its values do not fit into memory") from None
        if isinstance(error, UNDEFINED_INPUT_ERRORS) and not self.conforming:
            raise NotExecutable(
                f"{place}: the executor does not compute its operator for inputs of these types and shapes"
            ) from error
