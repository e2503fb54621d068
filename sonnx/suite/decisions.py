"""What the solver said about the structure classes of an operator, kept in a file, so that it is asked once.

A file of `decided/` has the SHA-256 of the questions that it answers: their terms as the solver gets them, the names of
the classes, and the modules that search for calls.  Other questions are not answered by it, whatever its name.  Every
call of a file is checked as if the solver had just found it.  That a class has no call rests on the solver that wrote
the file: `python -m tools.suite_decisions --check` asks it again.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import z3
from msgspec import MsgspecError, Struct, json

from sonnx.base.files import sha256
from sonnx.proofs.derived import breaking, conforming
from sonnx.prover.signature_family import SignatureFamily
from sonnx.prover.smt_values import bool_term
from sonnx.prover.solvers import script
from sonnx.suite.classes import Literal

FOLDER = Path(__file__).with_name("decided")
"""The files, one for each version of an operator in an edition."""
SEARCHING = ("bounded", "call_search", "classes", "decisions", "sizes", "structures")
"""The modules on which it depends which calls answer the questions."""
MAX_FILE = 1 << 24
"""Bytes of a file that is unpacked."""

Values = Mapping[str, int]
"""The values of variables of the solver by name; any other variable is 0."""


class FoundCall(Struct, frozen=True):
    """A call that the solver found, and the numbers of the classes that occur in it."""

    values: Values
    classes: tuple[int, ...]


class GrownCall(Struct, frozen=True):
    """A call with a large extent: the number of the input, and the axis, that has it."""

    values: Values
    input: int
    axis: int
    extent: int


class Decisions(Struct, frozen=True):
    """Which classes of an operator have a conforming call, and calls in which all these occur."""

    answers: tuple[str, ...]
    """The answer about each class, in order."""
    conforming: tuple[FoundCall, ...]
    breaking: Mapping[str, tuple[FoundCall, ...]]
    """By rule, calls that break it alone; the classes are those of its comparisons, and that ONNX forbids the call."""
    grown: tuple[GrownCall, ...]
    unpadded: tuple[Values, ...]
    """Of calls whose windows lie within the input."""


class _Kept(Struct, frozen=True):
    """The content of a file."""

    questions: str
    """The SHA-256 of the questions."""
    decisions: Decisions


def class_questions_hash(family: SignatureFamily, literals: Sequence[Literal], conditions: Iterable[z3.BoolRef]) -> str:
    """The SHA-256 of the questions about the classes of a signature.

    Args:
        family: the signature; its context is entered.
        literals: the classes.
        conditions: the bounds of a call, and what is preferred.
    """
    groups = [[*conforming(family)], [literal.term for literal in literals], [*conditions]]
    for rule in family.rules:
        own = (*breaking(family, rule), bool_term(family.condition(rule).fails), *family.readable(rule))
        onnx = family.onnx(rule)
        demanded = () if onnx is None else (bool_term(family.variables.condition(rule, onnx).holds),)
        groups += [[*own], [*demanded]]
    terms = {term.get_id(): term for group in groups for term in group}
    places = {key: place for place, key in enumerate(terms)}
    described = {
        "terms": script(terms.values()),
        "places": [[places[term.get_id()] for term in group] for group in groups],
        "classes": [(literal.name, literal.rule) for literal in literals],
        "rules": [(rule.slug, family.implied_by(rule)) for rule in family.rules],
        "codes": sorted(family.variables.interpretation.codes.items()),
        "modules": _modules_hash(),
    }
    return sha256(json.encode(described))


@cache
def _modules_hash() -> str:
    contents = (Path(__file__).with_name(f"{name}.py").read_bytes() for name in SEARCHING)
    return sha256(b"".join(contents.replace(b"\r\n", b"\n") for contents in contents))


def decisions_file(family: SignatureFamily, folder: Path = FOLDER) -> Path:
    """The file of a signature."""
    return folder / f"{family.signature.operator}-{family.signature.version}-{family.edition}.json.z"


def kept_decisions(path: Path, questions: str) -> Decisions | None:
    """What a file says about these questions; None if it is not there, or answers others."""
    try:
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(path.read_bytes(), MAX_FILE)
        kept = json.decode(content, type=_Kept)
    except (OSError, zlib.error, MsgspecError):  # not there, or damaged: the questions are decided
        return None
    return kept.decisions if kept.questions == questions else None


def kept_bytes(questions: str, decisions: Decisions) -> bytes:
    """The content of a file."""
    return zlib.compress(json.encode(_Kept(questions, decisions)), 9)
