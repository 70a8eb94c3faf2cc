"""Points that a larger table would read more at are counted where their extrapolation is large."""

from types import SimpleNamespace
from typing import cast

from fairbench.metrics.rows import PointRow
from more_rows import describe_more_rows


def a_point(
    read: float, extrapolated: float | None, *, flag: float | None = 0.0, dataset: str = "d"
) -> PointRow:
    figures = {
        "mutual_information": read,
        "mutual_information_extrapolated": extrapolated,
        "needs_more_rows": flag,
    }
    return cast(PointRow, SimpleNamespace(method="m", dataset=dataset, figures=figures))


def test_a_large_difference_is_of_nats_and_of_a_share() -> None:
    points = [
        a_point(0.01, 0.019),  # .009 nats
        a_point(0.5, 0.54),  # .04 nats, but less than a tenth
        a_point(0.01, 0.025, dataset="a"),
        a_point(0.1, 0.15, dataset="b"),
        a_point(0.2, 0.24, dataset="b"),
        a_point(0.1, None, flag=None),  # between the three points of a curve
        cast(PointRow, SimpleNamespace(figures={})),  # a model that failed
    ]
    text = " ".join(describe_more_rows(points).split())
    assert "is measured at 5 points, at most three of a curve, and is 1 at none." in text
    assert "at 3 of the 5 points the extrapolation is above" in text
    assert ": 2 on `b`, 1 on `a`. The largest difference is of `m` on `b`: .100 is read," in text


def test_without_large_differences_the_flags_are_counted_alone() -> None:
    text = " ".join(describe_more_rows([a_point(0.1, 0.1, flag=1.0)]).split())
    assert "is measured at 1 point, at most three of a curve, and is 1 at 1." in text
    assert "extrapolation" not in text
