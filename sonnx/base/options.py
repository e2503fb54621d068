"""Options of an analysis: one structure, which the command line, the library and the evidence files read.

Each analysis has a frozen structure of options, and each of its fields is described once, by an `Argument`:

    class RunOptions(Options, frozen=True, kw_only=True):
        seed: Annotated[int | None, Argument("the seed of generated inputs", metavar="S", read=int)] = None

`keyword_arguments` makes these fields the keyword arguments of the public function, `sonnx.cli.arguments` makes them
options of the command, and `as_json` and `from_json` write them to evidence and read them back.

Modules that define options do not postpone annotations: the descriptions are read from the annotations, and evaluating
postponed ones takes as long as a small check.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, Self, TypeVar, get_args, get_origin

from msgspec import NODEFAULT, Struct, convert
from msgspec.structs import FieldInfo, fields

from sonnx.base.reported import json_data

Value = TypeVar("Value")
Result = TypeVar("Result")
OptionsOf = TypeVar("OptionsOf", bound="Options")
Keywords = ParamSpec("Keywords")


class Argument(Struct, frozen=True):
    """What a field of options means, and how it is written on a command line.

    A field whose default is False is a switch, one whose default is a collection may be repeated, and any other takes
    one text.
    """

    help: str | Callable[[], str]
    """What it means, as a phrase; a function is called only for a help text."""
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

    @property
    def text(self) -> str:
        """What it means, as a phrase."""
        return self.help if isinstance(self.help, str) else self.help()


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of an analysis; each field has an `Argument`, or is an option of the library alone."""

    @classmethod
    def arguments(cls) -> Iterator[tuple[FieldInfo, Argument]]:
        """Each field with what describes it, in order; those of the library alone are left out."""
        for option in fields(cls):
            argument = _argument(option.type)
            if argument is not None:
                yield option, argument

    def as_json(self) -> dict[str, Any]:
        """The options that do not have their defaults, as JSON has them; paths as their texts."""
        return {
            option.encode_name: json_data(value)
            for option in fields(self)
            if (value := getattr(self, option.name)) != default_of(option)
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The options from what `as_json` gave.

        Raises:
            msgspec.ValidationError: an option is unknown or has a value of another type.
        """
        return convert(data, cls, dec_hook=_path)


def default_of(option: FieldInfo) -> Any:
    """The value of an option that is not given."""
    return option.default if option.default_factory is NODEFAULT else option.default_factory()


def _argument(annotation: Any) -> Argument | None:
    if get_origin(annotation) is not Annotated:
        return None
    return next((part for part in get_args(annotation)[1:] if isinstance(part, Argument)), None)


def _path(kind: type, value: object) -> Path:
    if kind is not Path or not isinstance(value, str):
        raise NotImplementedError(f"no {kind.__name__} from JSON")
    return Path(value)


def keyword_arguments(
    kind: Callable[Keywords, OptionsOf],
) -> Callable[[Callable[[Value, OptionsOf], Result]], Callable[Concatenate[Value, Keywords], Result]]:
    """Make a function of a subject and options a function of the subject and a keyword argument for each option.

    Its docstring lists the options below its own text.
    """

    def decorate(function: Callable[[Value, OptionsOf], Result]) -> Callable[Concatenate[Value, Keywords], Result]:
        @wraps(function)
        def public(subject: Value, /, *positional: Keywords.args, **keywords: Keywords.kwargs) -> Result:
            return function(subject, kind(*positional, **keywords))

        public.__doc__ = f"{function.__doc__}\n\n{documentation(kind)}"
        return public

    return decorate


def documentation(kind: Callable[..., Options]) -> str:
    """The options as the section of a docstring: name and meaning, line by line."""
    return "Options:\n" + "\n".join(f"    {option.name}: {argument.text}" for option, argument in kind.arguments())  # type: ignore[attr-defined]
