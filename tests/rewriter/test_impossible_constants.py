"""Constants of shapes that no array has: refused where they become arrays, whatever the rewrite or comparison."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sonnx.model.ir import Tensor
from sonnx.rewriter import constant_tensors
from tests.support.cases import each_case

SHAPES = ((1,) * 66, (1,) * 65, (0, 2**62, 4), (-1,), (2**62,), (2,))
TAKEN: dict[str, Callable[[Tensor], object]] = {
    "undecoded": constant_tensors.undecoded,
    "decoded": constant_tensors.decoded,
    "broadcast": lambda tensor: constant_tensors.broadcast(tensor, "y", tensor.dims),
    "transposed": lambda tensor: constant_tensors.transposed(tensor, "y"),
    "part_of_first_axis": lambda tensor: constant_tensors.part_of_first_axis(tensor, "y", 0, 1),
}


@pytest.mark.parametrize("name", TAKEN)
@each_case("shape", SHAPES)
def test_a_constant_of_a_rank_that_no_array_has(name: str, shape: tuple[int, ...]) -> None:
    data = memoryview(b"" if 0 in shape else bytes(4))
    assert TAKEN[name](Tensor("x", "float", shape, ("raw_data",), data)) is None


@each_case("shape", [(1,) * 33, (1,) * 66, (0, 2**62, 4), (2**62,)])
def test_a_constant_that_no_file_holds_is_not_made(shape: tuple[int, ...]) -> None:
    assert constant_tensors.from_numbers("x", "float", 0, shape) is None
    one = Tensor("x", "float", (1,), ("raw_data",), memoryview(np.zeros(1, "<f4").tobytes()))
    assert constant_tensors.broadcast(one, "y", shape) is None
