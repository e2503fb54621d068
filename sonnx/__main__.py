"""The entry point, and the only place that catches every exception."""

from __future__ import annotations

import gc
import io
import os
import sys

TOOL_FAILED = 4
INTERRUPTED = 130
WITHOUT_MEMORY = 3
NOT_READ = 141
"""As of a process that the system ends because nothing reads what it prints: 128 and the number of SIGPIPE."""


def main() -> int:
    """Run the command line and return the exit code; a failure of the tool itself is one sentence and code 4."""
    try:
        sys.unraisablehook = _show_unraised
        gc.disable()  # loading modules makes no garbage, and looking for it takes a tenth of a short run
        from sonnx.supervise.descriptors import open_standard

        open_standard()  # a shell may have closed them
        _load_msgspec()
        from sonnx.base.threads import default_to_one_thread

        default_to_one_thread()
        from sonnx.base.garbage import collect_rarely
        from sonnx.cli import main as command_line

        gc.freeze()  # nor does looking at the modules again
        gc.enable()
        collect_rarely()
        for stream in (sys.stdout, sys.stderr):  # an encoding such as cp1252 lacks characters of the formulas
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        code = command_line.run(sys.argv[1:], own_process=True)
        sys.stdout.flush()
        gc.freeze()  # the process ends: its memory is not searched for garbage
    except BrokenPipeError:  # the reader closed the pipe; 0 would say that what it did not read is a pass
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_READ
    except KeyboardInterrupt:
        print("sonnx: interrupted", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  the one catch-all of the program
        if "SONNX_TRACEBACK" in os.environ:
            import traceback  # only a failure needs it

            traceback.print_exc()
        if _is_without_memory(error):
            print("sonnx: the memory of this machine does not suffice", file=sys.stderr)  # noqa: T201
            return WITHOUT_MEMORY
        text = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"sonnx: the tool failed ({text}); set SONNX_TRACEBACK=1 for the details a report needs", file=sys.stderr)  # noqa: T201
        return TOOL_FAILED
    return code


def _show_unraised(lost: sys.UnraisableHookArgs) -> None:
    """Show an error that Python cannot raise, as one in a hook after a fork; a lack of memory there harms nothing."""
    if not issubclass(lost.exc_type, MemoryError):
        sys.__unraisablehook__(lost)


def _is_without_memory(error: Exception) -> bool:
    """Whether an error reports that the memory does not suffice."""
    try:
        from sonnx.base.budget import MEGABYTE, allowed_bytes, is_lack_of_memory

        allowed = allowed_bytes()
        return is_lack_of_memory(error, None if allowed is None else allowed // MEGABYTE)
    except MemoryError:  # not even for the question
        return True


def _load_msgspec() -> None:
    """Import msgspec with the functions of `typing`, to which it falls back where there is no typing_extensions.

    They do the same in every version of Python that sonnx runs on. typing_extensions loads `inspect`, a tenth of a
    short run. This process is sonnx alone, so nobody else imports typing_extensions meanwhile.
    """
    name = "typing_extensions"
    if name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]  # so that importing it is an ImportError
    try:
        import msgspec  # noqa: F401
    except ImportError:  # a version that needs it: the first module of sonnx imports both
        pass
    finally:
        del sys.modules[name]


if __name__ == "__main__":
    sys.exit(main())
