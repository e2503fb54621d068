"""All 2^32 pairs of 16-bit patterns, for each kernel and format, against ranks from exact fractions."""

from functools import cache

import numpy
import pytest

from sonnx.numerics import maximum as max_kernel
from sonnx.operators import argmax, reducemax
from tests.support.oracle import KINDS, rank

EVERYTHING = numpy.arange(65536, dtype="u2")
PARTS = 16
in_parts = pytest.mark.parametrize("part", range(PARTS))
"""Each part takes every sixteenth pattern as the first of the pair."""


@cache
def ranks(name, equal_zeros):
    """The place of every pattern among all, equal ones sharing one."""
    found = [rank(name, pattern, equal_zeros) for pattern in range(65536)]
    numbers = {each: number for number, each in enumerate(sorted(set(found)))}
    return numpy.array([numbers[each] for each in found])


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@in_parts
def test_max_of_every_pair(name, part):
    places, kind = ranks(name, False), KINDS[name]
    everything, out = EVERYTHING.view(kind), numpy.empty(65536, kind)
    for first in range(part, 65536, PARTS):
        repeated = numpy.full(65536, first, "u2").view(kind)
        max_kernel.fast_maximum([repeated, everything], out)
        wanted = numpy.where(places > places[first], EVERYTHING, numpy.uint16(first))
        assert numpy.array_equal(out.view("u2"), wanted), hex(first)


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@in_parts
def test_reduce_max_and_arg_max_of_every_pair(name, part):
    kind = KINDS[name]
    both = {equal_zeros: ranks(name, equal_zeros) for equal_zeros in (False, True)}
    pairs, out, at = numpy.empty((2, 65536), "u2"), numpy.empty((1, 65536), kind), numpy.empty((1, 65536), "i8")
    pairs[1] = EVERYTHING
    for first in range(part, 65536, PARTS):
        pairs[0] = first
        reducemax.reduce_into(pairs.view(kind), (0,), out)
        second = both[False] > both[False][first]
        assert numpy.array_equal(out.view("u2")[0], numpy.where(second, EVERYTHING, numpy.uint16(first))), hex(first)
        for equal_zeros, places in both.items():
            argmax.arg_into(pairs.view(kind), 0, False, equal_zeros, at)
            assert numpy.array_equal(at[0], places > places[first]), hex(first)
            argmax.arg_into(pairs.view(kind), 0, True, equal_zeros, at)
            assert numpy.array_equal(at[0], places >= places[first]), hex(first)
