"""Options of an analysis: one structure, which the command line, the library and the evidence files read.

Each analysis has a frozen structure of options, and each of its fields is described once, by an `Argument`:

    class RunOptions(Options, frozen=True, kw_only=True):
        seed: Annotated[int | None, Argument("the seed of generated inputs", metavar="S", read=int)] = None

`keyword_arguments` makes these fields the keyword arguments of the public function, `sonnx.cli.options` makes them
options of the command, and `as_json` and `from_json` write them to evidence and read them back.

Modules that define options do not postpone annotations: the descriptions are read from the annotations, and evaluating
postponed ones takes as long as a small check.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import copy_context
from functools import cache, wraps
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, Protocol, Self, TypeVar, get_args, get_origin, overload

from msgspec import NODEFAULT, Struct, convert
from msgspec.structs import FieldInfo, fields, force_setattr

from sonnx.base.errors import UsageError
from sonnx.base.reported import json_data

MAX_AMOUNT = 10**9 - 1
First = TypeVar("First")
Second = TypeVar("Second")
Third = TypeVar("Third")
Result = TypeVar("Result")
OptionsOf = TypeVar("OptionsOf", bound="Options")
OptionsOf_co = TypeVar("OptionsOf_co", bound="Options", covariant=True)
Keywords = ParamSpec("Keywords")


class Argument(Struct, frozen=True):
    """What a field of options means, and how it is written on a command line.

    A field whose default is False is a switch, one whose default is a collection may be repeated, and any other takes
    one text.
    """

    help: str
    """What it means, as a phrase."""
    metavar: str | None = None
    """What stands for its value in help texts."""
    name: str = ""
    """Its name on the command line without dashes, where that is not the field's."""
    read: Callable[[str], Any] = str
    """The value of one text."""
    collect: Callable[[Sequence[Any]], Any] = tuple
    """The value of a repeated option, from the values of its texts."""
    choices: Callable[[], Collection[str]] | None = None
    """The values that it may have, where they are few."""
    bare: str | None = None
    """The text that the option stands for when it is written without one."""
    known: Callable[[], str] | None = None
    """What its values can be, behind the phrase in the help text of a command; called only for that."""
    json: Callable[[Any], Any] = json_data
    """Its value as JSON has it."""


class KeepsAnswer(Struct, frozen=True):
    """Marks an option that cannot change an answer; every other option is a condition of the answer."""

    reason: str


WHERE_IT_RUNS = KeepsAnswer("it says where the work is done, or what stops it; a stopped run gives no answer")
WHAT_IS_SHOWN = KeepsAnswer("it says what is shown or written of the answer")
HOW_IT_IS_CALLED = KeepsAnswer("it is a name")


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of an analysis; each field has an `Argument`, or is an option of the library alone."""

    def __post_init__(self) -> None:
        for name in _paths(type(self)):
            if isinstance(value := getattr(self, name), str):
                force_setattr(self, name, Path(value))

    @classmethod
    def of(cls, options: object) -> Self:
        """The options that this analysis shares with another one, with the values that they have there."""
        return cls(**{name: getattr(options, name) for name in cls.__struct_fields__ if hasattr(options, name)})

    @classmethod
    def arguments(cls) -> Iterator[tuple[FieldInfo, Argument]]:
        """Each field with what describes it, in order; those of the library alone are left out."""
        yield from _described(cls)

    @classmethod
    def kept_answers(cls) -> Iterator[tuple[str, str]]:
        """Each option that cannot change an answer, with the reason."""
        yield from _kept_answers(cls)

    def as_json(self, *, complete: bool = False) -> dict[str, Any]:
        """The options that do not have their defaults, or all of them, as JSON has them; paths as their texts."""
        return {
            option.encode_name: argument.json(value)
            for option, argument in self.arguments()
            if (value := getattr(self, option.name)) != default_of(option) or complete
        }

    def command_line(self) -> list[str]:
        """The options that do not have their defaults, as they are written on a command line."""
        return [text for _, words in self.written_options() for text in words]

    def written_options(self) -> Iterator[tuple[str, Sequence[str]]]:
        """The name of each option that does not have its default, with the words that write it on a command line."""
        for option, argument in self.arguments():
            value = getattr(self, option.name)
            if value == default_of(option):
                continue
            flag = f"--{argument.name or option.name.replace('_', '-')}"
            try:
                words = list(_written(flag, argument.json(value)))
            except TypeError:  # a caller of the library gave an object, such as a runtime
                words = [flag, type(value).__name__]
            yield option.name, words

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The options from what `as_json` gave.

        Raises:
            msgspec.ValidationError: an option is unknown or has a value of another type.
        """
        return convert(data, cls, dec_hook=_path)


def _written(flag: str, value: Any) -> Iterator[str]:
    """An option with its value in JSON, as it is written on a command line."""
    if value is True:
        yield flag
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from (flag, f"{name}={','.join(map(str, part)) if isinstance(part, list) else part}")
    elif isinstance(value, list):
        for part in value:
            yield from (flag, str(part))
    else:
        yield from (flag, str(value))


def default_of(option: FieldInfo) -> Any:
    """The default of an option."""
    return option.default if option.default_factory is NODEFAULT else option.default_factory()


@cache
def _described(kind: type[Options]) -> tuple[tuple[FieldInfo, Argument], ...]:
    """Each field that has an `Argument`, with it; msgspec evaluates the annotations of a structure at each call."""
    described = ((option, _argument(option.type)) for option in fields(kind))
    return tuple((option, argument) for option, argument in described if argument is not None)


