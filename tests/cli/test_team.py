"""``recommend``, ``encode`` and ``model-card`` as a user meets them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from fairbench.api import Point
from fairbench.cli.app import main
from fairbench.data.loading import load_dataset
from fairbench.data.prepared import Prepared
from tests.support.small_table import make_table
from tests.support.stored_models import REGISTRY, store_model

pytestmark = pytest.mark.thorough

Here = Callable[..., tuple[int, str, str]]

PAGE = Path(__file__).parents[2] / "docs" / "team.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, prepared: Prepared) -> Path:
    """Two kept models, and a file of new rows."""
    place = tmp_path_factory.mktemp("team")
    results = place / "fairbench-results"
    points = {
        "beta=0.2": {
            "mutual_information_y_validation": 0.3,
            "mutual_information_validation": 0.02,
            "mutual_information": 0.031,
        },
        "beta=0.9": {"mutual_information_y_validation": 0.2, "mutual_information_validation": 0.01},
    }
    store_model(results, prepared, "sofair", points)
    store_model(
        results, prepared, "identity", {"-": {"mutual_information_validation": 0.3}}, point=Point()
    )
    make_table().x.assign(id=range(2000)).to_csv(place / "new.csv", index=False)
    return place


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """``fairbench`` in this process, in that folder: code, stdout, stderr."""

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["fairbench", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return call


def test_what_is_recommended_is_reported_on_test_and_can_be_used(here: Here, folder: Path) -> None:
    code, out, _ = here("recommend", "--max-leakage", "0.03")
    assert code == 0
    assert "SIMULATED DATA" in out
    assert "Recommended: sofair, beta=0.2, seed 0" in out
    assert re.search(r"I\(Z;S\), nats +0\.020 +\.031 \[\.000, \.020\]", out)
    assert "ABOVE THE LIMIT ON TEST: 0.031 > 0.03" in out
    assert "lower bounds of what leaks, no guarantee" in " ".join(out.split())
    assert "mlp on raw" in out
    assert re.search(r"Runners-up.*\n.*\nsofair \(hidden=\[16\] +beta=0.9.*\nlatent=3\)", out)
    command = shlex.split(out.strip().splitlines()[-1])
    code, _, err = here(*command[1:], "--keep", "id")
    assert code == 0
    assert "SIMULATED DATA" in err
    assert "on the test set: beta=0.2: I = 0.031 nats" in err
    z = pd.read_parquet(folder / "z.parquet")
    assert list(z.columns) == ["z0", "z1", "z2", "id"]
    assert len(z) == 2000


def test_nothing_fits_says_how_near_it_came(here: Here) -> None:
    code, out, _ = here("recommend", "--max-leakage", "0.015", "--min-accuracy", "0.9")
    assert code == 1
    assert "Nothing fits." in out
    assert "--min-accuracy 0.8" in out
    assert "fairbench run --dataset adults-gender --methods" in out
    code, out, _ = here("recommend", "--max-leakage", "0.001")
    assert code == 1
    assert "sofair, beta=0.9, seed 0 leaks least: I = 0.0100 nats" in out


def test_a_point_between_audited_ones_is_named_as_such(here: Here) -> None:
    words = ("encode", "--method", "sofair", "--input", "new.csv", "--output", "z.csv")
    code, _, err = here(*words, "--point", "beta=0.5")
    assert code == 0
    assert "This very point was not audited" in err
    assert "audited nearby: beta=0.2: I = 0.031" in err
    assert "audited nearby: beta=0.9: I = 0.010" in err


def test_figures_are_not_claimed_for_an_encoder_whose_code_has_changed(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("encode", "--method", "sofair", "--point", "beta=0.2", "--input", "new.csv")
    words += ("--output", "z.csv")
    _, _, err = here(*words)
    assert "WARNING: the code" not in err
    assert "on the test set: beta=0.2: I = 0.031" in err
    monkeypatch.setattr("fairbench.cli.stored_code.code_of", lambda method: "another")
    code, _, err = here(*words)
    assert code == 0
    assert "WARNING: the code of sofair (or of fairbench) has changed since sofair on" in err
    assert "train it again: fairbench run --methods sofair" in err
    assert "on the test set, of the earlier code: beta=0.2: I = 0.031" in err
    code, card, err = here("model-card", "--method", "sofair", "--point", "beta=0.2")
    assert code == 0
    assert "WARNING: the code of sofair" in err
    assert "WARNING" not in card


def test_replaced_values_are_counted_by_column(here: Here, folder: Path) -> None:
    frame = pd.read_csv(folder / "new.csv", dtype=str)
    frame.loc[:9, "colour"] = "violet"
    frame.loc[5:6, "noise"] = None
    frame.to_csv(folder / "odd.csv", index=False)
    words = ("encode", "--method", "sofair", "--point", "beta=0.2", "--input", "odd.csv")
    words += ("--output", "odd.parquet")
    code, _, err = here(*words)
    assert code == 2
    assert "odd.csv, row 6: noise has no value" in err
    assert not (folder / "odd.parquet").exists()
    code, _, err = here(*words, "--unknown", "common")
    assert code == 0
    assert re.search(r"colour: 10 unknown values became the most common, '\w+'", err)
    assert re.search(r"noise: 2 unknown values became the mean, ", err)


def test_the_last_words_are_of_a_column_that_replacing_has_emptied(
    here: Here, folder: Path
) -> None:
    frame = make_table().x
    frame.assign(colour=frame["colour"].str.upper()).to_csv(folder / "capitals.csv", index=False)
    words = ("encode", "--method", "sofair", "--point", "beta=0.2", "--input", "capitals.csv")
    words += ("--output", "capitals.parquet")
    code, _, err = here(*words)
    assert code == 2
    assert "'RED' is spelled 'red'" in err
    assert "--unknown" not in err
    code, _, err = here(*words, "--unknown", "common")
    assert code == 0
    last = err.strip().rpartition("Warning: ")[2]
    assert last.startswith("colour: all 2,000 values are unknown to the encoder, such as ")
    assert "'RED' is spelled 'red'" in last


@pytest.mark.parametrize("content", ["name,z0\nAda,36\n", "no table\x00"])
def test_another_table_is_never_replaced_by_codes(here: Here, folder: Path, content: str) -> None:
    (folder / "raw.csv").write_text(content)
    words = ("encode", "--method", "sofair", "--point", "beta=0.2", "--input", "new.csv")
    code, _, err = here(*words, "--output", "raw.csv")
    assert code == 2
    assert "raw.csv is there already, and is no table that this command wrote" in err
    assert (folder / "raw.csv").read_text() == content
    for _ in range(2):  # codes are replaced by codes, and an empty file by any
        assert here(*words, "--output", "codes.csv")[0] == 0
    (folder / "empty.csv").touch()
    assert here(*words, "--output", "empty.csv")[0] == 0


def test_a_card_is_written_or_printed(here: Here, folder: Path) -> None:
    code, printed, _ = here("model-card", "--method", "sofair", "--point", "beta=0.2")
    assert code == 0
    assert printed.startswith("# sofair on adults-gender, beta=0.2")
    code, _, err = here("recommend", "--max-leakage", "0.03", "--card", "card.md")
    assert code == 0
    assert err.endswith("card.md\n")
    assert (folder / "card.md").read_text() == printed


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("encode --input new.csv --output z.csv", "No method is named"),
        ("encode --method identity --input no.csv --output z.csv", "There is no file no.csv"),
        ("encode --method identity --input new.csv --output z.txt", "suffix must name"),
        ("encode --method identity --input new.csv --output no/z.csv", "cannot be written"),
        ("encode --method identity --input new.csv --output new.csv", "is the input itself"),
        (
            "encode --method identity --input new.csv --output z.csv --random-state 1",
            "draws nothing",
        ),
        (
            "encode --method identity --input new.csv --output z.csv --separator ab",
            "not one character",
        ),
        (
            "encode --method identity --input new.csv --output z.csv --separator ;",
            "Is the separator right?",
        ),
        ("encode --method identity --input new.csv --output z.csv --results no", "no results in"),
        (
            "encode --method identity --input new.csv --output z.csv --random-state -1",
            "at least 0 is needed",
        ),
        ("recommend --max-leakage 0,05", "a number is needed (got '0,05')."),
        ("recommend --max-leakage 5%", "a number is needed (got '5%')."),
        ("encode --method sofair --input new.csv --output z.csv", "Audited:\n  beta=0.2"),
        ("recommend --max-leakage 0.1 --certified --level 5", "a probability"),
        ("recommend --max-leakage 0.1 --level 0.2", "--level is of certificates"),
        ("recommend --max-leakage 0.1 --certified --level 1e-17", "The least is 1e-09"),
        ("recommend --max-leakage 0.1 --dataset adult", "There are no results on 'adult'"),
        ("recommend --max-leakage 0.1 --track blnd", "Did you mean 'blind'"),
        # The data of this store were made up: they are not those of its name.
        ("recommend --max-leakage 0.1 --certified", "are not those that its models"),
        ("model-card --method sofair", "--point is missing. Audited:"),
        ("model-card --method identity --output /dev/null/card.md", "cannot be written"),
    ],
)
def test_a_users_mistake_is_answered_in_a_few_lines(here: Here, words: str, says: str) -> None:
    code, out, err = here(*shlex.split(words))
    assert code == 2
    assert says in err
    assert "Traceback" not in err
    assert not out


def test_codes_that_a_certificate_does_not_count_are_told(
    here: Here, folder: Path, prepared: Prepared
) -> None:
    certified = {"certified_overflow": 0.0, "certified_rows": 600.0}
    for name in ("constant", "identity"):
        store_model(folder / "certified", prepared, name, {"-": certified}, point=Point())
    words = ("--results", "certified", "--input", "new.csv", "--output", "z.csv")
    _, _, err = here("encode", "--method", "constant", *words)
    assert err.splitlines()[-1] == "All codes are among those that the certificate counts."
    _, _, err = here("encode", "--method", "identity", *words)
    said = err.splitlines()[-1]
    assert said.startswith("Warning: 1,")
    assert "have a code that the certificate does not count; of the test rows 0.00% had" in said
    assert "fairbench audit --z" in said


def test_parquet_is_encoded_whatever_its_bytes_look_like(here: Here, folder: Path) -> None:
    # Read as text, the long run of one letter is a field beyond any length.
    frame = pd.read_csv(folder / "new.csv")
    frame.insert(0, "long", ["x" * 200_000] + ["x"] * (len(frame) - 1))
    frame.to_parquet(folder / "new.parquet", compression=None)
    words = ("encode", "--method", "identity", "--input", "new.parquet", "--keep", "long")
    code, _, err = here(*words, "--output", "same.parquet")
    assert code == 0, err
    assert pd.read_parquet(folder / "same.parquet")["long"].tolist() == frame["long"].tolist()


def test_a_card_that_is_named_now_is_where_the_data_are(here: Here, folder: Path) -> None:
    """Nothing else says where: no run of this store tells of a card."""
    table = make_table()
    people = table.x.assign(sex=table.s, income=table.y["task"])
    people.to_csv(folder / "mine.csv", index=False)
    words = ("--sensitive", "sex", "--label", "income", "--output", "mine.yaml")
    code, _, err = here("data", "new", "mine.csv", *words)
    assert code == 0, err
    data = load_dataset(REGISTRY.dataset(str(folder / "mine.yaml")))
    store_model(folder / "own", data, "identity", {"-": {}}, point=Point())
    words = ("--dataset", "mine.yaml", "--results", "own")
    code, printed, err = here("model-card", "--method", "identity", *words)
    assert code == 0
    assert not err
    assert f"| test | {len(data.roles['test'].s):,} |" in printed
    run = "fairbench run --methods identity --dataset mine.yaml --seed-list 0 --budget quick"
    assert f"{run} --results own\n" in printed
    assert "--seed 0 --results own --input new.csv" in printed
    code, _, err = here("recommend", "--max-leakage", "1", "--card", "own.md", *words)
    assert code == 0
    assert (folder / "own.md").read_text() == printed
    code, out, _ = here("recommend", "--max-leakage", "1", "--certified", *words)
    assert code == 1
    assert "where they are decided before the test rows are looked at" in " ".join(out.split())


@pytest.mark.parametrize("command", ["recommend", "encode", "model-card"])
def test_every_option_is_on_the_page(
    fairbench: Callable[..., subprocess.CompletedProcess[str]], command: str
) -> None:
    options = set(re.findall(r"--[a-z-]+", fairbench(command, "--help").stdout)) - {"--help"}
    page = PAGE.read_text(encoding="utf-8")
    assert {
        option for option in options if f"`{option}" not in page and option not in page
    } == set()
    assert len(options) > 5


@pytest.mark.slow
def test_the_page_can_be_followed_from_an_empty_folder(
    fairbench: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    blocks = re.findall(r"```(python|sh)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 8
    for kind, body in blocks:
        if kind == "python":
            subprocess.run([sys.executable, "-c", body], cwd=tmp_path, check=True)
            continue
        for line in body.strip().splitlines():
            done = fairbench(*shlex.split(line)[1:], timeout=1800)
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
            assert "Traceback" not in done.stderr
    assert len(pd.read_parquet(tmp_path / "z.parquet")) == 1000
    assert "## Certificate" in (tmp_path / "card.md").read_text()
