"""The size limits of model files: one table for the reader, the option `--limit` and docs/threat-model.md.

A limit bounds the time and the memory that a file of a given size can cause; it is not a rule of the profile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from sonnx.base.errors import UsageError


class SizeLimit(Struct, frozen=True):
    """One limit: `what` is counted, the default, the largest value that can be set, and what it protects."""

    name: str
    default: int
    largest: int
    what: str
    protects: str
    beyond: str = "the file is unreadable"
    """What happens to what exceeds the limit."""


_ANY = 2**31 - 1
LIMITS = (
    SizeLimit("structure", 2**28, _ANY, "bytes without its long raw_data",
              "memory: protobuf and the model take up to a hundred times the bytes of a structure"),
    SizeLimit("depth", 32, 32, "levels of nested graphs",
              "the stack; protobuf itself reads no more"),
    SizeLimit("name", 4096, _ANY, "bytes in one name",
              "the length of what is printed"),
    SizeLimit("nodes", 200_000, _ANY, "nodes in all its graphs and functions",
              "time: every active rule is evaluated for each node"),
    SizeLimit("graphs", 5000, _ANY, "graphs in attributes",
              "time: every rule about graphs is evaluated for each"),
    SizeLimit("values", 250_000, _ANY,
              "inputs, outputs, value infos, initializers and constants of lists in attributes",
              "time, and memory for the findings"),
    SizeLimit("density", 100, _ANY, "nodes, graphs and values for 1,000 bytes of structure",
              "time and memory: two bytes can be a node, which then takes 700; files of up to 10,000 parts are exempt"),
    SizeLimit("attributes", 1000, _ANY, "attributes of one node",
              "the length of what is printed of a node"),
    SizeLimit("dimensions", 1000, _ANY, "dimensions of one tensor or type",
              "time: some rules compare every dimension with every other"),
    SizeLimit("entries", 10_000, _ANY, "operator sets, functions, training graphs and metadata entries",
              "time, and memory for the findings"),
    SizeLimit("external", 10_000, _ANY, "files of external data",
              "open files: a run maps each of them"),
    SizeLimit("steps", 200_000, _ANY, "steps of evaluation: elements of lists that rules visit",
              "time: many nodes may read one long list", "the rules that would visit more are undecided"),
    SizeLimit("findings", 2000, _ANY, "findings of one rule with one result",
              "the length of the report", "the findings are counted and not listed"),
    SizeLimit("elements", 2**30, 2**40, "elements for one array",
              "memory: a value of a hundred bytes may declare any number of them", "no value is computed"),
    SizeLimit("arrays", 2**28, _ANY, "bytes of arrays in a compressed .npz file, unpacked",
              "memory: one megabyte may unpack to a thousand", "the file is not read"),
)  # fmt: skip

Limits = Mapping[str, int]
"""The largest numbers allowed, by the names of the limits."""

BY_NAME: Mapping[str, SizeLimit] = MappingProxyType({limit.name: limit for limit in LIMITS})
DEFAULT_LIMITS: Limits = MappingProxyType({limit.name: limit.default for limit in LIMITS})


def changed_limits(limits: Limits) -> dict[str, int]:
    """The limits that differ from the defaults."""
    return {name: number for name, number in limits.items() if number != DEFAULT_LIMITS[name]}


SHORTEST_NAME = 512
"""Shorter names are not measured (`sonnx.model.wire_format.TOKEN_LENGTH`), so a smaller limit cannot be set."""


class Exceeded(Exception):
    """A number in a file exceeds its limit; the message is half a sentence that says how to raise the limit."""


EXEMPT_PARTS = 10_000
"""Nodes, graphs and values of a file that may be as dense as they like: they take a fraction of a second."""


def enforce_density(allowed: Limits, numbers: Mapping[str, int], size: int) -> None:
    """Compare the nodes, graphs and values of a structure of `size` bytes with the limit `density`.

    Entries have a limit that is as small as the number that is exempt.  With more parts than that, names have three
    letters, and the shortest parts of valid ONNX eleven bytes (a tensor without elements that nothing reads).

    Raises:
        Exceeded: they are too many for so few bytes.
    """
    parts = sum(number for name, number in numbers.items() if name != "entries")
    if parts > EXEMPT_PARTS:
        enforce(allowed, "density", -(-1000 * parts // size))


def enforce(allowed: Limits, name: str, number: int) -> None:
    """Compare a number with its limit.

    Raises:
        Exceeded: the number is larger.
    """
    if number > allowed[name]:
        raise Exceeded(exceeded(allowed, name, number))


def exceeded(allowed: Limits, name: str, number: int) -> str:
    """The message for a number that exceeds its limit."""
    limit = BY_NAME[name]
    more = f"; --limit {name}={number} allows them" if number <= limit.largest else ""
    return f"has {number} {limit.what}, more than the {allowed[name]} allowed{more}"


COUNTED: Mapping[str, str] = MappingProxyType({
    "onnx.GraphProto.node": "nodes", "onnx.FunctionProto.node": "nodes",
    "onnx.AttributeProto.g": "graphs", "onnx.AttributeProto.graphs": "graphs",
    "onnx.GraphProto.input": "values", "onnx.GraphProto.output": "values", "onnx.GraphProto.value_info": "values",
    "onnx.GraphProto.initializer": "values", "onnx.GraphProto.sparse_initializer": "values",
    "onnx.AttributeProto.tensors": "values", "onnx.AttributeProto.sparse_tensors": "values",
    "onnx.AttributeProto.type_protos": "values", "onnx.FunctionProto.value_info": "values",
    "onnx.ModelProto.functions": "entries", "onnx.ModelProto.training_info": "entries",
    "onnx.ModelProto.metadata_props": "entries", "onnx.ModelProto.opset_import": "entries",
})  # fmt: skip
"""The limit that the entries of a field count for, by the full name of the field; counted before protobuf reads."""


def parse_limits(texts: Sequence[str]) -> Limits:
    """The limits after the settings of `--limit`, such as `nodes=1000000`, separated by commas.

    Raises:
        UsageError: a setting has an unknown name, or a number out of range.
    """
    chosen = dict(DEFAULT_LIMITS)
    for item in (item for text in texts for item in text.split(",") if item):
        name, equals, number = item.partition("=")
        if not equals or name not in BY_NAME:
            raise UsageError(f"--limit takes NAME=NUMBER with one of {', '.join(BY_NAME)}, not {item!r}")
        least, largest = SHORTEST_NAME if name == "name" else 0, BY_NAME[name].largest
        if not number.isascii() or not number.isdecimal() or len(number) > 13 or not least <= int(number) <= largest:
            raise UsageError(f"--limit {name} takes a number from {least} to {largest}, not {number!r}")
        chosen[name] = int(number)
    return MappingProxyType(chosen)
