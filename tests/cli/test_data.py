"""``fairbench data`` and runs on one's own table, as a user meets them: real processes."""

from __future__ import annotations

import os
import pty
import re
import select
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from fairbench.cli import app as cli
from tests.conftest import TOY, Call
from tests.data.test_card import CARD, people

pytestmark = pytest.mark.thorough

NEW = ("data", "new", "people.csv", "--sensitive", "sex", "--label", "income:high")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of one's own, in the folder where the command line runs."""
    file = tmp_path / "people.csv"
    people().assign(id=lambda frame: frame.index).to_csv(file, index=False)
    return file


@pytest.mark.slow
def test_from_a_csv_file_to_a_leaderboard_of_its_name(
    fairbench_here: Call, tmp_path: Path, table: Path
) -> None:
    made = fairbench_here(*NEW, "--name", "my-people", "--output", "card.yaml")
    assert made.returncode == 0, made.stderr
    assert "Left out of X: id" in made.stdout
    card = (tmp_path / "card.yaml").read_text()
    assert "# 3 values: " in card
    assert "fairbench run --methods " in made.stdout
    assert made.stdout.rstrip().endswith("--dataset card.yaml --budget quick")

    run = ("run", "--methods", "plain", "--dataset", "card.yaml", "--budget", "quick")
    run += ("--points", "2")
    done = fairbench_here(*run)
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" not in done.stderr
    board = pd.read_csv(tmp_path / "fairbench-results/leaderboards/my-people.csv")
    assert {"plain", "identity"} <= set(board["method"])
    assert set(board["dataset"]) == {"my-people"}
    assert set(board["data_source"]) == {"real"}
    assert board["complete"].all()
    assert "0 fitted now" in fairbench_here(*run).stderr

    # Another table under the old name: everything is done anew.
    people(seed=1).assign(id=1).to_csv(table, index=False)
    told = fairbench_here(*run, "--dry-run")
    assert "0 of 7 units are in the store" in told.stdout


