"""The comparison with outside classifiers, with one of scikit-learn standing in for theirs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairbench.api import AUDIT_ROLES, Floats, Ints, Role
from fairbench.store.records import PointRecord, UnitRecord
from tests.support.exports import a_point, a_unit

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
try:
    import outside_auditors
    import outside_classifiers
    import wide_on_methods
    from outside_auditors import AuditedPoint, compare
    from outside_classifiers import LabelledTable, OutsideClassifier
finally:
    sys.path.pop(0)

ROWS = 4000
XOR = 0.368
"""I(Z;S) of :func:`xor_point`, nats: log 2 minus the entropy of a flip with probability .1."""


def fit_trees(
    fit: LabelledTable, held: LabelledTable, settings: Mapping[str, Any], seed: int
) -> outside_classifiers.Predict:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=40, random_state=0, **settings)
    model.fit(fit.x, fit.labels, X_val=held.x, y_val=held.labels)
    return lambda x: np.asarray(model.predict_proba(x), np.float32)


TREES = OutsideClassifier(
    "trees",
    "sklearn",
    {"learning_rate": 0.1},
    lambda rng: {"learning_rate": float(rng.uniform(0.05, 0.3))},
    fit_trees,
)


def xor_point(*, strict: float, draws: int = 1) -> AuditedPoint:
    """s is the XOR of two columns' signs, flipped with probability .1; a third is constant."""
    rng = np.random.default_rng(0)
    z: dict[Role, Floats] = {}
    s: dict[Role, Ints] = {}
    for role in AUDIT_ROLES:
        rows = np.hstack([rng.normal(size=(ROWS, 2)), np.ones((ROWS, 1))]).astype(np.float32)
        labels = (rows[:, 0] > 0) ^ (rows[:, 1] > 0) ^ (rng.random(ROWS) < 0.1)
        z[role] = np.tile(rows, (draws, 1))
        s[role] = np.tile(labels.astype(np.int64), draws)
    auditor = "logistic, standardised"
    return AuditedPoint("toy", "xor", "beta=1", z, None, s, draws, strict, auditor)


