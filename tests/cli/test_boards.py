"""A method of one's own on a published board: ranked, shown, submitted, verified."""

import gzip
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from fairbench.cli.verify import TrainedAgain
from fairbench.leaderboard.board import make_board
from fairbench.leaderboard.board_file import read_board, to_bytes
from fairbench.leaderboard.select import read
from fairbench.registry import load_registry
from fairbench.runs.verified_figures import FIGURES
from fairbench.store.database import Store
from fairbench.store.records import PointRecord, Record
from fairbench.store.submission import write_submission
from tests.conftest import Call, cli_environment, fairbench_in
from tests.support.runs import change_units, stored
from tests.support.submissions import submitted, without_point

ROOT = Path(__file__).parents[2]
BOARD = "toy-drawn-1.board"
NAMED = "adults-gender-5"
RUN = ("run", "--dataset", "toy-drawn", "--budget", "quick")
MINE = ("--params", "mine.yaml")
FILE = "noisy-toy-drawn-1.submission.jsonl.gz"
VERIFICATION = "noisy-toy-drawn-1.verification.json"


@dataclass(frozen=True)
class Made:
    """A folder in which a command was run, and what the command said."""

    folder: Path
    run: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a board over two folds, and own hyperparameters."""
    folder = tmp_path_factory.mktemp("published")
    fairbench = fairbench_in(folder)
    made = fairbench(*RUN, "--methods", "plain,noisy", "--splits", "2", "--results", "published")
    assert made.returncode == 0, made.stderr
    written = fairbench(
        *("board", "export", "toy-drawn", "--version", "1", "--budget", "quick"),
        *("--results", "published"),
    )
    assert written.returncode == 0, written.stderr
    assert (folder / BOARD).stat().st_size < 200_000
    (folder / "mine.yaml").write_text("noise: 0.5\n")
    return folder


@pytest.fixture(scope="module")
def ranked(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The same, with a run of an own method against the board, and its submission."""
    folder = tmp_path_factory.mktemp("ranked")
    shutil.copytree(published, folder, dirs_exist_ok=True)
    fairbench = fairbench_in(folder)
    run = fairbench(
        "run", "--methods", "noisy", "--dataset", "toy-drawn", *MINE, "--against", BOARD
    )
    assert run.returncode == 0, run.stderr
    submitted = fairbench(
        "submit", "--method", "noisy", "--dataset", "toy-drawn", "--against", BOARD
    )
    assert submitted.returncode == 0, submitted.stderr
    assert (folder / FILE).stat().st_size < 100_000
    return Made(folder, run)


@pytest.fixture
def board(published: Path, tmp_path: Path) -> Path:
    """The board, in a folder of the test's own."""
    shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    return tmp_path / BOARD


@pytest.fixture
def submission(ranked: Made, tmp_path: Path) -> Path:
    """The submission, beside its board and results, in a folder of the test's own."""
    shutil.copytree(ranked.folder, tmp_path, dirs_exist_ok=True)
    return tmp_path / FILE


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def rewrite(path: Path, lines: list[dict[str, Any]]) -> None:
    """Replace a submission's lines."""
    path.write_bytes(gzip.compress("".join(f"{json.dumps(line)}\n" for line in lines).encode()))


def edit_points(path: Path, figure: str, change: Callable[[float], float], **rest: object) -> None:
    """Change a figure of every point of a submission; ``rest`` replaces fields of their lines."""
    lines = lines_of(path)
    points = [line for line in lines if line.get("table") == "points"]
    assert points
    for line in points:
        line["values"][figure] = change(line["values"][figure])
        line.update(rest)
    rewrite(path, lines)


