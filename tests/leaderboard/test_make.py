"""Boards are published whole: until a recipe is done they lie apart, and the next call goes on."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

LEADERBOARDS = Path(__file__).parents[2] / "leaderboards"


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """``leaderboards/make.py``, which makes its boards in a temporary folder."""
    monkeypatch.syspath_prepend(str(LEADERBOARDS))
    specification = importlib.util.spec_from_file_location("make", LEADERBOARDS / "make.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    monkeypatch.setattr(module, "HERE", tmp_path)
    (tmp_path / "fairbench_boards").mkdir()
    return module


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


def run(make: ModuleType, commands: Commands, **more: Any) -> int:
    boards = make.recipe.Boards(
        datasets=["adults-gender"], version=5, run={}, methods=["leace", "pca", "noise"], **more
    )
    given = argparse.Namespace(results=Path("out"), data_root=Path("data"), dry_run=False)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(make.recipe, "fairbench", commands)
        code: int = make.make_board("adults-gender", boards, given)
    return code


def test_a_board_is_published_with_its_last_method(make: ModuleType, tmp_path: Path) -> None:
    published = tmp_path / "fairbench_boards/adults-gender-5.board"
    unfinished = tmp_path / "unfinished/adults-gender-5.board"
    assert run(make, Commands(ends_at="noise")) == 130
    assert not published.exists()
    assert unfinished.read_text() == "leace pca"
    again = Commands()
    assert run(make, again) == 0
    assert again.imported == ["unfinished"]
    assert published.read_text() == "leace pca noise"
    assert not unfinished.exists()


def test_a_published_board_stays_as_it_is_while_it_is_extended(
    make: ModuleType, tmp_path: Path
) -> None:
    published = tmp_path / "fairbench_boards/adults-gender-5.board"
    published.write_text("leace")
    assert run(make, Commands(ends_at="noise")) == 130
    assert published.read_text() == "leace"
    assert run(make, Commands()) == 0
    assert published.read_text() == "leace pca noise"


def test_the_board_of_a_single_question_grows_where_the_recipe_says(
    make: ModuleType, tmp_path: Path
) -> None:
    assert run(make, Commands(ends_at="noise"), board="question.board") == 130
    assert (tmp_path / "question.board").read_text() == "leace pca"
