"""Legal models of growing size, and which limit ends their check: `python -m benchmarks.legal_models`.

Every model is valid ONNX.  A row is one family: the largest size that is tried and that no limit touches, with what its
check takes, and the first size that a limit refuses or leaves undecided, with the limit.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice, product
from pathlib import Path
from typing import NamedTuple

from sonnx.language.steps import TOO_LONG
from sonnx.model.limits import LIMITS
from tests.support.families import (
    FLOAT,
    INT32,
    attribute,
    call,
    field,
    function,
    graph,
    infos,
    initializers,
    inputs,
    listed,
    model,
    node,
    nodes,
    number,
    of_functions,
    outputs,
    tensor,
    text,
    value,
)

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
GIBIBYTE = 1 << 30


def names(count: int) -> list[str]:
    """The shortest names of three signs, which no other name of a model here has."""
    return ["".join(signs) for signs in islice(product(LETTERS, repeat=3), count)]


def of(parts: bytes, *more: bytes, read: int = 4) -> bytes:
    """A model with one input x of some elements, and the output y."""
    return model(graph(parts, inputs([value("x", read)]), outputs([value("y", read)])), *more)


def last(read: str) -> bytes:
    """A node that makes the output."""
    return nodes([node("Relu", [read], ["y"])])


def chain(count: int) -> bytes:
    between = ["x", *[f"v{index}" for index in range(count - 1)], "y"]
    return of(nodes([node("Relu", [between[i]], [between[i + 1]]) for i in range(count)]))


def short_chain(count: int) -> bytes:
    between = ["x", *names(count - 1), "y"]
    return of(nodes([node("Neg", [between[i]], [between[i + 1]]) for i in range(count)]))


def unread_nodes(count: int) -> bytes:
    return of(nodes([node("Neg", ["x"], [name]) for name in names(count)]) + last("x"))


def scalar(name: str) -> bytes:
    return number(2, INT32) + field(5, b"\1") + field(8, text(name))


def unread_scalars(count: int) -> bytes:
    return of(initializers(map(scalar, names(count))) + last("x"))


def read_scalars(count: int) -> bytes:
    made = initializers([tensor(name, b"\0\0\0\0", element=FLOAT) for name in names(count)])
    return of(made + nodes([node("Max", ["x", *names(count)], ["y"])]))


def value_infos(count: int) -> bytes:
    between = ["x", *names(count), "y"]
    made = nodes([node("Relu", [between[i]], [between[i + 1]]) for i in range(count + 1)])
    return of(made + infos([value(name, 4) for name in names(count)]))


def rank(count: int) -> bytes:
    declared = inputs([value("x", *[1] * count)]), outputs([value("y", *[1] * count)])
    return model(graph(last("x"), *declared))


def wide(count: int) -> bytes:
    return of(nodes([node("Max", ["x"] * count, ["y"])]))


def different_inputs(count: int) -> bytes:
    read = inputs([value(name, 4) for name in names(count)])
    return model(graph(nodes([node("Max", names(count), ["y"])]), read, outputs([value("y", 4)])))


def parts(count: int) -> bytes:
    axis = attribute("axis", 2, number(3, 0))
    return of(nodes([node("Split", ["x"], names(count), axis), node("Concat", names(count), ["y"], axis)]), read=count)


def nested(count: int) -> bytes:
    """If nodes, one inside the other; `count` levels with the main graph."""
    inner = graph(nodes([node("Relu", ["x"], [f"o{count}"])]), outputs([value(f"o{count}", 4)]))
    for level in range(count - 1, 0, -1):
        deeper = attribute("then_branch", 5, field(6, inner))
        made = node("If", ["c"], [f"o{level}"], deeper, small_branch())
        inner = graph(nodes([made]), outputs([value(f"o{level}", 4)]))
    return model(inner + inputs([value("x", 4), value("c", element=9)]))


def small_branch() -> bytes:
    inner = graph(nodes([node("Relu", ["x"], ["e"])]), outputs([value("e", 4)]))
    return attribute("else_branch", 5, field(6, inner))


def branches(count: int) -> bytes:
    condition = value("c", element=9)
    made = [node("If", ["c"], [name], small_branch().replace(b"else_branch", b"then_branch"), small_branch())
            for name in names(count)]  # fmt: skip
    declared = inputs([value("x", 4), condition]), outputs([value("y", 4)])
    return model(graph(nodes(made) + last(names(1)[0]), *declared))


def documentation(count: int) -> bytes:
    return of(last("x"), field(6, b"d" * count))


def metadata(count: int) -> bytes:
    return of(last("x"), *[field(14, field(1, text(name)) + field(2, b"v")) for name in names(count)])


def long_metadata(count: int) -> bytes:
    return of(last("x"), field(14, field(1, b"k") + field(2, b"v" * count)))


def functions(count: int) -> bytes:
    made = [function(f"f{i}", [node("Relu", ["a"], ["b"])]) for i in range(count)]
    return of_functions(made, [call("f0", "x", "y")])


def imports(count: int) -> bytes:
    more = [field(8, field(1, text(name)) + number(2, 1)) for name in names(count)]
    return of(last("x"), *more)


def long_name(count: int) -> bytes:
    return of(nodes([node("Relu", ["x"], ["n" * count])]) + last("n" * count))


def numbers_of_an_attribute(count: int) -> bytes:
    listed_numbers = field(1, text("value_ints")) + field(8, b"\1" * count) + number(20, 7)
    return of(nodes([node("Constant", [], ["c"], listed_numbers)]) + last("x"))


def constants(count: int) -> bytes:
    value_ = [field(1, text("value")) + field(5, tensor("", i.to_bytes(4, "little"))) + number(20, 4)
              for i in range(count)]  # fmt: skip
    return of(nodes([node("Constant", [], [name], one) for name, one in zip(names(count), value_, strict=True)]))


def external(count: int) -> bytes:
    """One constant of as many bytes in another file."""
    entries = {"location": "values.bin", "offset": "0", "length": str(count)}
    stated = listed(13, [field(1, text(key)) + field(2, text(content)) for key, content in entries.items()])
    made = number(1, count // 4) + number(2, FLOAT) + field(8, text("w")) + stated + number(14, 1)
    return of(initializers([made]) + nodes([node("Add", ["x", "w"], ["y"])]), read=count // 4)


class Grown(NamedTuple):
    """Models of one kind by size."""

    name: str
    make: Callable[[int], bytes]
    sizes: tuple[int, ...]


GROWN = (
    Grown("nodes in a chain", chain, (10_000, 100_000, 200_000, 200_001)),
    Grown("the same, of the shortest names", short_chain, (10_000, 100_000, 190_000)),
    Grown("nodes that nothing reads, of the shortest names", unread_nodes, (10_000, 100_000, 190_000)),
    Grown("scalars that nothing reads, of the shortest names", unread_scalars, (9_000, 100_000, 240_000)),
    Grown("scalars that one node reads", read_scalars, (10_000, 100_000, 240_000)),
    Grown("value infos of a chain", value_infos, (10_000, 100_000, 199_999)),
    Grown("dimensions of a value", rank, (64, 1_000, 1_001)),
    Grown("inputs of a node, all of one value", wide, (10_000, 100_000, 1_000_000)),
    Grown("inputs of a node, of different values", different_inputs, (10_000, 100_000, 200_000)),
    Grown("parts of a value, joined again", parts, (1_000, 10_000, 100_000)),
    Grown("graphs one inside the other", nested, (10, 31, 32, 33)),
    Grown("nodes with two graphs", branches, (1_000, 2_500, 2_501)),
    Grown("bytes of a documentation text", documentation, (1_000_000, 200_000_000)),
    Grown("metadata entries", metadata, (1_000, 9_999, 10_001)),
    Grown("bytes of a metadata entry", long_metadata, (1_000_000, 200_000_000)),
    Grown("functions", functions, (1_000, 9_998, 10_001)),
    Grown("operator sets", imports, (100, 9_999, 10_001)),
    Grown("bytes of a name", long_name, (256, 4_096, 4_097)),
    Grown("numbers of an attribute", numbers_of_an_attribute, (10_000, 1_000_000, 10_000_000)),
    Grown("different constants", constants, (10_000, 100_000, 199_999)),
    Grown("bytes of external data", external, (GIBIBYTE, 5 * GIBIBYTE)),
)


def checked(data: bytes, folder: Path) -> tuple[int, float, str]:
    """The exit code, the seconds, and the limit or the reason that ends the check or leaves something undecided."""
    path = folder / "m.onnx"
    path.write_bytes(data)
    begun = sum(process_time_of_children())
    command = [sys.executable, "-m", "sonnx", "check", str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    said = done.stdout + done.stderr
    reasons = [f"`{limit.name}`" for limit in LIMITS if f"--limit {limit.name}=" in said and limit.name != "findings"]
    reasons += [reason for reason in (TOO_LONG, "more than 32 levels") if reason in said]
    named = reasons[0] if reasons else said.strip() if done.returncode in (2, 4) else ""
    return done.returncode, sum(process_time_of_children()) - begun, named


def process_time_of_children() -> tuple[float, float]:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime, used.ru_stime


def rows(chosen: list[Grown]) -> Iterator[str]:
    """A row for each family."""
    yield "| models of growing size | the largest without a limit | exit code | seconds | the next, and its limit |"
    yield "|---|---|---|---|---|"
    for grown in chosen:
        with tempfile.TemporaryDirectory() as folder:
            with (Path(folder) / "values.bin").open("wb") as file:
                file.truncate(grown.sizes[-1] if grown.make is external else 1)
            passed, ended = "| none | | ", "none tried"
            for size in grown.sizes:
                code, seconds, limit = checked(grown.make(size), Path(folder))
                if limit or code in (2, 4):
                    ended = f"{size:,}: {limit}, exit code {code}"
                    break
                passed = f"| {size:,} | {code} | {seconds:.2f} "
            yield f"| {grown.name} {passed}| {ended} |"


def main() -> None:
    """Print the rows."""
    for row in rows([grown for grown in GROWN if not sys.argv[1:] or grown.name in sys.argv[1:]]):
        print(row, flush=True)


if __name__ == "__main__":
    main()