def verify_as_the_workflow_does(folder: Path) -> subprocess.CompletedProcess[str]:
    script = ROOT / ".github" / "scripts" / "verify_submissions.py"
    return subprocess.run(
        [sys.executable, str(script), "--against", BOARD, "--output", "comment.md"],
        input=f"README.md\n{FILE}\n",
        cwd=folder,
        env=cli_environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "says"),
    [
        (("--splits", "3"), "--splits 3 cannot be ranked in the board toy-drawn, edition 1"),
        (("--points", "99"), "points, and more can only make an area smaller"),
    ],
)
def test_what_the_board_did_not_allow_its_rows_is_refused(
    fairbench: Call, board: Path, option: tuple[str, str], says: str
) -> None:
    refused = fairbench(*RUN, "--methods", "noisy", "--against", str(board), *option)
    assert refused.returncode == 2
    assert says in refused.stderr


@pytest.mark.slow
def test_only_my_method_is_trained_and_its_row_is_named_after_its_file(ranked: Made) -> None:
    assert "fit plain" not in ranked.run.stderr
    assert "identity" not in ranked.run.stderr
    (line,) = (line for line in ranked.run.stdout.splitlines() if "noisy *" in line)
    assert " mine " in line, "the name of the file stands for its hyperparameters"
    table = pd.read_csv(ranked.folder / "fairbench-results/leaderboards/toy-drawn-1-and-mine.csv")
    assert set(table.loc[table["origin"].isna(), "params"]) == {"noise=0.5"}
    assert {"plain", "identity", "noisy"} <= set(table["method"])


@pytest.mark.slow
def test_my_results_are_shown_beside_the_board(fairbench: Call, submission: Path) -> None:
    for command in (("plot", "curves", "--format", "png"), ("report",), ("leaderboard",)):
        shown = fairbench(*command, "--against", BOARD)
        assert shown.returncode == 0, shown.stderr
    page = (submission.parent / "fairbench-results/report.html").read_text()
    assert "toy-drawn-1" in page


@pytest.mark.slow
def test_my_row_is_compared_with_one_of_the_board(fairbench: Call, submission: Path) -> None:
    shown = fairbench("leaderboard", "--compare", "noisy:mine", "plain", "--against", BOARD)
    assert shown.returncode == 0, shown.stderr
    assert "paired over splits" in shown.stdout
    assert "Your rows on this board: noisy (mine)." in shown.stdout


def test_rows_of_a_board_are_compared_without_results_of_ones_own(fairbench_here: Call) -> None:
    words = ("leaderboard", "--compare", "funnel", "sofair", "--against", "compas-race-5")
    shown = fairbench_here(*words)
    assert shown.returncode == 0, shown.stderr
    assert "difference -" in shown.stdout
    assert "The rows are of the board compas-race, edition 5" in shown.stdout
    assert "leave --format out" in fairbench_here(*words, "--format", "csv").stderr.lower()


@pytest.mark.slow
def test_an_honest_submission_is_verified_and_added(fairbench: Call, submission: Path) -> None:
    verified = fairbench("verify", FILE, "--against", BOARD, "--add-to", "published")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "Verified, but not its encoder: 2 points drawn here agree" in verified.stdout
    assert "needs x alone was not checked: it has no state()" in " ".join(verified.stderr.split())
    told = json.loads((submission.parent / VERIFICATION).read_text())
    assert told["verified"] is True
    assert {one["share_of_changed_rows"] for one in told["encoded_from_x_alone"]} == {None}
    assert len({(point["split"], point["point"]) for point in told["points"]}) == 2
    added = fairbench("leaderboard", "--results", "published")
    assert "submitted, verified 20" in added.stdout


def verify_a_run_of(fairbench: Call, method: str) -> subprocess.CompletedProcess[str]:
    """Run a method against the board, submit its row, and verify that."""
    assert fairbench(*RUN, "--methods", method, "--against", BOARD).returncode == 0
    words = ("--method", method, "--dataset", "toy-drawn", "--against", BOARD)
    assert fairbench("submit", *words).returncode == 0
    return fairbench("verify", FILE.replace("noisy", method), "--against", BOARD)


@pytest.mark.slow
@pytest.mark.usefixtures("board")
def test_an_encoder_that_takes_s_from_memory_is_not_verified(fairbench: Call) -> None:
    verified = verify_a_run_of(fairbench, "takes-s")
    assert verified.returncode == 1, verified.stderr
    assert "of the rows differ: it uses more than x" in " ".join(verified.stderr.split())
    assert "DIFFERS" not in verified.stdout, "its figures are those that were submitted"


