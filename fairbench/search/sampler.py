"""Optuna's study and samplers, made so that a search can be repeated."""

from __future__ import annotations

import warnings
from typing import Any

from fairbench.search.config import SamplerName, SearchConfig
from fairbench.stats.seeds import derive_seed

POPULATION = 16
"""Trials per generation of the genetic sampler; Optuna's 50 would leave most searches random."""


def make_study(config: SearchConfig) -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.create_study(
        study_name="fairbench",
        directions=["minimize"] * len(config.objectives),
        sampler=make_sampler(config, 0),
    )


def make_sampler(config: SearchConfig, number: int) -> Any:
    from optuna import samplers

    seed = derive_seed("search", config.seed, number) % 2**32
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if config.sampler is SamplerName.TPE:
            # Trials under way count as bad ones: a batch does not ask the same thing twice.
            return samplers.TPESampler(seed=seed, constant_liar=True)
        if config.sampler is SamplerName.NSGA2:
            return samplers.NSGAIISampler(seed=seed, population_size=POPULATION)
        return samplers.RandomSampler(seed=seed)
