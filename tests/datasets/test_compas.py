"""COMPAS: ProPublica's filters, groups, what is in X, malformed files; the real file's facts."""

from pathlib import Path

import pytest

from fairbench.api.dataset import Dataset
from fairbench.data.loading import load_dataset
from fairbench.errors import DataError
from fairbench_datasets.compas import (
    FEATURES,
    CompasRace,
    CompasSex,
    CompasSexRace,
    CompasUnseen,
    keep_analysed,
    read_compas,
)
from tests.support.real_data import (
    check_prepared,
    fingerprint_elsewhere,
    group_counts,
    root_with,
    share,
    unseen_shares,
)

HEADER = (
    "id,name,first,last,compas_screening_date,sex,dob,age,age_cat,race,juv_fel_count,decile_score,"
    "juv_misd_count,juv_other_count,priors_count,days_b_screening_arrest,c_jail_in,c_jail_out,"
    "c_case_number,c_offense_date,c_arrest_date,c_days_from_compas,c_charge_degree,c_charge_desc,"
    "is_recid,r_case_number,r_charge_degree,r_days_from_arrest,r_offense_date,r_charge_desc,"
    "r_jail_in,r_jail_out,violent_recid,is_violent_recid,vr_case_number,vr_charge_degree,"
    "vr_offense_date,vr_charge_desc,type_of_assessment,decile_score,score_text,screening_date,"
    "v_type_of_assessment,v_decile_score,v_score_text,v_screening_date,in_custody,out_custody,"
    "priors_count,start,end,event,two_year_recid"
)
"""The header of the file; two names stand in it twice."""

PERSON = {
    "sex": "Male",
    "age": "40",
    "race": "Caucasian",
    "juv_fel_count": "0",
    "juv_misd_count": "1",
    "juv_other_count": "2",
    "priors_count": "3",
    "days_b_screening_arrest": "-1",
    "c_jail_in": "2013-05-01 23:30:00",
    "c_jail_out": "2013-05-03 01:10:00",
    "c_charge_degree": "F",
    "c_charge_desc": '"Battery, simple"',
    "is_recid": "1",
    "score_text": "Low",
    "two_year_recid": "1",
    "is_violent_recid": "0",
    "v_score_text": "Low",
}
"""Nobody."""


def person(**changes: str) -> str:
    values = PERSON | changes
    return ",".join(values.get(column, "") for column in HEADER.split(","))


def write(folder: Path, *lines: str, header: str = HEADER) -> Path:
    (folder / "compas-scores-two-years.csv").write_text("\n".join((header, *lines)) + "\n")
    return folder


def test_a_person_becomes_a_row(tmp_path: Path) -> None:
    table = CompasRace().load(write(tmp_path, person()))
    assert tuple(table.x.columns) == FEATURES
    assert table.x.iloc[0].tolist() == [40, 3, 0, 1, 2, "felony", 2]  # two midnights in jail
    assert list(table.y) == ["two_year_recid", "score_above_low"]
    assert [int(label[0]) for label in table.y.values()] == [1, 0]
    assert table.is_test is None


def test_neither_race_nor_sex_nor_the_score_reach_x(tmp_path: Path) -> None:
    one = CompasSexRace().load(write(tmp_path, person())).x
    changed = person(race="Asian", sex="Female", score_text="High", decile_score="9")
    assert one.equals(CompasSexRace().load(write(tmp_path, changed)).x)


def test_propublicas_filters(tmp_path: Path) -> None:
    kept = [
        person(days_b_screening_arrest="30"),
        person(days_b_screening_arrest="-30"),
        person(c_charge_degree="M"),
        person(is_recid="0"),
    ]
    dropped = [
        person(days_b_screening_arrest="31"),
        person(days_b_screening_arrest="-31"),
        person(days_b_screening_arrest="", c_jail_in="", c_jail_out=""),
        person(is_recid="-1"),
        person(c_charge_degree="O"),
        person(score_text="N/A"),
    ]
    assert len(CompasRace().load(write(tmp_path, *dropped, *kept)).s) == len(kept)
    with pytest.raises(DataError, match="filters leave none"):
        CompasRace().load(write(tmp_path, *dropped))


