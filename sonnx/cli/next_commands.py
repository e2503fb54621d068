"""The next command after a common mistake: what a refusal adds to its sentence.

The sentences come from every layer; only the command line knows how its user goes on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

NEXT = (
    (r"^'(?P<path>.+)' is (text, not|not) an ONNX model", "try '{command} --help'"),
    (
        r"^'(?P<path>.+\.onnx)' cannot be read: No such file",
        "try 'sonnx check .', which checks every model of this folder",
    ),
    (r"^'(?P<path>.+)' cannot be read: No such file", "try '{command} --help', which has an example"),
    (r"^'(?P<path>.+)' is a folder$", "try 'sonnx {verb} {inside}', or 'sonnx check {path}' for all its models"),
    (r"^the folder '(?P<path>.+)' has no \.onnx file", "try 'sonnx check FILE', which takes a model of any name"),
    (r"^no file matches '(?P<path>.+)'", "try 'sonnx check .', which checks every model of this folder"),
    (r"^no dimension of the model is the symbol \w+; it has (?P<names>.+)$", "try '{line} --bind {bindings}'"),
    (r"did you mean '(?P<name>[A-Za-z0-9.-]+)'\?$", ""),
    (r"^the first model has the inputs", "try 'sonnx diff {first} {second}', which says what differs"),
    (r"^missing inputs: ", "try '{line} --random', which generates them"),
    (r"^the box lacks the input '(?P<name>[\w.]+)'", "try '{line} --box {name}=[-1,1]'"),
    (r"^the input '(?P<name>.+)' has the dimension (?P<names>\w+): give it a number", "try '{line} --bind {bindings}'"),
    (
        r"^(?P<path>.+): Is a directory$",
        "try 'sonnx check {models} --pages {path}', which writes a page for each model",
    ),
    (r"^(?P<path>.+): (Permission denied|Read-only file system)$", "try '{line} --output FOLDER/{file}'"),
    (r"^(?P<path>.+): No such file or directory$", "try 'mkdir -p {parent}'"),
)
"""Patterns of sentences, each with what is said behind it; those that say it themselves have nothing."""


def next_command(sentence: str, words: Sequence[str]) -> str:
    """What is added to the sentence with which a command line is refused; "" where nothing is."""
    for pattern, template in NEXT:
        found = re.search(pattern, sentence)
        if found is not None:
            return f"; {_filled(template, found.groupdict(), words)}" if template else ""
    return ""


def _filled(template: str, named: dict[str, str], words: Sequence[str]) -> str:
    models = [word for word in words[1:] if word.endswith(".onnx")]
    path = Path(named.get("path", "."))
    first = next((str(each) for each in sorted(path.glob("*.onnx"))), f"{path}/MODEL.onnx") if path.is_dir() else ""
    symbols = named.get("names", "").split(", ")
    verb = words[0] if words else "check"
    return template.format(
        command=f"sonnx {verb}",
        verb=verb,
        line=f"sonnx {' '.join([verb, *models[:1]])}",
        path=named.get("path", ""),
        parent=path.parent,
        file=path.name,
        inside=first,
        name=named.get("name", ""),
        bindings=",".join(f"{symbol}=1" for symbol in symbols),
        models=" ".join(models) or "MODEL",
        first=models[0] if models else "FIRST",
        second=models[1] if len(models) > 1 else "SECOND",
    )
