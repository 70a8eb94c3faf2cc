"""Promises of a metric: its columns, its values, and no side effects."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np

from fairbench.api.metric import CurveEvaluation, Direction, Metric, MetricLevel
from fairbench.metrics.columns import RESERVED
from fairbench.registry import COLUMN, Columns, declared_columns
from fairbench.store.returned_values import is_finite_number, short_repr
from fairbench.testing.check_results import BrokenPromise, Unmet
from fairbench.testing.method_declarations import check_texts
from fairbench.testing.promises import convert_errors, promise
from fairbench.testing.sample_evaluations import curve_evaluations, point_evaluations
from fairbench.testing.surroundings import check_unharmed


@dataclass
class MetricTrial:
    """A metric, and the other metrics in its tables."""

    metric: type[Metric]
    others: Sequence[type[Metric]]  # metrics whose columns it may read but not write

    @cached_property
    def evaluations(self) -> Mapping[str, Any]:
        """Sample evaluations of its level by their special feature; ``whole`` first."""
        if self.metric.level not in get_args(MetricLevel):
            raise Unmet("its level is none; see above")
        if self.metric.level == "point":
            return point_evaluations()
        own = () if self.metric in self.others else (self.metric,)
        return curve_evaluations([*self.others, *own])

    @cached_property
    def _values(self) -> dict[str, Mapping[str, Any]] | None:
        try:
            return {n: dict(self.compute(e)) for n, e in self.evaluations.items()}
        except (Exception, SystemExit):
            return None

    def compute(self, evaluation: Any) -> Any:
        """Compute from a copy of an evaluation, which other promises look at as it is."""
        return self.metric().compute(copy.deepcopy(evaluation))

    def resampled(self, evaluation: CurveEvaluation) -> Mapping[str, Any]:
        """Resample its columns, from a copy likewise."""
        return self.metric().resampled(copy.deepcopy(evaluation))

    @property
    def values(self) -> dict[str, Mapping[str, Any]]:
        """Its values of each sample; Unmet where it raises, which is a promise of its own."""
        _ = self.evaluations
        if self._values is None:
            raise Unmet("there are no values to check; see above")
        return self._values


@promise("its name and texts are there")
def texts(trial: MetricTrial) -> None:
    """'fairbench list metrics' and the docs of a leaderboard show them."""
    check_texts(trial.metric)
    for name, allowed in (
        ("level", get_args(MetricLevel)),
        ("direction", get_args(Direction)),
    ):
        value = getattr(trial.metric, name, None)
        if value not in allowed:
            raise BrokenPromise(f"{name} is {value!r}.", f"Write one of {', '.join(allowed)}.")
    if not isinstance(trial.metric.unit, str) or not trial.metric.unit:
        raise BrokenPromise(
            f"unit is {trial.metric.unit!r}.", "nats, seconds, or 1 for a plain ratio."
        )


@promise("its columns are named, explained and its own")
def columns(trial: MetricTrial) -> None:
    """Two metrics that write one column would overwrite each other's figures."""
    declared = trial.metric.columns
    if not isinstance(declared, Mapping) or not declared:
        raise BrokenPromise(
            f"columns is {declared!r}.", "Write {'my_column': 'what it means, unit'}."
        )
    for column, text in declared.items():
        if not COLUMN.fullmatch(column):
            raise BrokenPromise(
                f"{column!r} is not a column name.", "Lower-case words joined by underscores."
            )
        if not isinstance(text, str) or not text.strip():
            raise BrokenPromise(f"{column!r} is not explained.", "Write a line on its meaning.")
        if trial.metric.level == "curve" and "{" in column:
            todo = "Declare whole names: leaderboards have the same columns for all datasets."
            raise BrokenPromise(f"{column!r} is by task, in a metric of curves.", todo)
    if trial.metric not in trial.others:  # those are compared when they are loaded
        others = {f"the metric {m.name!r}": declared_columns(m) for m in trial.others}
        others["the leaderboard itself"] = Columns(tuple(RESERVED))
        for owner, taken in others.items():
            if (shared := Columns(tuple(declared)).shared_with(taken)) is not None:
                raise BrokenPromise(f"{shared!r} belongs to {owner}.", "Choose another name.")
    for column in trial.metric.vacuous_columns:
        if column not in declared:
            raise BrokenPromise(
                f"vacuous_columns has {column!r}, which is not declared.", "Declare it in columns."
            )


@promise("it computes from every kind of evaluation")
def computes(trial: MetricTrial) -> None:
    """An evaluation without task, decoder or replicates must not cost a leaderboard the column."""
    for name, evaluation in trial.evaluations.items():
        todo = "Return None for a value that is undefined."
        with convert_errors(f"On an evaluation {_of(name)} compute", todo):
            values = trial.compute(evaluation)
        if not isinstance(values, Mapping):
            raise BrokenPromise(
                f"compute returned a {type(values).__name__}.", "Return {column: value}."
            )


