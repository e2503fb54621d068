"""The theorems derived from rules as questions in Coq: `questions.v`, which `proofs/coq/theorems.v` decides.

A question names an entry of the exported catalogue, says what the names of a call stand for, and has goals about rules
of the entry.  `proofs/coq/any_size.toml` lists the theorems that are asked, and so hold for calls of any size; `make
formal` fails where one is not decided.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sonnx.language.coq import term, text
from sonnx.language.domain import constant_key, given_key, input_key, written_key
from sonnx.profile.catalogue import operators
from sonnx.profile.definitions import Formal, Input, OperatorDefinition, Parameter
from sonnx.profile.signature import Signature
from sonnx.prover import any_size
from sonnx.prover.call_variables import inputs_asked_constant, inputs_with_values
from sonnx.prover.signature_family import SignatureFamily, families

QUESTIONS = "questions.v"
HEAD = """\
(* The theorems derived from the rules, written by `sonnx export coq`. *)
From Coq Require Import ZArith QArith String List.
From Sonnx Require Import syntax kinds theorems rules.
Import ListNotations.
Open Scope Z_scope.
Open Scope string_scope.

"""
KINDS = {
    "int": "KInt",
    "float": "KNumber",
    "string": "KText",
    "ints": "(KList KInt)",
    "floats": "(KList KNumber)",
    "strings": "(KList KText)",
    "tensor": "(KTensor false)",
    "sparse_tensor": "(KTensor false)",
}


class CoqQuestion(NamedTuple):
    """A theorem with its question: the entry of the catalogue, the call, and the goals, as terms of Coq."""

    theorem: str
    entry: str
    call: str
    goals: tuple[str, ...]


PROVED = Path(__file__).parent / "coq" / "any_size.toml"
IN_COQ = (
    "Coq proves it for calls of any size: a search for a proof that is itself proved right (`decides_question_ok` of "
    "proofs/coq/theorems.v) finds one, from the exported rules."
)
"""Why a theorem of the list has no bound."""


@cache
def proved() -> frozenset[str]:
    """The theorems that Coq proves for calls of any size."""
    return frozenset(tomllib.loads(PROVED.read_text("utf-8"))["theorems"])


def any_size_in_coq(theorem: str) -> str:
    """Why a theorem holds for calls of any size if Coq proves it, else ""."""
    return IN_COQ if theorem in proved() else ""


def file() -> str:
    """The questions of the list, every second one apart, so that two processes decide them: each call once."""
    calls: dict[str, str] = {}
    entries = []
    for question in questions():
        if question.theorem not in proved():
            continue
        call = calls.setdefault(question.call, f"call_{len(calls) + 1}")
        goals = ";\n    ".join(question.goals)
        entries.append(f"  (Build_question {text(question.theorem)} {text(question.entry)} {call} [\n    {goals}])")
    definitions = "".join(f"Definition {name} := {called}.\n" for called, name in calls.items())
    first, rest = (
        f"Definition {name} : list question := [\n" + ";\n".join(part) + "\n].\n"
        for name, part in (("first", entries[::2]), ("rest", entries[1::2]))
    )
    return f"{HEAD}{definitions}\n{first}\n{rest}\nDefinition questions := app first rest.\n"


def questions() -> Iterator[CoqQuestion]:
    """The questions about all operators of the catalogue."""
    for described in operators():
        yield from _about(described)


def _about(described: OperatorDefinition) -> Iterator[CoqQuestion]:
    for family in families(described, SignatureFamily.definedness):
        if not any_size.defined(family):
            goals = [f"Decided {text(rule.slug)}" for rule in family.rules if family.demand(rule) is not None]
            yield _question(family, "defined", goals)
        for rule in family.rules:
            names = family.implied_by(rule)
            if names and not family.about_each_tensor((rule.name, *names)):
                goal = f"Follows {_slugs(family, names)} {text(rule.slug)}"
                yield _question(family, f"implied.{rule.name.replace('_', '-')}", [goal])
    for family in families(described, SignatureFamily.output_shapes):
        if family.signature.shapes and not any_size.shape_total(family):
            shapes = [
                f"Extents {_slugs(family, output.relies)} {term(shape, family.signature.define)}"
                for output in family.signature.outputs
                if (shape := family.signature.shapes.get(output.name)) is not None
            ]
            yield _question(family, "shape-total", shapes)
    for family in families(described, SignatureFamily.onnx_demands):
        if not any_size.restricts(family):
            yield _question(family, "restricts", list(_restricted(family)))


def _restricted(family: SignatureFamily) -> Iterator[str]:
    for rule in family.rules:
        onnx = family.onnx(rule)
        if onnx is not None and onnx.text != family.text(rule):
            yield f"Restricts {text(rule.slug)} {term(onnx, family.signature.define)}"


def _slugs(family: SignatureFamily, names: Iterable[str]) -> str:
    """The slugs of rules of the operator; general rules are left out, so that less is assumed."""
    slugs = {rule.name: rule.slug for rule in family.rules}
    return f"[{'; '.join(text(slugs[name]) for name in names if name in slugs)}]"


def _question(family: SignatureFamily, kind: str, goals: list[str]) -> CoqQuestion:
    signature = family.signature
    entry = f"{family.edition} {signature.operator} {signature.version}"
    return CoqQuestion(f"derived.{family.label}.{kind}", entry, _call(signature), tuple(goals))


def _call(signature: Signature) -> str:
    """What the names of a call stand for."""
    names: list[str] = []
    facts: list[str] = []
    absent: list[str] = []

    for formal in signature.formals:
        _formal(signature, formal, names, facts)
    for parameter in signature.parameters:
        _parameter(signature, parameter, names, facts)
        meaning = signature.absent[parameter.name]
        if meaning is not None and meaning.names:
            absent.append(f"({text(parameter.name)}, {term(meaning, {})})")
    return (
        f"{{| names_of := [{'; '.join(names)}];\n  facts := [{'; '.join(facts)}];\n  "
        f"absent := [{'; '.join(absent)}] |}}"
    )


def _named(name: str, kind: str, there: bool = True) -> str:
    """A name, the kind of its values, and whether it has one in every call."""
    return f"({text(name)}, ({kind}, {'true' if there else 'false'}))"


def _formal(signature: Signature, formal: Formal, names: list[str], facts: list[str]) -> None:
    """An input or output: a tensor, which has a value where it is connected."""
    parameter = any(value.name == formal.name for value in signature.values)
    called = input_key(formal.name) if parameter else formal.name
    kind = f"KTensor {'true' if formal.name in inputs_with_values(signature) else 'false'}"
    if isinstance(formal, Input) and formal.variadic:
        names.append(_named(called, f"KList ({kind})"))
        return
    names.append(_named(called, kind, not formal.optional))
    names.append(_named(given_key(formal.name), "KBool"))
    if parameter or formal.name in inputs_asked_constant(signature):
        names.append(_named(constant_key(formal.name), "KBool"))
    if formal.optional:
        facts.append(_if(given_key(formal.name), f"(Stated (Name {text(called)}))"))
    else:
        facts.append(f"(Name {text(given_key(formal.name))})")


def _parameter(signature: Signature, parameter: Parameter, names: list[str], facts: list[str]) -> None:
    """A parameter: its effective value, and whether it is written."""
    name, meaning = parameter.name, signature.absent[parameter.name]
    required, constant = parameter.required_at(signature.version), parameter in signature.values
    single = constant and not parameter.kind.endswith("s")
    there = not single and (required or (meaning is not None and not meaning.names))
    names.append(_named(name, KINDS[parameter.kind], there))
    names.append(_named(written_key(name), "KBool"))
    if constant:
        facts.append(_if(written_key(name), f"(Name {text(given_key(name))})"))
        facts.append(_if(given_key(name), f"(Name {text(written_key(name))})"))
    if required:
        facts.append(f"(Name {text(written_key(name))})")
    if parameter.kind == "sparse_tensor":
        facts.append(f"(Not (Name {text(written_key(name))}))")
    if not there and not single:
        facts.append(_if(written_key(name), f"(Stated (Name {text(name)}))"))


def _if(name: str, then: str) -> str:
    return f"(Or (Not (Name {text(name)})) {then})"