@pytest.mark.slow
@pytest.mark.usefixtures("board")
def test_a_fit_that_takes_rows_from_memory_is_not_verified(fairbench: Call) -> None:
    verified = verify_a_run_of(fairbench, "fits-everybody")
    assert verified.returncode == 1, verified.stderr
    assert "DIFFERS" in verified.stdout
    assert "it uses more than x" not in verified.stderr, "where it trained alone it kept nothing"


@pytest.mark.slow
def test_the_workflow_comments_on_every_figure(submission: Path) -> None:
    checked = verify_as_the_workflow_does(submission.parent)
    assert checked.returncode == 0, checked.stderr
    comment = (submission.parent / "comment.md").read_text()
    assert f"{FILE}`: verified" in comment
    told = json.loads((submission.parent / VERIFICATION).read_text())
    assert {one["figure"] for one in told["points"]} > set(FIGURES)
    assert comment.count("| agrees |") == len(told["points"])


@pytest.mark.slow
def test_less_leakage_than_was_measured_is_not_verified(fairbench: Call, submission: Path) -> None:
    edit_points(submission, "mutual_information", lambda value: value * 0.5, replicates=None)
    tampered = fairbench("verify", FILE, "--against", BOARD)
    assert tampered.returncode == 1
    assert "DIFFERS" in tampered.stdout
    assert "NOT verified" in tampered.stdout


@pytest.mark.slow
def test_the_one_figure_that_differs_is_named(fairbench: Call, submission: Path) -> None:
    edit_points(submission, "accuracy_y_validation", lambda value: 1.0)
    flattered = fairbench("verify", FILE, "--against", BOARD, "--points", "1")
    assert flattered.returncode == 1
    assert "A_y, val." in flattered.stdout
    told = json.loads((submission.parent / VERIFICATION).read_text())
    differ = {one["figure"] for one in told["points"] if not one["agrees"]}
    assert differ == {"accuracy_y_validation"}


@pytest.mark.slow
def test_a_figure_that_is_not_that_of_its_replicates_is_told(
    fairbench: Call, submission: Path
) -> None:
    edit_points(submission, "distortion", lambda value: value * 0.9)
    edited = fairbench("verify", FILE, "--against", BOARD, "--points", "1")
    assert edited.returncode == 1
    assert "its distortion is not that of its replicates" in edited.stderr


@pytest.mark.slow
def test_a_submission_must_have_all_splits_and_points(fairbench: Call, submission: Path) -> None:
    lines = lines_of(submission)
    of_fold = next(line["key"] for line in lines if line.get("split") == "fold 2 of 2")
    a_point = next(line["key"] for line in lines if line.get("table") == "points")
    for gone, says in (
        (of_fold, "1 of the 2 splits of the board toy-drawn, edition 1 are missing"),
        (a_point, "1 of 1 points are missing"),
    ):
        rewrite(submission, [ln for ln in lines if gone not in (ln.get("key"), ln.get("unit"))])
        partial = fairbench("verify", FILE, "--against", BOARD)
        assert partial.returncode == 2
        assert says in partial.stderr


@pytest.mark.slow
def test_a_submission_of_other_source_files_is_refused(fairbench: Call, submission: Path) -> None:
    lines = lines_of(submission)
    (told,) = (line["submission"] for line in lines if "submission" in line)
    told["source"] = dict.fromkeys(told["source"], "0" * 64)
    rewrite(submission, lines)
    stranger = fairbench("verify", FILE, "--against", BOARD)
    assert stranger.returncode == 2
    assert "has other source files than the submission" in stranger.stderr


