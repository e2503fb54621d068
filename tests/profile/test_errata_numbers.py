"""The numbers that errata print are computed: each function gives those of its erratum as the erratum writes them."""

from __future__ import annotations

import re
import tomllib
from fractions import Fraction
from itertools import product
from math import exp, floor, prod, sqrt
from pathlib import Path

import numpy as np

from sonnx.language.builtins import broadcastable, onnx_broadcastable, window
from sonnx.profile.catalogue import errata
from tests.support.cases import each_case

U = 2.0**-24
"""Half the machine epsilon of float."""
MAP = [
    tomllib.loads(path.read_text("utf-8"))
    for path in (Path(__file__).parent.parent / "data" / "label_map").glob("*.toml")
]


def to(value: float, digits: int) -> str:
    """A number with so many significant digits, without trailing zeros."""
    return f"{value:.{digits}g}".replace("e-0", "e-").replace("e+0", "e")


def div_accuracy_propagated() -> list[str]:
    A, B, a, b = (Fraction(n) for n in (1, 2, 1, 0))
    true = (A + a) / (B + b) - A / B
    first = (a * B - b * A) / (B**2 * (B + b))
    third = (abs(a) + abs(A * b / B)) / (abs(B) * abs(B + b))
    return [f"errs by {true}", f"formula gives {first}", f"third is {third}"]


def div_accuracy_of_computed_operands() -> list[str]:
    third, least = np.float32(1) / np.float32(3), float(np.finfo(np.float32).smallest_normal)
    error = abs(Fraction(float(third)) - Fraction(1, 3))
    with np.errstate(over="ignore"):
        assert np.isinf(np.float32(3e38) / np.float32(0.5))
    return [f"errs by {to(float(error), 2)}", f"A = 0 is {to(U * least, 2)}"]


def div_accuracy_code_of_subnormals() -> list[str]:
    assert np.float32(2.0**-149) / np.float32(2) == 0
    return ["errs by 2^-150", f"allows 2^-{round(-np.log2(2.0**-150 * U))}"]


def sigmoid_accuracy_bound() -> list[str]:
    sigmoid = lambda x: 1 / (1 + exp(-x))  # noqa: E731
    true, bound = sigmoid(0) - sigmoid(-1), sigmoid(-1) * (1 - sigmoid(-1))
    assert true > bound and true <= 1 / 4
    return [f"errs by {true:.3f}", f"bound is {bound:.3f}"]


def sqrt_accuracy_bound() -> list[str]:
    return [f"errs by {abs(sqrt(0) - sqrt(1)):g}", f"bound is {1 / (2 * sqrt(1)):g}"]


def pow_accuracy_bound() -> list[str]:
    return [f"2^2 - 1 = {2**2 - 1}", f"bound is {2 * 1}", f"bound is {abs(-1 * 1 * -1)}"]


def where_accuracy_of_the_condition() -> list[str]:
    return [f"errs by {1 - -1}"]


def matmul_error_bound_of_subnormals() -> list[str]:
    a, b = 2.0**-60, float.fromhex("0x1.000578p-69")
    total = np.float32(0)
    for _ in range(8):
        total = np.float32(total + np.float32(np.float32(a) * np.float32(b)))
    true = Fraction(a) * Fraction(b) * 8
    error = abs(Fraction(float(total)) - true)
    bound = (((1 + U) ** 8 - 1) / U * (1 + U) ** 2 - 8) * a * b
    assert total >= np.finfo(np.float32).smallest_normal and error > bound
    return [re.sub(r"0+p", "p", float(total).hex()), f"errs by {to(float(error), 2)}", f"is {to(bound, 2)}"]


def tanh_accuracy_of_exponential() -> list[str]:
    return [f"{2 * 2**3} epsilon", f"claimed are {2 + 3 / 2}"]


def tanh_accuracy_domains() -> list[str]:
    with np.errstate(all="ignore"):
        for number in (np.float32(100), np.float64(1e7)):
            power = np.exp(2 * number)
            assert np.isinf(power) and np.isnan((power - 1) / (power + 1))
    return ["exp(200)"]


