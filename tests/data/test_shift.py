"""Shifts: which rows are the source and the target, and what is fitted on which."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairbench.api import AUDIT_ROLES, Role
from fairbench.api.dataset import Dataset, Table
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.auditing.encoded import EncodedPoint
from fairbench.auditing.shift import evaluate_shift
from fairbench.data.prepare import prepare
from fairbench.data.prepared import Rows
from fairbench.data.shift import is_shifted, shifted, split_domains
from fairbench.errors import ConfigError

N = 400
RNG = np.random.default_rng(0)
PLACE = np.where(RNG.random(N) < 0.7, "North", "South")


class Places(Dataset):
    name = "places"
    summary = "people of two places"

    def load(self, folder: Path) -> Table:
        x = pd.DataFrame(
            {
                "height": RNG.normal(size=N) + 5 * (PLACE == "South"),
                "hat": np.where(
                    PLACE == "South", RNG.choice(["b", "z"], N), RNG.choice(["a", "c"], N)
                ),
            }
        )
        s, y = RNG.integers(0, 2, N), RNG.integers(0, 2, N)
        return Table(x, s, ("l", "r"), {"task": y}, domains={"place": PLACE})


def a_shift(shift: str = "place") -> type[Dataset]:
    return shifted(Places, shift)


def test_models_are_fitted_on_the_source_alone_and_rows_are_in_one_place() -> None:
    dataset = a_shift()
    data = prepare(dataset().load(Path()), dataset, source="real", origin="")
    assert data.info.name == "places-shift-place"
    assert data.target is not None
    here = np.concatenate([rows.numbers for rows in data.roles.values()])
    there = np.concatenate([rows.numbers for rows in data.target.roles.values()])
    assert set(PLACE[here]) == {"North"}
    assert set(PLACE[there]) == {"South"}
    assert sorted([*here, *there]) == list(range(N))
    train = data.roles[Role.ENCODER_TRAIN].x
    np.testing.assert_allclose(train[:, 0].mean(), 0, atol=1e-6)
    # Scaled as the source: people of the South are taller.
    assert data.target.roles[Role.TEST].x[:, 0].mean() > 3


def test_classifiers_move_between_domains_that_a_code_was_drawn_for_differently_often() -> None:
    """Of a larger domain a stochastic encoder is drawn from fewer times."""
    dataset = a_shift()
    data = prepare(dataset().load(Path()), dataset, source="real", origin="")
    assert data.target is not None

    def encoded(roles: Mapping[Role, Rows], draws: int) -> EncodedPoint:
        z = {role: np.tile(roles[role].x, (draws, 1)) for role in AUDIT_ROLES}
        return EncodedPoint(z, None, None, None)

    for here, there in ((1, 3), (3, 2), (2, 2)):
        shift = evaluate_shift(
            encoded(data.roles, here),
            encoded(data.target.roles, there),
            data,
            config=PRESETS[AuditPreset.QUICK],
            seed=0,
        )
        moved = shift.moved["task"]
        rows = data.target.roles[Role.TEST].y["task"]
        np.testing.assert_array_equal(moved.labels, np.tile(rows, min(here, there)))
        assert len(moved.probabilities) == len(moved.labels)


def test_codes_of_categories_are_the_same_in_both_domains() -> None:
    dataset = a_shift()
    data = prepare(dataset().load(Path()), dataset, source="real", origin="")
    assert data.target is not None
    assert data.info.features[1].categories == ("a", "b", "c", "z")
    here, there = (set(of.roles[Role.TEST].x[:, 1].tolist()) for of in (data, data.target))
    assert not here & there


def test_the_source_can_be_chosen_and_is_in_the_name() -> None:
    dataset = a_shift("place=South")
    table = dataset().load(Path())
    assert dataset.name == "places-shift-place-from-south"
    assert is_shifted(dataset.name)
    assert table.target is not None
    assert set(PLACE[~table.target]) == {"South"}
    assert "trained where place is 'South'" in table.notes[0]


def test_the_fingerprint_depends_on_the_target() -> None:
    dataset = a_shift()
    table = dataset().load(Path())
    one = prepare(table, dataset, source="real", origin="").fingerprint
    assert table.target is not None
    x = table.x.copy()
    x.loc[np.flatnonzero(table.target)[0], "height"] += 1
    table = Table(x, table.s, table.groups, table.y, target=table.target)
    assert prepare(table, dataset, source="real", origin="").fingerprint != one


@pytest.mark.parametrize(
    ("shift", "told"),
    [
        ("time", "places has no column 'time' to split its rows by"),
        ("place=West", "place of places has no value 'West'"),
    ],
)
def test_unknown_columns_and_values_are_told(shift: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        a_shift(shift)().load(Path())


def test_one_domain_cannot_be_split() -> None:
    table = Places().load(Path())
    alone = Table(table.x, table.s, table.groups, table.y, domains={"place": np.full(N, "North")})
    with pytest.raises(ConfigError, match="All rows of places have the same place"):
        split_domains(alone, "place", None, "places")


def test_columns_in_other_letters_have_names_of_their_own() -> None:
    names = {a_shift(shift).name for shift in ("地区", "年代", "place", "Place_of-birth")}
    assert len(names) == 4
    assert {"places-shift-place", "places-shift-place-of-birth"} < names


def test_a_name_that_no_store_takes_is_refused() -> None:
    with pytest.raises(ConfigError, match="more than 80 characters"):
        a_shift("place" * 20)
