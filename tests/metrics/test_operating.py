"""Curves read at round settings, and A_y at a limit of I, by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbench.api.metric import CurveEvaluation
from fairbench.metrics.aufdc import Aufdc, strict_area
from fairbench.metrics.limits import PARTLY, mark_of, share_within_limit
from fairbench.metrics.operating import AccuracyAtAuditorLimit, AccuracyAtLeakage, TradeOff

REFERENCE = {
    "mutual_information_max": 1.0,
    "mutual_information_max_validation": 1.0,
    "distortion_max": 8.0,
    "distortion_max_validation": 8.0,
}
REFERENCE |= {"accuracy_y_constant": 0.6}


def point(d: float, i: float, **more: float) -> dict[str, float]:
    return {
        "distortion": d,
        "mutual_information": i,
        "distortion_validation": d,
        "mutual_information_validation": i,
    } | more


def test_a_curve_is_read_on_its_chords() -> None:
    # From (0, 1) to (4, .2) to (8, 0).
    found = TradeOff().compute(CurveEvaluation([point(4.0, 0.2)], REFERENCE))
    assert found["mutual_information_at_distortion_25"] == pytest.approx(0.6)
    assert found["mutual_information_at_distortion_50"] == pytest.approx(0.2)
    assert found["distortion_at_leakage_50"] == pytest.approx(4 * 0.5 / 0.8)
    assert found["distortion_at_leakage_25"] == pytest.approx(4 * 0.75 / 0.8)


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([], (0.75, 0.5, 6.0, 4.0)),  # the trivial line
        ([point(0.0, 0.0)], (0.0, 0.0, 0.0, 0.0)),  # all of x and nothing of s
        ([point(2.0, 0.0)], (0.0, 0.0, 1.5, 1.0)),
        ([point(2.0, 0.75)], (0.75, 0.5, 6.0, 4.0)),
    ],
)
def test_ends_and_extremes(points: list[dict[str, float]], expected: tuple[float, ...]) -> None:
    found = TradeOff().compute(CurveEvaluation(points, REFERENCE))
    names = (
        "mutual_information_at_distortion_25",
        "mutual_information_at_distortion_50",
        "distortion_at_leakage_25",
        "distortion_at_leakage_50",
    )
    assert tuple(found[name] for name in names) == pytest.approx(expected)


def test_vertices_are_chosen_on_validation() -> None:
    lucky = {
        "distortion": 4.0,
        "mutual_information": 0.0,
        "distortion_validation": 4.0,
        "mutual_information_validation": 0.9,
    }
    found = TradeOff().compute(CurveEvaluation([lucky], REFERENCE))
    assert found["mutual_information_at_distortion_50"] == pytest.approx(0.5)


def test_where_x_tells_nothing_there_is_no_curve() -> None:
    found = TradeOff().compute(
        CurveEvaluation([point(1.0, 0.1)], REFERENCE | {"mutual_information_max": -0.01})
    )
    assert set(found.values()) == {None}


def limited(*points: dict[str, float]) -> tuple[float | None, float | None]:
    found = AccuracyAtLeakage().compute(CurveEvaluation(points, REFERENCE))
    return found["accuracy_y_at_leakage_10"], found["accuracy_y_at_leakage_25"]


def test_accuracy_at_a_limit_of_leakage() -> None:
    keeps_more = point(1.0, 0.2, accuracy_y=0.8, mutual_information_y_validation=0.3)
    keeps_less = point(2.0, 0.09, accuracy_y=0.7, mutual_information_y_validation=0.1)
    assert limited(keeps_more, keeps_less) == (0.7, 0.8)
    assert limited(keeps_more) == (0.6, 0.8)  # nothing may be released at a tenth
    assert limited(point(1.0, 0.5, accuracy_y=0.9, mutual_information_y_validation=0.4)) == (
        0.6,
        0.6,
    )


def test_the_point_is_chosen_on_validation_and_never_by_its_accuracy_on_test() -> None:
    useful = point(1.0, 0.05, accuracy_y=0.7, mutual_information_y_validation=0.3)
    lucky = point(2.0, 0.05, accuracy_y=0.9, mutual_information_y_validation=0.1)
    assert limited(useful, lucky)[0] == 0.7
    within = {
        "distortion": 1.0,
        "mutual_information": 0.3,
        "distortion_validation": 1.0,
        "mutual_information_validation": 0.05,
    }
    assert limited(within | {"accuracy_y": 0.75, "mutual_information_y_validation": 0.3})[0] == 0.75
    # Older records tell nothing of y on validation: the one that keeps most counts as most useful.
    assert limited(point(1.0, 0.08, accuracy_y=0.7), point(2.0, 0.01, accuracy_y=0.9))[0] == 0.7


def test_a_table_without_a_task_has_none() -> None:
    bare = {name: value for name, value in REFERENCE.items() if name != "accuracy_y_constant"}
    evaluation = CurveEvaluation(
        [point(1.0, 0.05)], bare, (), False, [{"mutual_information": np.zeros(3)}], {}
    )
    found = dict(AccuracyAtLeakage().compute(evaluation))
    assert (found.pop("reached_leakage_10"), found.pop("reached_leakage_25")) == (1, 1)
    assert set(found.values()) == {None}
    assert AccuracyAtLeakage().resampled(evaluation) == {}


GUESS = REFERENCE | {"accuracy_s_constant": 0.6, "accuracy_s": 0.8}


def at_auditor(*points: dict[str, float], **changed: float) -> tuple[float | None, ...]:
    found = AccuracyAtAuditorLimit().compute(CurveEvaluation(points, GUESS | changed))
    return tuple(found.get(f"accuracy_y_at_accuracy_s_{share}") for share in (10, 25, 50))


def seen(a_s: float, a_y: float, of_y: float) -> dict[str, float]:
    both = {"accuracy_s": a_s, "accuracy_s_validation": a_s}
    return point(1.0, 0.1, accuracy_y=a_y, mutual_information_y_validation=of_y, **both)


def test_accuracy_at_a_limit_of_the_auditors_accuracy() -> None:
    """Limits of .62, .65 and .7: shares of the way from a constant guess, .6, to x itself, .8."""
    fair, middle, open_ = seen(0.61, 0.7, 0.1), seen(0.65, 0.75, 0.2), seen(0.7, 0.8, 0.3)
    assert at_auditor(fair, middle, open_) == (0.7, 0.75, 0.8)
    assert at_auditor(middle) == (0.6, 0.75, 0.75)  # nothing may be released at a tenth
    assert at_auditor() == (0.6, 0.6, 0.6)
    # The limits move with the dataset: of a table whose x gives all away they are .64, .7 and .8.
    assert at_auditor(middle, open_, accuracy_s=1.0) == (0.6, 0.8, 0.8)


def test_it_is_known_where_no_point_keeps_a_limit() -> None:
    reached = AccuracyAtAuditorLimit().compute(CurveEvaluation([seen(0.65, 0.75, 0.2)], GUESS))
    assert [reached[f"reached_accuracy_s_{share}"] for share in (10, 25, 50)] == [0, 1, 1]
    within = AccuracyAtLeakage().compute(CurveEvaluation([point(1.0, 0.2)], REFERENCE))
    assert (within["reached_leakage_10"], within["reached_leakage_25"]) == (0, 1)
    assert share_within_limit("transfer_at_leakage_25", {"reached_leakage_25": 0.4}) == 0.4
    assert share_within_limit("aufdc", {"reached_leakage_25": 0.4}) is None
    # Of a mean over splits: none, some, all.
    marks = [mark_of("accuracy_y_at_leakage_10", {"reached_leakage_10": x}) for x in (0, 0.2, 1)]
    assert marks == ["", PARTLY, ""]


def test_where_x_itself_reads_below_nothing_a_point_of_no_leakage_is_allowed() -> None:
    noise = REFERENCE | {"mutual_information_max_validation": -0.001}
    nothing = point(8.0, 0.0, accuracy_y=0.8)
    found = AccuracyAtLeakage().compute(CurveEvaluation([nothing], noise))
    assert found["accuracy_y_at_leakage_10"] == 0.8


def test_among_points_within_a_limit_validation_chooses() -> None:
    lucky, useful = seen(0.6, 0.9, 0.1), seen(0.6, 0.7, 0.2)
    assert at_auditor(lucky, useful) == (0.7, 0.7, 0.7)


def test_where_auditors_of_x_beat_no_guess_or_were_not_measured_there_is_no_limit() -> None:
    assert at_auditor(seen(0.6, 0.7, 0.1), accuracy_s=0.6) == (None, None, None)
    old = CurveEvaluation([seen(0.6, 0.7, 0.1)], REFERENCE)
    assert set(AccuracyAtAuditorLimit().compute(old).values()) == {None}
    assert AccuracyAtAuditorLimit().resampled(old) == {}


def test_its_replicates_are_those_of_the_point_that_counts() -> None:
    points = [seen(0.61, 0.7, 0.1), seen(0.69, 0.8, 0.3)]
    rows = [{"accuracy_y": np.full(5, 0.7)}, {"accuracy_y": np.full(5, 0.8)}]
    ends = {"accuracy_y_constant": np.full(5, 0.6)}
    evaluation = CurveEvaluation(points, GUESS, replicates=rows, reference_replicates=ends)
    found = AccuracyAtAuditorLimit().resampled(evaluation)
    assert [found[f"accuracy_y_at_accuracy_s_{share}"][0] for share in (10, 25, 50)] == [
        0.7,
        0.7,
        0.8,
    ]
    none = CurveEvaluation([], GUESS, reference_replicates=ends)
    assert (
        AccuracyAtAuditorLimit().resampled(none)["accuracy_y_at_accuracy_s_10"].tolist()
        == [0.6] * 5
    )


def test_replicates_of_the_area_are_areas_of_the_replicates() -> None:
    """Each resample by itself: I floored at 0, D capped, vertices those of validation."""
    rng = np.random.default_rng(0)
    points = [point(d, i) for d, i in ((1.0, 0.6), (3.0, 0.2), (5.0, 0.01), (7.9, 0.0))]
    rows = [
        {n: p[n] + 0.05 * rng.normal(size=20) for n in ("distortion", "mutual_information")}
        for p in points
    ]
    ends = {
        "mutual_information_max": 1 + 0.05 * rng.normal(size=20),
        "distortion_max": 8 + 0.05 * rng.normal(size=20),
    }
    evaluation = CurveEvaluation(points, REFERENCE, replicates=rows, reference_replicates=ends)
    found = Aufdc().resampled(evaluation)["aufdc"]
    for b in range(20):
        area = strict_area(
            [(p["distortion"][b], p["mutual_information"][b]) for p in rows],
            [(p["distortion_validation"], p["mutual_information_validation"]) for p in points],
            i_max=ends["mutual_information_max"][b],
            d_max=ends["distortion_max"][b],
            i_max_validation=1.0,
            d_max_validation=8.0,
        )
        assert found[b] == pytest.approx(area)


def test_a_resample_on_which_x_tells_nothing_has_no_area() -> None:
    ends = {
        "mutual_information_max": np.append(np.ones(99), -0.1),
        "distortion_max": np.full(100, 8.0),
    }
    rows = [{"distortion": np.full(100, 1.0), "mutual_information": np.full(100, 0.5)}]
    evaluation = CurveEvaluation(
        [point(1.0, 0.5)], REFERENCE, replicates=rows, reference_replicates=ends
    )
    areas = Aufdc().resampled(evaluation)["aufdc"]
    assert np.flatnonzero(np.isnan(areas)).tolist() == [99]


def test_where_x_may_tell_nothing_there_is_no_area() -> None:
    points = [point(1.0, 0.5)]
    rows = [{"distortion": np.full(100, 1.0), "mutual_information": np.full(100, 0.5)}]
    for low, known in ((0.01, True), (-0.01, False)):
        i_max = np.linspace(low, 2.0, 100)
        i_max[:5] = low
        ends = {"mutual_information_max": i_max, "distortion_max": np.full(100, 8.0)}
        evaluation = CurveEvaluation(points, REFERENCE, replicates=rows, reference_replicates=ends)
        assert (Aufdc().compute(evaluation)["aufdc"] is not None) is known
    without = CurveEvaluation([point(1.0, 0.5)], REFERENCE)
    assert Aufdc().resampled(without) == {}


accuracies = st.floats(0.5, 0.9)


@given(st.lists(st.tuples(*[accuracies] * 4), min_size=1, max_size=6), *[accuracies] * 2)
def test_test_figures_never_choose_the_point_at_a_limit_of_a_s(
    drawn: list[tuple[float, float, float, float]], of_x: float, of_guess: float
) -> None:
    """Points differ in their A_y alone, by which the chosen one is recognised."""
    on_validation = {"accuracy_s_validation": 0.85, "accuracy_s_constant_validation": 0.6}

    def choose(test: int, ends: dict[str, float]) -> tuple[float | None, ...]:
        points = [
            point(1.0, 0.1, accuracy_y=float(number), mutual_information_y_validation=of_y)
            | {"accuracy_s_validation": a_s, "accuracy_s": (first, second)[test]}
            for number, (a_s, of_y, first, second) in enumerate(drawn)
        ]
        return at_auditor(*points, **on_validation, **ends)

    changed = {"accuracy_s": of_x, "accuracy_s_constant": of_guess}
    assert choose(0, {}) == choose(1, changed)


def test_the_limit_itself_is_of_the_validation_set_where_the_record_has_it() -> None:
    on_validation = {"accuracy_s_validation": 1.0, "accuracy_s_constant_validation": 0.6}
    assert at_auditor(seen(0.64, 0.7, 0.1)) == (0.6, 0.7, 0.7)
    assert at_auditor(seen(0.64, 0.7, 0.1), **on_validation) == (0.7, 0.7, 0.7)
