"""Whole runs against an earlier commit, of figures that are known."""

import json
from pathlib import Path

import pytest

import earlier_commit


def spent(wall: float, training: float, audits: float, points: int) -> dict[str, float]:
    return {"wall": wall, "training": training, "audits": audits, "points": points, "memory": 1.0}


def test_ratios_are_of_sums_and_audits_of_a_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = {
        "baselines": [spent(100, 0.5, 40, 20), spent(50, 0.4, 20, 20)],
        "sofair": [spent(1000, 400, 40, 10), spent(1000, 200, 80, 20)],
    }
    path = tmp_path / "measured.json"
    path.write_text(json.dumps(measured))
    monkeypatch.setattr(earlier_commit, "MEASURED", path)
    baselines, sofair, sums = earlier_commit.format_against_commit().splitlines()[2:]
    assert baselines == "| the baselines | 20 | 100 s, 50 s | .50 | - | .50 |"
    assert sofair == "| `sofair` | 20 | 1,000 s, 1,000 s | 1.00 | .50 | 1.00 |"
    assert sums.startswith("| all of these | 40 | 1,100 s, 1,050 s | .95 | .50 |")
