"""What stored and published results are found by: keys, seeds, splits and fingerprints.

Results of an earlier version are found again only where all of these are as they were, to the
digit. Who changes one of these figures orphans every store and every board.
"""

from dataclasses import replace

import pytest

from fairbench.api import Role
from fairbench.config import RunConfig
from fairbench.data.loading import load_folds
from fairbench.data.prepare import prepare
from fairbench.data.prepared import Prepared
from fairbench.data.roles import assign_roles
from fairbench.data.splits import OFFICIAL, Split
from fairbench.leaderboard.boards import find_board
from fairbench.registry import load_registry
from fairbench.runs import plan
from fairbench.runs.hyperparameters import validate_params
from fairbench.stats.seeds import derive_seed
from fairbench.store.keys import hash_of, point_key
from fairbench_datasets.adults import AdultsGender
from fairbench_datasets.compas import CompasRace
from tests.search.bench import Bowl
from tests.support.real_data import root_with
from tests.support.small_table import make_table

OF_NOTHING = 8203414616412130826
OF_AUDITORS = 5721372886839789233
OF_AN_ENCODING = 2560463258652222593

HASH = "7d3aaa3b61dd6123b3252f63609b92b54766c3259082ccb0935fdfc4bd934fe0"
POINT_KEY = "7c0e4f180ff003cbb149644d67e9077c759cdee539c4de3f27663083cd83ae43"
UNIT_KEYS = [
    "b7ce9c22fcec349e817fd3c968460b83b22c036433ec9542d0f36f2ad2a20261",
    "09991c85bdbc54ba2d9c78402630ae521902672d457ae365f0d81f4ca76c9543",
]

OFFICIAL_TEST_ROWS = [0, 3, 4, 6, 8]
FOLD_TEST_ROWS = [11, 16, 18, 21, 22]
OFFICIAL_FINGERPRINT = "dd3c85c13aff3ff92263f3016de15bf2c75bc2620426e53363a033f4220fb2b9"
FOLD_FINGERPRINT = "09702560d3191f0335ec3bfd77eb38af2c0d127d450e489c5725181f092b3b84"

CONTENT = {"b": [1, 2.5, None, True], "a": {"text": "é", "share": 0.1}}
AUDIT = {"preset": "strict", "epochs": 60, "learning_rate": 1e-3, "hidden": [256, 256]}


def test_seeds_that_are_derived() -> None:
    assert derive_seed() == OF_NOTHING
    assert derive_seed(7, "auditors") == OF_AUDITORS
    assert derive_seed("encode", "f" * 64, 3, 0) == OF_AN_ENCODING


def test_hashes_and_the_key_of_a_point() -> None:
    assert hash_of(CONTENT) == HASH
    assert hash_of(dict(reversed(CONTENT.items()))) == HASH
    assert point_key("a" * 64, "beta=0.5", AUDIT, 5) == POINT_KEY


def test_the_key_of_a_model(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that goes into it, but the source of its method, which is given here."""
    monkeypatch.setattr(plan, "code_of", lambda method: "c" * 16)
    data = replace(prepared, fingerprint="f" * 64)
    config = RunConfig(methods=("bowl",), datasets=("adults-gender",), seeds=(3,), budget=10)
    budget = plan.make_budget(10, data)
    units = plan.units_of(Bowl, validate_params(Bowl, {}), data, budget, config)
    assert [unit.key for unit in units] == UNIT_KEYS


@pytest.mark.parametrize(
    ("split", "rows", "fingerprint"),
    [
        (OFFICIAL, OFFICIAL_TEST_ROWS, OFFICIAL_FINGERPRINT),
        (Split(2, 5), FOLD_TEST_ROWS, FOLD_FINGERPRINT),
    ],
    ids=["official", "a fold"],
)
def test_splits_and_fingerprints_of_a_table(
    split: Split, rows: list[int], fingerprint: str
) -> None:
    table = make_table(600)
    assert assign_roles(table, split)[Role.TEST][:5].tolist() == rows
    data = prepare(table, AdultsGender, source="simulated", origin="test", split=split)
    assert data.fingerprint == fingerprint


def test_the_folds_of_a_real_table_are_those_of_its_published_board() -> None:
    root = root_with(CompasRace)
    folds = load_folds(CompasRace, 5, root=root, require_real=True)
    found = {data.split.name: data.fingerprint for data in folds}
    board = find_board("compas-race-5", load_registry())
    assert found == {unit.split: unit.fingerprint for unit in board.units}
    assert set(found.values()) == {one.fingerprint for one in board.references}