@pytest.mark.slow
def test_encodings_made_by_any_tool_stand_beside_a_board(
    fairbench: Call, board: Path, tmp_path: Path
) -> None:
    assert fairbench("data", "export", "toy-drawn", "--output", "rows.csv").returncode == 0
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert rows.columns.to_list() == ["role", "a", "b", "c", "s", "y task"]
    assert set(rows["role"]) == {"encoder-train", "auditor-train", "validation", "test"}
    np.save(tmp_path / "z.npy", rows[["a"]].to_numpy())
    words = ("audit", "--z", "z.npy", "--dataset", "toy-drawn", "--against", BOARD)
    done = fairbench(*words)
    assert done.returncode == 0, done.stderr
    assert "Whether their encoder saw s is unknown: they are not ranked" in " ".join(
        done.stdout.split()
    )
    assert "* these encodings" in done.stdout
    told = json.loads(fairbench(*words, "--json").stdout)
    assert told["board"] == "toy-drawn-1"
    assert {"identity", "plain"} <= set(told["leakage_of_the_board_at_this_distortion"])
    np.save(tmp_path / "short.npy", np.zeros((5, 1)))
    np.save(tmp_path / "nan.npy", np.full((len(rows), 1), np.nan))
    for file, why in (("short", "z has 5 rows; toy-drawn has 1,500"), ("nan", "z[0, 0] is nan")):
        refused = fairbench("audit", "--z", f"{file}.npy", "--dataset", "toy-drawn")
        assert refused.returncode == 2
        assert why in refused.stderr
    both = fairbench("audit", "--z", "z.npy", "--s", "z.npy", "--dataset", "toy-drawn")
    assert "Leave --s, --y, --x, --roles and --seed out" in both.stderr


@pytest.mark.thorough
def test_boards_are_written_as_one_page(fairbench_here: Call, tmp_path: Path) -> None:
    assert fairbench_here("board", "page", "--output", "all.html").returncode == 0
    page = (tmp_path / "all.html").read_text()
    assert "merged-cells" in page
    assert "published board, edition 5" in page
    other = ROOT / "leaderboards" / "experiments" / "single-shot.board"
    two = fairbench_here("board", "page", "adults-gender-5", str(other))
    assert two.returncode == 2
    assert "two editions of the board of adults-gender" in two.stderr


def test_a_board_of_another_dataset_is_refused(fairbench_here: Call) -> None:
    of_another = ("--dataset", "law-school", "--against", "compas-race-5")
    for words in (("run", "--methods", "pca"), ("leaderboard",), ("plot", "curves")):
        refused = fairbench_here(*words, *of_another)
        assert refused.returncode == 2
        assert "compas-race, edition 5 is of another dataset than law-school" in refused.stderr
        assert "Name a board of law-school (fairbench board list)" in refused.stderr
    unknown = fairbench_here(
        "leaderboard", "--dataset", "compas-rase", "--against", "compas-race-5"
    )
    assert "Did you mean 'compas-race'" in unknown.stderr


def small_board(folder: Path) -> str:
    """Write a board of Adults to a folder; return the name of its file."""
    records = read(stored(folder / "store", real))
    board = make_board(records, "adults-gender", load_registry(), version=5, budget="quick")
    name = "adults-gender-5.board"
    (folder / name).write_bytes(to_bytes(board))
    return name


def test_a_board_does_not_replace_one_of_another_dataset(
    fairbench_here: Call, tmp_path: Path
) -> None:
    small_board(tmp_path)
    other = tmp_path / "other.board"
    shutil.copy(ROOT / "leaderboards/fairbench_boards/compas-race-5.board", other)
    before = other.read_bytes()
    made = fairbench_here(
        *("board", "export", "adults-gender", "--version", "5", "--budget", "quick"),
        *("--results", "store", "--output", other.name),
    )
    assert made.returncode == 2
    assert "other.board is there already, and is the board compas-race" in made.stderr
    assert other.read_bytes() == before


def test_the_command_that_ranks_in_an_exported_board_names_the_results_folder(
    fairbench_here: Call, tmp_path: Path
) -> None:
    small_board(tmp_path)
    words = ("board", "export", "adults-gender", "--version", "5", "--budget", "quick")
    made = fairbench_here(*words, "--results", "store", "--output", "my own.board")
    assert made.returncode == 0, made.stderr
    told = " ".join(made.stdout.split())
    assert "--against 'my own.board' --results store" in told


