"""Benchmarks of one script each: what they compute, and names that they do not have."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("psutil")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
try:
    import executors
    import faults
    import further_channels
    import image_networks
finally:
    sys.path.pop(0)


def test_a_job_costs_what_its_worker_spends_on_it() -> None:
    """Of 20 jobs on 2 workers each worker does 10: .1 s more of all are .01 s more of each."""
    assert executors.more_per_job(2.1, 2.0, jobs=20, workers=2) == pytest.approx(0.01)


def test_a_step_on_images_is_timed_without_the_start() -> None:
    class Made(image_networks.Training):
        def __init__(self) -> None:
            pass

        def fit(self, steps: int) -> tuple[Any, float]:
            return None, 3 + 0.02 * steps

    assert Made().step_seconds() == pytest.approx(0.02)


def test_a_bit_is_read_where_the_estimate_is_near_it_on_either_side() -> None:
    truth = pd.Series([0.1, 0.1, 0.1, 0.1, 0.5, 0.5])
    read = pd.Series([0.081, 0.119, 0.079, 0.121, 0.539, 0.541])
    assert list(further_channels.near(read, truth)) == [True, True, False, False, True, False]


@pytest.mark.parametrize(
    ("script", "word", "says"),
    [
        (faults, "kill", "no experiment kill; there are kills, two-runs"),
        (further_channels, "luhn_vali", "no channel luhn_vali. Did you mean 'luhn_valid'"),
    ],
)
def test_an_unknown_name_is_told(
    script: Any,
    word: str,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["script.py", word])
    with pytest.raises(SystemExit, match="2"):
        script.main()
    assert says in capsys.readouterr().err
