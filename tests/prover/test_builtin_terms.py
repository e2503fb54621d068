"""The interpretation of built-in functions for lists of any length agrees with their code, on lists of numbers."""

from itertools import product

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from sonnx.language import builtins
from sonnx.language.builtins import Undefined
from sonnx.prover.builtin_terms import BuiltinTerms, Fold, ForAll, Items, mutated_builtins
from sonnx.prover.symbolic_execution import Unsupported

shapes = st.lists(st.lists(st.integers(0, 3), max_size=3), min_size=1, max_size=3)

UNHURRIED = settings(deadline=None)
"""A solver on a busy machine takes what it takes."""


def listed(numbers):
    """A list of numbers; an index behind it gives the last one, which no claim looks at."""
    return Items(z3.IntVal(len(numbers)), lambda i: chosen(numbers, i))


def chosen(numbers, i):
    found = (numbers or [0])[-1] + z3.IntVal(0)
    for place, number in list(enumerate(numbers))[:-1]:
        found = z3.If(i == place, number, found)
    return found


def nested(found):
    """A list of lists, whatever the index."""

    def shape(m):
        return Items(chosen([len(each) for each in found], m), lambda i: chosen([chosen(each, i) for each in found], m))

    return Items(z3.IntVal(len(found)), shape)


def holds(terms, claim, sizes):
    """Whether a claim holds at all indices of lists of at most these sizes, with the facts of new numbers."""
    solver = z3.Solver()
    indices = [[z3.IntVal(i) for i in range(size)] for size in sizes]
    instances = [claim.instance(*each) for each in product(*indices)]
    for term, items, _ in list(terms.maxima.values()):
        solver.add(*terms.maximum_facts(term, *[z3.IntVal(i) for i in range(z3.simplify(items.length).as_long())]))
    return solver.check(z3.Not(z3.And(instances))) == z3.unsat


@UNHURRIED
@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.integers(0, 4))
def test_agree(extents, common):
    terms = BuiltinTerms()
    claim = terms.call("agree", listed(extents), z3.IntVal(common))
    assert isinstance(claim, ForAll)
    assert holds(terms, claim, [len(extents)]) == builtins.agree(extents, common)


@UNHURRIED
@given(st.lists(st.integers(0, 4), max_size=4), st.integers(0, 5))
def test_aligned(shape, k):
    found = BuiltinTerms().call("aligned", listed(shape), z3.IntVal(k))
    assert z3.simplify(found).as_long() == builtins.aligned(shape, k)


@UNHURRIED
@given(shapes, st.integers(0, 3))
def test_along(found, k):
    items = BuiltinTerms().call("along", nested(found), z3.IntVal(k))
    assert z3.simplify(items.length).as_long() == len(found)
    read = [z3.simplify(items.at(z3.IntVal(m))).as_long() for m in range(len(found))]
    assert read == builtins.along(found, k)


@given(st.lists(st.integers(-2, 3), min_size=1, max_size=5))
def test_a_written_list_has_its_items(numbers):
    items = BuiltinTerms().listing([z3.IntVal(number) for number in numbers])
    assert z3.simplify(items.length).as_long() == len(numbers)
    assert [z3.simplify(items.at(z3.IntVal(i))).as_long() for i in range(len(numbers))] == numbers


@UNHURRIED
@given(shapes)
def test_broadcast_is_a_fold_over_the_same_extents(found):
    terms = BuiltinTerms()
    result = terms.call("broadcast", nested(found))
    rank = builtins.widest(found)
    for i in range(rank):
        fold = result.at(z3.IntVal(i))
        assert isinstance(fold, Fold)
        assert fold.function.name == "join"
        fixed = [(term, z3.IntVal(rank)) for term, _, _ in terms.maxima.values()]
        read = [z3.simplify(z3.substitute(fold.items.at(z3.IntVal(m)), *fixed)).as_long() for m in range(len(found))]
        assert read == builtins.along(found, rank - 1 - i)


@UNHURRIED
@given(st.lists(st.integers(0, 3), min_size=1, max_size=5))
def test_the_first_item_of_a_filtered_list(extents):
    terms = BuiltinTerms()
    claim = terms.call("alike", terms.call("stretched", listed(extents)))
    indices = [z3.IntVal(i) for i in range(len(extents))]
    instances = [claim.instance(i) for i in indices]
    solver = z3.Solver()
    solver.add(*terms.first_item_facts(*indices))
    assert solver.check() == z3.sat
    assert (solver.check(z3.Not(z3.And(instances))) == z3.unsat) == builtins.alike(builtins.stretched(extents))


