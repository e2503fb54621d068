"""A context of z3 for one call, so that threads do not share terms and no answer depends on what was proved before.

z3 is not safe for several threads: terms are made in its main context, where two threads at once end the process.  The
search of z3 also depends on the terms of a context, so a context that other calls used can turn a proof into "no
answer".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import z3

ONE_AT_A_TIME = RLock()
"""Held by the thread that makes terms; the functions that make them name no context, so there is one at a time."""


@contextmanager
def own_context() -> Iterator[None]:
    """Inside, terms are made in a new context, by this thread alone; they must not be used outside."""
    with ONE_AT_A_TIME:
        module, own = z3.z3, z3.Context()
        z3.Z3_enable_concurrent_dec_ref(own.ref())  # the garbage collector releases terms in any thread
        before, module._main_ctx = module._main_ctx, own
        try:
            if z3.main_ctx() is not own:
                raise AssertionError("this version of z3 keeps its main context elsewhere")
            yield
        finally:
            module._main_ctx = before
