"""The values of constants, inside the file and beside it; bytes written by hand."""

from __future__ import annotations

import numpy
import pytest

from sonnx.base.errors import NotExecutable
from sonnx.model.ir import External, Tensor
from sonnx.numerics import constant_data
from sonnx.numerics.constant_data import decode
from tests.support.cases import each_case


def tensor(element, dims, data=None, **more):
    return Tensor("c", element, dims, content=None if data is None else memoryview(data), **more)


def test_values_of_the_stated_size():
    assert decode(tensor("int8", (2,), b"\x01\xff"), None).tolist() == [1, -1]
    assert decode(tensor("int8", (0,)), None).shape == (0,)
    for data in (b"", b"\x01", b"\x01\x02\x03"):
        with pytest.raises(NotExecutable, match=f"has {len(data)} bytes of values; its type and shape take 2"):
            decode(tensor("int8", (2,), data), None)
    with pytest.raises(NotExecutable, match="has no values where its element type has them"):
        decode(tensor("int8", (2,)), None)


def beside(offset=None, length=None, location="data"):
    written = {"location": location}
    written |= {"offset": str(offset)} if offset is not None else {}
    written |= {"length": str(length)} if length is not None else {}
    return External(location, offset, length, tuple(written.items()))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").write_bytes(bytes(range(10, 18)))
    return tmp_path


@each_case(
    ("external", "wanted"),
    [(beside(0, 2), [10, 11]), (beside(3, 2), [13, 14]), (beside(6), [16, 17]), (beside(length=2), [10, 11])],
)
def test_values_in_another_file(external, wanted, folder):
    assert decode(tensor("uint8", (2,), external=external), folder).tolist() == wanted


@each_case("external", [beside(-1, 2), External("data", None, 2, (("location", "data"), ("offset", "x")))])
def test_an_offset_is_a_number_from_0(external, folder):
    with pytest.raises(NotExecutable, match="states an offset or a length that is not a number"):
        decode(tensor("uint8", (2,), external=external), folder)


def test_strings_beside_the_file_are_not_mapped(folder):
    strings, numbers = (tensor(element, (2,), external=beside(1, 2)) for element in ("string", "uint8"))
    assert constant_data._with_bytes(strings, folder) is strings
    assert numpy.frombuffer(constant_data._with_bytes(numbers, folder).data, "u1").tolist() == [11, 12]
