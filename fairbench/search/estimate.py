"""How long a trial of a search will take."""

from __future__ import annotations

from fairbench.api import Coding
from fairbench.runs.estimate import audit_seconds, fit_seconds
from fairbench.runs.hyperparameters import params_on
from fairbench.runs.plan import Budget, units_of
from fairbench.search.study import Search
from fairbench.store.records import UnitRecord


def trial_seconds(search: Search, budget: Budget) -> float:
    """Estimate the processor seconds of a trial, on all its splits, with the defaults."""
    params = params_on(search.method, search.held, search.data.info)
    units = units_of(search.method, params, search.data, budget, search.config.run)
    points = sum(unit.curve_points or 1 for unit in units)
    past = search.store.records(UnitRecord)
    method = search.method(params)
    fit = fit_seconds(method, len(units), budget, search.data, past, points=points)
    return len(search.splits) * (
        fit
        + points
        * audit_seconds(
            budget.audit,
            search.data,
            search.store,
            search.method.name,
            stochastic=search.method.coding is Coding.STOCHASTIC,
        )
    )