def test_the_command_that_ranks_in_a_board_of_an_own_table_names_its_card(
    fairbench_here: Call, tmp_path: Path
) -> None:
    def own(records: list[Record]) -> list[Record]:
        rename = {"dataset": "people", "data_source": "real"}
        return change_units(records, lambda unit: unit.replace(**rename))

    stored(tmp_path / "store", own)
    words = ("board", "export", "people", "--version", "1", "--budget", "quick")
    made = fairbench_here(*words, "--results", "store")
    assert made.returncode == 0, made.stderr
    assert "--dataset CARD.yaml --against people-1.board" in " ".join(made.stdout.split())


def test_without_own_results_a_board_is_drawn_and_other_commands_say_how_to_read_it(
    fairbench_here: Call, tmp_path: Path
) -> None:
    file = small_board(tmp_path)
    drawn = fairbench_here("plot", "ranks", "--against", file, "--format", "png")
    assert drawn.returncode == 0, drawn.stderr
    assert (tmp_path / "fairbench-results/figures/adults-gender-ranks.png").stat().st_size > 5_000
    for command, instead in (("leaderboard", "show"), ("report", "page")):
        failed = fairbench_here(command, "--against", file)
        assert failed.returncode == 2
        assert f"fairbench board {instead} {file}" in failed.stderr


def test_a_submission_is_refused_before_anything_is_trained(
    fairbench_here: Call, tmp_path: Path
) -> None:
    file = small_board(tmp_path)
    whole = submitted(read_board(tmp_path / file))
    point = next(one for one in whole.records if isinstance(one, PointRecord))
    for wrong, says in (
        (without_point(whole, point.key), "1 of 4 points are missing"),
        (whole, "has other source files than the submission"),
    ):
        write_submission(tmp_path / "sofair.submission.jsonl.gz", wrong)
        refused = fairbench_here("verify", "sofair.submission.jsonl.gz", "--against", file)
        assert refused.returncode == 2
        assert says in " ".join(refused.stderr.split())


@pytest.mark.thorough
def test_a_board_is_cited(fairbench_here: Call, tmp_path: Path) -> None:
    cited = fairbench_here("cite", small_board(tmp_path))
    assert cited.returncode == 0
    entries = re.findall(r"^@\w+\{([\w-]+),$", cited.stdout, re.MULTILINE)
    assert entries[0] == "fairbench-adults-gender-5"
    assert {"gitiaux2022sofair", "madras2018latfr", "dataset-adults-gender"} <= set(entries)
    assert len(entries) == len(set(entries))
    assert "methods =" not in cited.stdout
    assert cited.stdout.count("{") == cited.stdout.count("}")
    # Whose the file is, is not known; an installed board is of this project.
    assert "author = {{The fairbench authors}}" not in cited.stdout
    assert "  author = {{The fairbench authors}}," in fairbench_here("cite", NAMED).stdout


def test_every_reference_is_of_a_method_that_is_there() -> None:
    text = (ROOT / "plugins" / "fairbench_plugins" / "references.bib").read_text("utf-8")
    named = {n.strip() for line in re.findall(r"methods = \{(.*)\}", text) for n in line.split(",")}
    assert named <= set(load_registry().methods.classes)


def real(records: list[Record]) -> list[Record]:
    return change_units(records, lambda unit: unit.replace(data_source="real"))


def trained_against_a_board(fairbench: Call, dataset: str, name: str) -> tuple[str, str]:
    """Publish a board of "plain", train "noisy" against it, and return the option of the board."""
    run = ("run", "--dataset", dataset, "--budget", "quick")
    made = fairbench(*run, "--methods", "plain", "--splits", "2", "--results", "published")
    assert made.returncode == 0, made.stderr
    export = ("board", "export", name, "--version", "1", "--budget", "quick")
    assert fairbench(*export, "--results", "published").returncode == 0
    board = ("--against", f"{name}-1.board")
    mine = fairbench("run", "--methods", "noisy", "--dataset", dataset, *board)
    assert mine.returncode == 0, mine.stderr
    return board


