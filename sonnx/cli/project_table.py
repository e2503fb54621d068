"""The table `[tool.sonnx]` of the pyproject.toml in the current folder: what a project checks all its models with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape
from sonnx.base.files import sha256
from sonnx.checker.report import Report
from sonnx.profile.text_types import Line

FILE = "pyproject.toml"
TABLE = "tool.sonnx"


class IgnoredRule(Struct, frozen=True, forbid_unknown_fields=True):
    """A rule that is not evaluated."""

    rule: str
    """A slug, tag or operator, as `--ignore` takes it."""
    reason: Line
    """Why the project does without it."""


class ProjectTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The options that a project states once; an option on the command line replaces its key, --ignore adds to it."""

    edition: str | None = None
    """The edition."""
    tailoring: str | None = None
    """The tailoring file, relative to the folder."""
    ignore: tuple[IgnoredRule, ...] = ()
    """Rules that are not evaluated, so that every result is partial."""


class ProjectOptions(Struct, frozen=True):
    """The table, and what the reports say about it."""

    table: ProjectTable = ProjectTable()
    note: str = ""
    """Empty where the folder has no table."""

    def stated(self, reports: Sequence[Report]) -> list[Report]:
        """The reports with the note."""
        return [replace(report, notes=(*report.notes, self.note)) for report in reports] if self.note else list(reports)


def project_options(folder: Path = Path()) -> ProjectOptions:
    """The table of the folder, empty without the file or without the table in it.

    Raises:
        UsageError: the file is not TOML, the table has other keys or values, or it ignores a rule that does not exist.
    """
    path = folder / FILE
    if not path.is_file() or b"sonnx" not in path.read_bytes():
        return ProjectOptions()
    from sonnx.profile.index import slugs_named  # most folders have no table
    from sonnx.profile.toml_files import CatalogueError, one_line, read_value, structure

    value, data = read_value(path)
    tools = value.get("tool")
    if not isinstance(tools, dict) or "sonnx" not in tools:
        return ProjectOptions()
    try:
        table = structure(tools["sonnx"], ProjectTable, f"{FILE}: {TABLE}")
        words = [f"edition {table.edition}"] if table.edition is not None else []
        words += [f"tailoring {table.tailoring}"] if table.tailoring is not None else []
        words += [
            f"{ignored_rule.rule} is ignored because: {one_line(ignored_rule.reason, 'reason')}"
            for ignored_rule in table.ignore
        ]
    except CatalogueError as error:
        raise UsageError(str(error)) from None
    slugs_named([ignored_rule.rule for ignored_rule in table.ignore])
    return ProjectOptions(
        table, f"[{TABLE}] of {FILE} (SHA-256 {sha256(data)}): {escape('; '.join(words) or 'no key')}"
    )
