"""Old spellings of commands and options, which work for one version: what they are written as now."""

from __future__ import annotations

from collections.abc import Callable, Sequence

REMOVED_IN = "0.10"
"""The version that no longer takes them."""
SWITCHES = frozenset({"--list", "--no-cache", "--quiet", "-q", "--help", "-h"})
"""The options of the commands below that take no value."""
FORMATS_OF_VALUES = ("npz", "pb")

Words = list[str]


def current_spelling(words: Sequence[str]) -> tuple[Words, str]:
    """The words of a command line as they are spelled now, and a sentence on the old spelling, "" where none is."""
    if words[:1] == ["help"]:
        return [*words[1:2], "--help", *words[2:]], ""
    command, rest = (words[0], list(words[1:])) if words else ("", [])
    respelled = RESPELLED[command](rest) if command in RESPELLED else None
    if respelled is None:
        return list(words), ""
    old, new, line = respelled
    return line, f"'sonnx {old}' is now 'sonnx {new}'; the old spelling will not work in version {REMOVED_IN}"


Respelling = tuple[str, str, Words]
"""The old spelling, the current one, and the whole command line with it."""


def _of_tool(name: str) -> Callable[[Words], Respelling]:
    return lambda rest: (name, f"tool {name}", ["tool", name, *rest])


def _of_editions(rest: Words) -> Respelling:
    places = _positions(rest)
    before, after = (rest[place] if place is not None else None for place in (*places, None, None)[:2])
    others = [word for place, word in enumerate(rest) if place not in places[:2]]
    named = [*(["--since", before] if before else []), *(["--edition", after] if after else [])]
    return "diff-edition BEFORE AFTER", "rules --since BEFORE --edition AFTER", ["rules", *named, *others]


def _of_theorems(rest: Words) -> Respelling | None:
    asks_for_help = bool({"--help", "-h", "--help-all"} & {*rest})
    return None if _positions(rest) or asks_for_help else ("prove", "theorems", ["theorems", *rest])


def _of_bound(rest: Words) -> Respelling | None:
    return _with_options("bound", rest, lambda option, _: "--box" if option == "--input" else option)


def _of_run(rest: Words) -> Respelling | None:
    def current(option: str, value: str) -> str:
        if option in ("-f", "--format") and value in FORMATS_OF_VALUES:
            return "--values"
        return "--format" if option == "--report" else option

    return _with_options("run", rest, current)


def _with_options(command: str, rest: Words, current: Callable[[str, str], str]) -> Respelling | None:
    """The line with the current names of its options, by old name and value; None where all are current."""
    line, renamed = list[str](), dict[str, str]()
    for word, following in zip(rest, [*rest[1:], ""], strict=True):
        option, equals, value = word.partition("=")
        new = current(option, value if equals else following)
        if new != option:
            renamed[option] = new
        line.append(f"{new}{equals}{value}")
    if not renamed:
        return None
    return f"{command} {' '.join(renamed)}", f"{command} {' '.join(renamed.values())}", [command, *line]


def _positions(rest: Sequence[str]) -> list[int]:
    """Where the words are that are neither options nor the values of options."""
    places, skip = list[int](), False
    for place, word in enumerate(rest):
        if skip:
            skip = False
        elif word.startswith("-") and word != "-":
            skip = word not in SWITCHES and "=" not in word
        else:
            places.append(place)
    return places


RESPELLED: dict[str, Callable[[Words], Respelling | None]] = {
    "bound": _of_bound,
    "completion": _of_tool("completion"),
    "diff-edition": _of_editions,
    "prove": _of_theorems,
    "run": _of_run,
    "selfcheck": _of_tool("selfcheck"),
}
