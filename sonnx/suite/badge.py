"""The badge of a run, as JSON in the endpoint format of Shields: a service reads it from an address and draws it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sonnx.base.escaping import plural
from sonnx.base.reported import json_text

VERSION: Final = 1
"""Of the format."""
COLOURS: Mapping[int, str] = {0: "brightgreen", 1: "red", 3: "yellow"}
"""By the exit code of a run."""


def badge_text(edition: str, operators: int, deviating: int, accepted: int, exit_code: int, *, must_pass: bool) -> str:
    """The badge as JSON.

    Args:
        edition: the edition whose cases were run.
        operators: how many operators were run.
        deviating: kinds of deviation that neither an erratum explains nor a record accepts.
        accepted: kinds that a record of known deviations accepts.
        exit_code: of the run.
        must_pass: only the cases of a must-pass list were run.
    """
    if exit_code == 0:
        said = "passed"
    elif deviating:
        said = plural(deviating, "kind of deviation", "kinds of deviation")
    else:
        said = "known deviations are not exact" if exit_code == 1 else "not decided"
    more = [*(["must-pass list"] if must_pass else []), *([f"{accepted} known"] if accepted else [])]
    message = f"{plural(operators, 'operator')}: {said}"
    return json_text({
        "schemaVersion": VERSION, "label": f"SONNX {edition}", "color": COLOURS[exit_code],
        "message": f"{message} ({', '.join(more)})" if more else message,
    })  # fmt: skip
