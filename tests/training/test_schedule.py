"""The learning rate along a training, and what a new hyperparameter leaves valid."""

import pytest

from fairbench.training.schedule import Schedule
from fairbench_plugins.sofair import Sofair


@pytest.mark.parametrize(("done", "share"), [(0.0, 1.0), (1 / 3, 0.75), (0.5, 0.5), (1.0, 0.0)])
def test_the_rate_falls_along_half_a_cosine(done: float, share: float) -> None:
    assert Schedule(10).factor(done) == pytest.approx(share)


@pytest.mark.parametrize("done", [0.0, 0.3, 1.0])
def test_a_constant_rate_stays(done: float) -> None:
    assert Schedule(10, decay=False).factor(done) == 1.0


def test_a_hyperparameter_added_later_tells_results_apart_only_where_it_is_changed() -> None:
    default = Sofair.Params()
    assert "schedule" not in default.identity()
    changed = Sofair.Params.model_validate({"schedule": "constant"})
    assert changed.identity() == {**default.identity(), "schedule": "constant"}