@cache
def _kept_answers(kind: type[Options]) -> tuple[tuple[str, str], ...]:
    annotated = ((option, get_args(option.type)) for option in fields(kind) if get_origin(option.type) is Annotated)
    return tuple(
        (option.name, part.reason) for option, parts in annotated for part in parts if isinstance(part, KeepsAnswer)
    )


@cache
def _paths(kind: type[Options]) -> tuple[str, ...]:
    """The fields that have one path, which a caller of the library may give as a text."""
    described = ((option.name, argument, default_of(option)) for option, argument in kind.arguments())
    return tuple(name for name, argument, default in described if argument.read is Path and default is None)


def _argument(annotation: Any) -> Argument | None:
    if get_origin(annotation) is not Annotated:
        return None
    return next((part for part in get_args(annotation)[1:] if isinstance(part, Argument)), None)


def _path(kind: type, value: object) -> Path:
    if kind is not Path or not isinstance(value, str):
        raise NotImplementedError(f"no {kind.__name__} from JSON")
    return Path(value)


class Decorator(Protocol[Keywords, OptionsOf_co]):
    """What makes a function of at most three subjects and options one of keyword arguments."""

    @overload
    def __call__(self, function: Callable[[OptionsOf_co], Result], /) -> Callable[Keywords, Result]: ...
    @overload
    def __call__(
        self, function: Callable[[First, OptionsOf_co], Result], /
    ) -> Callable[Concatenate[First, Keywords], Result]: ...
    @overload
    def __call__(
        self, function: Callable[[First, Second, OptionsOf_co], Result], /
    ) -> Callable[Concatenate[First, Second, Keywords], Result]: ...
    @overload
    def __call__(
        self, function: Callable[[First, Second, Third, OptionsOf_co], Result], /
    ) -> Callable[Concatenate[First, Second, Third, Keywords], Result]: ...


def keyword_arguments(kind: Callable[Keywords, OptionsOf], subjects: int = 1) -> Decorator[Keywords, OptionsOf]:
    """Make a function of subjects and options a function of the subjects and a keyword argument for each option.

    Its docstring lists the options below its own text.  What it sets in the context of the process ends with it, also
    where it is interrupted at any place.
    """

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        @wraps(function)
        def public(*positional: Any, **keywords: Any) -> Result:
            options = kind(*positional[subjects:], **keywords)
            return copy_context().run(function, *positional[:subjects], options)

        del public.__wrapped__  # its signature is not that of the public function
        public.takes = (function, kind, subjects)  # type: ignore[attr-defined]  # for `with_signature`
        public.__doc__ = f"{function.__doc__}\n\n{documentation(kind)}"
        return public

    return decorate


def with_signature(public: Any) -> Any:
    """A public function with the signature that `help` and editors show: its subjects, then each option by its name.

    The signature is made when a program first takes the function from the package, because `inspect` takes a tenth of a
    short command to load.  Anything else is returned as it is.
    """
    if not hasattr(public, "takes") or hasattr(public, "__signature__"):
        return public
    from inspect import Parameter, signature

    function, kind, subjects = public.takes
    own = signature(function)
    positional = [part.replace(kind=Parameter.POSITIONAL_ONLY) for part in list(own.parameters.values())[:subjects]]
    options = [
        Parameter(
            option.name, Parameter.KEYWORD_ONLY, default=_shown_default(option), annotation=_shown_type(option.type)
        )
        for option in fields(kind)
    ]
    public.__signature__ = own.replace(parameters=[*positional, *options])
    return public


LONG_DEFAULT = 40
"""Characters of a default that a signature shows as `...`."""


class _NotShown:
    """Stands for a default that is a function without effect, or long."""

    def __repr__(self) -> str:
        return "..."


def _shown_default(option: FieldInfo) -> Any:
    default = default_of(option)
    return _NotShown() if callable(default) or len(repr(default)) > LONG_DEFAULT else default


def _shown_type(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def documentation(kind: Callable[..., Options]) -> str:
    """The options as the section of a docstring: name and meaning, line by line."""
    return "Options:\n" + "\n".join(f"    {option.name}: {argument.help}" for option, argument in kind.arguments())  # type: ignore[attr-defined]


def require_processes(options: Any, *needing: str) -> None:
    """Refuse options that need a child process beside `jobs` 0.

    Raises:
        UsageError: one of them is given.
    """
    needed = [name for name in needing if getattr(options, name) is not None]
    if options.jobs == 0 and needed:
        raise UsageError(f"--{needed[0]} needs a child process, and --jobs 0 allows none")


# ------------------------------------------------------------------ readers of values


def amount(what: str, least: int = 1, largest: int = MAX_AMOUNT) -> Callable[[str], int]:
    """The reader of a number of something, in decimal digits."""

    def read(text: str) -> int:
        digits = text.isascii() and text.isdecimal() and len(text) <= len(str(largest))
        if not digits or not least <= int(text) <= largest:
            raise UsageError(f"a number of {what} from {least} to {largest}, not {text[:40]!r}")
        return int(text)

    return read


def positive(text: str) -> float:
    """A positive finite number.

    Raises:
        UsageError: the text is none.
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise UsageError(f"{text!r} is not a positive number")
    return number


def names(values: Sequence[str]) -> tuple[str, ...]:
    """The names in comma-separated values."""
    return tuple(name for value in values for name in value.split(",") if name)
