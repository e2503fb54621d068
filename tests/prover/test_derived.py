"""The theorems derived from the operator files: what they say, and that a changed text refutes them."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable
from typing import Any

import z3
from msgspec.structs import replace

from sonnx.base.resources import folder
from sonnx.language.parser import parse
from sonnx.model.reader import read
from sonnx.model.writer import write
from sonnx.profile.catalogue import _operator, editions, operator, operators
from sonnx.profile.definitions import OperatorDefinition, Rule
from sonnx.profile.file_format import OperatorFile
from sonnx.profile.toml_files import structure
from sonnx.proofs import derived
from sonnx.prover import any_size, bound_reasons, solvers
from sonnx.prover.call_variables import CallBounds
from sonnx.prover.signature_family import SignatureFamily, families, signatures
from sonnx.prover.solvers import find_model, script
from sonnx.prover.theorem import Obligation, Theorem
from sonnx.prover.witness import instance
from tests.support.cases import spread
from tests.support.proved import chosen_operators, derived_from_chosen


def status(obligations: Iterable[Obligation]) -> str:
    """What Z3 says of obligations taken together."""
    said = {solvers.ask("z3", solvers.question_text(each)).result for each in obligations}
    if "sat" in said:
        return "refuted"
    return "proved" if said == {"unsat"} else "undecided"


def wanted(theorem: Theorem) -> str:
    """What `status` must be: the call of a witness refutes its obligation."""
    return "proved" if theorem.expected == "proved" else "refuted"


def of_kind(kind: str) -> list[Theorem]:
    return [theorem for theorem in derived_from_chosen() if theorem.id.split(".")[2] == kind]


def test_hypotheses_can_hold() -> None:
    for theorem in spread(derived_from_chosen(), 40):
        if theorem.expected == "proved":
            for each in theorem.obligations():
                solver = z3.Solver()
                solver.add(*each.hypotheses)
                assert solver.check() == z3.sat, (theorem.id, each.name)


def test_every_rule_of_every_version_and_edition_has_its_theorems() -> None:
    """Except the rules about parameters that are known at run time only: no call of the theorems has such a one."""
    for described in chosen_operators():
        for made, edition in signatures(described):
            for rule in made.rules:
                if rule.when is not None and "not constant(" in rule.when.text:
                    continue
                kinds = ("implied", "independent")
                titles = [
                    t.statement for k in kinds for t in of_kind(k) if t.id.endswith(f".{rule.name.replace('_', '-')}")
                ]
                assert any(mentions(title, made.version, edition) for title in titles), (rule.slug, edition)
            for kind in ("satisfiable", "defined", "shape-total", "restricts"):
                titles = [t.statement for t in of_kind(kind) if f" {described.name} (" in t.statement]
                assert any(mentions(title, made.version, edition) for title in titles), (kind, made.version, edition)


def mentions(title: str, version: int, edition: str) -> bool:
    """Whether `(version 13, 12 in 2025-10; 8 in …)` names a version in an edition."""
    inner = title[title.index("(version ") + 9 : title.index(")")]
    parts = [part.split(" in ") for part in inner.split("; ")]
    return any(str(version) in v.split(", ") and edition in e.split(", ") for v, e in parts)


def test_ids_and_bounds() -> None:
    assert len({theorem.id for theorem in derived_from_chosen()}) == len(derived_from_chosen())


def test_a_claim_states_its_bounds_or_why_it_has_none() -> None:
    for theorem in derived.theorems():
        assert bool(theorem.bounds) is not bool(theorem.any_size), theorem.id
        assert theorem.bounds in theorem.statement
        assert not theorem.bounds or "rank at most 4" in theorem.bounds
        assert (theorem.expected == "found") is (theorem.any_size == derived.FOUND)


def test_what_is_said_of_each_tensor_holds_of_more_of_them() -> None:
    """Where two repeated inputs are enough, theorems with fewer and with more of them have the same result."""
    for described in operators():
        for family in families(described, SignatureFamily.definedness):
            rules = [rule for rule in family.rules if family.implied_by(rule)]
            for rule in (each for each in rules if family.about_each_tensor((each.name, *family.implied_by(each)))):
                for count in (2, 4) if any(each.variadic for each in family.signature.inputs) else ():
                    other = dataclasses.replace(family, bounds=CallBounds(count=count))
                    assert status(derived._implied(other, rule).obligations()) == "proved"


def test_what_is_said_of_every_size_holds_of_larger_calls() -> None:
    """Where a reason stands instead of a bound, the obligations about larger calls are proved too."""
    said = set[str]()
    for name in ("Relu", "Max"):
        described = operator(name)
        assert described is not None
        for key, why, claim in (
            (SignatureFamily.definedness, any_size.defined, derived._defined),
            (SignatureFamily.output_shapes, any_size.shape_total, derived._shape_total),
            (SignatureFamily.onnx_demands, any_size.restricts, derived._restricts),
        ):
            for family in filter(why, families(described, key)):
                said.add(why(family))
                larger = dataclasses.replace(family, bounds=CallBounds(count=4, rank=6))
                for each in claim(larger).obligations():
                    assert each.computed or status([each]) == "proved", (family.title, each.name)
    assert said == {any_size.TOTAL, any_size.SAME_SHAPE, any_size.SAME_DEMAND}


def test_a_reason_for_a_bound_names_the_construct_and_the_rule() -> None:
    """Each construct that a text has is named, and no other."""
    for text, construct in {
        "X.shape[0] == 1": "an item of a list by its index", "X.rank // X.rank == 1": "a division",
        "0 in X.values": "the field values",
        "onnx_broadcastable(x.shape for x in [X])": "the function onnx_broadcastable",
    }.items():  # fmt: skip
        described = changed("Relu", "no-consumed-inputs", require=parse(text))
        reasons = {bound_reasons.defined(each) for each in families(described, SignatureFamily.definedness)}
        assert {reason for reason in reasons if reason} == {
            f"{bound_reasons.OTHER_FORM}{construct} (Relu.no-consumed-inputs)."
        }


def test_bounds_are_stated_of_what_a_call_has() -> None:
    """Repeated inputs, constant parameters, lists, loops and numbers with fractions: where there are such."""
    stated = {
        described.name: {each.stated_bounds for each in families(described, SignatureFamily.definedness)}
        for described in map(operator, ("Relu", "Max", "Unsqueeze", "LeakyRelu"))
        if described is not None
    }
    assert stated["Relu"] == {"rank at most 4", "rank at most 4, at most 5 values in a list"}  # consumed_inputs
    assert stated["Max"] > {"at most 3 repeated inputs, rank at most 4"}
    assert all("at most 5 values in a list, 3 turns of a loop over a number" in each for each in stated["Unsqueeze"])
    assert any("(constants 2, of type int64 or int32 or int16)" in each for each in stated["Unsqueeze"])
    assert stated["LeakyRelu"] > {"rank at most 4, attributes with finite numbers"}


def test_a_text_about_axes_has_no_reason_for_every_size() -> None:
    """Control: an item of a list, a division, a value that may be absent, a built-in function."""
    for text, total in {
        "X.shape == X.shape": True, "X.shape[0] == 1": False, "X.rank // X.rank == 1": False,
        "0 in X.values": False, "onnx_broadcastable(x.shape for x in [X])": False,
    }.items():  # fmt: skip
        described = changed("Relu", "no-consumed-inputs", require=parse(text))
        found = {any_size.defined(each) for each in families(described, SignatureFamily.definedness)}
        assert ("" not in found) is total, text


def test_a_rule_stands_after_those_it_relies_on() -> None:
    """The checker asks rules in their order; one that relies on a later one would be asked although that fails."""
    for described in chosen_operators():
        for made, edition in signatures(described):
            names = [rule.name for rule in made.rules]
            for index, rule in enumerate(made.rules):
                late = set(rule.relies) & set(names[index:])
                assert not late, (rule.slug, made.version, edition, late)


# A changed text


def changed(name: str, rule: str, **fields: object) -> OperatorDefinition:
    """An operator with another text for one rule."""
    described = operator(name)
    assert described is not None
    assert any(each.name == rule for each in described.rules)
    rules = tuple(replace(each, **fields) if each.name == rule else each for each in described.rules)
    return replace(described, rules=rules)


def found(described: OperatorDefinition, label: str) -> str:
    """What becomes of a theorem about the specified version in the default edition."""
    theorems = {theorem.id: theorem for theorem in derived.about(described)}
    return status(theorems[f"derived.{described.name}-{described.specified}.{label}"].obligations())


def with_rule(described: OperatorDefinition, rule: Rule) -> OperatorDefinition:
    return replace(described, rules=(*described.rules, rule))


def test_contradicting_rules_cannot_be_satisfied() -> None:
    described = changed("ArgMax", "keepdims-flag", require=parse("keepdims in {0, 1} and keepdims > 1"))
    assert found(described, "satisfiable") == "proved"


def test_a_rule_said_twice_is_not_independent() -> None:
    described = operator("ArgMax")
    assert described is not None
    again = replace(next(each for each in described.rules if each.name == "keepdims-flag"), slug="ArgMax.again")
    assert found(with_rule(described, again), "independent.again") == "proved"


def test_an_implied_rule_is_a_theorem_about_the_implication() -> None:
    described = operator("ArgMax")
    assert described is not None
    flag = next(each for each in described.rules if each.name == "keepdims-flag")
    small = replace(flag, slug="ArgMax.small", require=parse("keepdims < 2"), implied_by={1: ("keepdims-flag",)})
    assert found(with_rule(described, small), "implied.small") == "proved"
    tiny = replace(small, require=parse("keepdims < 1"))
    assert found(with_rule(described, tiny), "implied.small") == "refuted"


def test_no_rule_follows_from_itself() -> None:
    """Else two rules could each be excused by the other, and neither be broken by any witness."""
    for described in operators():
        for made, edition in signatures(described):
            family = SignatureFamily(described, made, edition, ((made.version, edition),))
            open_names = {rule.name: set(family.implied_by(rule)) for rule in made.rules}
            while settled := {name for name, of in open_names.items() if not of & open_names.keys()}:
                open_names = {name: of for name, of in open_names.items() if name not in settled}
            assert not open_names, (described.name, made.version, edition, open_names)


def test_a_missing_relies_is_found() -> None:
    assert found(changed("ArgMax", "axis-not-empty", relies=()), "defined") == "refuted"


def test_a_negative_extent_is_found() -> None:
    described = operator("ArgMax")
    assert described is not None
    (output,) = described.outputs
    text = output.shape[1].text.replace("else X.shape[i] for", "else X.shape[i] - 1 for")
    assert found(replace(described, outputs=(replace(output, shape={1: parse(text)}),)), "shape-total") == "refuted"


def test_a_shape_that_relies_on_too_little_is_found() -> None:
    described = operator("Max")
    assert described is not None
    (output,) = described.outputs
    assert found(replace(described, outputs=(replace(output, relies=("input-count",)),)), "shape-total") == "refuted"


def test_a_profile_that_extends_onnx_is_found() -> None:
    assert found(changed("Max", "broadcastable", require=parse("len(X) > 0")), "restricts") == "refuted"


# An operator with products, slices and a derived dimension


RESHAPE = """
operator = "Reshape"
summary = "The elements of X, in row-major order, in another shape."
formula = "Y = X"
source = "test"
versions = { specified = 14 }
types = { T = { 1 = ["floats", "ints"] } }
inputs = { X = { type = "T" }, S = { type = "int64", onnx = "shape" } }