def test_groups_merge_the_races_that_are_too_few(tmp_path: Path) -> None:
    races = ["African-American", "Caucasian", "Hispanic", "Asian", "Native American", "Other"]
    folder = write(tmp_path, *(person(race=race) for race in races), person(sex="Female"))
    by_race, by_both = CompasRace().load(folder), CompasSexRace().load(folder)
    assert [by_race.groups[s] for s in by_race.s] == [*races[:2], *["Other"] * 4, "Caucasian"]
    assert [by_both.groups[s] for s in by_both.s][-2:] == ["Male Other", "Female Caucasian"]
    assert CompasSex().load(folder).groups == ("Female", "Male")


def test_medium_and_high_scores_are_above_low(tmp_path: Path) -> None:
    folder = write(tmp_path, *(person(score_text=score) for score in ("Low", "Medium", "High")))
    assert CompasRace().load(folder).y["score_above_low"].tolist() == [0, 1, 1]


def test_unseen_tasks_are_asked_of_columns_that_are_not_in_x(tmp_path: Path) -> None:
    people = [
        person(is_violent_recid="1", v_score_text="Medium", c_charge_desc="Possession of Cocaine"),
        person(v_score_text="High", c_charge_desc="Poss Contr Subst W/o Prescript"),
        person(c_charge_desc="Burglary With Assault/battery"),
        person(c_charge_desc="Grand Theft (Motor Vehicle)"),
        person(c_charge_desc="Driving Under The Influence"),
        person(c_charge_desc="Battery"),
        person(c_charge_desc="arrest case no charge"),
        person(c_charge_desc=""),
    ]
    table = CompasUnseen().load(write(tmp_path, *people))
    assert tuple(table.x.columns) == FEATURES
    assert {task: label.tolist() for task, label in table.transfer.items()} == {
        "violent_recid": [1, 0, 0, 0, 0, 0, 0, 0],
        "violence_score_above_low": [1, 1, 0, 0, 0, 0, 0, 0],
        "drug_charge": [1, 1, 0, 0, 0, 0, 0, 0],
        "assault_charge": [0, 0, 1, 0, 0, 1, 0, 0],
        "theft_charge": [0, 0, 1, 1, 0, 0, 0, 0],
    }
    assert not CompasRace().load(tmp_path).transfer


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"is_violent_recid": ""}, "line 3: is_violent_recid is '', none of 0, 1"),
        ({"v_score_text": "N/A"}, "line 3: v_score_text is 'N/A', none of Low"),
    ],
)
def test_a_malformed_cell_of_an_unseen_task_is_named(
    tmp_path: Path, changes: dict[str, str], says: str
) -> None:
    folder = write(tmp_path, person(), person(**changes))
    with pytest.raises(DataError, match=says):
        CompasUnseen().load(folder)
    CompasRace().load(folder)  # which does not ask for them


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"age": "old"}, "line 3: age is 'old', not a whole number"),
        ({"priors_count": "-2"}, "line 3: priors_count is '-2', below 0"),
        ({"days_b_screening_arrest": "x"}, "line 3: days_b_screening_arrest is 'x', not a whole"),
        ({"race": "Martian"}, "line 3: race is 'Martian', none of African-American"),
        ({"sex": ""}, "line 3: sex is '', none of Female, Male"),
        ({"c_charge_degree": "X"}, "line 3: c_charge_degree is 'X', none of F, M"),
        ({"c_jail_in": "yesterday"}, "line 3: c_jail_in is 'yesterday', not a time"),
        ({"c_jail_out": "2013-04-01 00:00:00"}, "line 3: c_jail_out is .*, before c_jail_in"),
        ({"two_year_recid": "2"}, "line 3: two_year_recid is '2', none of 0, 1"),
        ({"score_text": "Huge"}, "line 3: score_text is 'Huge', none of Low"),
        ({"race": "Other,x"}, "line 3: 54 fields instead of 53"),
        ({"c_charge_desc": '"open'}, "line 3: unexpected end of data"),
    ],
)
def test_a_malformed_cell_is_named(tmp_path: Path, changes: dict[str, str], says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        CompasRace().load(write(tmp_path, person(), person(**changes)))
    assert "compas-scores-two-years.csv" in caught.value.message
    assert caught.value.hint.startswith("Get the original file again: https://")


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    header = HEADER.replace("is_recid,", "was_recid,", 1)
    with pytest.raises(DataError, match="line 1: the column 'is_recid' is missing"):
        CompasRace().load(write(tmp_path, person(), header=header))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "has no rows"),
        (HEADER.encode() + b"\n", "has no rows"),
        (HEADER.encode() + b"\n" + person().encode()[:60], "line 2: .* fields instead of 53"),
        (b"PK\x03\x04\x14\x00\xff\xfe", "line 1: the byte 0xff is not plain text"),
        (HEADER.encode() + b"\n\x00\x01\x02\n", "line 2: a zero byte"),
    ],
)
def test_a_broken_file_gets_one_clear_error(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "compas-scores-two-years.csv").write_bytes(content)
    with pytest.raises(DataError, match=says):
        CompasRace().load(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"years\.csv cannot be read"):
        CompasRace().load(tmp_path)