@pytest.mark.slow
def test_an_official_split_that_failed_does_not_keep_a_row_from_being_submitted(
    fairbench: Call, tmp_path: Path
) -> None:
    board = trained_against_a_board(fairbench, "toy-official", "toy-official")
    store = Store.in_folder(tmp_path / "fairbench-results")
    with store.engine.begin() as connection:
        of_official = "unit IN (SELECT key FROM units WHERE split = 'official')"
        failing = f"UPDATE points SET status = 'FAILED', error = 'why' WHERE {of_official}"
        assert connection.execute(sa.text(failing)).rowcount
    sent = fairbench("submit", "--method", "noisy", "--dataset", "toy-official", *board)
    assert sent.returncode == 0, sent.stderr
    assert "The official split is left out" in " ".join(sent.stderr.split())
    file = "noisy-toy-official-1.submission.jsonl.gz"
    units = [line for line in lines_of(tmp_path / file) if line.get("table") == "units"]
    assert {line["split"] for line in units} == {"fold 1 of 2", "fold 2 of 2"}
    verified = fairbench("verify", file, *board)
    assert verified.returncode == 0, verified.stdout + verified.stderr


@pytest.mark.slow
def test_a_row_on_a_table_of_ones_own_is_verified_by_its_card(
    fairbench: Call, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 1500), "pay": rng.normal(9, 2, 1500)})
    frame["sex"] = np.where(frame["pay"] + rng.normal(0, 2, 1500) > 9, "f", "m")
    frame["hired"] = np.where(frame["age"] > 50, "yes", "no")
    frame.to_csv(tmp_path / "people.csv", index=False)
    card = (
        "name: people\nfile: people.csv\nsensitive: sex\nlabels: {column: hired, positive: 'yes'}\n"
    )
    (tmp_path / "people.yaml").write_text(card)
    (tmp_path / "others.yaml").write_text(card.replace("name: people", "name: others"))
    board = trained_against_a_board(fairbench, "people.yaml", "people")
    sent = fairbench("submit", "--method", "noisy", "--dataset", "people", *board)
    assert sent.returncode == 0, sent.stderr
    file = "noisy-people-1.submission.jsonl.gz"
    said = " ".join(sent.stdout.split())
    assert f"fairbench verify {file} --against people-1.board --dataset people.yaml" in said
    wrong = fairbench("verify", file, *board, "--dataset", "others.yaml")
    assert wrong.returncode == 2
    assert "The submission is for people, and --dataset is others" in wrong.stderr
    verified = fairbench("verify", file, *board, "--dataset", "people.yaml")
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_a_verdict_whose_row_cannot_be_added_costs_no_second_training(
    fairbench_here: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = small_board(tmp_path)
    whole = submitted(read_board(tmp_path / file))
    write_submission(tmp_path / "sofair.submission.jsonl.gz", whole)
    points = {one.key: one for one in whole.records if isinstance(one, PointRecord)}
    monkeypatch.setattr("fairbench.cli.verify.check_source", lambda *_: None)
    monkeypatch.setattr("fairbench.cli.verify._train_again", lambda *_: TrainedAgain(points, []))
    database = tmp_path / "published/fairbench.sqlite"
    database.parent.mkdir()
    database.write_bytes(b"garbled " * 500)
    words = ("verify", "sofair.submission.jsonl.gz", "--against", file, "--add-to", "published")
    refused = fairbench_here(*words)
    assert refused.returncode == 2
    assert "Verified: " in refused.stdout
    database.unlink()
    added = fairbench_here(*words)
    assert added.returncode == 0, added.stderr
    assert "Going on with the interrupted verification" in added.stderr
    assert "Added to published: " in added.stdout
    assert not [path for path in tmp_path.glob("cache/verifications/*") if path.is_dir()]
