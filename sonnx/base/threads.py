"""The number of threads of the libraries behind numpy."""

from __future__ import annotations

import os
import sys

from sonnx.base.errors import UsageError

MAX_THREADS = 1024
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""The environment variables from which the libraries behind numpy take their number of threads."""


def set_threads(number: int) -> None:
    """Set the number of threads, which libraries read when they are loaded.

    Raises:
        UsageError: numpy is loaded already.
    """
    if "numpy" in sys.modules:
        raise UsageError("--jobs works on the command line only: in this process numpy has its threads already")
    for name in THREADS:
        os.environ[name] = str(number)
