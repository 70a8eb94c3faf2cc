"""Recipes of published boards and searches, as they stand in recipes/*.yaml."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from fairbench.errors import UnknownNameError
from fairbench.registry import load_registry

HERE = Path(__file__).parent


class Row(BaseModel):
    """A method with hyperparameters, or seeds, of its own.

    ``params`` may also be a file of this folder that ``tune.py`` wrote. With hyperparameters it
    needs a ``label``. ``seeds`` are those of each split, by default those of ``run``.
    """

    model_config = ConfigDict(extra="forbid")

    method: str
    label: str | None = None
    params: dict[str, Any] = {}
    seeds: list[int] | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_params(cls, given: Any) -> Any:
        if isinstance(given, dict) and isinstance(given.get("params"), str):
            try:
                tuned = yaml.safe_load((HERE / given["params"]).read_text(encoding="utf-8"))
                return given | {"params": tuned[given["method"]]}
            except (OSError, KeyError) as error:
                raise ValueError(f"{given['params']}: {error}") from error
        return given

    @model_validator(mode="after")
    def _labelled(self) -> Row:
        if bool(self.params) != (self.label is not None):
            raise ValueError(f"{self.method}: give both params and a label, or neither")
        return self


class Boards(BaseModel):
    """Boards of some methods, one for each dataset.

    ``board`` is a path in this folder, where there is one dataset; ``run`` are keys of
    ``fairbench run --config``.
    """

    model_config = ConfigDict(extra="forbid")

    datasets: list[str]
    version: int
    run: dict[str, Any]
    methods: list[str | Row]
    board: str | None = None

    @model_validator(mode="after")
    def _one_board_each(self) -> Boards:
        if self.board is not None and len(self.datasets) > 1:
            raise ValueError("board: one file cannot hold the boards of several datasets")
        return self


class Searches(BaseModel):
    """Searches of some methods on some datasets.

    ``search`` are options of ``fairbench search``; ``datasets`` adds those of each dataset.
    """

    model_config = ConfigDict(extra="forbid")

    datasets: dict[str, dict[str, Any]]
    search: dict[str, Any]
    methods: list[str]
    folder: str = "experiments/tuned"

    def options(self, dataset: str) -> dict[str, Any]:
        """All options of the searches on a dataset."""
        return self.datasets[dataset] | self.search


Recipe = TypeVar("Recipe", Boards, Searches)


def read(kind: type[Recipe], path: Path) -> Recipe:
    """Read a recipe, with the full names of its methods and datasets.

    SystemExit says what is wrong with it.
    """
    try:
        recipe = kind(**yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError, TypeError, ValidationError) as error:
        raise SystemExit(f"{path} is no recipe: {error}") from error
    registry = load_registry()
    try:
        for place, method in enumerate(recipe.methods):
            if isinstance(method, Row):
                method.method = registry.methods.resolve(method.method)
            else:
                recipe.methods[place] = registry.methods.resolve(method)
        resolve = registry.datasets.resolve
        if isinstance(recipe, Boards):
            recipe.datasets = [resolve(name) for name in recipe.datasets]
        else:
            recipe.datasets = {resolve(name): own for name, own in recipe.datasets.items()}
    except UnknownNameError as error:
        raise SystemExit(f"{path}: {error.message}") from error
    return recipe


def arguments(description: str | None) -> argparse.Namespace:
    """Read the command line of a script that follows a recipe."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--results", type=Path, required=True, help="results folder to work in")
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--dry-run", action="store_true", help="print plans; train nothing")
    return parser.parse_args()


def fairbench(*words: str) -> int:
    """Give a command of fairbench; return its exit code. What terminates this process ends it."""
    with subprocess.Popen([sys.executable, "-m", "fairbench", *words]) as process:
        before = signal.signal(signal.SIGTERM, lambda number, frame: process.terminate())
        try:
            return process.wait()
        finally:
            signal.signal(signal.SIGTERM, before)
