"""Models that misbehave in the process that checks them, and the messages that report it."""

from __future__ import annotations

import signal

from tests.support.model_texts import TEXTS

FINE, OPEN = TEXTS["fine"], TEXTS["run_time"]
WRONG = FINE.replace("float[2] y", "float[3] y")

MISCHIEF = """
import os, signal, sys, time
from pathlib import Path
import sonnx.checker.request

def judge(report):
    def check(model, digest, request, name, *more):
        match Path(name).stem:
            case "hang": time.sleep(600)
            case "crash": os.kill(os.getpid(), signal.SIGSEGV)
            case "shrunk": os.kill(os.getpid(), signal.SIGBUS)
            case "leave": os._exit(7)
            case "defect": raise RuntimeError("boom\\x1b[31m")
            case "hungry": return [bytes(1 << 20) for _ in range(1 << 20)]
            case "chatty": print("not an answer", flush=True); os.write(1, b"nor this")
            case "slow": time.sleep(0.5)
        return report(model, digest, request, name, *more)
    return check

if "sonnx.supervise.child" in " ".join(sys.orig_argv):
    sonnx.checker.request.check_model = judge(sonnx.checker.request.check_model)
"""
"""What models of these names do to the process that checks them: a sitecustomize.py for child processes only."""

SAID = {
    "hang": (3, "was not checked within 4 seconds (--timeout)"),
    "hungry": (3, "was not checked within 300 megabytes of memory (--memory)"),
    "crash": (4, "was not checked: its process ended with SIGSEGV"),
    "shrunk": (4, "was not checked: its process ended with SIGBUS"),
    "leave": (4, "was not checked: its process ended with exit code 7"),
    "defect": (4, "was not checked: the tool failed (RuntimeError: boom\\x1b[31m)"),
}
LIMITS = ("--timeout", "4", "--memory", "300")


def heed_interrupts() -> None:
    """A process started in the background of a shell ignores them, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
