"""Accuracies by hand, the Pareto front, and cost by number of points."""

import numpy as np
import pytest

from fairbench.api.metric import CurveEvaluation, Prediction
from fairbench.metrics.cost import Cost
from fairbench.metrics.pareto import Pareto, on_front
from fairbench.stats.scores import accuracy, auc, balanced_accuracy


def prediction(scores: list[float], labels: list[int]) -> Prediction:
    p = np.array(scores, np.float32)
    return Prediction(np.stack([1 - p, p], axis=1), np.array(labels))


def test_accuracies_by_hand() -> None:
    found = prediction([0.9, 0.4, 0.2, 0.1], [1, 1, 0, 0])
    assert accuracy(found) == 0.75
    assert balanced_accuracy(found) == 0.75
    assert auc(found) == 1.0
    lazy = prediction([0.1] * 4, [1, 0, 0, 0])
    assert accuracy(lazy) == 0.75
    assert balanced_accuracy(lazy) == 0.5
    assert auc(lazy) == 0.5


def test_auc_of_many_classes_is_one_versus_rest() -> None:
    labels = np.array([0, 1, 2, 0, 1, 2])
    perfect = Prediction(np.eye(3, dtype=np.float32)[labels], labels)
    assert auc(perfect) == 1.0


def test_the_front_by_hand() -> None:
    a_s = np.array([0.5, 0.6, 0.7, 0.6])
    a_y = np.array([0.7, 0.8, 0.75, 0.8])
    assert on_front(a_s, a_y).tolist() == [True, True, False, True]


def test_hypervolume_by_hand() -> None:
    points = [{"accuracy_s": 0.5, "accuracy_y": 0.6}, {"accuracy_s": 0.75, "accuracy_y": 0.8}]
    found = Pareto().compute(CurveEvaluation(points, {}))
    assert found["front_points"] == 2
    assert found["front_hypervolume"] == pytest.approx(0.5 * 0.6 + 0.25 * 0.2)


def test_single_shot_costs_the_same_for_any_number_of_points() -> None:
    single = CurveEvaluation([], {}, costs=[{"train_seconds": 10.0}], single_shot=True)
    found = Cost().compute(single)
    assert [found[f"train_seconds_{n}"] for n in (4, 8, 16)] == [10.0] * 3
    multi = CurveEvaluation([], {}, costs=[{"train_seconds": 2.0}, {"train_seconds": 4.0}])
    found = Cost().compute(multi)
    assert [found[f"train_seconds_{n}"] for n in (4, 8, 16)] == [12.0, 24.0, 48.0]
    assert found["train_seconds"] == 6.0
    assert found["energy_joules"] is None


def test_without_costs_no_cost_is_claimed() -> None:
    """A row of mixed devices has none: cpu and cuda are never summed."""
    assert set(Cost().compute(CurveEvaluation([], {})).values()) == {None}
