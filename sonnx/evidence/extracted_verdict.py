"""What the program extracted from the specification says of the model of an evidence pack.

The pack has its output and the SHA-256 of the program.  Where the pack is verified, the program runs again if it is
there; else its output stands as it is in the pack, and the check is compared with it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.files import whole_bytes
from sonnx.checker.extracted_check import (
    PROGRAM,
    ExtractedAnswer,
    answer_in,
    built_program,
    extracted_answer,
    program_differences,
    program_digest,
    required_program,
)
from sonnx.checker.report import Report
from sonnx.profile.text_types import Sha256

FILE = f"{PROGRAM}.txt"
"""The output in the pack; the model has the name `model` in it."""


class ExtractedVerdict(Struct, frozen=True):
    """What the program says of the model as it stands in the file, by the edition alone."""

    program: Sha256
    """The SHA-256 of the program."""
    output: Sha256
    """The SHA-256 of its output."""
    exit: int
    """Its exit code."""
    differences: tuple[str, ...]
    """Where it says something else than a check without options; none where both agree."""


def is_made(stated: ExtractedVerdict | None, again: bool) -> bool:
    """Whether a pack has a verdict of the program: a new one where the program is there, one made again as before."""
    return stated is not None if again else built_program() is not None


def verdict_and_output(
    model: Path, plain: Report, stated: ExtractedVerdict | None, output: bytes
) -> tuple[ExtractedVerdict, bytes]:
    """What the program says of a model, and its output.

    Args:
        model: the file.
        plain: the report on it without options.
        stated: what a pack says that is made again; None for a new pack.
        output: the output in that pack.

    Raises:
        UsageError: the program fails.
        Unfinished: it takes too long.
    """
    if stated is not None and built_program() is None:
        answer, digest = answer_in(output.decode("ascii", "replace")), stated.program
    else:
        program = required_program()
        answer, digest = extracted_answer(program, model, plain.edition), program_digest(program)
    text = _without_path(answer)
    sentences = tuple(program_differences(answer, plain))
    about = ExtractedVerdict(digest, hashlib.sha256(text).hexdigest(), answer.code, sentences)
    return (about if stated is None else replace(about, program=stated.program)), text


def recorded_output(folder: Path) -> bytes:
    """The output in a pack, b"" where it has none."""
    path = folder / FILE
    return whole_bytes(path) if path.is_file() else b""


def other_program(stated: ExtractedVerdict | None) -> str:
    """What differs between the program of a pack and the one that is here, "" if nothing does."""
    if stated is None:
        return ""
    program = built_program()
    if program is None:
        return f"{PROGRAM} is not here, so that its output was compared and not made again"
    return "" if program_digest(program) == stated.program else f"{PROGRAM} is another program here than there"


def _without_path(answer: ExtractedAnswer) -> bytes:
    """The output with `model` in place of the path."""
    first, _, rest = answer.text.partition("\n")
    verdict, edition, _ = f"{first}  ".split(" ", 2)
    return f"{verdict} {edition} model\n{rest}".encode("ascii", "replace")
