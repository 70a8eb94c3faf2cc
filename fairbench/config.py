"""Validated configurations: of runs and executors; from YAML files and options."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from fairbench.errors import ConfigError, UnknownNameError, say_why, say_why_and_what
from fairbench.files.paths import split_paths
from fairbench.files.yaml_mapping import read_yaml

MAX_SEED = 2**31 - 1
"""Largest seed: libraries take whole numbers of 32 bits."""

MAX_FOLDS = 20
"""Most folds of a run: beyond, test sets are small and training sets the same."""

MAX_WORKERS = 100_000
"""Most jobs at a time: beyond, a number is a slip of the keyboard, or too large for the system."""

DEFAULT_RESULTS = Path("fairbench-results")

MAX_LABEL_LENGTH = 40
"""Most characters of a label."""

NOT_IN_LABEL = r"[^\w .+-]"
"""Pattern of a character that no label contains."""

NO_LABEL = "default"
"""What tables show in place of a label where all hyperparameters are the defaults."""


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
    """One child process per job, on this machine."""
    RAY = "ray"
    """Ray tasks, on a local or a remote cluster."""


class Rerun(enum.StrEnum):
    """Which finished work to repeat."""

    FAILED = "failed"
    """Units and points that did not end DONE."""
    ALL = "all"
    """Everything."""


def parse_duration(text: str) -> float:
    """Seconds of ``90s``, ``30m`` or ``2h``; ValueError if none of these."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a duration with its unit, like 90s, 30m or 2h")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


def check_label(text: str) -> str:
    """Return a label as it is; ValueError if it is none, or means the default hyperparameters."""
    if text == NO_LABEL:
        raise ValueError(f"{text!r} is the name of default hyperparameters, and no label")
    if not text or text[0].isspace() or re.search(NOT_IN_LABEL, text) or text[MAX_LABEL_LENGTH:]:
        raise ValueError(
            f"{text!r} is no label: at most {MAX_LABEL_LENGTH} letters, digits, spaces, and the "
            "signs . - + _"
        )
    return text


def split_names(text: str) -> tuple[str, ...]:
    """``a, b`` to ``("a", "b")``."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _parsed(parse: Callable[[str], Any]) -> BeforeValidator:
    """Parse a value that is text."""
    return BeforeValidator(lambda value: parse(value) if isinstance(value, str) else value)


Seconds = Annotated[float, _parsed(parse_duration)]
"""Seconds, or text such as 90s, 30m or 2h."""

Label = Annotated[str, AfterValidator(check_label)]
"""Name of the rows with some hyperparameters."""

Names = Annotated[tuple[str, ...], _parsed(split_names)]
DatasetNames = Annotated[tuple[str, ...], _parsed(split_paths)]
"""Names, of datasets also paths of cards; or text with commas between them."""


def _no_truth_value(value: object) -> object:
    """Return a value as it is; ValueError for ``yes`` of a file, which would count as 1."""
    if isinstance(value, bool):
        raise ValueError("a number is needed, not yes or no")
    return value


class ExecutorConfig(BaseModel):
    """How jobs are run; unknown keys are errors.

    Parameters
    ----------
    executor : ExecutorName
        One child process per job on this machine, or Ray tasks.
    in_process : bool
        Run jobs in the driver's own process, for debuggers.
    ray_address : str, optional
        Address of a Ray cluster; default: RAY_ADDRESS, else a cluster of this machine alone.
    workers : int, optional
        Number of jobs at a time; default: one per core.
    timeout : float, optional
        Time limit of a job: seconds, or a duration such as 30m.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    executor: ExecutorName = ExecutorName.INLINE
    in_process: bool = False
    ray_address: str | None = None
    workers: int | None = Field(None, ge=1, le=MAX_WORKERS)
    timeout: Seconds | None = Field(None, gt=0, allow_inf_nan=False)

    _numbers = field_validator("workers", "timeout", mode="before")(_no_truth_value)

    @model_validator(mode="after")
    def _one_executor(self) -> Self:
        if self.executor is not ExecutorName.RAY and self.ray_address is not None:
            raise ValueError("--ray-address needs --executor ray")
        if self.executor is ExecutorName.RAY and self.in_process:
            raise ValueError("--in-process and --executor ray exclude each other")
        if self.in_process and (self.workers or 1) > 1:
            raise ValueError("--in-process runs one job at a time: leave --workers out")
        return self


def _known_budget(value: object) -> str | int:
    text = str(value)
    if text in ("full", "quick"):
        return text
    if re.fullmatch("[0-9]{1,9}|[0-9]{1,3}([_,][0-9]{3}){1,2}", text):
        number = int(re.sub("[_,]", "", text))
        if number >= 1:
            return number
    raise ValueError(f"{value!r} is not full, quick or a number of iterations (1 to 999,999,999)")


BudgetName = Annotated[str | int, BeforeValidator(_known_budget)]
"""``full``, ``quick`` or a number of iterations."""