def test_without_files_the_error_says_what_to_get(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAIRBENCH_OFFLINE", "1")
    monkeypatch.setenv("FAIRBENCH_CACHE", str(tmp_path))
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)
    with pytest.raises(DataError) as caught:
        load_dataset(CompasRace)
    assert "compas-scores-two-years.csv" in caught.value.hint
    assert CompasRace.files[0].urls[0] in caught.value.hint


GROUPS: dict[type[Dataset], dict[str, int]] = {
    CompasRace: {"African-American": 3175, "Caucasian": 2103, "Other": 894},
    CompasSex: {"Female": 1175, "Male": 4997},
    CompasSexRace: {
        "Female African-American": 549,
        "Female Caucasian": 482,
        "Female Other": 144,
        "Male African-American": 2626,
        "Male Caucasian": 1621,
        "Male Other": 750,
    },
}


@pytest.mark.parametrize("dataset", GROUPS)
def test_the_real_file_has_the_published_counts(dataset: type[Dataset]) -> None:
    data = load_dataset(dataset, root=root_with(dataset))
    assert data.source == "real"
    assert [len(rows.s) for rows in data.roles.values()] == [2058, 1234, 823, 2057]
    assert group_counts(data) == GROUPS[dataset]
    assert share(data, "two_year_recid") == pytest.approx(2809 / 6172)
    assert share(data, "score_above_low") == pytest.approx(2751 / 6172)
    assert tuple(feature.name for feature in data.info.features) == FEATURES
    assert data.iterations == 5000
    check_prepared(data)


def test_unseen_tasks_of_the_real_file() -> None:
    data = load_dataset(CompasUnseen, root=root_with(CompasUnseen))
    assert group_counts(data) == GROUPS[CompasRace]
    positive = {task: share * 6172 for task, share in unseen_shares(data).items()}
    assert positive == pytest.approx(
        {
            "violent_recid": 692,
            "violence_score_above_low": 2055,
            "drug_charge": 1122,
            "assault_charge": 1675,
            "theft_charge": 962,
        }
    )
    check_prepared(data)


def test_the_real_filters_drop_what_the_module_says() -> None:
    folder = root_with(CompasRace) / CompasRace.folder
    people = read_compas(folder / CompasRace.files[0].name)
    assert len(people.rows) == 7214
    assert people.text("days_b_screening_arrest").count("") == 307
    kept = keep_analysed(people)
    assert len(kept.rows) == 6172
    late = [date > "2014-04-01" for date in kept.text("compas_screening_date")]
    labels = [
        label for label, is_late in zip(kept.text("two_year_recid"), late, strict=True) if is_late
    ]
    assert labels == ["1"] * 868


@pytest.mark.thorough
def test_the_real_split_is_the_same_in_every_process() -> None:
    root = root_with(CompasSexRace)
    here = load_dataset(CompasSexRace, root=root).fingerprint
    assert here == fingerprint_elsewhere(CompasSexRace, root)
