"""The checker, prover and reference executor for SONNX, the safety-related profile of ONNX.

A module is loaded when one of its names is first used, so that a command loads only what it needs.
"""

import sys
from importlib import import_module
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036  a checkout is not installed by pip, which would refuse
    _OLD = ".".join(map(str, sys.version_info[:2]))
    _SENTENCE = f"sonnx needs Python 3.11 or newer, and this is {_OLD}; try 'python3.11 -m pip install .'"
    if sys.argv[:1] != ["-m"]:
        raise ImportError(_SENTENCE)
    sys.stderr.write(_SENTENCE + "\n")
    sys.exit(2)


def _modules() -> dict[str, str]:
    """The module of each public name, from the lines `from MODULE import NAME as NAME` of `__init__.pyi`."""
    lines = Path(__file__).with_suffix(".pyi").read_text("ascii").splitlines()
    return {words[3]: words[1] for words in map(str.split, lines) if words[:1] == ["from"]}


_MODULES = _modules()
__all__ = sorted(_MODULES)  # noqa: PLE0605  read from the stub


def __getattr__(name: str) -> object:
    """A public name, or the version of the package."""
    if name == "__version__":
        from sonnx.base.resources import tool_version

        return tool_version()
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sonnx.base.options import with_signature

    return with_signature(getattr(import_module(_MODULES[name]), name))