[outputs.Y]
type = "T"
shape = "[product(X.shape) // rest if d == -1 else d for d in kept]"
relies = ["values", "one-derived", "zero-copies", "derived-determined", "same-size"]
because = "test"

[parameters]
S = { kind = "ints", input = 5, required = 1, absent = "none" }
allowzero = { kind = "int", absent = "0", since = 14 }

[define]
kept = "[X.shape[i] if S[i] == 0 and allowzero == 0 else S[i] for i in range(len(S))]"
rest = "product([d for d in kept if d != -1])"
"""
RULES = {
    "allowzero-flag": ("allowzero in {0, 1}", "", ()),
    "values": ("all(s >= -1 for s in S)", "", ()),
    "one-derived": ("sum([1 for s in S if s == -1]) <= 1", "", ()),
    "zero-copies": (
        "allowzero == 1 or all(i < X.rank for i in range(len(S)) if S[i] == 0)", "", ("allowzero-flag",)
    ),
    "derived-determined": (
        "all(d > 0 for d in X.shape) if allowzero == 0 else 0 not in S",
        "-1 in S",
        ("values", "one-derived", "zero-copies"),
    ),
    "same-size": (
        "product(X.shape) % rest == 0 if -1 in S else product(X.shape) == rest",
        "",
        ("values", "one-derived", "zero-copies", "derived-determined"),
    ),
}  # fmt: skip


def reshape() -> OperatorDefinition:
    """An operator whose shape is a quotient of products."""
    data = tomllib.loads(RESHAPE)
    data["rule"] = [
        {
            "name": name, "class": "validity", "statement": "s", "because": "b", "remedy": "r", "source": "s",
            "require": require, "relies": list(relies), **({"when": when} if when else {}),
        }
        for name, (require, when, relies) in RULES.items()
    ]  # fmt: skip
    return made(data)


def made(data: dict[str, Any]) -> OperatorDefinition:
    """The operator in the content of a data file."""
    return _operator(structure(data, OperatorFile, "made.toml"), "made.toml")


def test_an_operator_with_products() -> None:
    label = "derived.Reshape-14."
    theorems = [theorem for theorem in derived.about(reshape()) if theorem.id.startswith(label)]
    assert len(theorems) >= 12
    asked = spread(theorems, 5)
    assert {theorem.id: status(theorem.obligations()) for theorem in asked} == {
        theorem.id: wanted(theorem) for theorem in asked
    }


KINDS = """
operator = "Constant"
summary = "An operator with an attribute of each kind."
formula = "Y = value"
source = "test"
versions = { specified = 13 }
types = { T = { 1 = ["floats", "ints", "string"] } }

