"""Options of runs and comparisons; numpy is not loaded for them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from sonnx.base.budget import RuntimeLimits
from sonnx.base.errors import UsageError
from sonnx.base.options import WHAT_IS_SHOWN, Argument, amount
from sonnx.checker.options import Edition, EditionOptions, ModelOptions, Unchecked

LIMITS = RuntimeLimits()
MAX_ULP = 2**64
"""Two numbers of a format are never further apart."""

InputFiles = Annotated[
    Collection[str],
    Argument(
        "an input from a .npy, .npz or .pb file; FILE.npz alone gives every input it names",
        metavar="NAME=FILE",
        name="input",
    ),
]
AllValues = Annotated[bool, Argument("the outputs of every node, not only those of the graph")]
Folder = Path | str | None


class PreparationOptions(EditionOptions, frozen=True, kw_only=True):
    """How a model is prepared to be run many times."""

    unchecked: Unchecked = False
    all_values: AllValues = False


class ExecutionOptions(ModelOptions, frozen=True):
    """On what a model is run, and what is returned."""

    inputs: Mapping[str, Any] | None = None
    """An array of exactly the declared type and shape for every graph input that is not a constant; ml_dtypes defines
    bfloat16 and the types of at most eight bits, strings are `str` in an array of objects or an array of numpy's
    strings."""
    edition: Edition = None
    input_files: InputFiles = ()
    seed: Annotated[
        int | None,
        Argument("the seed of generated inputs (default 0)", metavar="S", read=int),
    ] = None
    """Of the inputs that are not given, numbers of [-1, 1) for floating-point types; None generates none."""
    test_data: Annotated[
        Folder, Argument("a folder with input_*.pb and output_*.pb: compare with its outputs", "DIR", read=Path)
    ] = None
    all_values: AllValues = False
    bits: Annotated[bool, Argument("compare every bit of NaNs, too")] = False
    unchecked: Unchecked = False
    progress: Annotated[Callable[[str], None] | None, WHAT_IS_SHOWN] = None
    """Called before each node."""


class ComparisonOptions(ModelOptions, frozen=True):
    """Which runtime is compared on what, and what counts as a difference."""

    runtime: Annotated[
        Any,
        Argument(
            "onnxruntime (default); reference, that of the onnx package; or MODULE:CLASS, an adapter", metavar="NAME"
        ),
    ] = "onnxruntime"
    """A name runs in a process of its own, anything that is a `Runtime` in this one."""
    edition: Edition = None
    inputs: Sequence[Mapping[str, Any]] | None = None
    """The inputs of each run; generated if neither these nor files are given."""
    outputs: Annotated[
        Folder, Argument("a folder with output_*.pb from another runtime, instead of running one", "DIR", read=Path)
    ] = None
    input_files: InputFiles = ()
    test_data: Annotated[Folder, Argument("a folder with input_*.pb", "DIR", read=Path)] = None
    runs: Annotated[
        int | None,
        Argument("N generated runs with ordinary inputs (default 2)", metavar="N", name="random", read=amount("runs")),
    ] = None
    seed: Annotated[int, Argument("the seed of generated inputs (default 0)", metavar="S", read=int)] = 0
    class_runs: Annotated[
        int | None,
        Argument(
            "at most N class runs of the model and of each node (default: by their size, at most 256)",
            metavar="N",
            read=amount("runs", least=0),
        ),
    ] = None
    every_node: Annotated[
        bool, Argument("compare every node too: on equal inputs, on class inputs, and accumulated")
    ] = False
    box: Annotated[
        Collection[str],
        Argument(
            "with --every-node, the range of an input, as for sonnx bound --box: which classes of nodes are reached "
            "in it (default: all finite numbers)",
            metavar="NAME=BOX",
        ),
    ] = ()
    max_ulp: Annotated[
        int | None,
        Argument(
            "exit 1 if a value is more than K ulp away", metavar="K", read=amount("steps", least=0, largest=MAX_ULP)
        ),
    ] = None
    max_integer_distance: Annotated[
        int,
        Argument("integers may be K away (default 0)", metavar="K", read=amount("steps", least=0, largest=MAX_ULP)),
    ] = 0
    optimizations: Annotated[
        bool,
        Argument("compare the graphs that the optimizer of the runtime makes with the model, for all inputs"),
    ] = False
    bound: Annotated[
        str | None,
        Argument(
            "exit 1 if a value is outside the bound under hypotheses (default onnxruntime-cpu)",
            metavar="HYPOTHESES",
            bare="onnxruntime-cpu",
        ),
    ] = None
    no_special_mismatch: Annotated[
        bool, Argument("exit 1 if the sign of a zero differs too, and for differences that are explained")
    ] = False
    allow_flush: Annotated[
        bool, Argument("the runtime may take subnormal numbers for 0, in its inputs and its results")
    ] = False
    runtime_timeout: Annotated[
        int,
        Argument(
            f"time limit of one call of the runtime (default {LIMITS.seconds})",
            metavar="SECONDS",
            read=amount("seconds"),
        ),
    ] = LIMITS.seconds
    runtime_memory: Annotated[
        int,
        Argument(
            f"memory limit of the process of the runtime (default {LIMITS.megabytes})",
            metavar="MB",
            read=amount("megabytes"),
        ),
    ] = LIMITS.megabytes
    unchecked: Unchecked = False
    hashed: Annotated[bool, WHAT_IS_SHOWN] = False
    """Read the whole file once, compare these bytes and state their SHA-256."""
    progress: Annotated[Callable[[str], None], WHAT_IS_SHOWN] = lambda _: None
    """Called before each step."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.outputs is not None and self.every_node:
            raise UsageError("--every-node excludes --outputs")
        if self.box and not self.every_node:
            raise UsageError("--box requires --every-node")
        if self.outputs is not None and self.optimizations:
            raise UsageError("--optimizations excludes --outputs")

    @property
    def generates_inputs(self) -> bool:
        """Whether neither inputs nor files of inputs are given."""
        return self.inputs is None and not self.input_files and self.test_data is None
