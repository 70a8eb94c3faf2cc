"""Accuracies by hand, the Pareto front, and cost by number of points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbench.api.metric import CurveEvaluation, Prediction
from fairbench.metrics.cost import Cost
from fairbench.metrics.pareto import Pareto, choose_front, on_front
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


def tasked(a_s: float, a_y: float, on_validation: tuple[float, float]) -> dict[str, float]:
    """A point by its accuracies on the test and on the validation set."""
    names = ("accuracy_s_validation", "accuracy_y_validation")
    return {"accuracy_s": a_s, "accuracy_y": a_y, **dict(zip(names, on_validation, strict=True))}


GUESS = {"accuracy_y_constant": 0.5}


def test_hypervolume_by_hand() -> None:
    points = [tasked(0.5, 0.6, (0.5, 0.6)), tasked(0.75, 0.8, (0.75, 0.8))]
    found = Pareto().compute(CurveEvaluation(points, GUESS))
    assert found["front_points"] == 2
    assert found["front_hypervolume"] == pytest.approx(0.5 * 0.1 + 0.25 * 0.2)


def test_a_constant_representation_has_no_hypervolume_and_x_has_what_it_gains() -> None:
    constant, identity = tasked(0.7, 0.5, (0.7, 0.5)), tasked(0.9, 0.85, (0.9, 0.85))
    assert Pareto().compute(CurveEvaluation([constant], GUESS))["front_hypervolume"] == 0
    of_x = Pareto().compute(CurveEvaluation([identity], GUESS))["front_hypervolume"]
    assert of_x == pytest.approx(0.1 * 0.35)
    both = Pareto().compute(CurveEvaluation([constant, identity], GUESS))["front_hypervolume"]
    assert both == pytest.approx(of_x)


def test_luck_on_test_puts_no_point_on_the_front() -> None:
    lucky = tasked(0.5, 0.9, (0.8, 0.55))
    fair = tasked(0.6, 0.6, (0.6, 0.6))
    found = Pareto().compute(CurveEvaluation([lucky, fair], GUESS))
    assert found["front_points"] == 1
    assert found["front_hypervolume"] == pytest.approx(0.4 * 0.1)


accuracies = st.tuples(st.floats(0, 1), st.floats(0, 1))


@given(st.lists(st.tuples(accuracies, accuracies, accuracies), min_size=1, max_size=8))
def test_test_figures_never_choose_the_front(
    drawn: list[tuple[tuple[float, float], tuple[float, float], tuple[float, float]]],
) -> None:
    one = [tasked(*test, validation) for validation, test, _ in drawn]
    other = [tasked(*test, validation) for validation, _, test in drawn]
    assert choose_front(one).tolist() == choose_front(other).tolist()


def test_without_a_task_or_in_old_records_there_is_no_front() -> None:
    old = {"accuracy_s": 0.5, "accuracy_y": 0.6}
    found = Pareto().compute(CurveEvaluation([old], GUESS))
    assert set(found.values()) == {None}


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
