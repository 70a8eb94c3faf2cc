"""The scikit-learn face does what users of scikit-learn expect of a transformer, s included."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import fairbench
from fairbench import FairRepresentation
from fairbench.api import FitContext, Point, Role, TrainingRows, Unit
from fairbench.api.method import Diverged, Method
from fairbench.data.prepared import Prepared
from fairbench.data.roles import assign_roles
from fairbench.errors import (
    ConfigError,
    FairbenchError,
    FitError,
    InputError,
    UnknownNameError,
)
from fairbench.estimator import transformer as estimator
from fairbench.registry import Registry, load_registry
from fairbench_datasets.adults import AdultsGender
from tests.support.estimators import SMALL, TABLE, S, X, small
from tests.support.small_table import make_table


@pytest.mark.thorough
def test_it_is_the_benchmarks_fit(prepared: Prepared) -> None:
    made = make_table()
    train, test = prepared.roles[Role.ENCODER_TRAIN], prepared.roles[Role.TEST]
    # The raw rows behind the prepared ones: the same table, dealt to the same roles.
    rows = {role: made.x.iloc[where] for role, where in assign_roles(made).items()}
    cls: Any = load_registry().methods["sofair"]
    context = FitContext(iterations=20)
    (curve,) = cls(cls.Params(**SMALL)).fit(
        TrainingRows(train.x, train.s, prepared.info), [Unit(7, None)], context
    )
    fair = small(beta=0.4, random_state=7).fit(rows[Role.ENCODER_TRAIN], s=train.s)
    expected = curve.at(Point.of(beta=0.4)).encode(test.x)
    np.testing.assert_array_equal(fair.transform(rows[Role.TEST]), expected)


def test_the_same_seed_gives_the_same_codes_and_another_gives_others() -> None:
    first, again = (small(beta=0.1, random_state=3).fit_transform(X, s=S) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, small(beta=0.1, random_state=4).fit_transform(X, s=S))
    states = (np.random.RandomState(5) for _ in range(2))
    drawn = [small(beta=0.1, random_state=state).fit_transform(X, s=S) for state in states]
    np.testing.assert_array_equal(*drawn)


def test_categories_may_be_text_or_categorical_and_s_of_any_type() -> None:
    expected = small(beta=0.1).fit_transform(X, s=S)
    as_categories = X.astype({"colour": "category"})
    codes = pd.Series(TABLE.s, index=range(1000, 1300))
    for frame, s in (
        (as_categories, S),
        (pa.Table.from_pandas(X), S),
        (X.astype(object), list(S)),
        (X.set_index(np.arange(300, 600)[::-1]), pd.Series(S, dtype="category")),
        (X, codes),
        (X, TABLE.s.astype(float)),
        (X, TABLE.s[:, None]),
    ):
        np.testing.assert_array_equal(small(beta=0.1).fit_transform(frame, s=s), expected)
    fair = small(beta=0.1).fit(X, s=pd.Series([1.0, 2.0, 30.0] * 100))
    assert list(fair.groups_) == ["1", "2", "30"]
    fair = small(beta=0.1).fit(X, s=pd.Series([1, 1.0, 2] * 100, dtype=object))
    assert list(fair.groups_) == ["1", "2"]


def test_a_fit_that_fails_leaves_the_last_one() -> None:
    fair = small(beta=0.1).fit(X.assign(sex=S), s="sex")
    z, encoder = fair.transform(X), fair.encoder_
    other = X[["noise"]].assign(more=X["shifted"], other=S)
    for bad, s, error, says in (
        (other, "gone", InputError, "no column 'gone'"),
        (other.to_numpy(), None, ValueError, "could not convert string"),
        (other[["noise"]], ["left"] * 300, InputError, "left"),
        (other[["noise"]], S[:-1], InputError, "299"),
    ):
        with pytest.raises(error, match=says):
            fair.fit(bad, s=s)
        assert fair.encoder_ is encoder
        assert fair.s_column_ == "sex"
        assert list(fair.feature_names_in_) == list(X.columns)
        np.testing.assert_array_equal(fair.transform(X.assign(sex=S)), z)
    never = small(beta=0.1)
    with pytest.raises(InputError, match="299"):
        never.fit(X, s=S[:-1])
    assert not hasattr(never, "n_features_in_")


def test_categories_keep_the_order_of_an_ordered_dtype_and_of_numbers() -> None:
    rng = np.random.default_rng(0)
    level = pd.CategoricalDtype(["none", "low", "mid", "high"], ordered=True)
    frame = pd.DataFrame(
        {
            "level": pd.Series(rng.choice(["high", "mid", "low"], 300), dtype=level),
            "month": pd.Series(rng.integers(1, 13, 300), dtype="category"),
            "plain": pd.Series(rng.choice(["low", "mid", "high"], 300), dtype="category"),
        }
    )
    fair = small(beta=0.1).fit(frame, s=S)
    preprocessing = fair.encoder_.preprocessing
    assert preprocessing is not None
    held = [feature.categories for feature in preprocessing.features]
    assert held[0] == ("low", "mid", "high"), "those that occur, in their order"
    assert held[1] == tuple(str(month) for month in range(1, 13))
    assert held[2] == ("high", "low", "mid")
    codes = preprocessing.apply(frame, where="X")[0] * preprocessing.scale + preprocessing.mean
    np.testing.assert_allclose(codes[:, 0], frame["level"].cat.codes - 1, atol=1e-5)
    np.testing.assert_allclose(codes[:, 1], frame["month"].astype(int) - 1, atol=1e-5)
    as_text = fair.transform(frame.astype({"level": str, "month": str}))
    np.testing.assert_array_equal(as_text, fair.transform(frame))


def test_a_category_of_whole_numbers_is_the_same_with_decimals_and_without() -> None:
    whole = X.assign(month=pd.Series(np.arange(300) % 12, dtype="category"))
    # as pandas holds whole numbers of a table in which some are missing
    with_decimals = whole.assign(month=whole["month"].astype(float).astype("category"))
    plain = whole.astype({"month": int})
    for seen in (whole, with_decimals):
        fair = FairRepresentation("identity").fit(seen, s=S)
        for new in (whole, with_decimals, plain, plain.astype({"month": float})):
            np.testing.assert_array_equal(fair.transform(new), fair.transform(seen))


@pytest.mark.parametrize(
    ("s", "message"),
    [
        (None, r"needs the sensitive attribute: fit\(X, s=...\)"),
        (pd.Series(S).sample(frac=1.0), "X and s have the same index, but in different orders"),
        (pd.Series(S, range(9, 309)), r"X and s have different rows.*291 of 300 labels in both"),
        (S[:-1], "X has 300 rows and s has 299"),
        (["left", np.nan, "right"] * 100, r"s, row 2: it has no value \(100 such rows\)"),
        (pd.Series(["left", None, "right"] * 100), "s, row 2: it has no value"),
        (np.where(TABLE.s == 0, np.nan, 1.0), "it has no value"),
        (np.ma.masked_equal(TABLE.s, 0), "it has no value"),
        (["left"] * 300, "only one group, 'left'"),
        (np.linspace(0, 1, 300), "np.digitize"),
        (np.where(TABLE.s == 0, np.inf, 1.0), "s holds inf: groups are names or whole numbers"),
        (np.arange(300), "300 distinct values, and at most 100"),
        (np.zeros((300, 2)), r"the shape \(300, 2\)"),
    ],
)
def test_an_s_that_cannot_be_used_is_a_value_error_that_says_why(s: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FairRepresentation("leace").fit(X, s=s)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (X.assign(noise=np.where(TABLE.s == 1, np.nan, 1.0)), "Column 'noise' has no value in row"),
        (X.assign(noise=np.inf), "row 1: noise is infinity"),
        (X.assign(when=pd.Timestamp("2020-01-01")), "column 'when' of X holds datetime64"),
        (X.assign(noise=[[1.0]] * 300), "column 'noise' of X, row 1: a list is neither"),
        (X.assign(noise=[0.0, *[{}] * 299]), "column 'noise' of X, row 2: a dict is neither"),
        (X.assign(noise=np.linspace(0, 1e300, 300)), "values of noise are too large"),
        (X.set_axis(["a", "a", "b"], axis=1), "several columns named 'a'"),
        (X.set_axis(["a", 1, "b"], axis=1), "text, and the column 1, whose name is not"),
        (np.ma.masked_greater(X[["shifted", "noise"]].to_numpy(), 1.0), "contains NaN"),
        (X.to_numpy(), "could not convert string to float"),
        (X.iloc[:1], "1 sample"),
        (X[[]], r"0 feature\(s\)"),
    ],
)
def test_an_x_that_cannot_be_used_is_a_value_error_that_says_why(x: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as said:
        FairRepresentation("leace").fit(x, s=S[: len(x)])
    # scikit-learn's own check of arrays has words of its own.
    assert isinstance(said.value, FairbenchError) or not isinstance(x, pd.DataFrame)


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_number_out_of_range_is_the_rows_and_not_the_plugins() -> None:
    fair = FairRepresentation("leace").fit(X, s=S)
    new = X.iloc[:3].assign(noise=[0.0, 1e300, 0.0])
    with pytest.raises(InputError, match=r"X, row 2: noise is 1e\+300, too far"):
        fair.transform(new)


def test_values_unseen_in_fit_are_told_or_replaced() -> None:
    new = X.iloc[:3].assign(colour=["red", "violet", "green"])
    fair = FairRepresentation("leace").fit(X, s=S)
    with pytest.raises(InputError, match=r"row 2: colour is 'violet'.*(?s:.)*unknown=\"common\""):
        fair.transform(new)
    new.loc[2, "noise"] = np.nan
    with pytest.warns(UserWarning, match=r"noise: 1.*colour: 1|colour: 1.*noise: 1"):
        z = fair.set_params(unknown="common").transform(new)
    common, mean = X["colour"].mode()[0], X["noise"].mean()
    known = X.iloc[:3].assign(colour=["red", common, "green"])
    known.loc[2, "noise"] = mean
    np.testing.assert_allclose(z, fair.transform(known), atol=1e-6)
    numbers = X[["shifted", "noise"]].to_numpy()
    gaps = np.array([[np.nan, 0.0]])
    by_array = FairRepresentation("leace").fit(numbers, s=S)
    with pytest.raises(ValueError, match="NaN"):
        by_array.transform(gaps)
    with pytest.warns(UserWarning, match="x0: 1"):
        by_array.set_params(unknown="common").transform(gaps)


@pytest.mark.parametrize("unknown", ["refuse", "common"])
def test_what_replaces_values_is_told_only_where_it_helps(unknown: str) -> None:
    fair = FairRepresentation("leace", unknown=unknown).fit(X, s=S)
    with pytest.raises(InputError, match=r"row 3: .*'many', which is not a finite number") as error:
        fair.transform(X.assign(noise=[*X["noise"][:2], "many", *X["noise"][3:]]))
    assert error.value.hint.startswith("Correct it, or leave the row out")


def test_a_column_in_another_spelling_is_told_of_and_never_emptied_without_a_word() -> None:
    fair = FairRepresentation("leace").fit(X, s=S)
    capitals = X.assign(colour=X["colour"].str.upper())
    with pytest.raises(InputError, match="'GREEN' is spelled 'green'") as error:
        fair.transform(capitals)
    assert "common" not in error.value.hint
    with pytest.raises(InputError, match="Is the column coded in another way"):
        fair.transform(X.assign(colour="7"))
    fair.set_params(unknown="common")
    with pytest.warns(UserWarning, match=r"colour: all 300 values .* 'GREEN' is spelled 'green'"):
        fair.transform(capitals)


def test_numbers_with_a_decimal_comma_are_told_how_to_write() -> None:
    fair = FairRepresentation("leace").fit(X, s=S)
    with pytest.raises(InputError, match=r"a decimal comma, and .* write 3003\.78"):
        fair.transform(X.assign(noise="3003,78"))


def test_columns_that_fit_had_are_easily_selected() -> None:
    fair = FairRepresentation("leace").fit(X, s=S)
    for given in (X.assign(number=1), X[X.columns[::-1]]):
        with pytest.raises(InputError, match=r"X\[fair.feature_names_in_\]"):
            fair.transform(given)
        assert fair.transform(given[fair.feature_names_in_]).shape == (300, 3)
    with pytest.raises(InputError, match=r"now missing:\n- noise$"):
        fair.transform(X.drop(columns="noise"))


def test_values_of_columns_that_are_not_read_are_not_looked_at() -> None:
    fair = FairRepresentation("drop-features", params={"trees": 2}, dropped=2).fit(X, s=S)
    # The column that tells of s goes first.
    z = fair.transform(X.assign(shifted=np.nan))
    np.testing.assert_array_equal(z, fair.transform(X))


@pytest.mark.parametrize(
    ("method", "knob", "says"),
    [
        ("fnf", {"gamma": 5}, "gamma=5 of fnf is out of range: 0 to 1 (weight"),
        ("k-means", {"cells": 2.9}, "cells=2.9 of k-means is not a whole number (number of"),
        ("rlace", {"rank": 0}, "rank=0 of rlace is out of range: 1 or more"),
        ("fare-tree", {"gamma": 3}, "gamma=3 of fare-tree is out of range: 0 to 1 (weight"),
        ("l-mifr", {"epsilon": 0}, "epsilon=0 of l-mifr is out of range: 1e-06 or more (limit"),
        ("k-means", {"cells": 0}, "cells=0 of k-means is out of range: 1 or more (number"),
        ("latfr", {"gamma": np.inf}, "gamma=inf of latfr is out of range: 0 or more (weight"),
    ],
)
def test_a_multi_shot_method_is_trained_where_that_makes_sense(
    method: str, knob: dict[str, float], says: str
) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        FairRepresentation(method, **knob).fit(X, s=S)


def test_a_single_shot_method_is_read_at_any_setting() -> None:
    fair = small(beta=0.1).fit(X, s=S)
    at_other = fair.transform(X, beta=1.0)
    assert not np.array_equal(at_other, fair.transform(X))
    np.testing.assert_array_equal(fair.set_params(beta=1.0).transform(X), at_other)
    for bad in (-1, 7, np.nan):
        with pytest.raises(InputError, match=r"out of range: 0 to 1.25 \(weight of the rate"):
            fair.transform(X, beta=bad)
    for bad in ("much", "0.5", True):
        with pytest.raises(InputError, match=r"not a number \(weight of the rate"):
            fair.transform(X, beta=bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="None is not the name of a method"):
        FairRepresentation(None).fit(X, s=S)  # type: ignore[arg-type]
    undecided = small().fit(X, s=S)
    with pytest.raises(InputError, match=r"has the knob beta .* which is not set"):
        undecided.transform(X)
    np.testing.assert_array_equal(undecided.transform(X, beta=1.0), at_other)


def test_widths_that_depend_on_the_setting() -> None:
    fair = FairRepresentation("pca", dimensions=2).fit(X, s=S)
    assert fair.transform(X, dimensions=1).shape == (300, 1)
    with pytest.raises(InputError, match=r"read at dimensions=7(?s:.)*dimensions=2;"):
        fair.transform(X, dimensions=7)
    fair.set_output(transform="pandas")
    with pytest.raises(InputError, match=r"set_params\(...\).transform"):
        fair.transform(X, dimensions=1)
    assert list(fair.set_params(dimensions=1).transform(X).columns) == ["z0"]


def test_points_of_a_curve_are_named_by_their_labels() -> None:
    """A label is rounded: it names the number that it was made of."""
    undecided = FairRepresentation("merged-cells", budget="quick").fit(X, s=S)
    point = undecided.encoder_.fitted.points[3]
    price = float(point.label.partition("=")[2])
    assert price != point["price"]
    fair = FairRepresentation("merged-cells", budget="quick", price=price).fit(X, s=S)
    np.testing.assert_array_equal(fair.transform(X), undecided.transform(X, price=point["price"]))
    between = FairRepresentation("merged-cells", budget="quick", price=price * 1.001)
    with pytest.raises(InputError, match=rf"It is fitted, and can be read at .*{point.label}"):
        between.fit(X, s=S)
    np.testing.assert_array_equal(between.transform(X, price=price), fair.transform(X))


def test_a_multi_shot_method_has_to_be_fitted_again() -> None:
    fair = small("msfair", beta=0.1).fit(X, s=S)
    fair.transform(X, beta=0.1)
    with pytest.raises(InputError, match=r"was fitted at beta=0.1.(?s:.)*Fit again with beta=0.3"):
        fair.transform(X, beta=0.3)
    with pytest.raises(InputError, match="Fit again"):
        fair.set_params(beta=0.3).transform(X)
    fair.fit(X, s=S).transform(X)
    with pytest.raises(InputError, match="the knob lambda"):
        small("cvib", beta=0.01).fit(X, s=S)
    both = small("cvib", beta=0.01, lambda_=0.1).fit(X, s=S)
    assert both.get_params()["lambda"] == 0.1
    assert both.encoder_.unit.point.label == "beta=0.01,lambda=0.1"


@pytest.mark.parametrize(
    ("fair", "error", "message"),
    [
        (small(gama=1), InputError, "sofair has no knob 'gama'.(?s:.)*Its knobs: beta"),
        (small(latent=1), InputError, r"It is a hyperparameter: params={'latent': ...}"),
        (FairRepresentation("leace", beta=1), InputError, "Its knobs: none"),
        (small("msfair"), InputError, "has the knob beta"),
        (small("sofar"), UnknownNameError, "Did you mean 'sofair'"),
        (small(params={"laten": 3}), UnknownNameError, "parameter of sofair 'laten'"),
        (small(params={"latent": 0}), ConfigError, "Parameter latent of sofair"),
        (small(budget="huge"), InputError, "not 'full', 'quick' or a number"),
        (small(budget=0), InputError, "not 'full', 'quick' or a number"),
        (small(device="tpu"), InputError, "'auto' or 'cpu' or 'cuda'"),
        (small(unknown="ignore"), InputError, "'refuse' or 'common'"),
        (small(random_state=-1), InputError, "random_state=-1"),
    ],
)
def test_a_setting_that_cannot_be_is_told_at_fit(
    fair: FairRepresentation, error: type[FairbenchError], message: str
) -> None:
    with pytest.raises(error, match=message):
        fair.fit(X, s=S)


@pytest.mark.parametrize("method", ["leace", "conditional-quantile"])
def test_s_may_be_the_name_of_a_column(method: str, tmp_path: Path) -> None:
    params = {"bins": 4, "trees": 2} if method == "conditional-quantile" else None
    table = X.assign(side=S)
    by_name = FairRepresentation(method, params=params).fit(table, s="side")
    apart = FairRepresentation(method, params=params).fit(X, s=S)
    expected = apart.transform(X, s=S)
    assert list(by_name.feature_names_in_) == list(X.columns)
    np.testing.assert_array_equal(by_name.transform(table), expected)
    np.testing.assert_array_equal(by_name.transform(X, s=S), expected)
    np.testing.assert_array_equal(
        FairRepresentation(method, params=params).fit_transform(table, s="side"), expected
    )
    if method == "leace":
        np.testing.assert_array_equal(by_name.transform(X), expected)
        by_name.save(tmp_path / "fair.safetensors")
        back = FairRepresentation.load(tmp_path / "fair.safetensors")
        np.testing.assert_array_equal(back.transform(table), expected)
    with pytest.raises(InputError, match="X has no column 'sides'"):
        FairRepresentation(method, params=params).fit(table, s="sides")


def test_an_aware_method_knows_its_groups() -> None:
    fair = FairRepresentation("conditional-quantile", params={"bins": 4, "trees": 2})
    fair.fit(X, s=S)
    assert fair.transform(X.iloc[:4], s=["left"] * 4).shape == (4, 3)
    with pytest.raises(InputError, match=r"row 2: the group 'middle' .* has left, right"):
        fair.transform(X.iloc[:2], s=["left", "middle"])


def test_the_noise_of_a_stochastic_method_is_drawn_by_a_seed() -> None:
    fair = small("beta-vae", beta=0.5).fit(X, s=S)
    np.testing.assert_array_equal(fair.transform(X), fair.transform(X))
    np.testing.assert_array_equal(*(fair.transform(X, random_state=1) for _ in range(2)))
    assert not np.array_equal(fair.transform(X, random_state=1), fair.transform(X))
    fair.transform(X, random_state=np.random.default_rng(2))


class Unlucky(Method):
    name = "unlucky"
    summary = "diverges, or takes no such table"

    def supports(self, info: Any) -> str | None:
        return "it takes two features" if len(info.features) != 2 else None

    def fit(self, train: Any, units: Any, context: Any) -> Any:
        context.progress(0.5, "half of it")
        return [Diverged("loss nan at step 3") for _ in units]


@pytest.fixture
def unlucky(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FairRepresentation]:
    registry = Registry()
    registry.methods.add(Unlucky, "test")
    monkeypatch.setattr(estimator, "_registry", lambda: registry)
    return lambda **given: FairRepresentation("unlucky", **given)


def test_a_fit_that_fails_says_how(
    unlucky: Callable[..., FairRepresentation], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError, match="unlucky cannot be fitted on this X: it takes two"):
        unlucky().fit(X, s=S)
    two = X[["shifted", "noise"]]
    with pytest.raises(FitError, match="unlucky diverged: loss nan at step 3"):
        unlucky().fit(two, s=S)
    assert capsys.readouterr().out == ""
    with pytest.raises(FitError):
        unlucky(verbose=1).fit(two, s=S)
    assert capsys.readouterr().out == "unlucky: 50% half of it\n"


def test_nothing_is_written_and_threads_stay_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.chdir(tmp_path)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        small(beta=0.1).fit_transform(X, s=S)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("wrong", "said"), [(0, "tells s exactly"), (1, "is almost a copy of s")])
def test_a_copy_of_s_within_x_is_warned_of(wrong: int, said: str) -> None:
    other = S[np.argmax(S[0] != S)]
    gender = np.where(np.arange(len(S)) < wrong, other, S)
    with pytest.warns(UserWarning, match=f"column 'gender' of X {said}"):
        FairRepresentation("leace").fit(X.assign(gender=gender), s=S)


@pytest.mark.parametrize("ids", [[f"p{i}" for i in range(300)], range(300)])
def test_a_column_that_may_be_an_id_is_warned_of(ids: Any) -> None:
    with pytest.warns(UserWarning, match="column 'id' of X has a different value in every row"):
        FairRepresentation("leace").fit(X.assign(id=ids), s=S)


@pytest.mark.parametrize("method", ["leace", "merged-cells", "sofair"])
def test_no_rows_are_released_as_no_rows(method: str) -> None:
    given = {"params": SMALL, "budget": 20, "beta": 0.1} if method == "sofair" else {}
    fair = FairRepresentation(method, **given).fit(X, s=S)
    if method == "merged-cells":
        fair.set_params(**dict(fair.encoder_.fitted.points[0].values))
    assert fair.transform(X[:0]).shape == (0, fair.transform(X[:5]).shape[1])
    frame = fair.set_output(transform="pandas").transform(X[:0])
    assert list(frame.columns) == list(fair.get_feature_names_out())


def test_the_package_offers_it_and_loads_it_late() -> None:
    assert fairbench.FairRepresentation is FairRepresentation


@pytest.mark.slow
def test_a_higher_beta_leaves_less_of_s_to_be_found() -> None:
    table = AdultsGender().simulate()
    rows = np.random.default_rng(0).permutation(len(table.s))[:8000]
    x, s, train = table.x.iloc[rows], table.s[rows], np.arange(8000) < 4000
    fair = FairRepresentation("sofair", budget=500, unknown="common").fit(x[train], s=s[train])
    found = []
    for beta in (0.0, 0.9, 1.25):
        z = fair.transform(x, beta=beta)
        auditor = LogisticRegression(max_iter=2000).fit(z[train], s[train])
        found.append(roc_auc_score(s[~train], auditor.predict_proba(z[~train])[:, 1]))
    assert found[0] > found[1] + 0.03
    assert found[1] > found[2] + 0.03
    assert found[2] < 0.6


@pytest.mark.slow
def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "sklearn.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.S):
        exec(compile(block, "docs/sklearn.md", "exec"), scope)
    assert scope["chosen"] is not None


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ([f"{i},5" for i in range(300)], "holds numbers as text"),
        ([f"2026-01-{i % 28 + 1:02}" for i in range(300)], "holds dates as text"),
    ],
)
def test_text_that_is_no_category_is_warned_of(written: list[str], says: str) -> None:
    with pytest.warns(UserWarning, match=says) as warned:
        FairRepresentation("leace").fit(X.assign(pay=written), s=S)
    assert {warning.filename for warning in warned} == {__file__}, "the line that calls fit"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FairRepresentation("leace").fit(X.assign(pay=pd.Categorical(["1", "2", "3"] * 100)), s=S)
