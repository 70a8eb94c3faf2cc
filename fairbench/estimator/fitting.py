"""Fitting the encoder of the scikit-learn transformer; a fit that fails leaves the last one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.base import BaseEstimator

from fairbench.api import Diverged, FitContext, Method, TrainingRows, Unit
from fairbench.data.preprocessing import Preprocessing
from fairbench.errors import FitError
from fairbench.store.encoders import Encoder
from fairbench.training.threads import one_thread


@contextmanager
def kept_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Give an estimator its attributes back where the block raises."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def fit_encoder(
    method: Method,
    rows: TrainingRows,
    unit: Unit,
    context: FitContext,
    preprocessing: Preprocessing,
) -> Encoder:
    """Train a method; FitError where that diverges."""
    for array in (rows.x, rows.s):
        array.flags.writeable = False
    with one_thread():
        (outcome,) = method.fit(rows, [unit], context)
    if isinstance(outcome, Diverged):
        point = unit.point
        where = f" at {point.label}" if point is not None and point.values else ""
        raise FitError(
            f"The training of {method.name}{where} diverged: {outcome.reason}.",
            'Try another random_state, or params={"learning_rate": ...} below its default.',
        )
    return Encoder(method, unit, rows.info, outcome, preprocessing)