@pytest.mark.parametrize("draws", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_classifier_that_reads_more_is_told(draws: int) -> None:
    one = compare(xor_point(strict=0.0, draws=draws), TREES, configurations=1, seed=0)
    assert one.mutual_information == pytest.approx(XOR, abs=0.05)
    assert one.gap == one.mutual_information
    assert one.allowed == 0.01
    assert not one.within


def test_a_classifier_that_reads_less_is_within() -> None:
    one = compare(xor_point(strict=0.6), TREES, configurations=1, seed=0)
    assert one.gap == pytest.approx(XOR - 0.6, abs=0.05)
    assert one.allowed == pytest.approx(0.03)
    assert one.within


def test_configurations_are_chosen_on_validation() -> None:
    """Labels of the test set that contradict all others must not change the choice."""
    point = xor_point(strict=0.0)
    chosen = compare(point, TREES, configurations=3, seed=0)
    flipped = replace(point, s=point.s | {Role.TEST: 1 - point.s[Role.TEST]})
    other = compare(flipped, TREES, configurations=3, seed=0)
    assert other.configuration == chosen.configuration
    assert other.mutual_information < 0 < chosen.mutual_information


def test_decoded_rows_are_a_view() -> None:
    """A classifier finds in the reconstructions what z does not show it."""
    point = xor_point(strict=0.0)
    hidden = {role: np.zeros_like(rows) for role, rows in point.z.items()}
    one = compare(replace(point, z=hidden, decoded=point.z), TREES, configurations=2, seed=0)
    assert one.view == "z and decoded"
    assert one.mutual_information > 0.3


def test_an_overconfident_classifier_is_calibrated() -> None:
    labels = (np.arange(1000) % 10 > 0).astype(np.int64)
    sure = np.tile(np.array([[0.001, 0.999]], np.float32), (1000, 1))
    temperature = outside_auditors.best_temperature(sure, labels)
    share = outside_auditors.tempered(sure, temperature)[0, 0]
    assert temperature == outside_auditors.TEMPERATURES[-1]
    assert share == pytest.approx(1 / (1 + 999 ** (1 / temperature)), rel=1e-4)


def test_the_published_table(tmp_path: Path) -> None:
    """One row per point; the gap is that of the classifier that reads most."""
    weak = compare(xor_point(strict=0.3), TREES, configurations=1, seed=0)
    weak = replace(weak, mutual_information=0.2, auditor="weak")
    strong = replace(weak, mutual_information=0.312, auditor="strong")
    path = tmp_path / "table.csv"
    outside_auditors.write_comparisons(path, [weak, strong])
    frame = outside_auditors.table(outside_auditors.read_comparisons(path))
    assert list(frame) == [
        *("method", "point", "strict", "weak", "strong", "gap", "allowed", "within"),
    ]
    row = frame.iloc[0]
    assert row["gap"] == pytest.approx(0.012)
    assert row["allowed"] == pytest.approx(0.015)
    assert row["within"]
    assert "| xor      | beta=1  |    0.300 |" in outside_auditors.to_markdown(frame)


def results_with(*units: UnitRecord) -> Any:
    """Results whose units have points at .1, .3 and .6 nats, of log 2 at most."""

    def point(unit: UnitRecord, leaked: float) -> PointRecord:
        figures = {"mutual_information": leaked}
        return a_point(f"{unit.key}-{leaked}", unit.key, f"beta={leaked}", values=figures)

    return SimpleNamespace(
        folder=Path("DIR"),
        registry=SimpleNamespace(datasets={}),
        fitted_units=lambda: list(units),
        measured_points=lambda mine: [point(u, leaked) for u in mine for leaked in (0.1, 0.3, 0.6)],
        reference_of=lambda unit, point: None,
    )


def test_the_points_are_of_one_dataset() -> None:
    """The same method of two datasets is two methods; the twin is a third dataset."""
    results = results_with(
        a_unit("1", method="pca", dataset="second", artefact="f"),
        a_unit("2", method="pca", dataset="first", artefact="f"),
        a_unit("3", method="sofair", dataset="first", artefact="f"),
        a_unit("4", method="vfae", dataset="first", artefact="f", data_source="simulated"),
    )
    chosen = outside_auditors.middle_points(results)
    assert [(one.dataset, one.unit.method) for one in chosen] == [
        ("first", "pca"),
        ("first", "sofair"),
    ]
    assert {one.point.label for one in chosen} == {"beta=0.3"}  # nearest to half of log 2
    (other,) = outside_auditors.middle_points(results, "second")
    assert (other.dataset, other.unit.key) == ("second", "1")
    (twin,) = outside_auditors.middle_points(results, "first-simulated")
    assert (twin.dataset, twin.unit.key) == ("first-simulated", "4")


def test_nothing_to_compare_is_one_message() -> None:
    with pytest.raises(SystemExit, match="no representations in DIR"):
        outside_auditors.middle_points(results_with())
    constant = a_unit("1", method="constant", dataset="toy", artefact="f")
    with pytest.raises(SystemExit, match="no measured point on toy in DIR"):
        outside_auditors.middle_points(results_with(constant))
    with pytest.raises(SystemExit, match="no results on 'tox'"):
        outside_auditors.middle_points(results_with(constant), "tox")


def test_a_file_from_before_there_were_datasets_is_read(tmp_path: Path) -> None:
    one = compare(xor_point(strict=0.6), TREES, configurations=1, seed=0)
    path = tmp_path / "table.csv"
    outside_auditors.write_comparisons(path, [one])
    assert [row.dataset for row in outside_auditors.read_comparisons(path)] == ["toy"]
    pd.read_csv(path).drop(columns="dataset").to_csv(path, index=False)
    (row,) = outside_auditors.read_comparisons(path)
    assert row.dataset == "adults-gender"
    assert row.method == "xor"


def test_the_wide_search_is_judged_by_all_rows_of_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row of an earlier call that exceeds the limit is told, and the exit code says so."""
    figures = {"plain": 0.1, "auditor": "blend", "view": "all", "seconds": 1.0}
    kept = [
        wide_on_methods.Read("toy", "pca", "dimensions=2", 0.1696, wide=0.2041, **figures),
        wide_on_methods.Read("toy", "sofair", "beta=0", 0.1958, wide=0.1838, **figures),
    ]
    path = tmp_path / "table.csv"
    pd.DataFrame([asdict(row) for row in kept]).to_csv(path, index=False)
    units = [a_unit(row.method, method=row.method, artefact="f") for row in kept]
    monkeypatch.setattr(wide_on_methods, "open_results", lambda *given: results_with(*units))
    monkeypatch.setattr(sys, "argv", ["wide.py", "--results", "DIR", "--out", str(path)])
    assert wide_on_methods.main() == 1
    told = capsys.readouterr().out
    assert "pca dimensions=2 on toy, 0.2041 against 0.1696" in told
    assert "sofair" not in told
    assert wide_on_methods.read_rows(path) == kept


def test_a_missing_package_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = replace(TREES, name="absent", package="no_such_package")
    monkeypatch.setitem(outside_auditors.CLASSIFIERS, "absent", absent)
    with pytest.raises(SystemExit, match=r"(?s)no_such_package.*outside-auditors"):
        outside_auditors.chosen_classifiers("absent")
    with pytest.raises(SystemExit, match=r"No outside auditor is named xgboost"):
        outside_auditors.chosen_classifiers("xgboost")
