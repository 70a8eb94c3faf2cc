"""What plugins return and report to a job, and the error for what an interface does not allow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fairbench.api import Unit
from fairbench.api.method import Fitted, Method
from fairbench.store.returned_values import is_finite_number, short_repr

MAX_COSTS = 50
"""Costs that a fit may report."""

_COST_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class ContractError(Exception):
    """A plugin returned something that its interface does not allow.

    Raised inside a job, which then ends as FAILED: no user caused it.
    """


def one_per_unit(fitted: Any, units: Sequence[Unit], method: Method) -> Sequence[Fitted]:
    """Return what a method's fit returned; ContractError if that is not a list, one per unit."""
    if not isinstance(fitted, Sequence):
        raise ContractError(
            f"{method.name}.fit returned a {type(fitted).__name__}: return a list, with one "
            "entry per unit."
        )
    if len(fitted) != len(units):
        raise ContractError(
            f"{method.name}.fit returned {len(fitted)} results for {len(units)} units."
        )
    return fitted


def finite_number(value: Any, what: str) -> float:
    """Return a number as a float; ContractError, which names ``what``, if it is none."""
    if not is_finite_number(value):
        raise ContractError(f"{what} is {short_repr(value)}, not a finite number.")
    return float(value)


def amount(value: Any, what: str) -> float:
    """Return a number from 0 on as a float; ContractError, which names ``what``, if it is none."""
    number = finite_number(value, what)
    if number < 0:
        raise ContractError(f"{what} is below 0: {number:g}.")
    return number


class ReportedCosts(dict[str, float]):
    """What a fit reported of its costs, checked as it comes."""

    def report(self, name: str, value: float) -> None:
        """Take a cost; ContractError for a name or a value that cannot be one."""
        if not isinstance(name, str) or not _COST_NAME.fullmatch(name):
            raise ContractError(
                f"report() got the name {short_repr(name)}; names of costs have small letters, "
                "digits and _, and at most 64 of them."
            )
        if name not in self and len(self) >= MAX_COSTS:
            raise ContractError(f"report() got more than {MAX_COSTS} names of costs.")
        self[name] = amount(value, f"the cost {name!r} given to report()")
