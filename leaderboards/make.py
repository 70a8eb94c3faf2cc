"""Make published boards from a recipe, method by method; what is there already is kept.

python leaderboards/make.py leaderboards/recipes/adults-gender-5.yaml --results DIR --data-root DIR

There is a board for each dataset of the recipe. A method stands there by its name, or with
hyperparameters: ``{method: NAME, label: LABEL, params: {...}}``, and with several seeds of each
split: ``{method: NAME, seeds: [0, 1]}``; the baselines then get these seeds too. The board is
written after each method, to ``unfinished/``, or where the recipe says. So a long job can end at
any time, and go on later or on another machine: the board itself says what is done. With its last
method it moves to ``fairbench_boards/`` and is published. To make all rows anew, delete the board
first. Models that fail are left out, and the exit code is 1 at the end.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import recipe
import yaml

HERE = Path(__file__).parent
_MODELS_FAILED = 1
"""Exit code of a run that did all it could."""


def main() -> int:
    """Make the boards; return 1 if models failed, or the exit code of what ended it early."""
    given = recipe.arguments(__doc__)
    boards = recipe.read(recipe.Boards, given.recipe)
    worst = 0
    for dataset in boards.datasets:
        code = make_board(dataset, boards, given)
        if code not in (0, _MODELS_FAILED):
            return code
        worst = max(worst, code)
    return worst


def make_board(dataset: str, boards: recipe.Boards, given: argparse.Namespace) -> int:
    """Make the board of one dataset; return 1 if models failed, or the code of what ended it."""
    version = str(boards.version)
    name = f"{dataset}-{version}.board"
    published = HERE / (boards.board or f"fairbench_boards/{name}")
    board = published if boards.board else HERE / "unfinished" / name
    if not given.dry_run:
        board.parent.mkdir(exist_ok=True)  # a checkout has no folder without files
    results = ["--results", str(given.results)]
    for earlier in dict.fromkeys((published, board)):
        if earlier.exists():
            code = recipe.fairbench("results", "import", str(earlier), "--own", *results)
            if code:
                return code
    worst = 0
    for method in boards.methods:
        code = make(method, dataset, boards, given, results)
        if code not in (0, _MODELS_FAILED):
            return code
        worst = max(worst, code)
        if not given.dry_run:
            budget = str(boards.run.get("budget", "full"))
            export = ("board", "export", dataset, "--version", version, "--budget", budget)
            failed = recipe.fairbench(*export, "--output", str(board), *results)
            # Where all models of the first method failed there is nothing to write yet.
            if failed and (code != _MODELS_FAILED or board.exists()):
                return failed
    if board.exists() and not given.dry_run:
        board.replace(published)
    return worst


def make(
    method: str | recipe.Row,
    dataset: str,
    boards: recipe.Boards,
    given: argparse.Namespace,
    results: list[str],
) -> int:
    """Train and audit one method as the recipe says."""
    config = {**boards.run, "datasets": [dataset], "require_real_data": True}
    if isinstance(method, str):
        config["methods"] = [method]
    else:
        config["methods"] = [method.method]
        if method.label is not None:
            config |= {"params": {method.method: method.params}, "label": method.label}
        if method.seeds is not None:
            config["seeds"] = method.seeds
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        yaml.safe_dump(config, file)
        file.flush()
        words = ["run", "--config", file.name, "--data-root", str(given.data_root), *results]
        return recipe.fairbench(*words, *(["--dry-run"] if given.dry_run else []))


if __name__ == "__main__":
    raise SystemExit(main())
