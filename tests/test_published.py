"""Published leaderboards say what their points say: each is worked out again from them.

The files hold six digits.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import fairbench
from fairbench.metrics.aufdc import strict_area

FOLDER = Path(__file__).parent.parent / "leaderboards"
BOARDS = sorted(
    path.with_name(path.name.replace("-points", "")) for path in FOLDER.glob("*-points.csv")
)
ROW = ["method", "params", "track", "budget", "audit"]


def area(points: pd.DataFrame) -> float:
    """AUFDC of one seed's points."""
    first = points.iloc[0]
    return strict_area(
        list(zip(points["d"], points["i"], strict=True)),
        list(zip(points["d_selection"], points["i_selection"], strict=True)),
        i_max=first["i_max"],
        d_max=first["d_max"],
        i_max_selection=first["i_max_selection"],
        d_max_selection=first["d_max_selection"],
    )


def test_every_table_of_points_has_its_leaderboard() -> None:
    assert BOARDS
    assert all(path.exists() for path in BOARDS)


@pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.stem)
def test_a_published_leaderboard_is_what_its_points_give(path: Path) -> None:
    board = fairbench.load_leaderboard(path).set_index(ROW)
    points = fairbench.load_leaderboard(path.with_name(f"{path.stem}-points.csv"))
    done = points[points["status"] == "DONE"]
    counted = done.groupby(ROW).size()
    assert board["points"][board["points"] > 0].to_dict() == counted.to_dict()
    seeds = done.groupby(ROW)["seed"].nunique()
    assert board["seeds"][board["seeds"] > 0].to_dict() == seeds.to_dict()
    by_seed = done.groupby([*ROW, "seed"])[done.columns].apply(area)
    means = by_seed.groupby(ROW).mean()
    told = board["aufdc"].dropna()
    assert len(told)
    pd.testing.assert_series_equal(
        told.astype(float).sort_index(),
        means[told.index].astype(float).sort_index(),
        check_names=False,
        rtol=1e-5,
    )
    for name in ("i_max", "d_max"):
        mean = done.groupby([*ROW, "seed"])[name].first().groupby(ROW).mean()
        for row, value in board[name].dropna().items():
            assert value == pytest.approx(mean[row], rel=1e-5)
