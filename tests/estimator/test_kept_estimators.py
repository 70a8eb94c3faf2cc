"""An estimator that is kept, as a file or by pickle, encodes as it did."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from fairbench import FairRepresentation
from fairbench.api import FitContext, Role, TrainingRows, Unit
from fairbench.data.prepared import Prepared
from fairbench.errors import InputError, StoreError
from fairbench.registry import load_registry
from fairbench.store import encoders
from fairbench.store.encoders import Encoder
from tests.support.estimators import SMALL, S, X, small
from tests.support.small_table import make_table


@pytest.mark.parametrize("how", ["file", "pickle"])
@pytest.mark.parametrize("name", ["sofair", "msfair", "beta-vae"])
def test_what_is_kept_encodes_as_it_did(name: str, how: str, tmp_path: Path) -> None:
    fair = small(name, beta=0.1, random_state=3).fit(X, s=S)
    if how == "file":
        fair.save(tmp_path / "encoder.safetensors")
        back = FairRepresentation.load(tmp_path / "encoder.safetensors")
        assert [path.name for path in tmp_path.iterdir()] == ["encoder.safetensors"]
    else:
        back = pickle.loads(pickle.dumps(fair))
    np.testing.assert_array_equal(back.transform(X), fair.transform(X))
    assert list(back.groups_) == ["left", "right"]
    assert list(back.feature_names_in_) == list(X.columns)
    assert clone(back).get_params() | {"params": None} == fair.get_params() | {"params": None}
    np.testing.assert_array_equal(clone(back).fit_transform(X, s=S), fair.transform(X))


def test_arrays_stay_arrays_through_a_file(tmp_path: Path) -> None:
    numbers = X[["shifted", "noise"]].to_numpy()
    FairRepresentation("leace").fit(numbers, s=S).save(tmp_path / "leace")
    back = FairRepresentation.load(str(tmp_path / "leace"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert back.transform(numbers).shape == (300, 2)
    assert not hasattr(back, "feature_names_in_")


def test_a_method_that_cannot_be_kept_says_so(tmp_path: Path) -> None:
    fair = FairRepresentation("conditional-quantile", params={"bins": 4, "trees": 2}).fit(X, s=S)
    with pytest.raises(StoreError, match="no form that could be stored"):
        fair.save(tmp_path / "file")
    again = pickle.loads(pickle.dumps(fair))
    np.testing.assert_array_equal(again.transform(X, s=S), fair.transform(X, s=S))
    with pytest.raises(StoreError, match="no file"):
        FairRepresentation.load(tmp_path / "file")


@pytest.mark.parametrize("ending", ["pkl", "pickle", "JOBLIB"])
def test_a_file_of_safetensors_has_not_the_name_of_a_pickle(tmp_path: Path, ending: str) -> None:
    fair = FairRepresentation("leace").fit(X, s=S)
    with pytest.raises(InputError, match=r"is no pickle.\nEnd its name in .*enc.safetensors"):
        fair.save(tmp_path / f"enc.{ending}")
    assert not list(tmp_path.iterdir())


def test_an_encoder_that_a_run_kept_is_a_transformer(prepared: Prepared, tmp_path: Path) -> None:
    cls: Any = load_registry().methods["msfair"]
    method = cls(cls.Params(**SMALL))
    rows = prepared.roles[Role.ENCODER_TRAIN]
    unit = Unit(2, method.points()[3])
    train = TrainingRows(rows.x, rows.s, prepared.info)
    (fitted,) = method.fit(train, [unit], FitContext(iterations=5))
    kept = Encoder(method, unit, prepared.info, fitted, prepared.preprocessing, {"iterations": 5})
    encoders.write(tmp_path / "kept", kept)
    fair = FairRepresentation.load(tmp_path / "kept")
    assert fair.get_params()["beta"] == unit.point["beta"]
    assert fair.get_params()["budget"] == 5
    assert fair.get_params()["params"] == {
        name: list(v) if isinstance(v, tuple) else v for name, v in SMALL.items()
    }
    assert fair.transform(make_table().x[fair.feature_names_in_]).shape == (2000, 3)


def test_knobs_that_a_grid_of_numpy_chose_are_kept(tmp_path: Path) -> None:
    fair = FairRepresentation("drop-features", dropped=np.int64(1)).fit(X, s=S)
    fair.save(tmp_path / "encoder")
    back = FairRepresentation.load(tmp_path / "encoder")
    np.testing.assert_array_equal(back.transform(X), fair.transform(X))
