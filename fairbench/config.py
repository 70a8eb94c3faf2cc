"""The run's configuration: YAML and command line in one validated model."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from fairbench.errors import ConfigError, UnknownNameError

DEFAULT_RESULTS = Path("fairbench-results")


class Device(enum.StrEnum):
    """Where methods train."""

    AUTO = "auto"
    """CUDA where there is one, else the CPU."""
    CPU = "cpu"
    """The CPU."""
    CUDA = "cuda"
    """A CUDA device; an error where there is none."""


class ExecutorName(enum.StrEnum):
    """How jobs are run."""

    INLINE = "inline"
    """A child process a job on this machine."""
    RAY = "ray"
    """Ray tasks, on a local or a remote cluster."""


class Rerun(enum.StrEnum):
    """What is done again though it is in the store."""

    FAILED = "failed"
    """Units and points that did not end DONE."""
    ALL = "all"
    """Everything."""


class Objective(enum.StrEnum):
    """What a search minimises; the validation role alone is looked at."""

    AUFDC = "aufdc"
    """Area under the curve, its points and its ends measured on the validation role."""
    COST = "cost"
    """Floating-point operations to train a curve of 16 points."""


class SamplerName(enum.StrEnum):
    """How a search chooses parameters."""

    TPE = "tpe"
    """Tree-structured Parzen estimator: learns from the trials before."""
    NSGA2 = "nsga2"
    """A genetic algorithm; for two objectives and many trials."""
    RANDOM = "random"
    """Draws from the declared distributions."""


class PrunerName(enum.StrEnum):
    """Which trials end before their last seed."""

    NONE = "none"
    """None."""
    MEDIAN = "median"
    """Those worse than the median of the trials before, after as many seeds."""
    HYPERBAND = "hyperband"
    """All but the best third at each rung, in brackets that begin at different seeds."""


class ExecutorConfig(BaseModel):
    """How jobs are run; unknown keys are errors.

    Parameters
    ----------
    executor : ExecutorName
        A child process a job on this machine, or Ray tasks.
    in_process : bool
        Run jobs in the driver's own process, for debuggers.
    ray_address : str, optional
        Of a Ray cluster; default: RAY_ADDRESS, else a cluster of this machine alone.
    workers : int, optional
        Jobs at a time; default: one a core.
    timeout : float, optional
        Seconds a job may take, or a duration such as 30m.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    executor: ExecutorName = ExecutorName.INLINE
    in_process: bool = False
    ray_address: str | None = None
    workers: int | None = Field(None, ge=1)
    timeout: float | None = Field(None, gt=0, allow_inf_nan=False)

    @field_validator("timeout", mode="before")
    @classmethod
    def _parse_timeout(cls, value: object) -> object:
        return parse_duration(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_executor(self) -> Self:
        if self.executor is not ExecutorName.RAY and self.ray_address is not None:
            raise ValueError("--ray-address needs --executor ray")
        if self.executor is ExecutorName.RAY and self.in_process:
            raise ValueError("--in-process and --executor ray exclude each other")
        return self


class RunConfig(ExecutorConfig):
    """Everything a run depends on; with what an ExecutorConfig has.

    Parameters
    ----------
    methods : tuple of str
        Names as registered; ``all`` stands for every method.
    datasets : tuple of str
        Names as registered, or paths of cards (``.yaml``).
    seeds : tuple of int
        Each trains its own models.
    budget : str or int
        ``full``, ``quick``, or a number of training iterations.
    points : int, optional
        Points a curve; default: the paper's grid, 16 for single-shot methods.
    params : mapping
        Hyperparameters by method name, each a mapping of parameter to value.
    results : Path
        Results folder.
    store : str, optional
        Database URL instead of the SQLite file in the results folder.
    device : Device
        Where methods train.
    data_root : Path, optional
        Folder with data files; default: FAIRBENCH_DATA.
    require_real_data : bool
        Refuse simulated twins.
    rerun : Rerun, optional
        What is done again though it is in the store.
    checkpoint_every : float
        Seconds, or a duration such as 90s, between two checkpoints of a fit that takes long.
    """

    methods: tuple[str, ...] = Field(min_length=1)
    datasets: tuple[str, ...] = Field(min_length=1)
    seeds: tuple[int, ...] = Field((0,), min_length=1)
    budget: str | int = "full"
    points: int | None = Field(None, ge=2)
    params: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    results: Path = DEFAULT_RESULTS
    store: str | None = None
    device: Device = Device.AUTO
    data_root: Path | None = None
    require_real_data: bool = False
    rerun: Rerun | None = None
    checkpoint_every: float = Field(300.0, ge=0, allow_inf_nan=False)

    @field_validator("methods", "datasets", "seeds")
    @classmethod
    def _no_repeats(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(value))

    @field_validator("seeds")
    @classmethod
    def _seeds_not_negative(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if any(not 0 <= seed < 2**31 for seed in value):
            raise ValueError("seeds are whole numbers from 0 to 2147483647")
        return value

    @field_validator("budget", mode="before")
    @classmethod
    def _known_budget(cls, value: object) -> str | int:
        text = str(value).replace("_", "").replace(",", "")
        if text in ("full", "quick"):
            return text
        if re.fullmatch("[0-9]{1,9}", text) and int(text) >= 1:
            return int(text)
        raise ValueError(f"{value!r} is not full, quick or a number of iterations (1 to 10^9)")

    @field_validator("checkpoint_every", mode="before")
    @classmethod
    def _parse_checkpoint_every(cls, value: object) -> object:
        return parse_duration(value) if isinstance(value, str) else value


class SearchConfig(BaseModel):
    """A search of the hyperparameters of one method on one dataset.

    Parameters
    ----------
    run : RunConfig
        What every trial is run with: seeds, budget, points, executor, results. Parameters given
        here are held.
    trials : int
        In all, those that are in the store already included.
    parallel : int
        Trials whose parameters are chosen before the first of them has ended. A search depends on
        it, as it does not on the number of workers.
    objectives : tuple of Objective
    sampler, pruner : SamplerName, PrunerName
    seed : int
        Of the sampler.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: RunConfig
    trials: int = Field(50, ge=1)
    parallel: int = Field(4, ge=1)
    objectives: tuple[Objective, ...] = (Objective.AUFDC,)
    sampler: SamplerName = SamplerName.TPE
    pruner: PrunerName = PrunerName.NONE
    seed: int = Field(0, ge=0)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.pruner is not PrunerName.NONE and len(self.run.seeds) < 2:
            raise ValueError("a trial is pruned between its seeds: give two at least (--seeds 3)")
        if self.pruner is not PrunerName.NONE and len(self.objectives) > 1:
            raise ValueError("trials of two objectives cannot be pruned; leave --pruner out")
        if self.run.rerun is Rerun.ALL:
            raise ValueError("--rerun all is for runs; a search takes --rerun failed")
        return self


def make_executor_config(given: Mapping[str, Any]) -> ExecutorConfig:
    """How jobs are run, of what is given on the command line; ConfigError if it cannot be."""
    try:
        return ExecutorConfig(**{k: v for k, v in given.items() if v is not None})
    except ValidationError as error:
        raise _told(error) from None


def make_search(run: RunConfig, given: Mapping[str, Any]) -> SearchConfig:
    """A validated search; ``objectives`` may be text like ``aufdc,cost``.

    Raises
    ------
    ConfigError, UnknownNameError
    """
    values = {name: value for name, value in given.items() if value is not None}
    if "objectives" in values:
        values["objectives"] = _objectives(values["objectives"])
    try:
        return SearchConfig(run=run, **values)
    except ValidationError as error:
        raise _told(error) from None


def _objectives(text: str) -> tuple[Objective, ...]:
    names, known = split_names(text), [objective.value for objective in Objective]
    for name in names:
        if name not in known:
            raise UnknownNameError("objective", name, known)
    if Objective.AUFDC not in names:
        raise ConfigError(f"--objective {text!r} leaves out aufdc.", "Try aufdc, or aufdc,cost.")
    return tuple(objective for objective in Objective if objective in names)


def _told(error: ValidationError) -> ConfigError:
    first = error.errors()[0]
    text = str(first["msg"]).removeprefix("Value error, ")
    if not first["loc"]:
        return ConfigError(f"{text[0].upper()}{text[1:]}.")
    return ConfigError(f"{first['loc'][0]}: {text} (got {first['input']!r}).")


def parse_duration(text: str) -> float:
    """Seconds of ``90``, ``90s``, ``30m`` or ``2h``; ValueError if none of these."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a duration like 90s, 30m or 2h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def make_config(file: Path | None, given: Mapping[str, Any]) -> RunConfig:
    """Merge a YAML file with what the command line gives; the command line wins.

    Raises
    ------
    ConfigError
        The file cannot be read or a value cannot be used; UnknownNameError for an unknown key.
    """
    values: dict[str, Any] = dict(read_yaml(file, "--config")) if file else {}
    known = set(RunConfig.model_fields)
    for key in values:
        if key not in known:
            raise UnknownNameError("configuration key", str(key), known)
    for name in ("methods", "datasets"):
        if isinstance(values.get(name), str):
            values[name] = split_names(values[name])
    values.update({key: value for key, value in given.items() if value is not None})
    for name, option in (("methods", "--methods a,b"), ("datasets", "--dataset d")):
        if not values.get(name):
            raise ConfigError(f"No {name} given.", f"Add {option}; fairbench list {name}")
    try:
        return RunConfig(**values)
    except ValidationError as error:
        raise _told(error) from None


def read_yaml(file: Path, option: str, *, as_text: bool = False) -> Mapping[str, Any]:
    """Read a YAML mapping; ConfigError names the option it came from.

    ``as_text`` leaves every value as it is written: ``no`` is not false then, nor ``1.0`` a number.
    """
    import yaml

    loader = yaml.BaseLoader if as_text else yaml.SafeLoader
    try:
        content = yaml.load(file.read_text(encoding="utf-8"), Loader=loader)
    except OSError as error:
        raise ConfigError(f"{option} {file}: {error.strerror}.") from None
    # A date like 2001-99-99 is a ValueError, nesting without end a RecursionError.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = f" (line {line + 1})" if line is not None else ""
        raise ConfigError(f"{option} {file} is not YAML{where}.") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{option} {file} must hold 'key: value' lines.")
    for key in content:
        if not isinstance(key, str):
            raise ConfigError(f"{option} {file}: the key {key!r} is not a name.")
    return content


def split_names(text: str) -> tuple[str, ...]:
    """``a, b`` to ``("a", "b")``."""
    return tuple(part.strip() for part in text.split(",") if part.strip())
