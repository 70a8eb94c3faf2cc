"""A table that breaks a rule of the interface is one clear error, wherever it is loaded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairbench.api.dataset import Dataset
from fairbench.cli.data import data_describe_command
from fairbench.data.checks import note_few_rows
from fairbench.data.loading import load_dataset
from fairbench.data.table_rules import check_table
from fairbench.errors import DataError
from fairbench.registry import Registry
from fairbench.testing import dataset_checks
from fairbench.testing.check_results import CheckResult
from tests.support.small_table import make_table

SOUND = make_table(60)
Y = SOUND.y["task"]


def x_with(**columns: Any) -> pd.DataFrame:
    return SOUND.x.assign(**columns)


def with_value(value: float) -> pd.DataFrame:
    x = SOUND.x.copy()
    x.loc[7, "noise"] = value
    return x


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({"x": SOUND.x.to_numpy()}, "x is a ndarray. x is a pandas DataFrame."),
        ({"x": SOUND.x.iloc[:0]}, "x has 0 rows"),
        ({"x": SOUND.x.set_axis(["a", "a", "b"], axis=1)}, "two columns of x are called 'a'."),
        ({"x": x_with(day=pd.date_range("2020-01-01", periods=60))}, "'day' of x holds datetime64"),
        ({"x": with_value(np.nan)}, "'noise' of x has no value in row 8"),
        ({"x": with_value(np.inf)}, "'noise' of x is infinite in row 8."),
        ({"x": x_with(colour=[None] * 60)}, "'colour' of x has no value in row 1"),
        ({"s": SOUND.s[:-1]}, "s has the shape (59,), and x has 60 rows."),
        ({"s": SOUND.s + 0.4}, "s holds float64 values."),
        ({"s": np.array(["a", "b"])[SOUND.s]}, "s holds <U1 values."),
        ({"s": list(SOUND.s)}, "s is a list."),
        ({"s": SOUND.s + 1}, "s has the values 1 to 2. s is codes from 0 .. 1, the places of"),
        ({"s": SOUND.s * 0}, "s has the same value in every row. There must be two groups"),
        ({"groups": ("a", "a")}, "groups is ('a', 'a')."),
        ({"y": {"hired": np.array(["no", "yes"])[Y]}}, "y['hired'] holds <U3 values."),
        ({"y": {"hired": Y + 0.5}}, "y['hired'] holds float64 values."),
        ({"y": {"hired": Y - 1}}, "y['hired'] has the values -1 to 0. y['hired'] is codes from 0."),
        ({"y": {"hired": Y[:9]}}, "y['hired'] has the shape (9,)"),
        ({"y": Y}, "y is a ndarray. y is a dictionary of labels by the name of their task."),
        ({"transfer": {"left": Y * 0.5}}, "transfer['left'] holds float64 values."),
        (
            {"y": {"change": Y}},
            "y has the task 'change'. Rename it: a figure is called accuracy_y_",
        ),
        ({"transfer": {"a\n": Y}}, "Rename it: names of tasks are printable characters."),
        ({"transfer": {"validation_a": Y}}, "names that begin with 'validation_'"),
        ({"y": {3: Y}}, "y has the task 3. Rename it: names of tasks"),
        ({"is_test": np.arange(60)}, "is_test holds int64 values."),
    ],
)
def test_a_fault_names_dataset_place_and_rule(broken: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError) as caught:
        check_table(replace(SOUND, **broken), "clinic")
    text = str(caught.value).replace("\n", " ")
    assert text.startswith("The dataset 'clinic': ")
    assert says in text


def test_numbers_and_flags_of_any_width_are_codes() -> None:
    check_table(replace(SOUND, s=SOUND.s.astype(np.int8), y={"hired": Y.astype(bool)}), "clinic")


class Floored(Dataset):
    name = "floored"
    summary = "scores in place of classes"
    optional = True

    def load(self, folder: Any) -> Any:
        return replace(make_table(60), y={"score": np.linspace(0, 3, 60)})


class Nothing(Floored):
    name = "nothing"

    def load(self, folder: Any) -> Any:
        return None


def test_it_is_the_same_error_at_load_in_describe_and_in_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    says = "The dataset 'floored': y\\['score'\\] holds float64 values"
    with pytest.raises(DataError, match=says):
        load_dataset(Floored)
    registry = Registry()
    registry.datasets.add(Floored, "test")
    monkeypatch.setattr("fairbench.cli.data.load_plugins", lambda: registry)
    with pytest.raises(DataError, match=says):
        data_describe_command("floored")
    outcomes = {check.promise.text: check.outcome() for check in dataset_checks(Floored)}
    assert "y['score'] holds float64 values" in outcomes["it loads"].what
    failed = [text for text, one in outcomes.items() if one.verdict is CheckResult.FAILED]
    assert set(failed) == {"it loads", "its name and texts are there"}


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(DataError, match="'nothing' loads a NoneType"):
        load_dataset(Nothing)


@pytest.mark.parametrize("rows", [400, 2667])
def test_few_rows_are_noted_by_what_the_best_auditor_is_credited_with(rows: int) -> None:
    """It knows P(s | z), here .5 + u and .5 - u at random; credited: by a standard error."""
    rng = np.random.default_rng(0)
    leak = 7 / rows
    u = np.sqrt(leak / 2)  # I = 2 u^2, nearly
    right = rng.random((4000, rows)) < 0.5 + u
    gain = np.log(2 * np.where(right, 0.5 + u, 0.5 - u))
    credited = gain.mean(axis=1) > gain.std(axis=1) / np.sqrt(rows)
    assert credited.mean() == pytest.approx(0.8, abs=0.03)
    note = note_few_rows(rows)
    assert (note is None) == (leak < 0.01)
    assert note is None or f"below {leak:.3f} nats" in note
