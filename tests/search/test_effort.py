"""What a search costs: each model and audit once, whatever came of it; and when it ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fairbench.cli.search import run_search, show_space
from fairbench.runs.audit_job import AuditJob
from fairbench.runs.executors.base import Event, Failed, Finished
from fairbench.search.trials import TrialOutcome
from fairbench.store.status import Status
from tests.search.bench import Answers, Bench, Bowl, BowlParams, bowl, same


def test_seconds_are_those_of_processor_cores(bench: Bench) -> None:
    (trial,) = bench.search(Answers(bowl), trials=1).trials
    assert trial.seconds == (2.0 + 1.0) * trial.points


def test_a_search_ends_with_its_work_and_goes_on_with_more(bench: Bench) -> None:
    each = bench.search(Answers(bowl), trials=1).seconds
    first = bench.search(Answers(bowl), trials=None, work=5 * each)
    assert len(first.trials) == 8  # two batches of four
    more = Answers(bowl)
    longer = bench.search(more, trials=None, work=9 * each)
    assert same(longer.trials)[:8] == same(first.trials)
    assert len(longer.trials) == 12
    assert more.fits == 2 * 4
    assert len(bench.search(trials=10, work=9 * each).trials) == 10
    # Trials that fail at once must end too.
    assert bench.prepare(trials=None, work=9 * each).config.most_trials == 1000


@pytest.mark.parametrize("status", [Status.DIVERGED, Status.TIMEOUT])
def test_trials_that_give_nothing_use_up_the_work_too(bench: Bench, status: Status) -> None:
    search = bench.search(Answers(lambda params, seed: status), trials=None, work=20.0)
    assert search.seconds == 2 * 2.0 * len(search.trials)
    assert len(search.trials) == 8  # two batches of four, of 4 s each


def _finite(bench: Bench) -> None:
    """Search four settings: two kinds, two sizes."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    space = {
        "kind": CategoricalDistribution(["flat", "round"]),
        "size": IntDistribution(32, 64, step=32),
    }
    bench.method = type("Few", (Bowl,), {"name": "few", "search_space": lambda self: space})
    bench.registry.methods.add(bench.method, "test")


def test_a_setting_that_is_drawn_again_costs_nothing_more(bench: Bench) -> None:
    search = bench.search(run={"params": {"bowl": {"a": 0.5, "size": 64}}}, trials=8, parallel=8)
    assert {trial.params["kind"] for trial in search.trials} == {"flat", "round"}
    assert search.seconds == 2 * 2 * (2.0 + 1.0)  # two settings, two points each
    again = bench.search(Answers(bowl, patience=0), run=search.config.run.model_dump(), trials=8)
    assert again.seconds == search.seconds


def test_a_search_ends_when_all_settings_have_been_tried(bench: Bench) -> None:
    _finite(bench)
    search = bench.search(trials=None, work=1e6)
    assert len({repr(trial.params) for trial in search.trials}) == 4
    assert len(search.trials) < 60
    assert search.exhausted == "every setting of the search space (4) has been tried"
    assert bench.search(trials=2).exhausted is None
    assert same(bench.search(Answers(bowl, patience=0), trials=500).trials) == same(search.trials)


def test_a_search_of_a_grid_tries_each_of_its_values_before_it_ends(bench: Bench) -> None:
    from optuna.distributions import FloatDistribution

    class WithDefault(BowlParams):
        a: float = 0.3  # the grid has 0.1 + 2 * 0.1, which differs in the last bit

    space = {"a": FloatDistribution(0.1, 0.9, step=0.1)}
    own = {"name": "grid", "Params": WithDefault, "search_space": lambda self: space}
    bench.method = type("Grid", (Bowl,), own)
    bench.registry.methods.add(bench.method, "test")
    search = bench.search(trials=200, sampler="random")
    tried = {trial.params["a"] for trial in search.trials}
    assert tried == {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}
    assert search.exhausted == "every setting of the search space (9) has been tried"


def test_it_is_told_why_a_search_ended_early(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _finite(bench)
    monkeypatch.setattr("fairbench.search.runner.make_executor", lambda *a, **k: Answers(bowl))
    with bench.prepare(trials=50) as search:
        run_search(search)
        show_space(search)
    printed = capsys.readouterr()
    told = " ".join(printed.err.split())
    assert "every setting of the search space (4) has been tried." in told
    assert "50 trials" in printed.out


def test_a_search_ends_when_trials_only_repeat_earlier_ones(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    _finite(bench)
    # As where a space is too large to try all of it, and the sampler keeps to a part.
    monkeypatch.setattr("fairbench.search.study.count_settings", lambda space: 1000)
    search = bench.search(trials=None, work=1e6)
    assert 20 < len(search.trials) < 100
    assert search.exhausted == "the last 20 trials repeated earlier ones"


class BadAudits(Answers):
    """Every audit ends at its limit of time, 30 s."""

    def events(self) -> Iterator[Event]:
        for event in super().events():
            if isinstance(event, Finished) and isinstance(event.job, AuditJob):
                event = Failed(event.job, Status.TIMEOUT, "too slow", None, 30.0)
            yield event


def test_audits_that_fail_use_up_the_work_too(bench: Bench) -> None:
    search = bench.search(BadAudits(bowl), trials=None, work=200.0)
    assert {trial.outcome for trial in search.trials} == {TrialOutcome.FAILED}
    assert {trial.seconds for trial in search.trials} == {2 * (2.0 + 30.0)}
    assert len(search.trials) == 4  # one batch


def test_what_is_tried_again_costs_both_times(bench: Bench) -> None:
    failed = bench.search(Answers(lambda params, seed: Status.OOM), trials=1)
    assert failed.seconds == 2 * 2.0
    for _ in range(2):  # it failed once; then it is in the store
        retried = bench.search(Answers(bowl), trials=1, run={"rerun": "failed"})
        assert retried.seconds == 2 * (2.0 + 2.0 + 1.0)


def test_a_retry_that_is_interrupted_keeps_what_was_spent_before(bench: Bench) -> None:
    class Stopped(Answers):
        def events(self) -> Iterator[Event]:
            for event in super().events():
                yield event
                raise KeyboardInterrupt  # while the first job runs

    bench.search(Answers(lambda params, seed: Status.TIMEOUT), trials=1)
    with pytest.raises(KeyboardInterrupt):
        bench.search(Stopped(bowl), trials=1, run={"rerun": "failed"})
    assert bench.search(trials=1).seconds == 2 * (2.0 + 2.0 + 1.0)


def test_an_audit_that_is_tried_again_costs_both_times(bench: Bench) -> None:
    assert bench.search(BadAudits(bowl), trials=1).seconds == 2 * (2.0 + 30.0)
    retried = bench.search(Answers(bowl), trials=1, run={"rerun": "failed"})
    # What trials encoded is deleted, so the model is trained again, too.
    assert retried.seconds == 2 * (2.0 + 30.0 + 2.0 + 1.0)