class RunConfig(ExecutorConfig):
    """Everything a run depends on; extends ExecutorConfig.

    Parameters
    ----------
    methods : tuple of str
        Names as registered; ``all`` stands for every method.
    datasets : tuple of str
        Names as registered, or paths of dataset cards (``.yaml``).
    seeds : tuple of int
        Seeds; each trains its own models.
    splits : int, optional
        Number of folds whose test sets are disjoint; each method is trained and audited on all of
        them. Default: the official split alone.
    shift : str, optional
        Column whose commonest value is the domain that models are trained in, all others those that
        they are read in; or ``COLUMN=VALUE``.
    budget : str or int
        ``full``, ``quick``, or a number of training iterations.
    points : int, optional
        Number of points per curve; default: the method's grid, 16 for single-shot methods; in quick
        runs on images 6 for single-shot methods and 4 for others; with ``against`` the board's.
    params : mapping
        Hyperparameters by method name: a mapping of names to values for each method.
    label : str, optional
        Name of the rows with these hyperparameters, in tables and figures.
    results : Path
        Results folder.
    store : str, optional
        Database URL instead of the SQLite file in the results folder.
    device : Device
        Device that methods train on.
    data_root : Path, optional
        Folder with data files; default: FAIRBENCH_DATA.
    require_real_data : bool
        Refuse simulated twins.
    rerun : Rerun, optional
        Finished work to repeat: none, what failed, or everything.
    against : str, optional
        Published board to rank the methods in: ``published``, a board's name, or a file. Splits,
        budget and number of points are the board's then, and its baselines are not trained again.
    checkpoint_every : float
        Time between two checkpoints of a long fit: seconds, or a duration such as 90s.
    """

    methods: Names = Field(min_length=1)
    datasets: DatasetNames = Field(min_length=1)
    seeds: tuple[Annotated[int, BeforeValidator(_no_truth_value)], ...] = Field((0,), min_length=1)
    splits: int | None = Field(None, ge=2, le=MAX_FOLDS)
    shift: str | None = Field(None, min_length=1, max_length=200)
    budget: BudgetName = "full"
    points: int | None = Field(None, ge=2, le=10_000)
    params: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    label: Label | None = None
    results: Path = DEFAULT_RESULTS
    store: str | None = None
    device: Device = Device.AUTO
    data_root: Path | None = None
    require_real_data: bool = False
    rerun: Rerun | None = None
    against: str | None = Field(None, min_length=1)
    checkpoint_every: Seconds = Field(300.0, ge=0, allow_inf_nan=False)

    _own_numbers = field_validator("points", "splits", "checkpoint_every", mode="before")(
        _no_truth_value
    )

    @field_validator("methods", "datasets", "seeds")
    @classmethod
    def _no_repeats(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(value))

    @field_validator("results", "data_root")
    @classmethod
    def _expand_home(cls, value: Path | None) -> Path | None:
        return value and value.expanduser()

    @field_validator("seeds")
    @classmethod
    def _seeds_not_negative(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if any(not 0 <= seed <= MAX_SEED for seed in value):
            raise ValueError(f"seeds are whole numbers from 0 to {MAX_SEED}")
        return value


Config = TypeVar("Config", bound=BaseModel)


def build_config(model: type[Config], file: Path | None = None, **options: Any) -> Config:
    """Build a configuration from a YAML file and options; options win.

    Parameters
    ----------
    model : type
        RunConfig, ExecutorConfig, or another model.
    file : Path, optional
        YAML file whose keys are fields of the model.
    options
        Values by field name; None means that the option was not used.

    Raises
    ------
    ConfigError
        The file cannot be read, or a value cannot be used: the message names the option.
    UnknownNameError
        The file has a key that is no field of the model.
    """
    values: dict[str, Any] = dict(read_yaml(file, "--config")) if file else {}
    for key in values:
        if key not in model.model_fields:
            raise UnknownNameError(f"key in {file}:", key, model.model_fields)
    used = {name: value for name, value in options.items() if value is not None}
    try:
        return model(**values | used)
    except ValidationError as error:
        raise _config_error(error, used, file) from None


_OPTIONS = {"methods": "--methods", "datasets": "--dataset", "objectives": "--objective"}
"""Options that are not called as the field that they fill."""


def _config_error(error: ValidationError, used: Mapping[str, Any], file: object) -> ConfigError:
    """Say in one line what is wrong with the first bad value: of which option, or file and key."""
    first = error.errors()[0]
    text = say_why(first)
    if not first["loc"]:  # of several values together
        return ConfigError(f"{text[0].upper()}{text[1:]}.")
    field = str(first["loc"][0])
    option = _OPTIONS.get(field, f"--{field.replace('_', '-')}")
    if field in ("methods", "datasets") and first["type"] in ("missing", "too_short"):
        return ConfigError(f"No {field} given.", f"Add {option} NAME; see: fairbench list {field}")
    named = option if field in used or file is None else f"{file}: {field}"
    return ConfigError(f"{named}: {say_why_and_what(first)}.")
