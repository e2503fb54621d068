"""LSTM and GRU with Relu for every function, where each step is a rounded exact sum: against fractions, to the bit.

The fast paths are compared with the definitions, with every function.
"""

import numpy
import pytest

import sonnx
from sonnx.base.errors import NotExecutable
from sonnx.model.ir import Attribute
from sonnx.numerics.application import Application
from sonnx.numerics.numpy_trials import specials
from sonnx.operators import recurrent_sequences
from sonnx.operators.gru import OPERATOR as GRU
from sonnx.operators.lstm import OPERATOR as LSTM
from sonnx.operators.recurrent_cells import EXACT_STEPS, fast_steps
from tests.support.applications import applied, fast_outputs
from tests.support.cases import crossed, each_case, examples, spread
from tests.support.exact import FORMATS, array, decoded, hard, product, summed
from tests.support.nodes import by_definition
from tests.support.oracle import KINDS, same

STEPS, BATCH, INPUTS, HIDDEN = 3, 2, 2, 2


class Numbers:
    """Values that round to a format."""

    def __init__(self, kind):
        self.kind = kind

    def once(self, addends):
        return decoded(array(self.kind, [summed(addends)], (1,)))[0]

    def relu(self, x):
        return x if x != x or x > 0 else 0.0


def some(name, shape, seed):
    """Elements of which none is infinite or NaN."""
    draw = numpy.random.default_rng(seed)
    return (draw.integers(-9, 10, shape) * 2.0 ** draw.integers(-4, 2, shape)).astype(KINDS[FORMATS[name]])


def dot(row, values):
    return [product(*pair) for pair in zip(decoded(row), values, strict=True)]


@each_case("name", FORMATS)
@each_case("direction", ["forward", "reverse"])
@each_case("coupled", [0, 1])
def test_lstm(name, direction, coupled):
    X, W, R = some(name, (STEPS, BATCH, INPUTS), 1), some(name, (1, 8, INPUTS), 2), some(name, (1, 8, HIDDEN), 3)
    B, P = some(name, (1, 16), 4), some(name, (1, 6), 5)
    h, c = some(name, (1, BATCH, HIDDEN), 6), some(name, (1, BATCH, HIDDEN), 7)
    inputs = [X, W, R, B, None, h, c, P]
    attributes = {"direction": direction, "activations": ["Relu"] * 3, "input_forget": coupled, "clip": 16.0}
    Y, Y_h, Y_c = LSTM.define(applied("LSTM", 14, inputs, outputs=3, **attributes), inputs)
    n, steps = Numbers(X.dtype), range(STEPS) if direction == "forward" else reversed(range(STEPS))
    states = [(decoded(h[0, b]), decoded(c[0, b])) for b in range(BATCH)]
    wanted = {}
    for t in steps:
        for b, (h_, c_) in enumerate(states):
            x = decoded(X[t, b])

            def gate(z, j, cell=None, x=x, h_=h_):
                k = z * HIDDEN + j
                addends = dot(W[0, k], x) + dot(R[0, k], h_) + [decoded(B[0])[k], decoded(B[0])[8 + k]]
                addends += [] if cell is None else [product(decoded(P[0])[k], cell)]
                return n.relu(n.once([max(min(summed(addends), 16), -16)]))

            i, f, g = ([gate(z, j, None if z == 3 else c_[j]) for j in range(HIDDEN)] for z in (0, 2, 3))
            cell = []
            for j in range(HIDDEN):
                keep = summed([1, product(-1, i[j])]) if coupled else f[j]
                cell.append(n.once([product(keep, c_[j]), product(i[j], g[j])]))
            o = [gate(1, j, cell[j]) for j in range(HIDDEN)]
            state = [n.once([product(o[j], n.relu(max(min(cell[j], 16), -16)))]) for j in range(HIDDEN)]
            states[b] = wanted[t, b] = (state, cell)
    flat = [wanted[t, b][0][j] for t in range(STEPS) for b in range(BATCH) for j in range(HIDDEN)]
    assert same(Y, array(X.dtype, flat, Y.shape))
    for found, which in ((Y_h, 0), (Y_c, 1)):
        assert same(found, array(X.dtype, [each for state in states for each in state[which]], found.shape))


