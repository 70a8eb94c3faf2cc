"""What jobs and plugins agree on."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, str], None]


class ContractError(Exception):
    """A plugin returned something its interface does not allow."""
