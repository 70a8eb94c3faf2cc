"""Parts of a configuration that are not options by themselves: seeds and hyperparameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from pydantic import BaseModel

from fairbench.config import (
    MAX_LABEL_LENGTH,
    MAX_SEED,
    NOT_IN_LABEL,
    RunConfig,
    check_label,
    split_names,
)
from fairbench.errors import ConfigError
from fairbench.files.yaml_mapping import read_yaml

if TYPE_CHECKING:
    from fairbench.registry import Registry

MAX_SEEDS = 1000
"""Most seeds of one run; more is a slip of the finger."""


def chosen_seeds(
    seeds: int | None, seed_list: str | None, *, first: int = 0
) -> tuple[int, ...] | None:
    """Return the seeds that ``--seeds`` (counted from first) or ``--seed-list`` names, if any."""
    if seeds is not None and seed_list is not None:
        raise ConfigError("--seeds and --seed-list exclude each other.", "Give one of them.")
    if seeds is not None:
        if seeds < 1:
            raise ConfigError(f"--seeds {seeds}: at least one seed is needed.", "Try --seeds 1.")
        if seeds > MAX_SEEDS:
            raise ConfigError(f"--seeds {seeds}: at most {MAX_SEEDS:,} in one run.")
        return tuple(range(first, first + seeds))
    if seed_list is not None:
        parts = split_names(seed_list)
        if not parts or not all(_is_seed(part) for part in parts):
            raise ConfigError(
                f"--seed-list {seed_list!r} is not a list of whole numbers from 0 to {MAX_SEED}.",
                "Try --seed-list 0,1,2",
            )
        return tuple(int(part) for part in parts)
    return None


def _is_seed(text: str) -> bool:
    return re.fullmatch("[0-9]{1,10}", text) is not None and int(text) <= MAX_SEED


def fields_of(model: type[BaseModel], ctx: typer.Context) -> dict[str, Any]:
    """Return the options of a command that fill a configuration's field of the same name."""
    return {name: value for name, value in ctx.params.items() if name in model.model_fields}


def with_params(file: Path, config: RunConfig, registry: Registry) -> RunConfig:
    """Add the hyperparameters of a file to a configuration; the file wins.

    Their label is that of the configuration, else that of the file, else the file's name.
    """
    merged = {registry.methods.resolve(name): v for name, v in config.params.items()}
    content = dict(read_yaml(file, "--params"))
    if {"methods", "datasets"} & set(content):
        raise ConfigError(
            f"--params {file}: this is a configuration of a run, not its hyperparameters.",
            f"Give it as --config {file}.",
        )
    label = config.label or _label(file, content.pop("label", None))
    if not content:
        raise ConfigError(
            f"--params {file} holds no hyperparameters.",
            "Write some, or leave out --params for the defaults.",
        )
    for name, values in _by_method(file, content, config, registry).items():
        merged[registry.methods.resolve(name)] = values
    return config.model_copy(update={"params": merged, "label": label})


def _label(file: Path, given: object) -> str:
    if given is None:
        given = re.sub(NOT_IN_LABEL, "-", file.stem)[:MAX_LABEL_LENGTH]
    if not isinstance(given, str):
        raise ConfigError(f"--params {file}: {given!r} is no label.", "Write a name: label: heavy")
    try:
        return check_label(given)
    except ValueError as error:
        raise ConfigError(f"--params {file}: {error}.", "Name it otherwise: --label NAME") from None


def _by_method(
    file: Path, content: Mapping[str, Any], config: RunConfig, registry: Registry
) -> Mapping[str, Any]:
    """Hyperparameters by method; a file without method names is of the run's only method."""
    if content and not any(isinstance(value, Mapping) for value in content.values()):
        if len(config.methods) != 1 or config.methods[0] == "all":
            raise ConfigError(
                f"--params {file} names no method, and the run has several.",
                "Put the hyperparameters below the method's name, each after two spaces.",
            )
        return {registry.methods.resolve(config.methods[0]): content}
    return content
