"""What is found of a submission's figures beside those that are measured again."""

import math

import pytest

from fairbench.runs.verified_figures import RetrainedFigure, mean_advantages
from tests.support.exports import a_point, a_unit


def compared(gaps: list[float], figure: str = "mutual_information") -> list[RetrainedFigure]:
    """Points whose figure was submitted so much lower than it is measured now."""
    return [
        RetrainedFigure(
            a_unit(f"u{k}"), a_point(f"p{k}", f"u{k}"), figure, 0.1, 0.1 + gap, allowed=0.02
        )
        for k, gap in enumerate(gaps)
    ]


def test_points_that_are_all_a_little_too_good_are_noticed() -> None:
    moved = compared([0.019, 0.019, 0.019])
    assert all(one.agrees for one in moved)
    (mean,) = mean_advantages(moved)
    assert mean.advantage == pytest.approx(0.019)
    assert mean.allowed == pytest.approx(0.02 / math.sqrt(3))
    assert not mean.agrees


def test_errors_of_either_sign_and_disadvantages_agree() -> None:
    for gaps in ([0.019, -0.019, 0.012], [-0.019, -0.019, -0.019]):
        assert all(one.agrees for one in mean_advantages(compared(gaps)))


def test_one_point_has_no_mean_and_accuracies_have_none() -> None:
    assert mean_advantages(compared([0.019])) == []
    assert mean_advantages(compared([0.019, 0.019], "accuracy_y")) == []
