"""Validated configuration of a search, and what can be chosen of it."""

from __future__ import annotations

import enum
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from fairbench.config import BudgetName, Rerun, RunConfig, Seconds, split_names
from fairbench.errors import UnknownNameError


class Objective(enum.StrEnum):
    """Quantity that a search minimises, measured on the validation set alone."""

    AUFDC = "aufdc"
    """Area under the curve, its points and its ends measured on the validation set."""
    COST = "cost"
    """Floating-point operations to train a curve of 16 points."""


class SamplerName(enum.StrEnum):
    """How a search chooses hyperparameters."""

    TPE = "tpe"
    """Tree-structured Parzen estimator: learns from the trials before."""
    NSGA2 = "nsga2"
    """A genetic algorithm; for two objectives and many trials."""
    RANDOM = "random"
    """Draws from the declared distributions."""


class SearchConfig(BaseModel):
    """A search of the hyperparameters of one method on one dataset.

    Parameters
    ----------
    run : RunConfig
        Configuration of every trial: seeds, budget, points, executor, results. Its hyperparameters
        are held fixed.
    trials : int, optional
        Most trials in all, those already in the store included; 50, or 1,000 where ``work`` is
        given.
    work : float, optional
        Seconds of training, encoding and auditing on one core after which no trial starts, those of
        earlier trials included: searches of methods of different cost can be of the same effort.
    parallel : int
        Number of trials whose hyperparameters are chosen before the first of them has ended. The
        search depends on it, unlike on the number of workers.
    objectives : tuple of Objective
        Quantities to minimise; text such as ``aufdc,cost`` is split.
    sampler : SamplerName
        What draws hyperparameters.
    seed : int
        Sampler seed.
    finalists : int
        Best trials whose hyperparameters are trained once more beside the defaults, with
        ``final_budget`` and beyond ``work``: the best of these on the validation set is the result.
        0: that of the trials.
    final_budget : str or int
        Budget of the finalists.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: RunConfig
    trials: int | None = Field(None, ge=1)
    work: Seconds | None = Field(None, gt=0, allow_inf_nan=False)
    parallel: int = Field(4, ge=1)
    objectives: tuple[Objective, ...] = (Objective.AUFDC,)
    sampler: SamplerName = SamplerName.TPE
    seed: int = Field(0, ge=0)
    finalists: int = Field(0, ge=0)
    final_budget: BudgetName = "full"

    @field_validator("objectives", mode="before")
    @classmethod
    def _known_objectives(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        names, known = split_names(value), [objective.value for objective in Objective]
        for name in names:
            if name not in known:
                raise UnknownNameError("objective", name, known)
        return tuple(name for name in known if name in names)

    @model_validator(mode="after")
    def _minimises_aufdc(self) -> Self:
        if Objective.AUFDC not in self.objectives:
            raise ValueError("--objective leaves out aufdc: try aufdc, or aufdc,cost")
        return self

    @model_validator(mode="after")
    def _finalists_make_sense(self) -> Self:
        if not self.finalists:
            if "final_budget" in self.model_fields_set:
                raise ValueError("--final-budget is for finalists: add --finalists 3")
            return self
        if len(self.objectives) > 1:
            raise ValueError("--finalists takes one objective: use --objective aufdc")
        if self.finalists > self.most_trials:
            raise ValueError(f"--finalists {self.finalists} is more than there are trials")
        if self.final_budget == self.run.budget:
            raise ValueError(
                "--finalists would repeat the trials, whose budget is the same: give them a "
                "shorter one, such as --budget quick"
            )
        return self

    @property
    def most_trials(self) -> int:
        """How many trials there are at most."""
        return self.trials or (50 if self.work is None else 1_000)

    @model_validator(mode="after")
    def _repeats_failures_only(self) -> Self:
        if self.run.rerun is Rerun.ALL:
            raise ValueError("--rerun all is for runs; a search takes --rerun failed")
        return self
