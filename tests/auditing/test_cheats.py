"""Encoders that try to look good land where they belong: a whole run, audits and ranks included."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from fairbench.api import Knob, Point, Track
from fairbench.api.dataset import Dataset, Table
from fairbench.api.method import Method, Representation
from fairbench.cli.console import show_differences, show_problems
from fairbench.config import RunConfig
from fairbench.data.prepare import prepare
from fairbench.errors import ConfigError
from fairbench.leaderboard.build import Tables, build
from fairbench.registry import Registry, load_registry
from fairbench.report.comparisons import describe_differences
from fairbench.runs.driver import drive
from fairbench.runs.executors.in_process import InProcessExecutor
from fairbench.runs.plan import make_plan
from fairbench.runs.training import TrainingRun
from fairbench.store.database import Store

SHIFT = 2.0
"""Of column a between the groups: I(X;S) = .338 nats."""


class Telling(Dataset):
    """Column a tells of s, b and c do not; y depends on what of a is not s, and on b."""

    name = "telling"
    summary = "three columns"
    iterations = 50

    def load(self, folder: Path) -> Table:
        rng = np.random.default_rng(0)
        n = 4500
        s = rng.integers(0, 2, n)
        own, b, c, noise = rng.normal(size=(4, n))
        y = (own + b + 0.5 * noise > 0).astype(np.int64)
        frame = pd.DataFrame({"a": own + SHIFT * s, "b": b, "c": c})
        return Table(frame, s, ("left", "right"), {"task": y})


class Released(Representation):
    def __init__(self, encode: Any) -> None:
        self._encode = encode

    def encode(self, x, *, s=None, generator=None):  # type: ignore[no-untyped-def]
        return self._encode(x, s).astype(np.float32)


class Constant(Method):
    name = "says-nothing"
    summary = "releases nothing"

    def release(self, x, s):  # type: ignore[no-untyped-def]
        return np.zeros((len(x), 1))

    def fit(self, train, units, context):  # type: ignore[no-untyped-def]
        return [Released(self.release) for _ in units]


class Identity(Constant):
    name = "says-all"

    def release(self, x, s):  # type: ignore[no-untyped-def]
        return x


class HidesScale(Constant):
    """The column that tells of s, where a network on z as it is cannot see it."""

    name = "hides-scale"

    def release(self, x, s):  # type: ignore[no-untyped-def]
        return np.column_stack([x[:, 1:], 1e-6 * x[:, 0]])


class Truncated(Constant):
    """Nothing but the fair end of a curve, where more is lost than need be."""

    name = "truncated"

    def release(self, x, s):  # type: ignore[no-untyped-def]
        return x[:, 1:2]


class Whole(Method):
    """A curve of two points, both ends of what can be had by dropping column a."""

    name = "whole-curve"
    summary = "drops column a or does not"
    knobs = (Knob("kept", 0.0, 1.0, "whether a is kept"),)

    def points(self) -> tuple[Point, ...]:
        return (Point.of(kept=0.0), Point.of(kept=1.0))

    def fit(self, train, units, context):  # type: ignore[no-untyped-def]
        return [Released(lambda x, s, k=u.point["kept"]: x[:, 1 - int(k) :]) for u in units]


class Centred(Constant):
    """Takes the group's mean off: independent of s, and inverted by (z, s)."""

    name = "centred"
    track = Track.AWARE

    def fit(self, train, units, context):  # type: ignore[no-untyped-def]
        means = np.stack([train.x[train.s == g].mean(axis=0) for g in (0, 1)])
        return [Released(lambda x, s: x - means[s]) for _ in units]


class Smuggles(Constant):
    """All of x that is fair, and s itself at a millionth."""

    name = "smuggles"
    track = Track.AWARE

    def release(self, x, s):  # type: ignore[no-untyped-def]
        return np.column_stack([x[:, 1:], 1e-6 * s])


METHODS: tuple[type[Method], ...] = (
    Constant,
    Identity,
    HidesScale,
    Truncated,
    Whole,
    Centred,
    Smuggles,
)


class Ran(SimpleNamespace):
    registry: Registry
    store: Store
    tables: Tables
    rows: ClassVar[dict[str, dict[str, Any]]]


def ran(folder: Path, *, budget: str | int, seeds: int) -> Ran:
    registry = Registry(metrics=load_registry().metrics)
    for method in METHODS:
        registry.methods.add(method, "test")
    config = RunConfig(
        methods=("all",),
        datasets=("telling",),
        seeds=tuple(range(seeds)),
        budget=budget,
        results=folder,
    )
    store = Store.in_folder(folder)
    data = prepare(Telling().load(folder), Telling, source="simulated", origin="test")
    plan = make_plan(config, registry, [data])
    run = TrainingRun(config, registry, plan, store, "cpu")
    run.begin("test")
    drive(run, InProcessExecutor(), lambda event: None)
    (tables,) = build(store, registry)
    rows = {row.method: row.cells() for row in tables.leaderboard}
    return Ran(registry=registry, store=store, tables=tables, rows=rows)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return ran(tmp_path_factory.mktemp("quick"), budget="quick", seeds=1)


