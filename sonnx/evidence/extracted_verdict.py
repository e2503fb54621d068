"""What the program extracted from the specification says of the model of an evidence pack.

The pack has its output and the SHA-256 of the program.  Where the pack is verified, the program runs again if it is
there; else its output stands as it is in the pack, and the check is compared with it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec import Struct

from sonnx.base.errors import Unreadable
from sonnx.base.files import whole_bytes
from sonnx.checker.extracted_check import (
    PROGRAM,
    ExtractedAnswer,
    answer_in,
    built_program,
    extracted_answer,
    program_differences,
    program_digest,
)
from sonnx.checker.request import CheckRequest, check_model
from sonnx.model.reader import read
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


def of_pack(
    model: Path, content: bytes, edition: str | None, stated: ExtractedVerdict | None, folder: Path | None
) -> tuple[ExtractedVerdict, bytes] | None:
    """What the program says of the model of a pack, and its output.

    None for a new pack where the program is not there, for one that is made again and has none, and where the limits of
    a check without options exclude the file.

    Args:
        model: the file.
        content: its bytes.
        edition: the edition of the pack.
        stated: what the pack says that is made again.
        folder: that pack; None for a new one.

    Raises:
        UsageError: the program fails.
        Unfinished: it takes too long.
    """
    program = built_program()
    if program is None if folder is None else stated is None:
        return None
    try:
        plain = check_model(
            read(content, str(model), folder=model.parent), "", CheckRequest(edition=edition), model.name
        )
    except Unreadable:
        return None
    if program is not None:
        answer, digest = extracted_answer(program, model, plain.edition), program_digest(program)
    elif stated is not None and folder is not None:
        path = folder / FILE
        output = whole_bytes(path) if path.is_file() else b""
        answer, digest = answer_in(output.decode("ascii", "replace")), stated.program
    text = _without_path(answer)
    sentences = tuple(program_differences(answer, plain))
    digest = digest if stated is None else stated.program  # another program is another environment
    return ExtractedVerdict(digest, hashlib.sha256(text).hexdigest(), answer.code, sentences), text


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