@each_case("name", FORMATS)
@each_case("before", [0, 1])
def test_gru(name, before):
    X, W, R = some(name, (STEPS, BATCH, INPUTS), 1), some(name, (1, 6, INPUTS), 2), some(name, (1, 6, HIDDEN), 3)
    B, h = some(name, (1, 12), 4), some(name, (1, BATCH, HIDDEN), 6)
    inputs = [X, W, R, B, None, h]
    made = applied("GRU", 14, inputs, linear_before_reset=before, activations=["Relu", "Relu"])
    [Y] = GRU.define(made, inputs)
    n, b_ = Numbers(X.dtype), decoded(B[0])
    states, wanted = [decoded(h[0, b]) for b in range(BATCH)], []
    for t in range(STEPS):
        for b, h_ in enumerate(states):
            x = decoded(X[t, b])
            z, r = (
                [
                    n.relu(n.once(dot(W[0, k], x) + dot(R[0, k], h_) + [b_[k], b_[6 + k]]))
                    for k in range(gate * HIDDEN, gate * HIDDEN + HIDDEN)
                ]
                for gate in range(2)
            )
            reset = [n.once([product(r[j], h_[j])]) for j in range(HIDDEN)]
            state = []
            for j in range(HIDDEN):
                k = 2 * HIDDEN + j
                if before:
                    inner = [product(r[j], n.once([*dot(R[0, k], h_), b_[6 + k]]))]
                else:
                    inner = [*dot(R[0, k], reset), b_[6 + k]]
                new = n.relu(n.once([*dot(W[0, k], x), b_[k], *inner]))
                state.append(n.once([product(summed([1, product(-1, z[j])]), new), product(z[j], h_[j])]))
            states[b] = state
            wanted += state
    assert same(Y, array(X.dtype, wanted, Y.shape))


def test_a_shorter_sequence_is_not_run():
    """No rule is about it: the error condition of LSTM is a rule of the profile."""
    X, W, R = (numpy.ones(shape, "f4") for shape in ((2, 1, 1), (1, 3, 1), (1, 3, 1)))
    with pytest.raises(NotExecutable, match=r"\[1\], with 2 steps; the executor runs whole sequences only"):
        GRU.define(applied("GRU", 14, [X, W, R]), [X, W, R, None, numpy.array([1], "i4")])


def test_special_values_pass_through_the_gates():
    X = hard("float", (1, 4, 1), 3)
    inputs = [numpy.full_like(X, numpy.nan), *[numpy.ones((1, 4, 1), "f4")] * 2]
    Y = LSTM.define(applied("LSTM", 7, inputs, activations=["Relu"] * 3), inputs)
    assert numpy.isnan(Y[0]).all()


# ------------------------------------------------------------------ fast paths


def agree(operator, made, inputs):
    """Fast path and definition give the same bits; the count of elements and of those on the exact path."""
    with numpy.errstate(all="ignore"):
        wanted = operator.define(made, inputs)
    assert made.operator not in made.exact_path_counts.by_operator, "the definition approximates nothing"
    found = fast_outputs(operator, made, inputs)
    assert len(found) == len(wanted) == made.outputs
    assert all(same(*pair) for pair in zip(found, wanted, strict=True))
    return made.exact_path_counts.by_operator.get(made.operator)


def lstm_application(outputs=3, clip=None, **names):
    usual = {"direction": "forward", "activations": ["Sigmoid", "Tanh", "Tanh"], "input_forget": 0, "layout": 0}
    written_too = {} if clip is None else {"clip": Attribute("clip", "float", clip)}
    return Application("LSTM", 14, "onnx", usual | names, written_too, outputs=outputs)


def drawn(name, draw, shape):
    return draw.standard_normal(shape).astype(KINDS[FORMATS[name]])


def tied(name, draw, shape):
    """Small whole multiples of powers of two: sums that cancel, that are exact, and that lie halfway."""
    return (draw.integers(-3, 4, shape) * 2.0 ** draw.integers(-13, 2, shape)).astype(KINDS[FORMATS[name]])


def special(name, draw, shape):
    """Every edge of a format, a few infinities and NaNs among them."""
    return hard(name, shape, int(draw.integers(1 << 30)))


SOURCES = {"random": drawn, "tied": tied, "special": special}
each_source = each_case("source", SOURCES)

LSTMS = {
    "plain": {},
    "coupled": {"input_forget": 1, "activations": ["Relu", "Tanh", "Sigmoid"]},
    "from both ends": {"direction": "bidirectional", "activations": ["Sigmoid", "Tanh", "Relu"] * 2},
    "clipped, batch first": {"clip": 0.75, "layout": 1},
    "clipped to zero": {"clip": 0.0, "activations": ["Relu"] * 3},
    "clipped below every element": {"clip": 1e-45, "activations": ["Tanh"] * 3},
}


@each_case(("name", "which", "optional", "source"), crossed(FORMATS, LSTMS, [True, False], SOURCES, every=5))
def test_lstm_kernel(name, which, optional, source):
    made, draw = lstm_application(**LSTMS[which]), numpy.random.default_rng(7)
    ways = len(made.names["activations"]) // 3
    shapes = [(ways, 4 * 3, 4), (ways, 4 * 3, 3), (ways, 8 * 3), (ways, 2, 3), (ways, 2, 3), (ways, 3 * 3)]
    X, W, R, B, h, c, P = (SOURCES[source](name, draw, shape) for shape in [(5, 2, 4), *shapes])
    if made.names["layout"]:
        X, h, c = (numpy.swapaxes(each, 0, 1).copy() for each in (X, h, c))
    agree(LSTM, made, [X, W, R, B, None, h, c, P] if optional else [X, W, R])