def check_order(rows: dict[str, dict[str, Any]], *, near: float) -> None:
    """Cheats gain nothing, whoever they fool."""
    for name in ("says-nothing", "says-all", "hides-scale"):
        assert rows[name]["aufdc"] == pytest.approx(0.5, abs=near), name
    # By hand: D_max = 2.5, a curve down to (.5, 0), and one down to (1.5, 0).
    assert rows["whole-curve"]["aufdc"] == pytest.approx(0.1, abs=near)
    assert rows["truncated"]["aufdc"] == pytest.approx(0.3, abs=near)
    assert [name for name, row in rows.items() if row["track"] == "blind"][:2] == [
        "whole-curve",
        "truncated",
    ]
    # The paper's area falls for three of them.
    for name in ("says-nothing", "truncated"):
        assert rows[name]["aufdc_paper"] < rows["whole-curve"]["aufdc_paper"]


def test_cheats_land_where_they_belong(quick: Ran) -> None:
    check_order(quick.rows, near=0.04)


def test_a_tiny_column_is_read_as_leaking(quick: Ran) -> None:
    found = {row.method: row.figures for row in quick.tables.points}
    assert found["hides-scale"]["mutual_information"] == pytest.approx(
        found["says-all"]["mutual_information"], abs=0.03
    )
    assert (
        found["hides-scale"]["mutual_information_paper"] < 0.05
    )  # unseen by the networks on z as it is


def test_the_aware_track_ranks_what_is_left_for_y_below_a_limit(quick: Ran) -> None:
    centred, smuggles = quick.rows["centred"], quick.rows["smuggles"]
    assert centred["ranked_by"] == "accuracy_y_at_leakage_10"
    assert [n for n, row in quick.rows.items() if row["track"] == "aware"] == [
        "centred",
        "smuggles",
    ]
    assert centred["accuracy_y_at_leakage_10"] > 0.8
    # What leaks all of s may not be released: half of the people are of the commoner class.
    assert smuggles["accuracy_y_at_leakage_10"] == pytest.approx(0.5, abs=0.05)
    assert (
        smuggles["accuracy_y_at_leakage_10_low"]
        < 0.5
        < smuggles["accuracy_y_at_leakage_10_high"] + 0.03
    )


def test_every_figure_that_ranks_has_an_interval_of_rows_alone(quick: Ran) -> None:
    for row in quick.rows.values():
        column = row["ranked_by"]
        assert row[f"{column}_low"] <= row[column] <= row[f"{column}_high"]
        assert row["interval_over"] == "rows"
    whole = quick.rows["whole-curve"]
    assert 0.005 < whole["aufdc_high"] - whole["aufdc_low"] < 0.06


def test_one_curve_has_its_own_median(quick: Ran) -> None:
    own = [row.cells() for row in quick.tables.attainment if row.method == "whole-curve"]
    assert {row["level"] for row in own} == {50}
    assert own[0]["distortion"] == 0
    assert own[0]["mutual_information"] == pytest.approx(
        quick.rows["whole-curve"]["mutual_information_max"], rel=0.05
    )
    i_at = np.interp(
        0.25, [row["distortion"] for row in own], [row["mutual_information"] for row in own]
    )
    assert i_at == pytest.approx(own[0]["mutual_information"] / 2, rel=0.2)


def test_methods_are_compared_on_the_terminal(
    quick: Ran, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = build(quick.store, quick.registry)
    show_differences(describe_differences(tables, "truncated", "whole-curve"))
    assert show_problems(tables) == 0
    told = capsys.readouterr().out
    assert "telling-simulated · blind track" in told
    found = re.search(r"difference (\S+) \[(\S+), (\S+)\], p <= 1e-15, paired", told)
    assert found is not None, told
    gap, low, high = map(float, found.groups())
    assert gap == pytest.approx(0.2, abs=0.03)
    assert 0.15 < low < gap < high < 0.25
    with pytest.raises(ConfigError, match="no complete rows on one dataset"):
        describe_differences(tables, "truncated", "centred")
    with pytest.raises(ConfigError, match="No row of truncated has the hyperparameters 'a=1'"):
        describe_differences(tables, "truncated:a=1", "whole-curve")


@pytest.mark.slow
def test_cheats_land_where_they_belong_by_the_strict_audit_over_seeds(tmp_path: Path) -> None:
    found = ran(tmp_path, budget=40, seeds=5)
    check_order(found.rows, near=0.02)
    for name in ("says-nothing", "says-all", "hides-scale"):
        row = found.rows[name]
        assert row["interval_over"] == "rows and seeds"
        assert row["aufdc_low"] - 1e-9 <= 0.5 <= row["aufdc_high"] + 1e-9, name
