"""Intervals, paired differences, Holm's correction and ranks, against what is known of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairbench.api.metric import CurveEvaluation
from fairbench.metrics.aufdc import Aufdc
from fairbench.stats.bootstrap import entropy_of, one_hot, resampled_means
from fairbench.stats.intervals import Estimate, Sample, difference, estimate, holm

SPREAD = np.random.default_rng(0).normal(size=500)
SPREAD = (SPREAD - SPREAD.mean()) / SPREAD.std(ddof=1)


def one_seed(value: float, error: float) -> Sample:
    """Replicates of a standard error given, unrelated to others' where the sign is mixed."""
    return Sample(np.array([value]), value + error * SPREAD[None])


def with_errors(values: list[float], errors: np.ndarray) -> list[Sample]:
    """One seed each; errors of the rows are ``(methods, resamples)``."""
    return [Sample(np.array([v]), v + e[None]) for v, e in zip(values, errors, strict=True)]


def without_row_error(values: list[float]) -> Sample:
    found = np.array(values)
    return Sample(found, np.repeat(found[:, None], 500, axis=1))


def test_one_seed_gives_the_normal_interval_over_rows() -> None:
    found = estimate(one_seed(0.3, 0.02))
    assert found.interval() == pytest.approx((0.3 - 1.96 * 0.02, 0.3 + 1.96 * 0.02), abs=1e-5)


def test_seeds_without_error_over_rows_give_students_interval() -> None:
    values = [0.21, 0.25, 0.22]
    found = estimate(without_row_error(values)).interval()
    assert found == pytest.approx(stats.ttest_1samp(values, 0).confidence_interval(0.95))


def test_two_methods_without_error_over_rows_give_welchs_test() -> None:
    a, b = [0.21, 0.25, 0.22, 0.24], [0.20, 0.21, 0.20]
    found = difference(without_row_error(a), without_row_error(b))
    known = stats.ttest_ind(a, b, equal_var=False)
    assert found.p_value() == pytest.approx(known.pvalue, rel=1e-6)
    assert found.interval() == pytest.approx(known.confidence_interval(0.95))


def test_a_difference_is_paired_over_rows() -> None:
    """What two methods share cancels: its standard error is that of the rows' differences."""
    rng = np.random.default_rng(1)
    n = 3000
    people = rng.normal(size=n)
    a, b = people + 0.1 * rng.normal(size=n) + 0.02, people + 0.1 * rng.normal(size=n)
    rows = resampled_means(np.column_stack([a, b]))
    samples = [Sample(np.array([x.mean()]), rows[None, :, k]) for k, x in enumerate((a, b))]
    found = difference(*samples)
    known = np.sqrt(2) * 0.1 / np.sqrt(n)
    assert np.sqrt(found.rows) == pytest.approx(known, rel=0.1)
    assert np.sqrt(found.rows) < 0.2 * np.sqrt(estimate(samples[0]).rows)
    assert found.p_value() == pytest.approx(2 * stats.norm.sf(found.value / known), rel=0.5)


def test_error_over_rows_is_not_counted_twice() -> None:
    """Seeds that differ by their rows' errors alone: the variance of a mean, not more."""
    rng = np.random.default_rng(2)
    n, seeds = 1000, 40
    rows = rng.normal(size=(n, seeds))
    sample = Sample(rows.mean(axis=0), resampled_means(rows).T)
    found = estimate(sample)
    assert found.rows == pytest.approx(1 / (n * seeds), rel=0.2)
    assert found.shared < 0.3 * found.rows
    assert found.half_width(0.05) == pytest.approx(2 / np.sqrt(n * seeds), rel=0.3)


def test_equal_figures_without_any_error_are_not_apart() -> None:
    found = difference(without_row_error([0.5]), without_row_error([0.5, 0.5]))
    assert found.p_value() == 1
    assert found.interval() == (0, 0)


def test_where_a_figure_is_not_defined_on_all_resamples_nothing_is_apart() -> None:
    broken = one_seed(0.1, 0.01)
    broken.replicates[0, 3] = np.nan
    assert difference(broken, one_seed(0.9, 0.01)).p_value() == 1
    assert estimate(broken).interval() == (-np.inf, np.inf)


estimates = st.builds(
    lambda value, rows, part, seeds, df: Estimate(value, rows, rows * part, seeds, df),
    st.floats(-1, 1),
    st.floats(1e-6, 1),
    st.floats(0, 1),
    st.sampled_from([0.0, 1e-4, 0.01, 1.0]),
    st.floats(1, 20),
)


@given(estimates)
def test_a_p_value_below_5_percent_is_an_interval_without_zero(found: Estimate) -> None:
    low, high = found.interval()
    p = found.p_value()
    if abs(p - 0.05) > 1e-6:
        assert (p < 0.05) == (low > 0 or high < 0)