def tanh_accuracy_code() -> list[str]:
    q = exp(0)
    code = 1 / (1 + 2 * q) * ((2 + 8 * q - 2 * q * q) / (1 + 2 * q) + 1 - q)
    general = (4 * 2 * q + 2 * (1 - q)) / ((1 + q) * (1 + q))
    return [f"{2.5 * 2:g} u", f"{2 * 2.5 * 2:g} and {2.5 * 2:g}", f"{code:.2f} u", f"{general:g} u"]


def tanh_accuracy_bounds() -> list[str]:
    q = exp(0)
    return [f"{1 / (1 + 2 * q) * ((2 + 8 * q - 2 * q * q) / (1 + q) + 1 - q):.2f} u"]


def accuracy_example_count() -> list[str]:
    n, p = 100, 1
    return [f"is {round((1 + U) ** 2 * ((1 + U) ** p - 1) / U - n)} a b"]


def accuracy_example_signed() -> list[str]:
    a, e = Fraction(-1), Fraction(1, 10)
    return [f"sum is {float((a + e) * (a + e) - a * a)}", f"is {float((a - e) * (a - e) - a * a)}"]


def accuracy_example_sign() -> list[str]:
    x0, x1, e1, e0 = (Fraction(n) for n in (1, 1, 1, 0))
    exact = (x0 + e0) / (x1 + e1) - x0 / x1 - (e0 / x1 - x0 * e1 / x1**2)
    middle = (x1 * e0 - x0 * e1) / (x1 * (x1 + e1)) - e0 / x1 - x0 / x1**2 * e1
    last = (x0 * e1**2 - x1 * e0 * e1) / (x1**2 * (x1 + e1))
    assert exact == last
    return [f"term is {exact}", f"gives {middle}"]


def accuracy_integer_examples() -> list[str]:
    return [f"100 * 100 is {int(np.array([100], np.int8)[0] * np.int16(100)) % 256}", f"7 / 4 is {7 // 4}"]


def accuracy_scenario_tolerance() -> list[str]:
    root = np.sqrt(np.float32(2))
    return [f"errs by {to(abs(float(root) - sqrt(2)), 2)}"]


def zero_against_one() -> list[str]:
    shapes = [list(shape) for rank in range(4) for shape in product(range(4), repeat=rank)]
    pairs = list(product(shapes, repeat=2))
    differ = [pair for pair in pairs if broadcastable(list(pair)) != onnx_broadcastable(list(pair))]
    assert all(0 in left + right for left, right in differ)
    return [f"the {len(pairs)} pairs", f"{len(differ)} are"]


def conv_dilated_extent() -> list[str]:
    printed = floor(Fraction(5 - ((2 * 2 - 1) + 1), 1)) + 1
    return [f"gives {printed} places", f"there are {5 - window(2, 2) + 1}"]


def convinteger_padding_value() -> list[str]:
    return [f"1 + 3 * (0 - 1) = {1 + 3 * (0 - 1)}"]


def convinteger_accumulation() -> list[str]:
    elements = 33026
    assert 255 * 255 * elements > 2**31 - 1 >= 255 * 255 * (elements - 1)
    return [f"{elements:,} elements"]


def dequantize_example() -> list[str]:
    assert {int(np.float32(n)) for n in (2147483547, 2147483548)} == {2147483520}
    return ["2147483520"]


def maxpool_window_in_padding() -> list[str]:
    extent, kernel, dilation, padding = 1, 2, 2, 1
    assert window(kernel, dilation) > padding and padding <= kernel and padding < kernel
    places = extent + 2 * padding - window(kernel, dilation) + 1
    assert places == 1 and {-padding, -padding + dilation}.isdisjoint(range(extent))
    return [f"{window(kernel, dilation)} > {padding}"]