@each_case("name", FORMATS)
@each_case("before", [0, 1])
@each_case("optional", [True, False])
@each_source
def test_gru_kernel(name, before, optional, source):
    draw = numpy.random.default_rng(8)
    X, W, R, B, h = (
        SOURCES[source](name, draw, shape) for shape in [(5, 2, 4), (1, 9, 4), (1, 9, 3), (1, 18), (1, 2, 3)]
    )
    made = applied("GRU", 14, [X, W, R], outputs=2, linear_before_reset=before, clip=0.5)
    agree(GRU, made, [X, W, R, B, None, h] if optional else [X, W, R])


@each_case("name", FORMATS)
def test_a_negative_bound_and_empty_shapes(name):
    X, W, R = (
        drawn(name, numpy.random.default_rng(1), (2, 2, 3)),
        *(numpy.ones((1, 4, n), KINDS[FORMATS[name]]) for n in (3, 1)),
    )
    agree(LSTM, lstm_application(clip=-1.0), [X, W, R])
    for shape in ((0, 2, 3), (2, 0, 3), (2, 2, 0)):
        agree(LSTM, lstm_application(), [numpy.ones(shape, X.dtype), W[..., : shape[2]], R])
    agree(LSTM, lstm_application(), [X[..., :0], W[:, :0, :0], R[:, :0, :0]])


def test_the_share_of_the_exact_path_is_small_on_ordinary_numbers():
    draw = numpy.random.default_rng(3)
    X, W, R = (drawn("float", draw, shape) for shape in ((3, 2, 20), (1, 4 * 24, 20), (1, 4 * 24, 24)))
    elements, exact = agree(LSTM, lstm_application(), [X, W / 8, R / 8])
    assert elements == 3 * 2 * 24 * 9  # four gates, as many functions of them, one of the cell
    assert exact < elements / 100


@each_case("name", FORMATS)
def test_steps_that_mix_states(name):
    """f c + i g and (1 - z) h + z g on triples of special values and a few others, against the definition."""
    few = specials(KINDS[FORMATS[name]])
    with numpy.errstate(all="ignore"):
        some = numpy.concatenate(
            [
                few,
                numpy.array([1, 0.5, 3, 1 / 3]).astype(few.dtype),
                numpy.nextafter(few.dtype.type(1), few.dtype.type(0))[None],
            ]
        )
    triples = numpy.array(numpy.meshgrid(some, some, some)).reshape(3, -1)
    x, y, z = triples[:, spread(range(triples.shape[1]), examples(900, 2500))].reshape(3, 1, -1)
    fast = fast_steps(Application("LSTM", 14, "onnx"), few.dtype)
    with numpy.errstate(all="ignore"):
        assert same(fast.mix(x, y, z, x), EXACT_STEPS.mix(x, y, z, x))
        assert same(fast.rest(x, y, z), EXACT_STEPS.rest(x, y, z))
        assert same(fast.scale(x, y), EXACT_STEPS.scale(x, y))


@each_case(("operator", "gates", "functions"), [("LSTM", 4, 3), ("GRU", 3, 2)])
def test_factors_of_activations_without_factors_mean_nothing(operator, gates, functions):
    draw = numpy.random.default_rng(4)
    X, W, R = (drawn("float", draw, shape) for shape in ((2, 2, 3), (1, 2 * gates, 3), (1, 2 * gates, 2)))
    plain, given = (
        by_definition(operator, [X, W, R], version=14, hidden_size=2, outputs=1, **more)
        for more in ({}, {"activation_alpha": [0.5] * functions, "activation_beta": [2.0] * functions})
    )
    assert same(plain, given)
    with pytest.raises(sonnx.ErrorCondition, match=f"{operator}.activations"):
        by_definition(operator, [X, W, R], version=14, hidden_size=2, activations=["Tanh"])


SEQUENCES = {"LSTM": (LSTM, 4, 0), "GRU": (GRU, 3, 0), "GRU, linear before reset": (GRU, 3, 1)}


@each_case("which", SEQUENCES)
@each_case("source", ["random", "tied"])
@pytest.mark.parametrize("again", [False, True], ids=["as it is", "every step made again"])
def test_whole_steps_in_intervals(which, source, again, monkeypatch):
    """Against the steps of the definition with gates of their own; with wide intervals no step is decided."""
    operator, gates, before = SEQUENCES[which]
    draw = numpy.random.default_rng(9)
    shapes = [(6, 2, 5), (2, gates * 7, 5), (2, gates * 7, 7), (2, 2 * gates * 7), (2, 2, 7)]
    X, W, R, B, h = (SOURCES[source]("float", draw, shape) for shape in shapes)
    if operator is LSTM:
        made = lstm_application(direction="bidirectional", activations=["Sigmoid", "Tanh", "Tanh"] * 2)
        inputs = [X, W, R, B, None, h, -h]
    else:
        inputs = [X, W, R, B, None, h]
        made = applied("GRU", 14, inputs, outputs=2, linear_before_reset=before, direction="bidirectional")
    if again:
        monkeypatch.setattr(recurrent_sequences, "UP", 1 + 2.0**-12)
    counted = agree(operator, made, inputs)
    assert counted[0] == 2 * X.shape[0] * 2 * 7 * {"LSTM": 9, "GRU": 6}.get(which, 7)
