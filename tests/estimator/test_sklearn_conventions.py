"""Estimators stand wherever scikit-learn has transformers: its own checks, pipelines, routing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_estimator,
    check_set_output_transform_pandas,
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
    parametrize_with_checks,
)

from fairbench import FairRepresentation
from fairbench.errors import InputError
from tests.support.estimators import SMALL, S, X, Y, small


class ByParity(FairRepresentation):
    """For checks that know of no s: rows of even number are one group."""

    def fit(self, X: Any, y: Any = None, *, s: Any = None) -> ByParity:
        rows = X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
        return super().fit(X, y, s=np.arange(rows) % 2)


@parametrize_with_checks([ByParity("leace")])
def test_scikit_learns_own_checks_pass_once_there_is_an_s(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "check",
    [
        check_dataframe_column_names_consistency,
        check_set_output_transform_pandas,
        check_transformer_get_feature_names_out,
        check_transformer_get_feature_names_out_pandas,
    ],
)
def test_so_do_those_for_frames_that_it_keeps_for_its_own(check: Any) -> None:
    check("ByParity", ByParity("leace"))


@pytest.mark.slow
@parametrize_with_checks([ByParity("sofair", beta=0.5, budget=3, params=SMALL)])
def test_they_pass_for_a_network_too(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_without_an_s_those_that_fail_do_so_for_the_want_of_it_alone() -> None:
    found = check_estimator(FairRepresentation("leace"), on_fail=None)
    failed = [one for one in found if one["status"] == "failed"]
    assert failed
    for one in failed:
        errors = [one["exception"], one["exception"].__context__]
        assert "needs the sensitive attribute" in str(errors), one["check_name"]


def test_columns_are_those_of_fit() -> None:
    fair = FairRepresentation("leace").fit(X, s=S)
    assert list(fair.feature_names_in_) == list(X.columns)
    assert fair.n_features_in_ == 3
    with pytest.raises(ValueError, match="same order"):
        fair.transform(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="unseen at fit time"):
        fair.transform(X.assign(more=1))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        by_place = fair.transform(X.to_numpy())
    np.testing.assert_array_equal(by_place, fair.transform(X))


def test_frames_come_out_with_names_and_index() -> None:
    rows = X.set_index(np.arange(300) + 50)
    fair = small(beta=0.1).set_output(transform="pandas").fit(rows, s=S)
    z = fair.transform(rows)
    assert list(z.columns) == ["z0", "z1", "z2"] == list(fair.get_feature_names_out())
    assert list(z.index) == list(rows.index)
    default = fair.set_output(transform="default").transform(rows)
    np.testing.assert_array_equal(z.to_numpy(), default)
    # Before anybody has said where it is read there are names too.
    assert len(small().fit(X, s=S).get_feature_names_out()) == 3


def test_parameters_and_knobs_are_set_read_and_cloned() -> None:
    fair = small(beta=0.1, random_state=3)
    given = fair.get_params()
    assert given["beta"] == 0.1
    assert given["params"] == SMALL
    assert clone(fair).get_params() == given
    other = clone(fair).set_params(beta=0.7, gamma=2, budget=5)
    assert (other.get_params()["beta"], other.budget) == (0.7, 5)
    assert fair.get_params() == given
    assert "beta=0.1" in repr(fair)
    assert "beta" in fair._repr_html_()  # what a notebook shows


def test_a_pipeline_hands_s_over_by_the_name_of_the_step() -> None:
    pipe = Pipeline([("fr", small(beta=0.1)), ("clf", LogisticRegression())])
    pipe.fit(X, Y, fr__s=S)
    assert pipe.predict(X).shape == (300,)
    with pytest.raises(InputError, match="STEP__s"):
        clone(pipe).fit(X, Y)


def test_metadata_routing_hands_s_over_by_itself() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = Pipeline([("fr", small(budget=3)), ("clf", LogisticRegression())])
        pipe.set_params(fr__beta=0.1)
        found = cross_validate(pipe, X, Y, params={"s": S}, cv=2)
        assert np.isfinite(found["test_score"]).all()
        search = GridSearchCV(pipe, {"fr__beta": [0.0, 1.0]}, cv=2).fit(X, Y, s=S)
        assert set(search.best_params_) == {"fr__beta"}
        asked = small(beta=0.1).set_fit_request(s=True)
        Pipeline([("fr", asked), ("clf", LogisticRegression())]).fit(X, Y, s=S).predict(X)
        # An aware method takes s of new rows too.
        trees = {"bins": 4, "trees": 2}
        aware = FairRepresentation("conditional-quantile", params=trees)
        pipe = Pipeline([("fr", aware), ("clf", LogisticRegression())]).fit(X, Y, s=S)
        assert pipe.predict(X.iloc[:5], s=S[:5]).shape == (5,)
        with pytest.raises(InputError, match="of the aware track: its encoder takes s"):
            pipe.predict(X)


def test_it_stands_in_a_column_transformer() -> None:
    numeric = make_column_selector(dtype_include="number")
    both = make_column_transformer((FairRepresentation("leace"), numeric), remainder="drop")
    with sklearn.config_context(enable_metadata_routing=True):
        both.fit(X, s=S)
    assert list(both.get_feature_names_out()) == [
        "fairrepresentation__z0",
        "fairrepresentation__z1",
    ]


def test_columns_named_by_numbers_keep_their_order() -> None:
    numbers = X[["shifted", "noise"]]
    named = numbers.set_axis([10, 20], axis=1)
    fair = FairRepresentation("leace").fit(named, s=S)
    with pytest.raises(ValueError, match="same order"):
        fair.transform(named[[20, 10]])
    plain = FairRepresentation("leace").fit(numbers.set_axis([0, 1], axis=1), s=S)
    np.testing.assert_array_equal(plain.transform(numbers.to_numpy()), fair.transform(named))
    with pytest.raises(InputError, match="in the order 1, 0"):
        plain.transform(numbers.set_axis([0, 1], axis=1)[[1, 0]])
    levels = numbers.set_axis(pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]), axis=1)
    of_levels = FairRepresentation("leace").fit(levels, s=S)
    np.testing.assert_array_equal(of_levels.transform(levels), fair.transform(named))
    with pytest.raises(ValueError, match="same order"):
        of_levels.transform(levels.iloc[:, ::-1])