def maxpool_extent_not_positive() -> list[str]:
    return [f"gives {0 - (2 - 1) - 1 + 1}", f"gives {0 + 2 - (2 - 1) - 1 + 1}"]


def mul_overflow_as_error() -> list[str]:
    return [f"is {100 * 3 % 256} by"]


def add_overflow_called_error() -> list[str]:
    return [f"200 + 100 = {300 % 256}"]


def sub_overflow_called_error() -> list[str]:
    return [f"3 - 5 = {(3 - 5) % 256}"]


def sub_integer_examples() -> list[str]:
    return [f"100 - 200 is {(100 - 200) % 256} by", f"-6 - (-3) is {-6 - -3} by"]


def leakyrelu_example() -> list[str]:
    return [f"is {float(Fraction('0.01') * Fraction('-9.5'))};"]


def leakyrelu_alpha_conversion() -> list[str]:
    return [repr(float(np.float32(0.01))), f"{float(np.float16(np.float32(0.01))):.7f}"]


def rounding_not_named() -> list[str]:
    return [repr(0.1 * 0.2)]


def batch_normalization_order() -> list[str]:
    one, three, seven = np.float32(1), np.float32(3), np.float32(7)
    return [str(three * (one / seven)), str((three * one) / seven)]


def quantize_example_tie() -> list[str]:
    assert round(-3.5 / 2.0) == -2
    return [f"{-3.5 / 2.0}"]


def reshape_kept_minus_one() -> list[str]:
    return [f"shape ({prod((2, 3))})"]


def bfloat16_by_omission() -> list[str]:
    """The pages that list bfloat16, from the label map; Neg has its types in a sentence."""
    named = {
        page["operator"]
        for page in MAP
        for each in page["statements"]
        if each["label"].startswith("types") and "bfloat16" in each["quote"]
    }
    listed = sorted({*named, "Neg"})
    assert len(listed) == 7
    return ["seven pages", ", ".join(listed[:-1]) + f" and {listed[-1]}"]


def exp_overflow_threshold() -> list[str]:
    """Rounding to float16 overflows from 65520 on, half a step above the largest finite number."""
    spacing = 2.0**-7  # of float16 between 8 and 16
    largest = floor(np.log(65520) / spacing) * spacing
    assert exp(largest) < 65520 <= exp(largest + spacing)
    return [f"printed as {largest + spacing}", f"result is {largest}"]


def conv_float_accumulation() -> list[str]:
    one, large = np.float32(1), np.float32(2**24)
    assert float(large + one + one) == 2**24 and float(large + (one + one)) == 2**24 + 2
    return ["2^24 or 2^24 + 2"]


def conv_kernel_larger_than_input() -> list[str]:
    places = {floor(Fraction(2 - 3, stride)) + 1 for stride in (1, 2)}
    assert len(places) == 1
    return [f"gives {places.pop()} places"]


def conv_formal_drafts() -> list[str]:
    return [f"gives {(8 - 2) // (2 + 1)} places", f"there are {(8 - 2) // 2 + 1}"]


def gemm_over_reals_only() -> list[str]:
    one, half = np.float32(1), np.float32(2**-24)
    once = np.float32(1 + 2.0**-24 + 2.0**-24)
    return [f"from the left is {one + half + half:g}", f"one rounding {once:.9g}"]


def matmul_error_bound() -> list[str]:
    factor = np.float32(1.1)
    error = abs(Fraction(float(factor * factor)) - Fraction(float(factor)) ** 2)
    square = float(factor) ** 2
    return [
        f"errs by {to(float(error), 2)}",
        f"is {to(square * U**2, 2)}",
        f"it is {to(square * ((1 + U) ** 2 - 1), 2)}",
    ]


def matmul_order_of_sum() -> list[str]:
    big, one = np.float32(1e8), np.float32(1)
    return [f"is {big + one - big:g} from the left", f"and {float(np.float32(Fraction(10**8) + 1 - 10**8)):g} with"]


def pow_integer_overflow() -> list[str]:
    return [f"is {2**31}", f"wrapped {(2**31 + 2**31) % 2**32 - 2**31}", f"saturated {2**31 - 1}"]


