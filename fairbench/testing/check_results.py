"""Possible results of the check of a promise."""

from __future__ import annotations

import enum


class CheckResult(enum.StrEnum):
    """Result of the check of a promise."""

    OK = "ok"
    """Kept, as far as was checked."""
    FAILED = "FAILED"
    """Broken."""
    SKIPPED = "skipped"
    """Could not be checked, for a reason that is given."""


class BrokenPromise(Exception):
    """Raised by a check: what was observed, and what the author can do about it."""

    def __init__(self, what: str, todo: str) -> None:
        super().__init__(what)
        self.what, self.todo = what, todo


class Unmet(Exception):
    """Raised by a check that is impossible here: skipped, with this reason."""
