"""Leakage as a score of scikit-learn, so that searches do not go by accuracy alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from fairbench.auditing.arrays import audit
from fairbench.data.array_checks import check_features
from fairbench.errors import DataError, InputError
from fairbench.estimator.inputs import without_column


@dataclass(frozen=True)
class LeakageScorer:
    """Minus the I(Z;S) that auditors find, nats, at most 0; see :func:`leakage_scorer`."""

    column: str
    quick: bool
    seed: int

    def __call__(self, estimator: BaseEstimator, X: Any, y: Any = None) -> float:
        """Audit the codes of held-out rows ``X``; higher is fairer, 0 is best."""
        features, s = without_column(X, self.column)
        if s is None:
            raise InputError(
                f"X has no column {self.column!r}, which should hold s.",
                'Leave it in X, and fit with its name: search.fit(X, y, STEP__s="COLUMN").',
            )
        # Some classifiers, such as LDA, transform too: what they give is not what they get.
        if isinstance(estimator, Pipeline) and _predicts(estimator[-1]):
            estimator = estimator[:-1]
        z = estimator.transform(X)
        # Auditors that learned noise read less than nothing: that is not fairer than nothing.
        report = audit(z, s, x=_complete(features), quick=self.quick, seed=self.seed)
        return -max(0.0, report.i)


def _complete(features: Any) -> Any:
    """Return the features that auditors reconstruct from z; None, with a warning: they cannot."""
    try:
        check_features(features, "X")
    except DataError as error:
        warnings.warn(
            f"{error.message} So auditors do not see what z reconstructs of X, and may find less.",
            stacklevel=3,
        )
        return None
    return features


def _predicts(step: Any) -> bool:
    if step is None or step == "passthrough":
        return False
    return bool(is_classifier(step) or is_regressor(step))


def leakage_scorer(column: str, *, quick: bool = True, seed: int = 0) -> LeakageScorer:
    """Make a scorer for ``cross_validate`` and ``GridSearchCV``: higher is fairer.

    Parameters
    ----------
    column : str
        Column of X that holds s.
    quick : bool
        Whether a light audit is enough; else the strict one, some 20 s for each fit and fold.
    seed : int
        Seed of the auditors.

    Returns
    -------
    LeakageScorer
        Of a transformer, or of a pipeline whose last step may be a classifier: then what reaches
        the classifier is audited. Auditors also reconstruct the other columns of X from z, and look
        for s there. It raises InputError where X has no such column.
    """
    return LeakageScorer(column, quick, seed)