[outputs.Y]
type = "T"
shape = "value.shape"
because = "test"

[parameters]
value  = { kind = "tensor", required = 1, absent = "none" }
alpha  = { kind = "float", absent = "0" }
scales = { kind = "floats", absent = "[]" }
mode   = { kind = "string", absent = "'plain'" }
names  = { kind = "strings", absent = "[]" }
"""


PARTS = """
operator = "Relu"
summary = "An operator with an optional input, repeated inputs, and defaults that read facts."
formula = "Y = X"
source = "test"
versions = { specified = 14 }
types = { T = { 1 = ["floats"] } }

[inputs]
X = { type = "T" }
M = { type = "T", optional = true }

[outputs.Y]
type = "T"
shape = "X.shape"
because = "test"

[parameters]
plain = { kind = "int", absent = "1" }
axes  = { kind = "int", absent = "X.shape[0]" }
none  = { kind = "int", absent = "none" }

[define]
first  = "X.shape[0]"
second = "first"
rank   = "X.rank"
"""


def with_parts(
    require: str, when: str = "", shape: str = "X.shape", onnx: str = "", relies: bool = False
) -> OperatorDefinition:
    """The made operator with one more rule, and a shape of its output."""
    data = tomllib.loads(PARTS)
    said = {"class": "restriction", "statement": "s", "because": "b", "remedy": "r", "source": "s"}
    data["outputs"]["Y"]["shape"] = shape
    data["rule"] = [{"name": "plain-one", "require": "plain == 1", **said}] if relies else []
    data["rule"] += [{"name": "r0", "require": require, **({"when": when} if when else {}), **({"onnx": onnx} if onnx
                      else {}), **({"relies": ["plain-one"]} if relies else {}), **said}]  # fmt: skip
    return made(data)


def is_total(described: OperatorDefinition) -> bool:
    """Whether the added rule has a value in calls of every size."""
    family = next(families(described, SignatureFamily.definedness))
    (rule,) = [each for each in family.rules if each.name == "r0"]
    there = any_size.always_there(family)
    return all(any_size._total(each, there) for each in any_size.read_expressions(family, rule))


def test_what_may_be_without_a_value_has_no_reason_for_every_size() -> None:
    for text, total in {
        "plain == 1": True, "X.rank == rank": True, "given(M)": True, "all(d >= 0 for d in X.shape)": True,
        "M.rank == 1": False, "axes == 1": False, "none == 1": False, "second == 1": False, "X.shape[0] == 1": False,
        "X.rank // 2 == 1": False, "X.rank % 2 == 1": False, "max([X.rank]) == 1": False,
        "aligned(X.shape, 0) == 1": False,
    }.items():  # fmt: skip
        assert is_total(with_parts(text)) is total, text
    assert not is_total(with_parts("plain == 1", when="M.rank == 1"))


def test_a_demand_of_two_repeated_tensors_is_not_one_of_each() -> None:
    assert any_size.of_each_tensor(parse("all(x.type == 'float' for x in X)"))
    for text in ("all(x.type == y.type for x in X for y in X)", "any(x.type == 'float' for x in X)",
                 "sum([1 for x in X if x.type == 'float']) == 1"):  # fmt: skip
        assert not any_size.of_each_tensor(parse(text)), text


def test_a_loop_over_a_number_is_assumed_to_end_within_the_turns() -> None:
    family = next(families(with_parts("sum(range(plain)) >= 0"), SignatureFamily.definedness))
    together = z3.And(*family.facts)
    known = {"written(plain)": z3.BoolVal(True)}
    for number, inside in ((0, True), (family.bounds.turns, True), (family.bounds.turns + 1, False)):
        values = {**known, "plain": z3.IntVal(number)}
        pairs = [(z3.Const(name, value.sort()), value) for name, value in values.items()]
        solver = z3.SimpleSolver()
        solver.add(z3.substitute(together, *pairs))
        assert (solver.check() == z3.sat) is inside, number


def test_only_the_shape_of_an_input_that_is_there_is_of_every_size() -> None:
    for shape, total in {"X.shape": True, "M.shape": False, "X.shape + [1]": False, "[X.rank]": False}.items():
        found = {any_size.shape_total(each) for each in families(with_parts("plain == 1", shape=shape),
                 SignatureFamily.output_shapes)}  # fmt: skip
        assert ("" not in found) is total, shape


def test_only_equal_texts_and_types_alone_restrict_in_calls_of_every_size() -> None:
    for require, onnx, more, total in (
        ("X.type == 'float'", "X.type in ['float', 'double']", {}, True),
        ("X.rank == 1", "X.rank == 1", {}, True),
        ("X.rank == 1", "X.rank >= 1", {}, False),
        ("X.type == 'float'", "X.type in ['float', 'double']", {"when": "X.rank == 1"}, False),
        ("X.type == 'float'", "X.type in ['float', 'double']", {"relies": True}, False),
    ):
        described = with_parts(require, onnx=onnx, **more)  # type: ignore[arg-type]
        found = {any_size.restricts(each) for each in families(described, SignatureFamily.onnx_demands)}
        assert ("" not in found) is total, (require, onnx, more)


def test_an_extent_without_a_value_is_found() -> None:
    """Of a definition that may be without a value, and of a list whose last item never has one."""
    for shape, wanted in {
        "[X.rank]": "proved", "[first]": "refuted", "[X.shape[i + 1] for i in range(X.rank)]": "refuted",
    }.items():  # fmt: skip
        assert found(with_parts("plain == 1", shape=shape), "shape-total") == wanted, shape


def test_a_demand_of_onnx_without_a_value_is_found() -> None:
    """Each extent is at least 0, and there is none at the place of the rank."""
    for onnx, wanted in {"X.rank >= 0": "proved", "X.shape[X.rank] >= 0": "refuted"}.items():
        assert found(with_parts("plain == 1", onnx=onnx), "restricts") == wanted, onnx


def test_versions_that_ask_a_rule_at_other_times_share_no_theorem() -> None:
    """Each part of a rule on which its value depends."""
    rules = (
        with_parts("plain == 1"), with_parts("plain == 2"), with_parts("plain == 1", when="X.rank == 1"),
        with_parts("plain == 1", relies=True), with_parts("plain == 1", when="X.rank == 2"),
    )  # fmt: skip
    for key in (SignatureFamily.definedness, SignatureFamily.conformance):
        assert len({key(next(families(each, key))) for each in rules}) == len(rules)


def test_types_follow_from_those_of_a_joined_input_only_if_they_include_them() -> None:
    described = operator("Pow")
    assert described is not None
    family = next(families(described, SignatureFamily.conformance))
    (rule,) = (each for each in family.rules if each.name == "B-type")
    assert family.implied_by(rule)[0] == "A-type"
    fewer = replace(rule, require=parse(family.text(rule).replace("'float', ", "")))
    assert family.text(fewer) != family.text(rule)
    rules = tuple(fewer if each is rule else each for each in family.rules)
    other = dataclasses.replace(family, signature=replace(family.signature, rules=rules))
    assert other.implied_by(fewer) == ()


def test_attributes_of_every_kind() -> None:
    data = tomllib.loads(KINDS)
    said = {"class": "restriction", "statement": "s", "because": "b", "remedy": "r", "source": "s"}
    texts = ("mode == 'plain'", "value.rank == 1", "'a' in names", "len(scales) == len(names)", "alpha >= 0")
    data["rule"] = [{"name": f"r{index}", "require": text, **said} for index, text in enumerate(texts)]
    theorems = list(derived.about(made(data)))
    assert {theorem.id: status(theorem.obligations()) for theorem in theorems} == {
        theorem.id: wanted(theorem) for theorem in theorems
    }
    family = next(families(made(data), SignatureFamily.conformance))
    values = find_model(script(derived.conforming(family)))
    assert values is not None
    call = instance(family.signature, family.variables.interpretation.codes, values)
    written = read(write(call.model())).graph.nodes[0].attributes
    assert [each.name for each in written] == ["value", "alpha", "scales", "mode", "names"]
    assert [(each.kind, each.fields) for each in written] == [(each.kind, each.fields) for each in call.attributes]
    assert all(each.value == other.value for each, other in zip(written[1:], call.attributes[1:], strict=True))
    assert (written[3].value, set(written[4].value)) == ("plain", {"a"})
    assert len(call.attributes[2].value) == len(written[4].value)


def test_the_catalogue_of_the_tests_is_the_one_that_is_installed() -> None:
    assert folder("restrictions").is_dir()
    assert editions().default in {edition for each in chosen_operators() for _, edition in signatures(each)}
