"""The contract checks: every dataset at hand keeps its promises, and broken ones are caught."""

import os
from pathlib import Path

import pytest

from fairbench.api.dataset import Dataset
from fairbench.data.card_dataset import dataset_from_card
from fairbench.data.files import find_files
from fairbench.errors import CheckError, FairbenchError
from fairbench.registry import load_registry
from fairbench.testing import CheckResult, check_dataset, dataset_checks
from tests.support.small_table import make_table
from tests.support.wrong_datasets import (
    Gappy,
    Hashed,
    LabelInX,
    Leaking,
    Miscounted,
    Mover,
    Nameless,
    Odd,
    OneClass,
    Shared,
    Talkative,
    Taskless,
    Toy,
    Unlicensed,
    Unreadable,
    Unseeded,
)

DATASETS = load_registry().datasets.classes
FAST = {"adults-gender", "compas-race", "german-sex"}
SLOW = {name for name in DATASETS if name not in FAST}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in DATASETS],
)
def test_every_dataset_keeps_its_promises(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRBENCH_OFFLINE", "1")
    dataset = DATASETS[name]
    root = Path(os.environ["FAIRBENCH_DATA"]).resolve() if "FAIRBENCH_DATA" in os.environ else None
    if find_files(dataset, root) is None and dataset.simulate is Dataset.simulate:
        pytest.skip(f"needs FAIRBENCH_DATA with the files of {name}")
    check_dataset(dataset, root=root)


@pytest.mark.parametrize("good", [Toy, pytest.param(Talkative, marks=pytest.mark.thorough)])
def test_a_good_dataset_passes(good: type[Dataset]) -> None:
    assert check_dataset(good).info.name == "toy-checked"


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (Nameless, "not a name"),
        (Unlicensed, "no licence"),
        (Miscounted, "2,000 rows"),
        (Unseeded, "loaded twice"),
        (Hashed, "another process gets another fingerprint"),
        (Leaking, "determines the sensitive attribute"),
        (LabelInX, "the column 'outcome' determines the task"),
        (Taskless, "no task labels"),
        (OneClass, r"y\['hired'\], has one class in"),
        (Shared, "roles overlap"),
        (Mover, "changes the working directory"),
        (Odd, "sha256 of odd.csv"),
        (Unreadable, "KeyError"),
        (Gappy, "no value in row 1"),
    ],
)
def test_a_broken_promise_is_named(broken: type[Dataset], says: str) -> None:
    with pytest.raises(FairbenchError, match=says):
        check_dataset(broken)


@pytest.mark.thorough
def test_a_dataset_that_no_other_process_can_load_is_told() -> None:
    class Local(Toy):
        pass

    with pytest.raises(CheckError, match="another process"):
        check_dataset(Local)


def test_a_copy_of_s_in_a_plugin_is_left_out_of_x_and_in_a_card_may_be_allowed(
    tmp_path: Path,
) -> None:
    with pytest.raises(CheckError, match="it is a copy of it") as told:
        check_dataset(Leaking)
    assert "card" not in str(told.value)
    table = make_table()
    frame = table.x.assign(sex=table.s, copy=7 - table.s, hired=next(iter(table.y.values())))
    frame.to_csv(tmp_path / "own.csv", index=False)
    card = tmp_path / "own.yaml"
    card.write_text("file: own.csv\nsensitive: sex\nlabels: hired\nallowed_copies: [copy]\n")
    outcomes = {c.promise.text: c.outcome() for c in dataset_checks(dataset_from_card(card))}
    copies = outcomes["no column of x is s under another name"]
    assert copies.verdict is CheckResult.SKIPPED
    assert copies.what == "its card allows copies: 'copy'"
    assert not [o.what for o in outcomes.values() if o.verdict is CheckResult.FAILED]
