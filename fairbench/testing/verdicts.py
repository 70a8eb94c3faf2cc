"""How the check of a promise can end."""

from __future__ import annotations

import enum


class Verdict(enum.StrEnum):
    """What became of a promise."""

    OK = "ok"
    """Kept, as far as was looked."""
    FAILED = "FAILED"
    """BrokenPromise."""
    SKIPPED = "skipped"
    """Nothing to look at, or nothing to look with; the reason is told."""


class BrokenPromise(Exception):
    """Raised by a promise's check: what was seen, and what the author can do about it."""

    def __init__(self, what: str, todo: str) -> None:
        super().__init__(what)
        self.what, self.todo = what, todo


class Unmet(Exception):
    """Raised by a promise's check that cannot look: skipped, with this reason."""
