"""What the store knows of a trial."""

import sqlalchemy as sa

from fairbench.runs.hyperparameters import validate_params
from fairbench.runs.plan import make_budget, units_of
from fairbench.search.study import FIRST_SEED
from fairbench.search.trials import measure_trial
from tests.search.bench import Bench, Bowl


def test_a_trial_of_many_units_is_measured_by_two_queries(bench: Bench) -> None:
    seeds = tuple(range(FIRST_SEED, FIRST_SEED + 3))
    bench.search(trials=1, run={"seeds": seeds})
    store, budget = bench.store(), make_budget(10, bench.data)
    config = bench.run_config(seeds=seeds)
    units = units_of(Bowl, validate_params(Bowl, {}), bench.data, budget, config)
    statements: list[str] = []
    sa.event.listen(
        store.engine, "before_cursor_execute", lambda *event: statements.append(event[2])
    )
    measured = measure_trial(units, store, budget.audit)
    assert len(statements) == 2
    assert len(measured.points) == len(units) == 6
    assert (
        sum(measured.seconds.values()) == 18.0
    )  # two seconds for each model, and one for each audit
    assert not measured.pending