def _of(name: str) -> str:
    return "that has everything" if name == "whole" else name


@promise("it gives all declared columns and no others")
def complete(trial: MetricTrial) -> None:
    """Columns are looked up by their declaration; an undeclared one cannot be read."""
    for values in trial.values.values():
        for column in declared_columns(trial.metric).undeclared(values):
            raise BrokenPromise(
                f"compute gives {column!r}, which is not declared.", "Declare it in columns."
            )
    plain = {column for column in trial.metric.columns if "{" not in column}
    whole = trial.values["whole"]
    intervals = {f"{column}_{end}" for column in _resampled(trial) for end in ("low", "high")}
    missing = sorted(plain - set(whole) - intervals)
    if missing:
        raise BrokenPromise(
            f"compute leaves out {missing[0]!r}.",
            "Give every declared column, None where it is undefined.",
        )


def _resampled(trial: MetricTrial) -> Mapping[str, Any]:
    if trial.metric.level != "curve":
        return {}
    try:
        return dict(trial.resampled(trial.evaluations["whole"]))
    except (Exception, SystemExit):
        return {}


@promise("its values are finite numbers, or None")
def finite(trial: MetricTrial) -> None:
    """A NaN in a table spreads to every mean and rank computed from it."""
    for name, values in trial.values.items():
        for column, value in values.items():
            if value is not None and not is_finite_number(value):
                raise BrokenPromise(
                    f"On an evaluation {_of(name)} {column} is {short_repr(value)}.",
                    "Return a float, or None where a value is undefined.",
                )


@promise("the same evaluation gives the same values, and stays as it is")
def pure(trial: MetricTrial) -> None:
    """All metrics share one evaluation, and a leaderboard is written again from the store."""
    _ = trial.values
    for name, evaluation in trial.evaluations.items():
        copied = copy.deepcopy(evaluation)
        first, again = (dict(trial.metric().compute(copied)) for _ in range(2))
        if not _equal(copied, evaluation):
            raise BrokenPromise(
                f"compute changes its evaluation {_of(name)}.", "Work on copies of its arrays."
            )
        if not _equal(first, again):
            raise BrokenPromise("Computed twice, values differ.", "Draw from a seeded generator.")


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if is_dataclass(one):
        return all(_equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other) or one is other or (one != one and other != other)


@promise("replicates are of its columns, and around its values")
def replicates(trial: MetricTrial) -> None:
    """Confidence intervals and ranks are computed from them."""
    if trial.metric.level != "curve":
        raise Unmet("it is of points, whose replicates the audit makes")
    if trial.metric.resampled is Metric.resampled:
        raise Unmet("it has none")
    for name, evaluation in trial.evaluations.items():
        assert isinstance(evaluation, CurveEvaluation)
        for column, rows in trial.resampled(evaluation).items():
            _check_replicates(trial, name, evaluation, column, np.asarray(rows))


def _check_replicates(
    trial: MetricTrial, name: str, evaluation: CurveEvaluation, column: str, rows: np.ndarray
) -> None:
    declared, values = trial.metric.columns, trial.values[name]
    ends = [f"{column}_low", f"{column}_high"]
    for name_of_end in (column, *ends):
        if name_of_end not in declared:
            raise BrokenPromise(
                f"It resamples {column!r} without declaring {name_of_end!r}.", "Declare it."
            )
    if any(end in values for end in ends):
        raise BrokenPromise(
            f"compute gives {ends[0]!r}.", "Leave the ends of an interval to the suite."
        )
    lengths = [len(array) for array in evaluation.reference_replicates.values()]
    if rows.ndim != 1 or (lengths and len(rows) != lengths[0]) or not np.isfinite(rows).all():
        raise BrokenPromise(
            f"Replicates of {column} have shape {rows.shape}, or are not finite.",
            "Give one finite number per resample, in the order of the resamples.",
        )
    value = values.get(column)
    spread = max(float(np.ptp(rows)), 1e-9)
    if value is not None and not rows.min() - spread <= value <= rows.max() + spread:
        raise BrokenPromise(
            f"{column} is {value:.4g}, its replicates {rows.min():.4g} to {rows.max():.4g}.",
            "Compute both by the same formula.",
        )


@promise("it can be sent to another process")
def pickles(trial: MetricTrial) -> None:
    """Audits run in processes of their own, with Ray on another machine."""
    todo = "Define the class at the top of an importable module."
    with convert_errors("Pickling it", todo):
        copied = pickle.loads(pickle.dumps(trial.metric))
    if copied is not trial.metric:
        raise BrokenPromise("Unpickled, it is another class.", todo)


@promise("it leaves its process unchanged")
def unharmed(trial: MetricTrial) -> None:
    """Other plugins run in the same process, and rely on its folder and random state."""
    _ = trial.values
    check_unharmed(lambda: trial.compute(trial.evaluations["whole"]), "compute")
