"""The profile itself: an explanation, the rules of an edition, its difference from another one, its rules exported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sonnx.base.errors import UsageError
from sonnx.base.files import make_folder, staged
from sonnx.base.options import keyword_arguments
from sonnx.checker.options import ExplainOptions, ModelOptions, ProfileOptions

if TYPE_CHECKING:
    from sonnx.report.edition_difference import EditionDifferenceReport
    from sonnx.report.explain import Explanation
    from sonnx.report.rules import RuleList

LANGUAGES = {"why3": "WhyML, the language of Why3", "coq": "the proof assistant Coq"}
"""The languages of `export`."""


@keyword_arguments(ExplainOptions)
def explain(name: str, options: ExplainOptions) -> Explanation:  # noqa: D417
    """Explain a rule, a tag, an operator, an erratum or a theorem.

    Without an edition and a version, a rule is that of the default edition and of the specified version, and the
    explanation says where others differ.

    Args:
        name: a slug (Max.broadcastable), a tag (E1, R1@2025-10), an operator, an erratum or a theorem (max.fold).

    Raises:
        UsageError: nothing has this name, the edition is unknown, or it has no such rule for the version.
    """
    from sonnx.report.explain import explanation_in

    return explanation_in(name, options.edition, options.model_version)


@keyword_arguments(ProfileOptions, subjects=0)
def rules(options: ProfileOptions) -> RuleList:
    """The rules and operators of an edition.

    Raises:
        UsageError: an unknown edition.
    """
    from sonnx.report.rules import rule_list

    return rule_list(options.edition)


@keyword_arguments(ModelOptions, subjects=3)
def diff_edition(before: str, after: str, models: Sequence[str], options: ModelOptions) -> EditionDifferenceReport:
    """What differs between two editions, and between the verdicts on model files under both.

    Raises:
        UsageError: an unknown edition.
    """
    from sonnx.checker.edition_difference import compare_editions
    from sonnx.checker.request import CheckRequest
    from sonnx.report.edition_difference import EditionDifferenceReport

    request = CheckRequest(bind=options.bind, input_shapes=options.input_shapes, limits=options.limits)
    return EditionDifferenceReport.of(compare_editions(before, after, models, request))


@keyword_arguments(ProfileOptions, subjects=2)
def export(language: str, folder: str | Path, options: ProfileOptions) -> tuple[Path, ...]:
    """Write the rules of an edition in a language of `LANGUAGES` to files of a folder, all or none; their paths.

    Raises:
        UsageError: an unknown edition or language.
        OSError: the folder cannot be written.
    """
    from sonnx.report import coq, whyml

    if language not in LANGUAGES:
        raise UsageError(f"unknown language {language!r}; there are {', '.join(LANGUAGES)}")
    files = (coq if language == "coq" else whyml).files(options.edition)
    make_folder(Path(folder).absolute().parent)
    with staged(Path(folder), beside_others=True) as part:
        for name, text in files.items():
            (part / name).write_text(text, "utf-8")
    return tuple(Path(folder, name) for name in files)
