"""Which points of a submission are trained again: those that make its rank are never spared."""

from collections import defaultdict
from dataclasses import replace
from itertools import cycle

import pytest

from fairbench.leaderboard.board import Board
from fairbench.runs.verification import SubmittedRow
from fairbench.store.records import PointRecord, Record, UnitRecord
from fairbench.store.submission import Submission
from tests.support.submissions import changed, changed_point, submitted


def points_of(submission: Submission) -> list[PointRecord]:
    return [one for one in submission.records if isinstance(one, PointRecord)]


def keys_of(points: list[PointRecord]) -> list[str]:
    return [point.key for point in points]


def forged_in_every_split(
    submission: Submission, count: int, figures: dict[str, float]
) -> tuple[Submission, set[str]]:
    """Give some points of every curve the same figures; return their keys too."""
    split = {one.key: one.split for one in submission.records if isinstance(one, UnitRecord)}
    curves: dict[str, list[PointRecord]] = defaultdict(list)
    for point in points_of(submission):
        curves[split[point.unit]].append(point)
    forged = {
        point.key
        for own in curves.values()
        for point in sorted(own, key=lambda one: one.figures["distortion"])[:count]
    }
    made = figures | {f"{name}_validation": value for name, value in figures.items()}

    def forge(record: Record) -> Record:
        if not isinstance(record, PointRecord) or record.key not in forged:
            return record
        return record.replace(values={**record.figures, **made})

    return changed(submission, forge), forged


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(
    "figures",
    [
        {"mutual_information": 0.02, "distortion": 0.9},
        {"mutual_information": 0.08, "distortion": 1.0},
    ],
    ids=["too good to be true", "a little too good"],
)
def test_points_of_the_same_forged_figures_are_drawn_as_a_single_one_is(
    folded: Board, count: int, figures: dict[str, float]
) -> None:
    """Without one of the two the area is the same, yet they make it."""
    sent, forged = forged_in_every_split(submitted(folded, "drop-features"), count, figures)
    row = SubmittedRow(sent, folded)
    for seed in range(5):
        assert row.draw(3, seed)[0].key in forged


@pytest.mark.thorough
def test_the_second_point_is_any_of_those_that_areas_are_made_of(folded: Board) -> None:
    """So nobody can tell which one it will be: in every split two of four are on the hull."""
    places = cycle([(0.05, 2.0), (0.01, 5.0), (0.3, 5.5), (0.31, 6.0)])
    on_hull: set[str] = set()

    def put(record: Record) -> Record:
        if not isinstance(record, PointRecord):
            return record
        i, d = next(places)
        if i < 0.1:
            on_hull.add(record.key)
        made = {"mutual_information": i, "distortion": d}
        made |= {f"{name}_validation": value for name, value in made.items()}
        return record.replace(values={**record.figures, **made})

    row = SubmittedRow(changed(submitted(folded), put), folded)
    second = {row.draw(2, seed)[1].key for seed in range(40)}
    assert second <= on_hull
    assert len(second) > 6


def test_points_are_drawn_of_as_many_splits_as_there_are(folded: Board) -> None:
    row = SubmittedRow(submitted(folded), folded)
    for seed in (None, *range(10)):
        splits = [row.units[point.unit].split for point in row.draw(6, seed)]
        assert len(set(splits)) == 6
    everything = row.draw(99, 0)
    assert sorted(keys_of(everything)) == sorted(keys_of(row.points))


def test_a_draw_is_that_of_its_seed_whatever_the_order_in_the_file(folded: Board) -> None:
    whole = submitted(folded)
    row = SubmittedRow(whole, folded)
    turned = SubmittedRow(replace(whole, records=whole.records[::-1]), folded)
    draws = [keys_of(row.draw(3, seed)) for seed in range(10)]
    assert draws == [keys_of(turned.draw(3, seed)) for seed in range(10)]
    assert len({tuple(draw) for draw in draws}) > 5


def test_the_point_that_makes_an_area_is_drawn_first(folded: Board) -> None:
    whole = submitted(folded)
    forged = points_of(whole)[5]
    made = {"mutual_information": 0.001, "distortion": 0.01}
    values = {**forged.figures, **made, **{f"{name}_validation": v for name, v in made.items()}}
    row = SubmittedRow(changed_point(whole, forged.key, values=values), folded)
    for seed in range(5):
        first, *others = row.draw(3, seed)
        assert first.key == forged.key
        assert len({row.units[point.unit].split for point in (first, *others)}) == 3
    every = {point.key for seed in range(60) for point in row.draw(3, seed)}
    assert len(every) > 10  # others by chance
