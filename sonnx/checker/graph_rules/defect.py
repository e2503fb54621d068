"""What the functions of graph rules yield."""

from __future__ import annotations

from typing import NamedTuple


class Defect(NamedTuple):
    """What is wrong; `place` is relative to the subject, `name` the value it is about, or with
    `operator` the node.
    """

    actual: str
    place: str = ""
    name: str = ""
    operator: str = ""
