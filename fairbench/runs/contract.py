"""What jobs and plugins agree on."""

from __future__ import annotations

from collections.abc import Callable

from fairbench.api import Role

Progress = Callable[[float, str], None]

DECODED_ROLES = (Role.VALIDATION, Role.TEST)


class ContractError(Exception):
    """A plugin returned something its interface does not allow."""
