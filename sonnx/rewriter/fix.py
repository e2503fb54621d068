"""`fix` for programs: a model in, the rewritten model with a record of everything that was done out."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath

from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.checker.report import Report, Verdict, Where
from sonnx.checker.rules import ActiveRules
from sonnx.checker.walk import judge_model
from sonnx.model.ir import Model
from sonnx.model.reader import read
from sonnx.model.scopes import function_key, imports_of, stored
from sonnx.model.symbols import bind as bind_symbols
from sonnx.model.writer import Unwritable, write
from sonnx.profile import catalogue
from sonnx.profile.index import named
from sonnx.rewriter.rewrite import Rewrite, every_kind, modules
from sonnx.rewriter.site import World
from sonnx.rewriter.validation import Validation, validate
from sonnx.rewriter.walk import Walked, walk

SAMPLES = 3
"""Sets of inputs both models are run on by default: one of each type."""


@dataclass(frozen=True, slots=True)
class FixResult:
    """A rewritten model.

    `data` are the bytes of the new file; `before` is the check of the original, `after` that of the new file;
    `left` says for values whose shape is not known why that is so.
    """

    data: bytes
    before: Report
    after: Report
    rewrites: tuple[Rewrite, ...]
    left: Mapping[str, str]
    validation: Validation


def fix(
    source: str | os.PathLike[str] | bytes,
    edition: str | None = None,
    *,
    bind: Mapping[str, int] | None = None,
    select: Collection[str] = (),
    options: Collection[str] = (),
    strict_versions: bool = False,
    samples: int = SAMPLES,
    name: str | None = None,
) -> FixResult:
    """Rewrite what can be rewritten without changing a value, and check and validate the result.

    Args:
        source: a path, or the bytes of a model file.
        edition: a name of restrictions/editions.toml; the default one if none is named.
        bind: numbers for symbolic dimensions.
        select: make only rewrites that serve rules with these slugs or tags, or of these operators.
        options: rewrites that change values and are made only when asked for.
        strict_versions: admit only the version of an operator that its text specifies.
        samples: how many sets of inputs both models are run on.
        name: what the reports call the model.

    Raises:
        Unreadable: the source is no readable ONNX model.
        Misuse: an unknown edition, rule or symbol, a binding that cannot hold, or a model this tool cannot write.
        Differs: the rewritten model gives another value; a defect of this tool.
    """
    editions = catalogue.editions()
    chosen = edition or editions.default
    if chosen not in editions.editions:
        raise UsageError(f"there is no edition {chosen!r}; there are {', '.join(editions.editions)}")
    called = name or ("model" if isinstance(source, bytes) else PurePath(source).name)
    original = read(source)
    _refuse_external(original)
    before = judge_model(original, called, chosen, strict_versions=strict_versions)
    _require_kept(original, before, strict_versions)
    bound, bindings = _bound(original, before, bind or {}, strict_versions)
    world = World(
        ActiveRules(editions.editions[chosen], strict_versions),
        imports_of(original.imports).get(""),
        {function_key(function): function for function in original.functions},
        named(select) if select else None,
        frozenset(options),
    )
    made, rewrites = _rewritten(bound, world)
    data = _written(made.model)
    after = judge_model(read(data), called, chosen, strict_versions=strict_versions)

    def since(kinds: frozenset[str]) -> Model:
        return _rewritten(bound, replace(world, kinds=kinds))[0].model if kinds else bound

    asked = tuple(sorted({each.kind for each in rewrites if hasattr(every_kind()[each.kind], "OPTION")}))
    plain, kept = _rewritten(bound, replace(world, options=frozenset())) if asked else (made, rewrites)
    checked = validate(since, kept, read(_written(plain.model)), chosen, samples, _invalid(before), _invalid(after))
    checked = replace(checked, beyond=asked)
    return FixResult(data, before, after, (*bindings, *rewrites), made.unknown, checked)


def _invalid(report: Report) -> tuple[str, ...]:
    """The rules by which a model is no valid ONNX, so that no text gives it values."""
    return tuple(sorted({each.rule for each in report.findings if each.verdict is Verdict.FAIL and each.breaks_onnx}))


def _rewritten(model: Model, world: World) -> tuple[Walked, list[Rewrite]]:
    """All rewrites: those that bring order, those of the nodes one after another, those that clear up."""
    rewrites: list[Rewrite] = []
    for module in filter(world.makes, modules("before")):
        model, more = module.rewrite(model, world)
        rewrites += more
    functions = {function_key(function): function for function in model.functions}
    world = replace(world, operator_set=imports_of(model.imports).get(""), functions=functions)
    walked = walk(model, world)
    rewrites += walked.rewrites
    model = walked.model
    for module in filter(world.makes, modules("after")):
        model, more = module.rewrite(model, world, walked.facts)
        rewrites += more
    return replace(walked, model=model), rewrites


# ------------------------------------------------------------------ what is refused


def _refuse_external(model: Model) -> None:
    for tensor in stored(model):
        if tensor.external is not None:
            raise UsageError(
                f"the values of {quote(tensor.name)} stand in another file ({quote(tensor.external.location)}); "
                "store them in the model first, so that one file is what was validated"
            )


def _written(model: Model) -> bytes:
    try:
        return write(model)
    except Unwritable as reason:
        raise UsageError(f"the model cannot be written again as it is: {reason}") from None
    except UnicodeError:
        raise UsageError(
            "a name of the model is no UTF-8, so that it cannot be written again; rename it first"
        ) from None
    except ValueError as reason:  # protobuf: more than two gigabytes
        raise UsageError(f"the model cannot be written as one file: {reason}") from None


def _require_kept(model: Model, report: Report, strict: bool) -> None:
    """Writing alone must change no answer: what this tool does not keep in full must not look mended.

    Raises:
        Misuse: the first rule whose answer would change.
    """
    again = judge_model(read(_written(model)), report.name, report.edition, strict_versions=strict)
    missing = set(report.findings) - set(again.findings)
    lost = next((each for each in report.findings if each in missing), None)
    if lost is not None:
        raise UsageError(
            f"the model cannot be written again as it is: {lost.rule} fails at {lost.where.place} ({lost.actual}), "
            "which a person must mend first"
        )


# ------------------------------------------------------------------ binding


def _bound(model: Model, report: Report, numbers: Mapping[str, int], strict: bool) -> tuple[Model, list[Rewrite]]:
    """The model with numbers for its symbols.

    Raises:
        Misuse: a negative number, a symbol the model has not, or numbers for which the model is no valid ONNX.
    """
    if not numbers:
        return model, []
    negative = [symbol for symbol, number in numbers.items() if number < 0]
    if negative:
        raise UsageError(f"a dimension is not negative: {', '.join(negative)}")
    bound = bind_symbols(model, numbers)
    found = judge_model(bound, report.name, report.edition, strict_versions=strict)
    failed = {(each.rule, each.where) for each in report.findings if each.verdict is Verdict.FAIL}
    for each in found.findings:
        if each.verdict is Verdict.FAIL and each.breaks_onnx and (each.rule, each.where) not in failed:
            said = ", ".join(f"{symbol}={number}" for symbol, number in sorted(numbers.items()))
            raise UsageError(f"{said} cannot hold: {each.rule} fails at {each.where.place}: {each.actual}")
    return bound, list(_bindings(model, bound, numbers))


def _bindings(model: Model, bound: Model, numbers: Mapping[str, int]) -> Iterator[Rewrite]:
    for symbol, number in sorted(numbers.items()):
        yield Rewrite(
            "bound-symbol", ("explicit-shape",), Where("model", "model"), symbol, str(number), "",
            f"the model is for {symbol} = {number} only",
        )  # fmt: skip
