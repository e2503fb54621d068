"""The number of threads of the libraries behind numpy.

They read it where they are loaded.  Their own default is a thread for each core, which wait for each other by spinning:
where the cores are shared, one thread is faster and takes a part of the processor time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from sonnx.base.errors import UsageError

MAX_THREADS = 1024
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""The environment variables from which the libraries behind numpy take their number of threads."""
DEFAULT = "SONNX_DEFAULT_THREADS"
"""Says in the environment that sonnx has set these variables, not the user."""


def default_to_one_thread() -> None:
    """Let the libraries have one thread in this process and its children, unless the user has set a number."""
    if not any(name in os.environ for name in THREADS):
        os.environ.update(dict.fromkeys((*THREADS, DEFAULT), "1"))


def environment_of_programs() -> Mapping[str, str]:
    """The environment for other programs: the number of threads is theirs, where the user has set none."""
    ours = (*THREADS, DEFAULT) if DEFAULT in os.environ else ()
    return {name: text for name, text in os.environ.items() if name not in ours}


def set_threads(number: int) -> None:
    """Set the number of threads, which libraries read when they are loaded.

    Raises:
        UsageError: numpy is loaded already.
    """
    if "numpy" in sys.modules:
        raise UsageError("--jobs works on the command line only: in this process numpy has its threads already")
    for name in THREADS:
        os.environ[name] = str(number)
