"""Accuracy on unseen tasks, relative to x, by hand."""

import pytest

from fairbench.api.metric import CurveEvaluation
from fairbench.metrics.transfer import TransferAtLeakage, relative_transfer, transfer_figures

REFERENCE = {
    "mutual_information_max": 1.0,
    "mutual_information_max_validation": 1.0,
    "transfer_accuracy_boat": 0.9,
    "transfer_constant_boat": 0.5,
    "transfer_validation_boat": 0.8,
    "transfer_constant_validation_boat": 0.6,
    "transfer_accuracy_dog": 0.7,
    "transfer_constant_dog": 0.6,
    "transfer_validation_dog": 0.7,
    "transfer_constant_validation_dog": 0.6,
    # x tells nothing of it
    "transfer_accuracy_moon": 0.905,
    "transfer_constant_moon": 0.9,
    "transfer_validation_moon": 0.95,
    "transfer_constant_validation_moon": 0.9,
}


def point(i: float, test: tuple[float, float], validation: tuple[float, float]) -> dict[str, float]:
    return {
        "mutual_information": i,
        "mutual_information_validation": i,
        "transfer_accuracy_boat": test[0],
        "transfer_accuracy_dog": test[1],
        "transfer_accuracy_moon": 0.2,
        "transfer_validation_boat": validation[0],
        "transfer_validation_dog": validation[1],
        "transfer_validation_moon": 0.2,
    }


def test_a_constant_guess_is_0_and_x_is_1() -> None:
    assert relative_transfer(point(0, (0.5, 0.7), (0, 0)), REFERENCE) == pytest.approx([0, 1])


def test_a_task_of_which_x_tells_nothing_is_left_out_of_mean_and_worst() -> None:
    found = transfer_figures(point(0, (0.7, 0.7), (0.7, 0.6)), REFERENCE)
    assert found == pytest.approx(
        {"transfer_mean": 0.75, "transfer_worst": 0.5, "transfer_mean_validation": 0.25}
    )


def test_points_are_chosen_on_validation_and_within_the_limit() -> None:
    points = [
        point(0.05, (0.5, 0.6), (0.8, 0.7)),  # best on validation, worthless on test
        point(0.09, (0.9, 0.7), (0.7, 0.6)),
        point(0.2, (0.9, 0.7), (0.9, 0.8)),  # leaks a fifth
    ]
    found = TransferAtLeakage().compute(CurveEvaluation(points, REFERENCE))
    assert found["transfer_at_leakage_10"] == pytest.approx(0)
    assert found["transfer_at_leakage_25"] == pytest.approx(1)
    assert found["transfer_worst_at_leakage_25"] == pytest.approx(1)


def test_no_point_within_the_limit_is_as_good_as_a_constant() -> None:
    found = TransferAtLeakage().compute(
        CurveEvaluation([point(0.5, (0.9, 0.7), (0.8, 0.7))], REFERENCE)
    )
    assert set(found.values()) == {0.0}


def test_without_unseen_tasks_there_is_nothing() -> None:
    plain = {name: value for name, value in REFERENCE.items() if "transfer" not in name}
    curve = CurveEvaluation([{"mutual_information_validation": 0.0}], plain)
    assert set(TransferAtLeakage().compute(curve).values()) == {None}
    assert transfer_figures({}, plain) == {}
