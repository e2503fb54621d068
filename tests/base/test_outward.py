"""Bounds as text: what is printed is a bound of what was computed."""

from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from sonnx.base.outward import at_least, at_most


@example(5e-324, 1)
@given(st.floats(-1e300, 1e300), st.integers(1, 12))
def test_the_text_bounds_the_number(number: float, digits: int) -> None:
    assert Fraction(at_least(number, digits)) <= Fraction(number) <= Fraction(at_most(number, digits))


def test_the_text_is_short() -> None:
    assert (at_most(4.1301), at_least(4.139), at_most(0.5), at_most(float("inf"))) == ("4.14", "4.13", "0.5", "inf")
