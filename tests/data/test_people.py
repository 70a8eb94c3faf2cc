"""Tables in which people have several rows: a person has one role, and one row that is measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbench.api import Role
from fairbench.api.dataset import Table
from fairbench.data.card_dataset import dataset_from_card
from fairbench.data.loading import load_dataset, load_folds
from fairbench.data.prepare import prepare
from fairbench.data.roles import assign_roles
from fairbench.data.shift import shifted
from fairbench.data.splits import OFFICIAL, Split, rotating
from fairbench.errors import ConfigError, DataError
from fairbench_datasets.adults import AdultsGender
from tests.conftest import Call
from tests.support.small_table import make_table

MEASURED = (Role.VALIDATION, Role.TEST)
CARD = "file: visits.csv\nsensitive: sex\nlabels: stays\n"


def with_people(table: Table, people: int) -> Table:
    return replace(table, person=np.random.default_rng(7).integers(0, people, len(table.s)))


@settings(max_examples=15)
@given(people=st.integers(200, 900), split=st.sampled_from([OFFICIAL, *rotating(3)]))
def test_a_person_has_one_role_and_one_row_that_is_measured(people: int, split: Split) -> None:
    table = with_people(make_table(1500), people)
    assert table.person is not None
    roles = assign_roles(table, split)
    of_role = {role: table.person[rows] for role, rows in roles.items()}
    everyone = np.concatenate([np.unique(held) for held in of_role.values()])
    assert sorted(everyone) == np.unique(table.person).tolist()
    for role, held in of_role.items():
        if role in MEASURED:
            assert len(np.unique(held)) == len(held)
        else:  # all rows of theirs
            assert len(held) == np.isin(table.person, held).sum()


def test_folds_test_every_person_once() -> None:
    table = with_people(make_table(1500), 400)
    assert table.person is not None
    tested = [table.person[assign_roles(table, split)[Role.TEST]] for split in rotating(5)]
    assert sorted(np.concatenate(tested)) == np.unique(table.person).tolist()


def test_where_each_row_is_a_person_roles_have_the_same_sizes() -> None:
    table = make_table(1500)
    numbered = replace(table, person=np.random.default_rng(1).permutation(1500))
    sizes = [{role: len(rows) for role, rows in assign_roles(t).items()} for t in (table, numbered)]
    assert sizes[0] == sizes[1]


def test_the_rows_of_an_audit_are_capped_as_others() -> None:
    roles = assign_roles(with_people(make_table(1500), 600), audit_rows=100)
    assert len(roles[Role.TEST]) == len(roles[Role.AUDITOR_TRAIN]) == 100


def test_an_official_test_set_keeps_people_together() -> None:
    table = with_people(make_table(1500), 300)
    assert table.person is not None
    by_row = replace(table, is_test=np.arange(1500) % 3 == 0)
    with pytest.raises(DataError, match="people have rows inside and outside the official test"):
        assign_roles(by_row)
    assign_roles(by_row, Split(1, 3))  # folds do not use it
    by_person = replace(table, is_test=table.person < 100)
    tested = table.person[assign_roles(by_person)[Role.TEST]]
    assert sorted(tested) == np.unique(table.person[table.person < 100]).tolist()


def test_the_domains_of_a_shift_share_nobody() -> None:
    table = with_people(make_table(1500), 300)
    assert table.person is not None
    for target, apart in ((np.arange(1500) < 700, False), (table.person < 150, True)):
        domains = replace(table, target=target)
        if apart:
            prepare(domains, AdultsGender, source="simulated", origin="t")
            continue
        with pytest.raises(DataError, match="people have rows in both domains of the shift"):
            prepare(domains, AdultsGender, source="simulated", origin="t")


def visits(patients: int = 600, each: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(patients), each)
    return pd.DataFrame(
        {
            "patient": [f"p{one}" for one in who],
            "sex": rng.choice(["f", "m"], patients)[who],
            "height": rng.normal(170, 10, patients)[who].round(6),
            "weight": rng.normal(70, 10, patients)[who].round(6),
            "year": rng.choice(["2023", "2024"], len(who)),
            "stays": rng.choice(["no", "yes"], len(who)),
        }
    )


def write(folder: Path, card: str) -> Path:
    visits().to_csv(folder / "visits.csv", index=False)
    path = folder / "visits.yaml"
    path.write_text(CARD + card)
    return path


def test_a_card_names_the_column_of_people(tmp_path: Path) -> None:
    path = write(tmp_path, "person: patient\ndomains: year\n")
    dataset = dataset_from_card(path)
    data = load_dataset(dataset)
    assert [feature.name for feature in data.info.features] == ["height", "weight"]
    sizes = {role: len(rows.s) for role, rows in data.roles.items()}
    assert sizes == {
        Role.ENCODER_TRAIN: 600,
        Role.AUDITOR_TRAIN: 360,
        Role.VALIDATION: 80,
        Role.TEST: 200,
    }
    assert not any("person" in note for note in data.notes)
    assert len(load_folds(dataset, 5)) == 5
    with pytest.raises(DataError, match="people have rows in both domains"):
        load_dataset(shifted(dataset, "year"))


def test_without_it_a_note_says_what_to_write(tmp_path: Path) -> None:
    path = write(tmp_path, "features: [patient, height, weight]\n")
    notes = " ".join(load_dataset(dataset_from_card(path)).notes)
    assert "name the column that tells these apart under `person`" in notes
    visits().assign(weight=np.random.default_rng(1).normal(size=1800)).to_csv(
        tmp_path / "visits.csv", index=False
    )
    path.write_text(CARD + "features: [height, weight]\n")
    notes = " ".join(load_dataset(dataset_from_card(path)).notes)
    assert "write in the card `person: height`" in notes


def test_a_column_that_tells_rows_apart_is_noted(tmp_path: Path) -> None:
    visits().assign(row=lambda table: np.arange(len(table))).to_csv(tmp_path / "visits.csv")
    (tmp_path / "visits.yaml").write_text(CARD + "features: [weight]\nperson: row\n")
    notes = load_dataset(dataset_from_card(tmp_path / "visits.yaml")).notes
    assert any("the column under `person` differs in every row" in note for note in notes)


@pytest.mark.parametrize("key", ["sensitive", "labels", "features", "drop"])
def test_people_are_neither_s_nor_x_nor_y(key: str, tmp_path: Path) -> None:
    column = {"sensitive": "sex", "labels": "stays"}.get(key, "patient")
    other = f"{key}: [patient]\n" if column == "patient" else ""
    path = write(tmp_path, f"person: {column}\n{other}")
    with pytest.raises((DataError, ConfigError), match=r"under `.*` and under `.*`"):
        dataset_from_card(path)


def test_people_without_a_name_are_refused_or_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, "person: patient\nmissing: category\n")
    table = visits()
    table.loc[5:9, "patient"] = None
    table.to_csv(tmp_path / "visits.csv", index=False)
    with pytest.raises(DataError, match="row 6: the column 'patient' has no value"):
        load_dataset(dataset_from_card(path))
    path.write_text(CARD + "person: patient\nmissing: category-or-drop\n")
    assert load_dataset(dataset_from_card(path)).table_rows == 1795


def test_a_card_of_people_is_written_by_one_command(fairbench_here: Call, tmp_path: Path) -> None:
    visits().to_csv(tmp_path / "visits.csv", index=False)
    new = ("data", "new", "visits.csv", "--sensitive", "sex", "--label", "stays:yes", "--person")
    made = fairbench_here(*new, "patient")
    assert made.returncode == 0, made.stderr
    text = (tmp_path / "visits.yaml").read_text()
    assert "600 values: whose row it is" in text
    assert "patient" not in text[text.index("features:") : text.index("person: patient")]
    assert made.stdout.split("\nall")[1].split()[:4] == ["600", "360", "80", "200"]
    checked = fairbench_here("check", "visits.yaml")
    assert checked.returncode == 0, checked.stdout
    for wrong, message in (("pateint", "no column 'pateint'"), ("sex", "stands twice")):
        failed = fairbench_here(*new, wrong, "--force")
        assert failed.returncode == 2
        assert message in failed.stderr
