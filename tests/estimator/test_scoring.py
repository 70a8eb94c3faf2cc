"""Leakage as a score: searches of scikit-learn can go by it."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

import fairbench
from fairbench.errors import InputError

RNG = np.random.default_rng(0)
S = RNG.choice(["a", "b"], 1200)
X = pd.DataFrame(
    {"told": RNG.normal(size=1200) + 2 * (S == "a"), "other": RNG.normal(size=1200), "side": S}
)
Y = (X["told"] + X["other"] > 1).astype(int)


def test_it_is_minus_the_information_that_an_audit_finds() -> None:
    score = fairbench.leakage_scorer("side")
    leaky = fairbench.FairRepresentation("noise", noise=0.1).fit(X, s="side")
    features = X.drop(columns="side")
    expected = fairbench.audit(leaky.transform(X), S, x=features, quick=True, seed=0).i
    assert expected > 0
    assert score(leaky, X) == -expected
    again = pickle.loads(pickle.dumps(score))
    assert again(leaky, X, Y) == -expected


def test_auditors_that_found_less_than_nothing_are_no_better_than_nothing() -> None:
    fair = fairbench.FairRepresentation("leace").fit(X, s="side")
    assert fairbench.audit(fair.transform(X), S, quick=True, seed=0).i < 0
    assert fairbench.leakage_scorer("side")(fair, X) == 0.0


def test_features_that_auditors_cannot_take_are_left_out_with_a_warning() -> None:
    """What a pipeline imputes, they cannot."""
    leaky = fairbench.FairRepresentation("noise", noise=0.1, unknown="common").fit(X, s="side")
    gaps = X.assign(told=X["told"].where(X["told"] > -1))
    with pytest.warns(UserWarning, match="auditors do not see what z reconstructs of X"):
        assert fairbench.leakage_scorer("side")(leaky, gaps) < -0.1


def test_of_a_pipeline_it_audits_what_reaches_the_classifier() -> None:
    score = fairbench.leakage_scorer("side", seed=1)
    steps = [("fr", fairbench.FairRepresentation("noise", noise=0.1))]
    leaky = Pipeline([*steps, ("clf", LogisticRegression())]).fit(X, Y, fr__s="side")
    hiding = [("fr", fairbench.FairRepresentation("noise", noise=10.0))]
    fair = Pipeline([*hiding, ("clf", LogisticRegression())]).fit(X, Y, fr__s="side")
    assert score(leaky, X, Y) < -0.15
    assert score(fair, X, Y) > -0.05


@pytest.mark.parametrize("nothing", ["passthrough", None])
def test_a_step_that_does_nothing_is_no_classifier(nothing: str | None) -> None:
    fair = fairbench.FairRepresentation("leace")
    pipeline = Pipeline([("fr", fair), ("last", nothing)]).fit(X, fr__s="side")
    assert fairbench.leakage_scorer("side")(pipeline, X) == 0.0


def test_without_the_column_it_says_what_to_do() -> None:
    fair = fairbench.FairRepresentation("leace").fit(X, s="side")
    with pytest.raises(InputError, match="no column 'side'"):
        fairbench.leakage_scorer("side")(fair, X.drop(columns="side"))


def test_of_a_classifier_that_transforms_too_it_audits_what_it_gets() -> None:
    """Linear discriminant analysis gives one axis of what it gets."""
    leaky = fairbench.FairRepresentation("noise", noise=0.1)
    pipeline = Pipeline([("fr", leaky), ("clf", LinearDiscriminantAnalysis())])
    pipeline.fit(X, Y, fr__s="side")
    score = fairbench.leakage_scorer("side", seed=1)
    assert score(pipeline, X, Y) == score(pipeline[:-1], X, Y)