def test_holm_by_hand() -> None:
    # Sorted: .005 x 4, .01 x 3, .03 x 2, and .04, which cannot be less than the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


class World:
    """People, models and a curve of two points whose strict area is known by its formula.

    A model k adds its own e_k to the mean loss of both points, so that I falls by e_k; all reads
    are linear in it, so the mean area over models is the area at e = 0.
    """

    n = 800
    d_max, i_max = 8.0, 0.4
    d, i = np.array([2.0, 4.0]), np.array([0.16, 0.05])

    @property
    def truth(self) -> float:
        d, i = [0, *self.d, self.d_max], [self.i_max, *self.i, 0]
        return float(np.trapezoid(i, d) / (self.d_max * self.i_max))

    def draw(self, rng: np.random.Generator, seeds: int, spread: float) -> tuple[Sample, float]:
        """A sample, and the true area of the models that it was drawn from."""
        s = rng.integers(0, 2, self.n)
        people = rng.normal(size=self.n)
        shifts = spread * rng.normal(size=seeds)
        # Raw x, then the points of each model. Of a loss of mean ln 2 - i, a part is the person's
        # own under every model.
        i = np.concatenate([[self.i_max], *(self.i + shift for shift in shifts)])
        d = np.concatenate([[self.d_max], *[self.d] * seeds])
        noise = rng.normal(size=(self.n, len(i)))
        losses = np.log(2) - i + 0.25 * people[:, None] + 0.25 * noise
        distances = d * rng.gamma(2.0, 0.5, (self.n, len(d)))
        columns = np.hstack([losses, distances, one_hot(s)])
        found = read(columns.mean(axis=0), len(i))
        resampled = read(resampled_means(columns).T, len(i))
        values, replicates = [], []
        for k in range(seeds):
            own = (1 + 2 * k, 2 + 2 * k)
            evaluation = CurveEvaluation(
                points=[
                    {
                        "mutual_information": found[0][p],
                        "distortion": found[1][p],
                        "mutual_information_validation": i[p],
                        "distortion_validation": d[p],
                    }
                    for p in own
                ],
                reference={
                    "mutual_information_max": found[0][0],
                    "distortion_max": found[1][0],
                    "mutual_information_max_validation": self.i_max,
                    "distortion_max_validation": self.d_max,
                },
                replicates=[
                    {"mutual_information": resampled[0][p], "distortion": resampled[1][p]}
                    for p in own
                ],
                reference_replicates={
                    "mutual_information_max": resampled[0][0],
                    "distortion_max": resampled[1][0],
                },
            )
            value = Aufdc().compute(evaluation)["aufdc"]
            assert value is not None
            values.append(value)
            replicates.append(Aufdc().resampled(evaluation)["aufdc"])
        # The area is linear in both points' I; their weights are half the neighbours' distance.
        weight = self.d_max - self.d[0] / 2 - (self.d_max - self.d[1]) / 2
        true = self.truth + shifts.mean() * weight / (self.d_max * self.i_max)
        return Sample(np.array(values), np.stack(replicates)), float(true)


def read(means: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """I and D of each point from means of losses, distances and shares of s."""
    entropy = entropy_of(means[2 * points :].T)
    return entropy - means[:points], means[points : 2 * points]


def coverage(runs: int, seeds: int, spread: float) -> float:
    """Share of 95% intervals that hold the true mean area; of one seed, of its model."""
    world, hits = World(), 0
    for run in range(runs):
        sample, of_models = world.draw(np.random.default_rng([seeds, run]), seeds, spread)
        low, high = estimate(sample).interval()
        hits += low <= (of_models if seeds == 1 else world.truth) <= high
    return hits / runs


@pytest.mark.parametrize(("seeds", "spread"), [(1, 0.01), (3, 0.01), (3, 0.0)])
def test_intervals_hold_the_truth(seeds: int, spread: float) -> None:
    assert coverage(60, seeds, spread) >= 0.87


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [1, 2, 3, 5])
@pytest.mark.parametrize("spread", [0.0, 0.005, 0.02])
def test_95_percent_intervals_hold_the_truth_in_at_least_91_percent(
    seeds: int, spread: float
) -> None:
    found = coverage(400, seeds, spread)
    print(f"seeds {seeds}, spread of I over models {spread}: coverage {found:.3f}")
    assert found >= 0.91


def test_with_one_seed_the_auditors_luck_counts() -> None:
    steady = np.full((1, 500), 0.5) + np.linspace(-1e-9, 1e-9, 500)
    a = Sample(np.array([0.5]), steady, auditor_sd=0.005)
    b = Sample(np.array([0.49]), steady - 0.01, auditor_sd=0.005)
    assert estimate(a).interval() == pytest.approx(
        (0.5 - 1.96 * 0.005, 0.5 + 1.96 * 0.005), abs=1e-4
    )
    assert difference(a, b).p_value() == pytest.approx(0.157, abs=0.002)  # z = sqrt(2)
