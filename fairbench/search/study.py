"""Hyperparameters by Optuna: trials of one method on one dataset, judged on validation sets.

The study lives in memory and is filled anew each time, while what a trial costs, its
models and audits, are ordinary units in the store. As every choice depends only on the sampler's
seed, the trial's number and the values before, a search that was interrupted finds its old
trials in the store and goes on as if nothing had happened. Test figures are never looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

from fairbench.data.prepared import Prepared
from fairbench.errors import ConfigError, FairbenchError
from fairbench.registry import Registry
from fairbench.runs.hyperparameters import params_on
from fairbench.runs.method_answers import ask
from fairbench.runs.plan import make_budget
from fairbench.search.config import SearchConfig
from fairbench.search.runner import TrialRunner, Watch
from fairbench.search.sampler import make_sampler, make_study
from fairbench.search.space import count_settings, held_params, search_space, shortened
from fairbench.search.trials import RunningTrial, Trial, TrialOutcome
from fairbench.store.database import Store

FIRST_SEED = 1000
"""Trials train on seeds from here on, which ``run --seeds`` never uses: what a run then reports of
the best parameters is of other models than those that were chosen, partly by chance.
"""

REPEATS = 20
"""Trials in a row that repeat earlier ones, after which a search ends: they cost nothing, so that
with ``work`` it would go on as if there were more to find.
"""


class Search:
    """A search against a store; a context manager, as it may hold an executor.

    ``splits`` are the splits of the dataset that every trial is trained on. ``command`` is what was
    typed, for the records and files of the search.

    Raises
    ------
    UnknownNameError, ConfigError, CheckError
        There is no such method, it has nothing to search, or what it declares cannot be used.
    """

    def __init__(
        self,
        config: SearchConfig,
        registry: Registry,
        splits: Sequence[Prepared],
        store: Store,
        device: str,
        *,
        workers: int,
        command: str,
    ) -> None:
        self.command = command
        self.config, self.store = config, store
        self.splits, self.data = splits, splits[0]
        self.workers = workers
        self.method = registry.methods[registry.methods.resolve(config.run.methods[0])]
        self.held = held_params(config.run.params, self.method, registry)
        self.space = search_space(self.method, self.held)
        self.settings = count_settings(self.space)
        reason = ask(
            self.method, params_on(self.method, self.held, self.data.info), self.data.info
        ).refusal
        if reason is not None:
            raise ConfigError(f"{self.method.name} cannot run on {self.data.info.name}: {reason}.")
        self.budget = make_budget(config.run.budget, self.data)
        self.final_budget = make_budget(config.final_budget, self.data)
        self.trials: list[Trial] = []
        self.finals: list[Trial] = []
        self.study = make_study(config)
        self.defaults = self._enqueue_defaults()
        self._runner = TrialRunner(
            config, registry, self.method, splits, store, device, command=command
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.stop()

    @property
    def best(self) -> Trial | None:
        """The complete trial of the least area, the first of equals; None: all failed.

        Of the finalists, once one of them is complete.
        """
        return next(iter(_by_area(self.finals) or _by_area(self.trials)), None)

    @property
    def trial_of_defaults(self) -> Trial | None:
        """What the best is compared with: the defaults in the same budget; None: not complete."""
        alike = self.finals if self.best is not None and self.best.final else self.trials
        complete = (trial for trial in alike if trial.number == 0 and trial.values)
        return next(complete, None) if self.defaults else None

    @property
    def front(self) -> list[Trial]:
        """Complete trials that no other beats in all objectives, by their area."""
        numbers = {trial.number for trial in self.study.best_trials}
        trials: dict[str, Trial] = {}
        for trial in self.trials:
            if trial.number in numbers:
                trials.setdefault(repr(trial.params), trial)
        return sorted(trials.values(), key=lambda trial: trial.values)

    def full_params(self, trial: Trial) -> dict[str, Any]:
        """All that ``run --params`` needs to train what the trial trained."""
        return {**self.held, **trial.params}

    def run(self, watch: Watch, report: Callable[[Trial], None]) -> None:
        """Run all trials, ``parallel`` at a time; ``report`` is called for each."""
        while (size := self._next_batch()) > 0:
            done = len(self.trials)
            batch = [self._ask(number) for number in range(done, done + size)]
            self._runner.run(batch, watch, self.budget)
            for trial in batch:
                self.trials.append(self._finish(trial))
                report(self.trials[-1])
        finalists = [
            RunningTrial(
                self.study.trials[trial.number],
                params_on(self.method, self.full_params(trial), self.data.info),
                dict(trial.params),
            )
            for trial in self._finalists()
        ]
        if finalists:
            self._runner.run(finalists, watch, self.final_budget)
            self.finals = [
                replace(trial.summed_up(self.config.objectives), final=True) for trial in finalists
            ]
            for final in self.finals:
                report(final)

    def _finalists(self) -> list[Trial]:
        """The best trials, each set of hyperparameters once, and the defaults beside them.

        With a longer training the defaults may be better than what was better with a short one.
        """
        distinct: dict[str, Trial] = {}
        for trial in _by_area(self.trials):
            distinct.setdefault(repr(trial.params), trial)
        best = list(distinct.values())[: self.config.finalists]
        if best and self.defaults and all(trial.number for trial in best):
            # First: of equals, the defaults are the result.
            return [self.trials[0], *best]
        return best

    @property
    def most_finalists(self) -> int:
        """How many trials are trained once more at most: the defaults come beside the best."""
        return self.config.finalists + self.defaults if self.config.finalists else 0

    @property
    def seconds(self) -> float:
        """What all trials so far took, on one core."""
        return sum(trial.seconds for trial in self.trials)

    @property
    def exhausted(self) -> str | None:
        """Why more trials would bring nothing new; None: they may."""
        tried = [repr(trial.params) for trial in self.trials]
        if self.settings is not None and len(set(tried)) >= self.settings:
            return f"every setting of the search space ({self.settings}) has been tried"
        if tried and set(tried[-REPEATS:]) <= set(tried[:-REPEATS]):
            return f"the last {REPEATS} trials repeated earlier ones"
        return None

    def _next_batch(self) -> int:
        """Return how many trials start next; 0: the search has ended."""
        if self.exhausted or (self.config.work is not None and self.seconds >= self.config.work):
            return 0
        return min(self.config.parallel, self.config.most_trials - len(self.trials))

    def _enqueue_defaults(self) -> bool:
        """Make the defaults trial 0, where they lie in the space: what is found is no worse."""
        import optuna

        params = params_on(self.method, self.held, self.data.info)
        defaults = {name: getattr(params, name) for name in self.space}
        try:
            optuna.trial.create_trial(value=0.0, params=defaults, distributions=self.space)
        except ValueError:
            return False
        self.study.enqueue_trial(defaults)
        return True

    def _ask(self, number: int) -> RunningTrial:
        # A sampler of its own for every trial: what it draws must not depend on how many trials
        # this process has seen.
        self.study.sampler = make_sampler(self.config, number)
        trial = self.study.ask(self.space)
        drawn = dict(trial.params)
        if number > 0 or not self.defaults:
            drawn = {name: shortened(self.space[name], drawn[name]) for name in self.space}
        try:
            params = params_on(self.method, {**self.held, **drawn}, self.data.info)
            refusal = ask(self.method, params, self.data.info).refusal
        except FairbenchError as error:
            return RunningTrial(trial, None, drawn, TrialOutcome.FAILED, error.message)
        if refusal is not None:
            return RunningTrial(trial, None, drawn, TrialOutcome.FAILED, refusal)
        plain = params.model_dump(mode="json")
        return RunningTrial(trial, params, {name: plain[name] for name in self.space})

    def _finish(self, trial: RunningTrial) -> Trial:
        """Give the sampler what a trial gave."""
        from optuna.trial import TrialState

        summed_up = trial.summed_up(self.config.objectives)
        if summed_up.outcome is TrialOutcome.COMPLETE:
            self.study.tell(trial.optuna_trial, values=summed_up.values)
        else:
            failed = summed_up.outcome is TrialOutcome.FAILED
            state = TrialState.FAIL if failed else TrialState.PRUNED
            self.study.tell(trial.optuna_trial, state=state)
        return summed_up


def _by_area(trials: Sequence[Trial]) -> list[Trial]:
    """The complete ones of some trials, the least area first and the first of equals."""
    complete = [trial for trial in trials if trial.outcome is TrialOutcome.COMPLETE]
    return sorted(complete, key=lambda trial: trial.values[0])