def test_new_never_asks_without_a_terminal_and_never_overwrites(
    fairbench_here: Call, tmp_path: Path, table: Path
) -> None:
    told = fairbench_here("data", "new", "people.csv", "--label", "income:high")
    assert told.returncode == 2
    assert "--sensitive missing, and there is no terminal to ask on" in told.stderr
    assert "Columns: age, score, job" in told.stderr
    assert not (tmp_path / "people.yaml").exists()
    text = "# my own\n"
    (tmp_path / "people.yaml").write_text(text)
    again = fairbench_here(*NEW, "--drop", "job")
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert (tmp_path / "people.yaml").read_text() == text
    assert fairbench_here(*NEW, "--drop", "job", "--force").returncode == 0
    assert "  - job" in (tmp_path / "people.yaml").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--sensitive", "sxe"], "Did you mean 'sex'"),
        (["--sensitive", "age"], "--bins age:"),
        (["--bins", "age:old"], "gives no numbers"),
        (["--label", "score"], "--label 'score:>"),
        (["--label", "income:higher"], "Did you mean 'high'"),
        (["--label", "score:>high"], "'high' is no number"),
        (["--label", "town:>3"], "'town' holds no numbers"),
        (["--sensitive", "town", "--bins", "town:3"], "'town' holds no numbers"),
        (["--drop", "jobb"], "Did you mean 'job'"),
        (["--label", "age:90"], "--label 'age:>90'"),
        (["--drop", "job,sex"], "'sex' is also named by --sensitive"),
        (["--drop", "income"], "'income' is also named by --label"),
        (["--sensitive", "notes"], "--sensitive: the column 'notes' has no value in any row"),
        (["--label", "notes"], "--label: the column 'notes' has no value in any row"),
        (["--missing", "leave"], "'leave' is not one of 'error', 'drop', 'category'"),
        (["--sensitive", "age", "--bins", "age:65,40"], "cuts must increase"),
        (["--bins", "age:40"], "--sensitive sex,age"),
        (["--sensitive", "name"], "looks like a name or an id"),
        (["--sensitive", "income"], "'income' stands twice"),
        (["--label", "income:low"], "'income' stands twice"),
        (["--test", "town:c"], "no row of 'town' is 'c'"),
        (["--name", "My Data"], "As in --name my-data"),
        (["--name", "adults"], "belongs to a registered dataset"),
        (["--output", "my-points.yaml"], "do not end in"),
        (["--name", "night-shift-work"], "-shift- in them.\nAs in --name my-table"),
        (["--output", "card.txt"], "does not end in .yaml"),
    ],
)
def test_options_that_do_not_fit_the_table_are_told(
    tmp_path: Path,
    table: Path,
    words: list[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    frame = people().assign(name=[f"p{i}" for i in range(600)], notes=None)
    frame.to_csv(table, index=False)
    monkeypatch.chdir(tmp_path)
    new = (*NEW[:3], *NEW[5:]) if "--sensitive" in words else NEW
    monkeypatch.setattr(sys, "argv", ["fairbench", *new, *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert says in capsys.readouterr().err
    assert list(tmp_path.glob("*.yaml")) == []


def test_options_say_all_that_a_card_can(fairbench_here: Call, tmp_path: Path) -> None:
    frame = people().assign(part=lambda table: ["train", "train", "test"] * 200)
    frame["score"] = frame["score"].abs()
    frame.to_parquet(tmp_path / "people.parquet")
    words = "--sensitive sex,age --bins age:30,50 --label score:>1 --label town:b --onehot"
    made = fairbench_here(
        "data", "new", "people.parquet", *words.split(), "--test", "part:test", "--drop", "income"
    )
    assert made.returncode == 0, made.stderr
    assert "m 30<=age<50" in made.stdout
    told = fairbench_here("data", "describe", "people.yaml")
    assert told.returncode == 0, told.stderr
    for text in (
        "S = sex x age: 6 groups",
        "Y: score",
        "Y: town",
        "1 columns, one-hot",
        "test 200",
    ):
        assert text in told.stdout


def test_a_column_may_have_a_colon_in_its_name(fairbench_here: Call, tmp_path: Path) -> None:
    frame = people().rename(columns={"income": "income: 2024"})
    frame.to_csv(tmp_path / "people.csv", index=False)
    words = ("data", "new", "people.csv", "--sensitive", "sex", "--label", "income: 2024:high")
    made = fairbench_here(*words)
    assert made.returncode == 0, made.stderr
    assert "Y: income: 2024" in fairbench_here("data", "describe", "people.yaml").stdout


def test_new_leaves_dates_out_unless_they_have_a_use(fairbench_here: Call, tmp_path: Path) -> None:
    days = [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(600)]
    people().assign(start=days, end=days[::-1]).to_csv(tmp_path / "people.csv", index=False)
    made = fairbench_here(*NEW, "--category", "end")
    assert made.returncode == 0, made.stderr
    why = "dates; or put a number of days in its place"
    assert f"Left out of X: start ({why})" in made.stdout
    features, drop = (tmp_path / "people.yaml").read_text().split("\ndrop:\n")
    assert "  end: category" in features
    assert drop.splitlines()[0].split("#") == [f"{'  - start':27} ", f" {why}"]


def test_new_takes_accents_in_either_form(fairbench_here: Call, tmp_path: Path) -> None:
    frame = people().rename(columns={"income": "re\u0301sultat", "sex": "se\u0301xe"})
    frame.to_csv(tmp_path / "cr\u00e9dits.csv", index=False)
    words = ("--sensitive", "s\u00e9xe", "--label", "r\u00e9sultat:high")
    made = fairbench_here("data", "new", "cr\u00e9dits.csv", *words)
    assert made.returncode == 0, made.stderr
    assert "Written: credits.yaml" in made.stdout
    assert "column: s\u00e9xe" in (tmp_path / "credits.yaml").read_text(encoding="utf-8")


def test_new_says_what_to_edit_when_the_table_is_bad(
    fairbench_here: Call, tmp_path: Path, table: Path
) -> None:
    people().assign(gender=lambda frame: frame["sex"]).to_csv(table, index=False)
    told = fairbench_here(*NEW)
    assert told.returncode == 2
    assert "'gender' determines the sensitive attribute" in told.stderr
    assert "edit it, then: fairbench data check people.yaml" in told.stderr
    (tmp_path / "people.yaml").open("a").write("\nallowed_copies: [gender]\n")
    checked = fairbench_here("data", "check", "people.yaml")
    assert checked.returncode == 0
    assert "Warning: people: the column 'gender' alone has" in checked.stderr


def test_new_is_told_what_to_do_about_missing_values(
    fairbench_here: Call, tmp_path: Path, table: Path
) -> None:
    frame = people()
    frame.loc[:49, "job"] = None
    frame["retired"] = np.where(frame["age"] > 60, "yes", None)
    frame.to_csv(table, index=False)
    told = fairbench_here(*NEW)
    assert told.returncode == 2
    assert "add --missing drop --force to this command" in told.stderr
    made = fairbench_here(*NEW, "--missing", "drop", "--force")
    assert made.returncode == 0, made.stderr
    assert "50 of 600 rows are left out" in made.stderr
    assert "\nmissing: drop " in (tmp_path / "people.yaml").read_text()
    assert "Left out of X: retired" in made.stdout
    # As a category, a missing value is a second one.
    made = fairbench_here(*NEW, "--missing", "category", "--force")
    assert made.returncode == 0, made.stderr
    assert "\nmissing: category " in (tmp_path / "people.yaml").read_text()
    assert "Left out of X" not in made.stdout


def test_new_finds_another_name_where_a_dataset_has_it(
    fairbench_here: Call, tmp_path: Path, table: Path
) -> None:
    made = fairbench_here(*NEW, "--output", "adults.yaml")
    assert made.returncode == 0, made.stderr
    assert "name: my-adults" in (tmp_path / "adults.yaml").read_text()


def test_new_asks_on_a_terminal(tmp_path: Path, table: Path) -> None:
    answers = ["sexx", "sex,age", "30,50", "income", "high", ""]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.environ["PYTHONPATH"] = os.pathsep.join([str(TOY), os.environ.get("PYTHONPATH", "")])
        words = ["-m", "fairbench", "data", "new", "people.csv"]
        os.execv(sys.executable, [sys.executable, *words])
    said = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        if not piece:
            break
        said += piece
        if answers and said.rstrip().endswith(b":") and piece.strip():
            os.write(terminal, f"{answers.pop(0)}\n".encode())
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, said.decode()
    text = said.decode()
    assert "Sensitive attribute" in text
    assert "Did you mean 'sex'" in text
    assert "cut it into groups at" in text
    card = (tmp_path / "people.yaml").read_text()
    assert "bins: [30, 50]" in card
    assert "positive: high" in card
    assert "- id " in card


def test_a_bad_table_stops_a_run_before_anything_trains(
    fairbench_here: Call, tmp_path: Path, table: Path
) -> None:
    (tmp_path / "people.yaml").write_text(CARD)
    table.write_text(table.read_text().replace("cook", "", 1))
    told = fairbench_here("run", "--methods", "plain", "--dataset", "people.yaml")
    assert told.returncode == 2
    assert "'job' has no value (missing in 1 of 600 rows)" in told.stderr
    assert "start" not in told.stderr
    assert not (tmp_path / "fairbench-results").exists()


def test_two_cards_of_one_name_are_not_run_together(
    fairbench_here: Call, tmp_path: Path, table: Path
) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(f"name: same\n{CARD}")
    told = fairbench_here(
        "run", "--methods", "plain", "--dataset", "one.yaml,two.yaml", "--dry-run"
    )
    assert told.returncode == 2
    assert "have the name 'same'" in told.stderr


def test_list_tells_where_files_are(fairbench_here: Call, tmp_path: Path) -> None:
    rows = dict(line.split("\t", 1) for line in fairbench_here("data", "list").stdout.splitlines())
    assert rows["adults-gender, adults"] == "48,842\tsex\tnot here: simulated twin"
    (tmp_path / "toy.csv").write_text("not the file")
    told = fairbench_here("data", "list", "--data-root", ".")
    assert "damaged" in told.stdout
    noise = [line for line in told.stderr.splitlines() if not line.startswith("Warning: plugin")]
    assert not noise


def test_describe_tells_what_there_is_to_hide(fairbench_here: Call) -> None:
    told = fairbench_here("data", "describe", "toy", COLUMNS="80")
    assert told.returncode == 0
    assert "SIMULATED" in told.stderr
    text = told.stdout
    assert "2 groups, H(S) = 0.69" in text
    assert "Y: task" in text
    assert "simulated (embedded simulated twin)" in text
    # The toy's first column is a unit Gaussian shifted by s: I = 0.111 nats.
    found = float(text.split("I(X;S) = ")[1].split()[0])
    assert 0.03 < found < 0.15
    assert max(len(line) for line in text.splitlines()) <= 80
    assert [line.split() for line in text.splitlines() if line.startswith("c ")] == [
        ["c", "category", "3"]
    ]


def test_new_sees_a_decimal_comma(fairbench_here: Call, tmp_path: Path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False, sep=";", decimal=",")
    made = fairbench_here(*NEW)
    assert made.returncode == 0, made.stderr
    assert 'the card says decimal: ","' in made.stdout
    card = (tmp_path / "people.yaml").read_text()
    assert 'decimal: ","' in card
    assert "score: number" in card


@pytest.mark.parametrize("written", ["{:,.2f}", "${:.2f}"], ids=["thousands", "currency"])
def test_new_leaves_out_no_numbers_for_how_they_are_written(
    fairbench_here: Call, tmp_path: Path, written: str
) -> None:
    pay = pd.Series(np.random.default_rng(0).permutation(400) * 101.25 + 900)
    people(n=400).assign(pay=pay.map(written.format)).to_csv(tmp_path / "people.csv", index=False)
    told = fairbench_here(*NEW)
    assert told.returncode == 2
    assert "'pay' looks like numbers with" in told.stderr


def test_new_leaves_out_ids_that_are_longer_than_a_number_is_exact(
    fairbench_here: Call, tmp_path: Path
) -> None:
    ids = 10**17 + np.arange(300)
    people(n=300).assign(id=ids).to_csv(tmp_path / "people.csv", index=False)
    made = fairbench_here(*NEW)
    assert "Left out of X: id (another whole number in every row)" in made.stdout


def test_new_takes_names_that_are_numbers_for_names(fairbench_here: Call, tmp_path: Path) -> None:
    rows = "\n".join(
        f"{'fm'[i % 2]},{i % 3},x{i % 7},{['no', 'yes'][i // 2 % 2]}" for i in range(600)
    )
    (tmp_path / "years.csv").write_text(f"sex,1,2021,hired\n{rows}\n")
    words = ("data", "new", "years.csv", "--label", "hired:yes")
    result = fairbench_here(*words, "--sensitive", "sex")
    assert result.returncode == 0, result.stderr
    assert "header: false" not in (tmp_path / "years.yaml").read_text()
    (tmp_path / "rows.csv").write_text(f"f,1,x3,no\n{rows}\n")
    result = fairbench_here("data", "new", "rows.csv", "--sensitive", "sex", "--label", "hired")
    assert result.returncode == 2
    says = (
        "has no column 'sex'. The first line was taken for a row, not for names, since it holds a"
    )
    assert says in " ".join(result.stderr.split())


def test_check_names_groups_with_few_rows(fairbench_here: Call, tmp_path: Path) -> None:
    frame = people().assign(sex=lambda t: t["sex"].where(t.index > 59, "x"))
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "people.yaml").write_text(CARD)
    told = fairbench_here("data", "check", "people.yaml")
    assert told.returncode == 0
    assert "groups with fewer than 30 rows in a role: x (auditor-train 12, test 20)" in told.stderr
    people().to_csv(tmp_path / "people.csv", index=False)
    assert "fewer than 30" not in fairbench_here("data", "check", "people.yaml").stderr


def test_check_names_classes_of_labels_with_few_rows(fairbench_here: Call, tmp_path: Path) -> None:
    """Nobody can predict one row: A_y is then that of a constant, nearly 1."""
    frame = people().assign(income=lambda t: np.where(t.index > 0, "low", "high"))
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "people.yaml").write_text(CARD)
    told = fairbench_here("data", "check", "people.yaml")
    assert told.returncode == 0
    assert "fewer than 30 rows of a class in a role: class 1 of income (aud" in told.stderr


def test_an_export_never_replaces_the_table_that_it_is_of(
    fairbench_here: Call, tmp_path: Path, table: Path
) -> None:
    assert fairbench_here(*NEW, "--drop", "job").returncode == 0
    before = table.read_bytes()
    told = fairbench_here("data", "export", "people.yaml", "--output", "people.csv")
    assert told.returncode == 2
    assert "is the table that people is read from" in told.stderr
    assert table.read_bytes() == before
    assert fairbench_here("data", "export", "people.yaml", "--output", "out.csv").returncode == 0
    assert len(pd.read_csv(tmp_path / "out.csv")) == len(people())
    # A second one replaces the first, and no table of another kind.
    assert fairbench_here("data", "export", "people.yaml", "--output", "out.csv").returncode == 0
    (tmp_path / "other.csv").write_bytes(before)
    told = fairbench_here("data", "export", "people.yaml", "--output", "other.csv")
    assert told.returncode == 2
    assert "other.csv is there already, and is no table that this command wrote" in told.stderr
    assert (tmp_path / "other.csv").read_bytes() == before


def test_characters_that_yaml_does_not_take_end_in_a_card_that_can_be_read(
    fairbench_here: Call, table: Path
) -> None:
    frame = people()
    frame["town"] = frame["town"].replace("b", "b\x92\x1b[1m")
    frame.rename(columns={"job": "jo\x96b"}).to_csv(table, index=False)
    made = fairbench_here(*NEW)
    assert made.returncode == 0, made.stderr
    checked = fairbench_here("data", "check", "people.yaml")
    assert checked.returncode == 0, checked.stderr


def test_columns_may_have_commas_in_their_names(fairbench_here: Call, tmp_path: Path) -> None:
    names = {"sex": "sex, at birth", "job": "job,town", "income": "income, EUR"}
    frame = people().rename(columns=names).assign(id=lambda t: t.index)
    frame.rename(columns={"id": "id, old"}).to_csv(tmp_path / "people.csv", index=False)
    words = ("--sensitive", "sex, at birth", "--label", "income, EUR:high")
    made = fairbench_here("data", "new", "people.csv", *words, "--drop", "id, old,job,town")
    assert made.returncode == 0, made.stderr
    card = (tmp_path / "people.yaml").read_text()
    assert all(name in card.partition("\ndrop:")[2] for name in ("id, old", "job,town"))
    told = fairbench_here("data", "new", "people.csv", *words, "--drop", "job,score", "--force")
    assert "no column 'job'" in told.stderr


def test_a_column_that_is_dropped_may_hold_anything(fairbench_here: Call, tmp_path: Path) -> None:
    frame = people().assign(stay=lambda t: pd.to_timedelta(t["age"], unit="D"), tags=None)
    frame["tags"] = [["a", "b"]] * len(frame)
    frame.to_parquet(tmp_path / "people.parquet")
    words = ("data", "new", "people.parquet", "--sensitive", "sex", "--label", "income:high")
    told = fairbench_here(*words, "--drop", "tags")
    assert told.returncode == 2
    assert "'stay' holds durations" in told.stderr
    assert "--drop" in told.stderr
    made = fairbench_here(*words, "--drop", "tags,stay")
    assert made.returncode == 0, made.stderr
    assert "Left out of X: tags" not in made.stdout


def test_cuts_are_proposed_for_a_column_with_marks_of_missing_numbers(
    fairbench_here: Call, tmp_path: Path
) -> None:
    ages = [str(20 + i % 50) if i % 10 else "?" for i in range(300)]
    people = pd.DataFrame({"age": ages, "job": ["a", "b", "c"] * 100, "hired": ["yes", "no"] * 150})
    people.to_csv(tmp_path / "people.csv", index=False)
    told = fairbench_here("data", "new", "people.csv", "--sensitive", "age", "--label", "hired:yes")
    assert told.returncode == 2
    assert re.search(r"Name its cuts: --bins age:\d+,\d+", told.stderr)


def test_a_card_holds_any_character_of_a_column_name(fairbench_here: Call, tmp_path: Path) -> None:
    """JSON escapes some as pairs, which YAML does not read."""
    name = "job \N{WOMAN}\u200d\N{STAFF OF AESCULAPIUS}\ufe0f\x7f"
    people = pd.DataFrame({name: ["a", "b", "c"] * 100, "sex": ["f", "m"] * 150})
    people["hired"] = ["yes", "no", "no"] * 100
    people["age"] = range(300)
    people.to_csv(tmp_path / "people.csv", index=False)
    words = ("--sensitive", "sex", "--label", "hired:yes", "--drop", "age")
    made = fairbench_here("data", "new", "people.csv", *words)
    assert made.returncode == 0, made.stderr
    assert fairbench_here("data", "check", "people.yaml").returncode in (0, 1)
    card = yaml.safe_load((tmp_path / "people.yaml").read_text(encoding="utf-8"))
    assert name in card["features"]
