"""``fairbench run --tune N``: one search per method and dataset, then its best hyperparameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairbench.api.method import Method
from fairbench.cli.console import err
from fairbench.cli.search import run_search, show_space
from fairbench.cli.setup import command_line
from fairbench.config import Rerun, RunConfig, build_config
from fairbench.data.prepared import Prepared
from fairbench.errors import ConfigError, FairbenchError, PluginError, StoreError, in_one_line
from fairbench.registry import Registry
from fairbench.report import search_files
from fairbench.runs.hyperparameters import params_on
from fairbench.runs.method_answers import ask
from fairbench.runs.plan import Plan, make_budget, resolve_methods, units_of
from fairbench.search.config import SearchConfig
from fairbench.search.space import declared_space, held_params, search_space
from fairbench.search.study import FIRST_SEED, Search
from fairbench.store.database import Store

_TUNED = "tuned"
"""Label of the rows with the best hyperparameters."""


def searched_methods(config: RunConfig, registry: Registry, trials: int) -> list[type[Method]]:
    """Return the methods of a run that have something to search; ConfigError if none has."""
    if trials < 1:
        raise ConfigError(f"--tune {trials}: at least one trial is needed.", "Try --tune 20.")
    methods = []
    for name in resolve_methods(config.methods, registry):
        method = registry.methods[name]
        held = held_params(config.params, method, registry)
        if declared_space(method, held):
            search_space(method, held)
            methods.append(method)
    if not methods:
        raise ConfigError(
            "--tune: none of the methods of this run declares a search space.",
            "Leave --tune out, or name another method.",
        )
    return methods


@dataclass(frozen=True)
class Tuning:
    """The searches of one run."""

    config: RunConfig
    registry: Registry
    store: Store
    device: str
    workers: int
    trials: int

    def extend(
        self,
        plan: Plan,
        methods: Sequence[type[Method]],
        datasets: Sequence[Prepared],
        *,
        dry_run: bool,
    ) -> int:
        """Search, and add units with the best hyperparameters to a plan; return the failures.

        The best hyperparameters may differ between datasets, so each has tuned units of its own.
        """
        failed = 0
        for data in datasets:
            for method in methods:
                held = held_params(self.config.params, method, self.registry)
                try:
                    params = params_on(method, held, data.info)
                    refused = ask(method, params, data.info).refusal is not None
                except PluginError:
                    refused = True
                if refused:
                    continue  # the run reports it
                try:
                    failed += not self._search(plan, method, data, dry_run=dry_run)
                except StoreError:
                    raise  # nothing else could be written either
                except FairbenchError as error:
                    plan.failed[f"search of {method.name} on {data.title}"] = in_one_line(error)
        return failed

    def _search(self, plan: Plan, method: type[Method], data: Prepared, *, dry_run: bool) -> bool:
        rerun = None if self.config.rerun is Rerun.ALL else self.config.rerun
        update = {"methods": (method.name,), "seeds": (FIRST_SEED,), "rerun": rerun}
        run = self.config.model_copy(update=update)
        config = build_config(SearchConfig, run=run, trials=self.trials)
        with Search(
            config,
            self.registry,
            [data],
            self.store,
            self.device,
            workers=self.workers,
            command=command_line(),
        ) as search:
            if dry_run:
                show_space(search)
                return True
            run_search(search)
        search_files.write(search)
        if search.best is None:
            err.print(f"None of {self.trials} trials of {method.name} is complete.", markup=False)
            return False
        params = params_on(method, search.full_params(search.best), data.info)
        budget = make_budget(self.config.budget, data)
        known = {planned.key for planned in plan.units}
        labelled = self.config.model_copy(update={"label": self.config.label or _TUNED})
        tuned = units_of(method, params, data, budget, labelled)
        plan.units += [planned for planned in tuned if planned.key not in known]
        if all(planned.key in known for planned in tuned):
            err.print(
                f"{method.name}: no trial was better than what is run anyway.",
                markup=False,
            )
        return True
