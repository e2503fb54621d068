"""Bounds as text: what is printed is a bound of what was computed."""

from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from sonnx.base.outward import lower_bound_text, upper_bound_text


@example(5e-324, 1)
@given(st.floats(-1e300, 1e300), st.integers(1, 12))
def test_the_text_bounds_the_number(number: float, digits: int) -> None:
    assert Fraction(lower_bound_text(number, digits)) <= Fraction(number) <= Fraction(upper_bound_text(number, digits))


def test_the_text_is_short() -> None:
    assert (
        upper_bound_text(4.1301),
        lower_bound_text(4.139),
        upper_bound_text(0.5),
        upper_bound_text(float("inf")),
    ) == ("4.14", "4.13", "0.5", "inf")