def pow_real_domain() -> list[str]:
    return [f"gives {9**2}"]


def sigmoid_rounding() -> list[str]:
    return [f"is {to(1 / (1 + exp(18)), 4)}"]


def sigmoid_formal_without_exponential() -> list[str]:
    return [f"gives {1 / (1 + exp(1)):.3f} and {1 / (1 + exp(-1)):.3f}"]


def batch_normalization_epsilon_rounds_to_zero() -> list[str]:
    return [f"float16 is {np.float16(1e-9):g}"]


def tanh_literal_formula() -> list[str]:
    with np.errstate(over="ignore", invalid="ignore"):
        power = np.exp(np.float32(200))
        assert np.isnan((1 - power) / (1 + power))
    return [f"is {np.tanh(-100.0):g}"]


def acos_range_after_rounding() -> list[str]:
    nearest = np.float32(np.pi)
    assert float(nearest) > np.pi
    return [f"is {nearest:.9g}", f"pi is {floor(np.pi * 1e8) / 1e8}..."]


def slice_formal_division() -> list[str]:
    quotient, remainder = -((0 - 5) // 2), (0 - 5) % 2  # Euclid's division by -2
    assert -2 * quotient + remainder == 0 - 5
    return [f"gives {quotient + 1} elements", f"{', '.join(map(str, range(5, 0, -2)))} are three"]


def input_count_out_of_reach() -> list[str]:
    """A field of NodeProto.input takes a tag and a length, and the bytes of the name."""
    return [f"takes {2 * 2**31 / 1e9:.1f} GB", f"and {3 * 2**31 / 1e9:.1f} GB", f"{2**31} inputs"]


def maxpool_index_over_plane() -> list[str]:
    x = [5, 1, 5]
    window = [1, 2]
    largest = max(x[i] for i in window)
    inside, plane = (min(i for i in among if x[i] == largest) for among in (window, range(3)))
    return [f"holds the index {inside}", f"gives {plane}"]


def resize_lengths_not_whole() -> list[str]:
    """align_corners with the length 4 * 0.6 not rounded, and with the two elements that the result has."""
    return [f"is {1 * (4 - 1) / (4 * 0.6 - 1):.6f} by", f"{1 * (4 - 1) // (floor(4 * 0.6) - 1)} in onnxruntime"]


def resize_beyond_the_ends() -> list[str]:
    return [f"is {(0 + 0.5) / 2 - 0.5}"]


def neg_values_not_said() -> list[str]:
    return [f"is {-int(np.iinfo(np.int8).min)}"]


def lstm_directions_concatenated() -> list[str]:
    return [f"give {3 * 2} steps"]


COMPUTED = {
    name.replace("_", "-"): function
    for name, function in list(globals().items())
    if name.replace("_", "-") in errata() and callable(function)
}


@each_case("name", sorted(COMPUTED))
def test_numbers_are_computed(name: str) -> None:
    erratum = errata()[name]
    text = " ".join(" ".join((erratum.place, erratum.defect, erratum.counterexample, erratum.reading)).split())
    for printed in COMPUTED[name]():
        assert printed in text


def test_every_accuracy_erratum_is_computed() -> None:
    accuracy = {name for name in errata() if "accuracy" in name and errata()[name].document == ("2026-08",)}
    without_number = {"accuracy-loop-count"}
    of_solvers = {"div-accuracy-of-integers", "exp-accuracy-bound", "log-accuracy-bound"}  # printed below
    assert accuracy - COMPUTED.keys() == without_number | of_solvers


def test_bounds_of_exp_and_log() -> None:
    assert f"errs by {exp(1) - exp(0):.3f}" in errata()["exp-accuracy-bound"].counterexample
    assert f"errs by {abs(np.log(0.5)):.3f}" in errata()["log-accuracy-bound"].counterexample
    assert Fraction(5, 3) - 5 // 3 == Fraction(2, 3)
