"""What a prediction says of s, by hand; and columns that a point cannot give."""

import numpy as np
import pytest

from fairbench.api import Access, SampleSize
from fairbench.api.metric import PointEvaluation, Prediction
from fairbench.metrics.access import AddedInformation, InformationByAccess, NumberOfRows

LN2 = np.log(2)


def point(
    s: np.ndarray, predicted: np.ndarray | None = None, draws: int = 1, **more: object
) -> PointEvaluation:
    downstream = {}
    if predicted is not None:
        p = np.eye(2, dtype=np.float32)[predicted]
        downstream = {"task": Prediction(p, predicted), "other": Prediction(p[::-1], predicted)}
    empty = np.zeros((len(s), 1), np.float32)
    audit = Prediction(empty, s)
    plain = (downstream, {}, {}, None, None, draws)
    return PointEvaluation(empty, s, {}, empty, (), audit, (), *plain, **more)


def said(evaluation: PointEvaluation) -> float | None:
    return AddedInformation().compute(evaluation)["mutual_information_prediction"]


@pytest.mark.parametrize("draws", [1, 3])
def test_information_of_a_prediction_by_hand(draws: int) -> None:
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, 20_000)
    tiled = np.tile(s, draws)
    wrong = rng.random(len(tiled)) < 0.2
    h = -(0.2 * np.log(0.2) + 0.8 * np.log(0.8))
    assert said(point(tiled, tiled ^ wrong, draws)) == pytest.approx(LN2 - h, abs=0.006)
    assert said(point(tiled, tiled, draws)) == pytest.approx(LN2, abs=0.001)


def test_its_bias_is_corrected() -> None:
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 2, (400, 2, 60))
    found = [said(point(s, predicted)) for s, predicted in pairs]
    # Without the correction the mean would be 1 / 120.
    assert abs(np.mean([value for value in found if value is not None])) < 0.0025


def test_what_cannot_be_given_is_none() -> None:
    evaluation = point(np.zeros(4, np.int64))
    for metric in (AddedInformation, InformationByAccess, NumberOfRows):
        assert metric().compute(evaluation) == dict.fromkeys(metric.columns)


def test_figures_by_access_and_rows() -> None:
    size = SampleSize(0.2, 0.1, 0.3, needs_more_rows=True)
    evaluation = point(
        np.zeros(4, np.int64), by_access={Access.RELEASE: 0.1}, sample_size=size, with_y=0.4
    )
    assert InformationByAccess().compute(evaluation)["mutual_information_release"] == 0.1
    assert list(NumberOfRows().compute(evaluation).values()) == [0.2, 0.1, 0.3, 1.0]
    assert AddedInformation().compute(evaluation)["mutual_information_with_y"] == 0.4
