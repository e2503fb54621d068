"""Requests that cannot be met."""

from __future__ import annotations


class Misuse(ValueError):
    """A request that cannot be met; the message is one sentence that says what is accepted."""