ANY = st.integers(-3, 9)
"""A number of which nothing is known."""


def true(facts, values):
    """Whether facts hold with values for the new numbers."""
    return all(z3.is_true(z3.simplify(z3.substitute(fact, *values))) for fact in facts)


@UNHURRIED
@given(st.lists(st.integers(-2, 4), max_size=4), ANY, ANY)
def test_the_facts_of_a_maximum_are_true(numbers, anything, anywhere):
    """Also of an empty list, for which the new numbers may be anything; at indices beyond the list too."""
    terms = BuiltinTerms()
    largest = terms.function("max", [listed(numbers)])
    ((_, _, place),) = terms.maxima.values()
    facts = terms.maximum_facts(largest, *map(z3.IntVal, range(-1, 6)))
    most = max(numbers) if numbers else anything
    where = numbers.index(most) if numbers else anywhere
    assert true(facts, [(largest, z3.IntVal(most)), (place, z3.IntVal(where))])
    if numbers:
        assert not true(facts, [(largest, z3.IntVal(most - 1)), (place, z3.IntVal(where))])
        assert not true(facts, [(largest, z3.IntVal(most + 1)), (place, z3.IntVal(where))])


@UNHURRIED
@given(st.lists(st.integers(0, 3), max_size=4), st.integers(0, 3), ANY)
def test_the_facts_of_a_first_item_are_true(numbers, wanted, anywhere):
    terms = BuiltinTerms()
    items = listed(numbers)
    terms.item(Items(items.length, items.at, lambda value: value == wanted), z3.IntVal(0))
    ((_, first),) = terms.first_items.values()
    facts = terms.first_item_facts(*map(z3.IntVal, range(-1, 6)))
    assert true(facts, [(first, z3.IntVal(numbers.index(wanted) if wanted in numbers else anywhere))])
    if numbers.count(wanted) > 1:
        second = numbers.index(wanted, numbers.index(wanted) + 1)
        assert not true(facts, [(first, z3.IntVal(second))])


def test_only_equal_lists_share_their_new_numbers():
    terms, n, x = BuiltinTerms(), z3.Int("n"), z3.Function("x", z3.IntSort(), z3.IntSort())
    lists = [Items(n, x), Items(n + 1, x), Items(n, lambda i: x(i) + 1), Items(n, lambda i: x(i + 1))]
    made = [terms.function("max", [each]) for each in lists]
    assert len({str(each) for each in made}) == len(lists)
    assert terms.function("max", [Items(n, x)]).eq(made[0])
    conditions = (lambda value: value > 0), (lambda value: value > 1)
    filters = [Items(length, x, condition) for length in (n, n + 1) for condition in conditions]
    assert len({str(terms.item(each, z3.IntVal(0))) for each in filters}) == len(filters)


@UNHURRIED
@given(st.integers(-4, 4), st.integers(0, 4))
def test_a_function_that_raises_is_defined_where_it_returns(axis, rank):
    found = BuiltinTerms().call("normal", z3.IntVal(axis), z3.IntVal(rank))
    try:
        wanted = builtins.normal(axis, rank)
    except Undefined:
        assert z3.is_false(z3.simplify(found.defined))
    else:
        assert z3.simplify(found.value).as_long() == wanted


def test_what_has_no_interpretation_is_refused():
    terms, items = BuiltinTerms(), listed([1])
    for refused in (
        lambda: terms.quantify("any", "x", items, lambda x: x == 1), lambda: terms.function("sum", [items]),
        lambda: terms.compare("==", items, items), lambda: terms.arithmetic("+", items, items),
        lambda: terms.constant("a"), lambda: terms.part(items, None, None), lambda: terms.field(items, "rank"),
    ):  # fmt: skip
        with pytest.raises(Unsupported):
            refused()


def test_the_text_a_mutant_changes_must_occur_once():
    with pytest.raises(ValueError, match="occurs 0 times"):
        mutated_builtins("no such text", "")


def test_a_nested_claim_says_nothing_outside_either_list():
    false = ForAll(listed([1]), lambda _: ForAll(listed([2, 3]), lambda _: z3.BoolVal(False)))
    for outer, inner, vacuous in ((0, 0, False), (0, 1, False), (1, 0, True), (0, 2, True), (-1, 0, True)):
        assert z3.is_true(z3.simplify(false.instance(z3.IntVal(outer), z3.IntVal(inner)))) is vacuous
