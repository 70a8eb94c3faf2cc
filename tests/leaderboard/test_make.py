"""Boards are published whole: until a recipe is done they lie apart, and the next call goes on."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

import make
import pytest
import recipe
import yaml


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder in which boards are made."""
    monkeypatch.setattr(make, "HERE", tmp_path)
    (tmp_path / "fairbench_boards").mkdir()
    return tmp_path


class Commands:
    """Stands for ``fairbench``: boards list the methods that ran; some method may end the job."""

    def __init__(self, ends_at: str | None = None) -> None:
        self.ends_at = ends_at
        self.ran: list[str] = []
        self.imported: list[str] = []

    def __call__(self, *words: str) -> int:
        if words[0] == "results":
            self.imported.append(Path(words[2]).parent.name)
            self.ran += [m for m in Path(words[2]).read_text().split() if m not in self.ran]
        elif words[0] == "run":
            method = Path(words[2]).read_text().split("methods:\n- ")[1].split()[0]
            if method == self.ends_at:
                return 130
            if method not in self.ran:
                self.ran.append(method)
        else:
            Path(words[words.index("--output") + 1]).write_text(" ".join(self.ran))
        return 0


def run(commands: Commands, **more: Any) -> int:
    boards = recipe.Boards(
        datasets=["adults-gender"], version=5, run={}, methods=["leace", "pca", "noise"], **more
    )
    given = argparse.Namespace(results=Path("out"), data_root=Path("data"), dry_run=False)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(recipe, "fairbench", commands)
        return make.make_board("adults-gender", boards, given)


def test_a_board_is_published_with_its_last_method(folder: Path) -> None:
    published = folder / "fairbench_boards/adults-gender-5.board"
    unfinished = folder / "unfinished/adults-gender-5.board"
    assert run(Commands(ends_at="noise")) == 130
    assert not published.exists()
    assert unfinished.read_text() == "leace pca"
    again = Commands()
    assert run(again) == 0
    assert again.imported == ["unfinished"]
    assert published.read_text() == "leace pca noise"
    assert not unfinished.exists()


def test_a_published_board_stays_as_it_is_while_it_is_extended(folder: Path) -> None:
    published = folder / "fairbench_boards/adults-gender-5.board"
    published.write_text("leace")
    assert run(Commands(ends_at="noise")) == 130
    assert published.read_text() == "leace"
    assert run(Commands()) == 0
    assert published.read_text() == "leace pca noise"


def test_the_board_of_a_single_question_grows_where_the_recipe_says(folder: Path) -> None:
    assert run(Commands(ends_at="noise"), board="question.board") == 130
    assert (folder / "question.board").read_text() == "leace pca"


def test_a_row_may_have_seeds_of_its_own() -> None:
    configs: list[dict[str, Any]] = []

    def note(*words: str) -> int:
        configs.append(yaml.safe_load(Path(words[2]).read_text()))
        return 0

    rows: list[Any] = [
        {"method": "pca", "seeds": [0, 1]},
        {"method": "sofair", "label": "two", "params": {"beta_max": 2}, "seeds": [0, 1]},
        "noise",
    ]
    boards = recipe.Boards(datasets=["adults-gender"], version=5, run={"splits": 5}, methods=rows)
    given = argparse.Namespace(results=Path("out"), data_root=Path("data"), dry_run=False)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(recipe, "fairbench", note)
        for row in boards.methods:
            make.make(row, "adults-gender", boards, given, [])
    same = {"datasets": ["adults-gender"], "require_real_data": True, "splits": 5}
    assert configs == [
        {**same, "methods": ["pca"], "seeds": [0, 1]},
        {
            **same,
            "methods": ["sofair"],
            "params": {"sofair": {"beta_max": 2}},
            "label": "two",
            "seeds": [0, 1],
        },
        {**same, "methods": ["noise"]},
    ]


@pytest.mark.parametrize("row", [{"label": "two"}, {"params": {"beta_max": 2}}])
def test_hyperparameters_have_a_label_and_a_label_has_hyperparameters(row: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="sofair: give both params and a label, or neither"):
        recipe.Row(method="sofair", **row)


def test_who_ends_the_job_ends_the_command_that_it_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = tmp_path / "begun"
    command = tmp_path / "python"
    command.write_text(f"#!/bin/sh\ntouch {begun}\nexec sleep 600\n")
    command.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(command))

    def end_the_job() -> None:
        while not begun.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=end_the_job).start()
    assert recipe.fairbench("search") == -signal.SIGTERM
