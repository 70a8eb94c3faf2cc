"""Who trains together where a run goes on: sums in floating point depend on it."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import pytest

from fairbench.config import RunConfig
from fairbench.data.prepared import Prepared
from fairbench.runs.audits import AuditLedger
from fairbench.runs.hyperparameters import validate_params
from fairbench.runs.plan import Plan, make_budget, units_of
from fairbench.runs.unit_ledger import UnitLedger
from fairbench.store.database import Store
from fairbench.store.status import Status
from fairbench.training.stack_size import LARGEST_STACK
from tests.search.bench import Bowl

StacksOf = Callable[..., list[list[int]]]


@pytest.fixture
def stacks_of(prepared: Prepared, tmp_path: Path) -> StacksOf:
    """The stacks of four units, two seeds at two points each; units are named by their number.

    ``recorded``: the stacks of an interrupted run. ``failed``: units that failed in it, by
    ``status``.
    ``requested``: how many of the four this run is of.
    """
    config = RunConfig(
        methods=("bowl",), datasets=("adults-gender",), seeds=(0, 1), budget=10, results=tmp_path
    )
    units = units_of(Bowl, validate_params(Bowl, {}), prepared, make_budget(10, prepared), config)
    number = {unit.key: place for place, unit in enumerate(units)}
    assert len(number) == 4

    def stacks(
        to_fit: Sequence[int],
        *,
        recorded: Sequence[Sequence[int]],
        failed: Collection[int] = (),
        status: Status = Status.FAILED,
        requested: int = 4,
    ) -> list[list[int]]:
        store = Store.in_folder(tmp_path)
        for stack in recorded:
            packing = [units[place].key for place in stack]
            for place in stack:
                was = status if place in failed else Status.RUNNING
                record = units[place].record("interrupted")
                store.put([record.replace(packing=packing, status=was)])
        plan, audits = Plan(units[:requested]), AuditLedger(store, (), retry=False)
        ledger = UnitLedger(plan, store, audits, config, run="resumed", trial=False)
        made = ledger.stacks([units[place] for place in to_fit], "cpu", ())
        return [[number[unit.key] for unit in stack] for stack in made]

    return stacks


def test_without_an_earlier_run_all_train_together(stacks_of: StacksOf) -> None:
    assert stacks_of([0, 1, 2, 3], recorded=[]) == [[0, 1, 2, 3]]


def test_a_resumed_run_has_the_stacks_of_the_interrupted_one_in_their_order(
    stacks_of: StacksOf,
) -> None:
    assert stacks_of([0, 1, 2, 3], recorded=[[0, 2], [3, 1]]) == [[0, 2], [3, 1]]


def test_where_one_model_is_needed_its_whole_stack_trains_again(stacks_of: StacksOf) -> None:
    assert stacks_of([2], recorded=[[0, 2], [3, 1]]) == [[0, 2]]


def test_units_without_a_record_train_beside_those_with_one(stacks_of: StacksOf) -> None:
    assert stacks_of([0, 1, 2, 3], recorded=[[0, 2]]) == [[0, 2], [1, 3]]


def test_of_a_stack_with_a_failure_only_what_is_needed_trains_again(stacks_of: StacksOf) -> None:
    recorded = [[0, 2], [3, 1]]
    assert stacks_of([0], recorded=recorded, failed={2}) == [[0]]
    assert stacks_of([0, 2, 3], recorded=recorded, failed={2}) == [[0, 2], [3, 1]]


def test_a_stack_that_ran_out_of_memory_trains_in_halves(stacks_of: StacksOf) -> None:
    recorded = [[0, 2, 3], [1]]
    found = stacks_of([0, 1, 2, 3], recorded=recorded, failed={0, 2, 3}, status=Status.OOM)
    assert found == [[0, 2], [3], [1]]


@pytest.mark.parametrize("failed", [(), (0, 1, 2, 3)])
def test_a_stack_of_a_larger_device_is_divided_anew(
    failed: Collection[int], stacks_of: StacksOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LARGEST_STACK, "cpu", 2)
    found = stacks_of([0, 1, 2, 3], recorded=[[0, 1, 2, 3]], failed=failed)
    assert found == [[0, 1], [2, 3]]


def test_so_it_does_of_a_stack_that_is_not_all_of_this_request(stacks_of: StacksOf) -> None:
    assert stacks_of([0, 1], recorded=[[0, 3], [1, 2]], requested=3) == [[0], [1, 2]]


@pytest.mark.parametrize(("origin", "trains"), [(None, False), ("somebody's export", True)])
def test_what_failed_elsewhere_is_trained_here(
    prepared: Prepared, tmp_path: Path, origin: str | None, trains: bool
) -> None:
    """Their machine may have had less memory; an own failure is only met again with --rerun."""
    config = RunConfig(methods=("bowl",), datasets=("adults-gender",), budget=10, results=tmp_path)
    units = units_of(Bowl, validate_params(Bowl, {}), prepared, make_budget(10, prepared), config)
    store = Store.in_folder(tmp_path)
    failed = units[0].record("theirs").replace(status=Status.OOM)
    if origin is None:
        store.put([failed])
    else:
        store.merge([failed], origin)
    ledger = UnitLedger(
        Plan(units), store, AuditLedger(store, (), retry=False), config, run="mine", trial=False
    )
    assert ledger.must_fit(units[0]) is trains
    assert bool(ledger.earlier_failures()) is not trains  # what is trained is reported afterwards
