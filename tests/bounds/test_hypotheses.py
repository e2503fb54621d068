"""Hypotheses: the predefined ones, files of them, and what contradicts itself."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations
from math import prod
from pathlib import Path

import numpy as np
import pytest

from proofs.bounds import counted
from sonnx.base.errors import UsageError
from sonnx.numerics.enclosures.arithmetic import (
    FORMATS,
    Factors,
    SumOrder,
    product_above,
    representable,
    roundings,
    single,
    sum_error,
)
from sonnx.numerics.enclosures.hypotheses import hypotheses_named, predefined
from tests.support.cases import each_case


def test_the_predefined_ones_say_what_they_exclude() -> None:
    assert set(predefined()) == {"ieee-any", "executor", "onnxruntime-cpu"}
    for each in predefined().values():
        assert each.statement.endswith(".")
        assert each.excludes
        assert each.as_json()["name"] == each.name


def write(folder: Path, text: str) -> str:
    (folder / "own.toml").write_text(text)
    return str(folder / "own.toml")


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    made = hypotheses_named(write(tmp_path, """
        [mine]
        statement = "Sums of eight lanes in float32."
        order = "lanes"
        lanes = 8
        accumulator = { float16 = "float" }
        [mine.functions]
        Tanh = { ulp = 2.0 }
        Erf = { absolute = 0.5 }
    """))  # fmt: skip
    assert made.order == SumOrder("lanes", 8)
    assert made.accumulator("float16").name == "float"
    assert (made.functions["Tanh"].ulp, made.functions["Tanh"].absolute) == (2, 0)
    assert made.functions["Erf"].ulp == 0
    assert made.as_json()["order"] == "lanes 8"


def test_one_lane_and_an_accumulator_of_the_same_format(tmp_path: Path) -> None:
    made = hypotheses_named(write(tmp_path, "[a]\norder = 'lanes'\nlanes = 1\naccumulator = { float = 'float' }"))
    assert made.order == SumOrder("lanes", 1)
    assert made.accumulator("float").name == "float"
    assert hypotheses_named("ieee-any").as_json()["order"] == "any"


@pytest.mark.parametrize(("text", "sentence"), [
    ("[a]\norder = 'some'", "the order is none of any, pairwise, lanes, once"),
    ("[a]\norder = 'lanes'", "lanes is a positive number exactly where the order is lanes"),
    ("[a]\nlanes = 4", "lanes is a positive number exactly where the order is lanes"),
    ("[a]\norder = 'once'\nfused = true", "fused must be false"),
    ("[a]\nfused = 'yes'", "fused, flush and running are true or false"),
    ("[a]\naccumulator = { float = 'float16' }", "is not a format with all its numbers"),
    ("[a]\naccumulator = { bfloat16 = 'float16' }", "is not a format with all its numbers"),
    ("[a]\naccumulator = { float16 = 'bfloat16' }", "is not a format with all its numbers"),
    ("[a]\nfunctions = { Exp = { ulp = -1 } }", "numbers of at least 0"),
    ("[a]\nfunctions = { Exp = { ulp = '1' } }", "numbers of at least 0"),
    ("[a]\nfunctions = { Exp = { ulp = inf } }", "numbers of at least 0"),
    ("[a]\nexcludes = ['a', 1]", "excludes is a list of sentences"),
    ("[a]\nexcludes = 'a'", "excludes is a list of sentences"),
    ("[a]\nmeasured = ['1.2']", "measured has a list of versions for each runtime"),
    ("[a]\nmeasured = { runtime = '1.2' }", "measured has a list of versions for each runtime"),
    ("[a]\nmeasured = { runtime = [] }", "measured has a list of versions for each runtime"),
    ("[a]\nfuse = true", "unknown field 'fuse'"),
    ("[a]\n[b]", "have 2 tables; one is used"),
    ("a = 1", "a table is expected"),
    ("[a", "is not valid TOML"),
])  # fmt: skip
def test_hypotheses_that_contradict_themselves_are_refused(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as error:
        hypotheses_named(write(tmp_path, text))
    assert sentence in str(error.value)


def test_what_a_table_does_not_say(tmp_path: Path) -> None:
    """Any order, fused, without flush; functions within 1 ulp, and correctly rounded ones where each rounds once."""
    made = hypotheses_named(write(tmp_path, "[a]\nexcludes = ['b']"))
    assert (made.order, made.fused, made.flush, made.running) == (SumOrder("any"), True, False, False)
    assert (made.statement, made.excludes, made.functions["default"].ulp) == ("", ("b",), 1.0)
    once = hypotheses_named(write(tmp_path, "[a]\norder = 'once'\nfused = false"))
    assert once.functions["default"].ulp == 0.5


@pytest.mark.parametrize(("title", "sentence"), [
    ("onnxruntime 1.31.1, CPU, 1 thread", ""),
    ("onnxruntime 1.31.10, CPU, 1 thread", "not with onnxruntime 1.31.10"),
    ("onnxruntime 1.2.0", "not with onnxruntime 1.2.0"),
    ("other 1.32.0", "not with other 1.32.0"),
    ("outputs in folder", ""),
    ("myruntime", ""),
])  # fmt: skip
def test_another_version_than_the_measured_ones_is_told(title: str, sentence: str) -> None:
    made = hypotheses_named("onnxruntime-cpu")
    whole = "the hypotheses onnxruntime-cpu were measured with onnxruntime 1.31.1 and 1.32.0, "
    assert made.not_measured(title) == (sentence and whole + sentence)
    assert hypotheses_named("ieee-any").not_measured(title) == ""


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown hypotheses 'x'; known are ieee-any"):
        hypotheses_named("x")
    with pytest.raises(UsageError, match="cannot be read"):
        hypotheses_named(str(tmp_path / "none.toml"))


@each_case("sizes", [(0, 0), (-120, 90), (-40, -60), (0, -160), (110, 120)])
@each_case("spread", [0, 40, 200])
def test_products_in_float32_are_above_the_exact_ones(sizes: tuple[int, int], spread: int) -> None:
    source = np.random.default_rng(1)
    a, b = (
        np.ldexp(source.normal(size=shape), source.integers(size - spread, size + 1, size=shape))
        for shape, size in zip(((3, 257), (257, 4)), sizes, strict=True)
    )
    first, second = single(a), single(b)
    assert first is not None and second is not None
    made = product_above(np.matmul, first, second, 257)
    for (i, j), got in np.ndenumerate(made):
        wanted = sum(abs(Fraction(x) * Fraction(y)) for x, y in zip(a[i], b[:, j], strict=True))
        assert wanted <= Fraction(float(got)) <= wanted * Fraction(1.001) + Fraction(2) ** (sum(sizes) - 100)


def test_sizes_beyond_float32_have_no_product_there() -> None:
    assert single(np.array([2.0**500])) is None
    assert single(np.array([np.inf])) is None
    assert single(np.array([np.nan])) is None
    assert single(np.array([0.0, 2.0**-500])) is None
    zero = single(np.zeros(2))
    assert zero is not None and not zero.array.any()


def test_narrower_orders_have_smaller_errors() -> None:
    """Of 1000 terms: any order, 8 lanes, pairwise, once."""
    size, result = np.array([1000.0]), np.array([1.0])
    made = FORMATS["float"]
    found = [
        sum_error(made, order, 1000, 1, size, result, made.tiny, order.depth(1000)).item()
        for order in (SumOrder("any"), SumOrder("lanes", 8), SumOrder("pairwise"))
    ]
    assert found == sorted(found, reverse=True)
    assert found[0] > 3 * found[1] > 30 * found[2]


def test_a_format_too_narrow_for_so_many_terms_has_no_bound() -> None:
    made = FORMATS["float16"]
    assert np.isinf(sum_error(made, SumOrder("any"), 4096, 1, np.ones(1), np.ones(1), made.tiny, np.inf)).all()
    assert np.isfinite(sum_error(made, SumOrder("any"), 512, 1, np.ones(1), np.ones(1), made.tiny, np.inf)).all()


@each_case("name", ["float16", "bfloat16"])
@each_case("n", [2, 7, 50])
def test_sums_in_narrow_formats_lie_within_the_bound(name: str, n: int) -> None:
    import ml_dtypes

    kind = np.dtype(np.float16 if name == "float16" else ml_dtypes.bfloat16)
    source, made = np.random.default_rng(n), FORMATS[name]
    for _ in range(200):
        a, b = (source.normal(size=n).astype(kind) for _ in "ab")
        terms = [kind.type(float(x) * float(y)) for x, y in zip(a, b, strict=True)]
        exact = sum(float(x) * float(y) for x, y in zip(a, b, strict=True))
        absolute = np.array([sum(abs(float(x) * float(y)) for x, y in zip(a, b, strict=True))])
        total = terms[0]
        for each in terms[1:]:
            total = kind.type(float(total) + float(each))
        bound = sum_error(made, SumOrder("any"), n, 1, absolute, np.array([abs(exact)]), made.tiny, np.inf).item()
        assert abs(float(total) - exact) <= bound


@each_case("cancelled", [False, True])
def test_a_long_sum_one_after_another_nearly_attains_its_bound_and_breaks_those_of_narrower_orders(
    cancelled: bool,
) -> None:
    """3/2 and 4,094 terms of either sign that each partial sum loses; then perhaps -3/2, so that only they are left."""
    n, u = 4096, 2.0**-24
    terms = np.where(np.arange(n) % 8 == 0, -1, 1) * np.float32(u * (1 - 4 * u))
    terms[0], terms[-1] = 1.5, -1.5 if cancelled else 0.0
    computed, exact = float(np.add.accumulate(terms, dtype=np.float32)[-1]), float(terms.astype(np.float64).sum())
    size, result, made = np.abs(terms).astype(np.float64).sum(), np.array([abs(exact)]), FORMATS["float"]
    any_order, lanes, pairs = (
        sum_error(made, order, n, 0, np.array([size]), result, made.tiny, order.depth(n)).item()
        for order in (SumOrder("any"), SumOrder("lanes", 8), SumOrder("pairwise"))
    )
    assert 0.45 * any_order < abs(computed - exact) <= any_order
    assert abs(computed - exact) > 1.9 * lanes > 38 * pairs


# ------------------------------------------------------------------ the lemma of a sum, and the factors of its terms


@each_case("name", FORMATS)
@each_case("n", [1, 2, 3, 40])
@each_case("r", [0, 1, 7.25])
def test_the_error_of_a_sum_is_that_of_its_lemma(name: str, n: int, r: float) -> None:
    """The statement of `sum_error` (theorems bounds.sum-* and factors-left) in exact numbers."""
    made = FORMATS[name]
    u, least = Fraction(made.unit), Fraction(made.tiny)
    for S, y, W in ((Fraction(3), Fraction(1), Fraction(1)), (Fraction(2) ** -12, Fraction(0), Fraction(1000))):
        g = (n + Fraction(r)) * u / (1 - (n + Fraction(r)) * u)
        half = (S + y) / 2
        wanted = Fraction(r) * u * S + max(n - 2, 0) * u * half + (u * y if n > 1 else 0)
        wanted += (n - 1 + Fraction(r)) * u * g * S + (n * Fraction(r) + n) * (1 + g) * W * least
        got = sum_error(
            made, SumOrder("any"), n, r, np.array([float(S)]), np.array([float(y)]), float(W) * made.tiny, np.inf
        ).item()
        assert wanted <= Fraction(got) <= wanted * Fraction(1.001) + 16 * Fraction(2) ** -1074


def test_the_code_counts_as_many_roundings_as_the_theorem() -> None:
    for n, r in ((1, 0.0), (2, 1.0), (40, 7.25), (4096, 3.0)):
        assert roundings(n, r) == counted(n, r)


def left(sizes: tuple[float, ...], out: int) -> float:
    """The largest product of some of the numbers, where so many are left out at least."""
    kept = chain.from_iterable(combinations(sizes, count) for count in range(max(len(sizes) - out, 0) + 1))
    return max(prod(each) for each in kept)


@each_case("sizes", [(), (5.0,), (5.0, 0.5), (0.25, 0.5), (3.0, 7.0, 2.0), (0.1, 9.0, 4.0), (2.0, 3.0, 5.0, 0.5, 7.0)])
def test_what_follows_a_rounding_is_the_largest_product_without_two_factors(sizes: tuple[float, ...]) -> None:
    for made in (Factors.of(*sizes), Factors.of(*sizes[:1]).times(Factors.of(*sizes[1:]))):
        assert made.after_rounding == pytest.approx(left(sizes, 2))
        assert made.after_operand == pytest.approx(left(sizes, 1))
        assert made.after_rounding >= left(sizes, 2)


def test_factors_of_scaled_terms() -> None:
    """A constant that is itself computed may underflow before it is multiplied by anything."""
    product = Factors.of(3.0).times(Factors.of_constant(5.0))
    assert (product.constants, product.operand, product.after_rounding) == (5.0, 3.0, pytest.approx(1.0))
    channel, scalar = (product.scaled(7.0, everywhere=each) for each in (False, True))
    assert (channel.constants, channel.operand, scalar.operand) == (35.0, 3.0, 21.0)
    assert channel.after_rounding == pytest.approx(7.0)
    assert product.scaled(7.0, everywhere=False, steps=2).after_rounding == pytest.approx(35.0)
    assert product.scaled(0.5, everywhere=True) == product.scaled(1.0, everywhere=True)
    both = channel.or_(Factors.of(11.0, 2.0))
    assert both.sizes == (11.0, 5.0, 3.0)
    assert (both.constants, both.operand) == (35.0, 11.0)


@each_case(("value", "element", "wanted"), [
    (0.1, "float", False), (0.5, "float16", True), (float(np.float32(0.1)), "float", True), (0.1, "double", True),
    (float(np.float32(0.1)), "bfloat16", False), (1e5, "float16", False), (2.0**-25, "float16", False),
    (3.5, "int8", True),
])  # fmt: skip
def test_which_numbers_a_type_has(value: float, element: str, wanted: bool) -> None:
    assert representable(value, element) == wanted
