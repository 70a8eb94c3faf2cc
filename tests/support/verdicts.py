"""Verdicts over a few tables, made by hand."""

from collections.abc import Mapping

import numpy as np

from fairbench.api import Collection, CollectionTable
from fairbench.leaderboard.across import Verdict, compare_across
from fairbench.leaderboard.build import Tables
from fairbench.leaderboard.ranking import LeaderboardEntry, rank_rows
from fairbench.registry import load_registry
from tests.support.rows import with_folds

_SPREAD = np.array([-0.002, -0.001, 0.0, 0.001, 0.002])


def a_verdict(areas: Mapping[str, float], *, tables: int, known: int | None = None) -> Verdict:
    """Compare rows, alike on all tables, of which there are ``known``.

    ``areas`` are by ``METHOD``, or ``METHOD LABEL`` where the hyperparameters are not the default.
    """
    names = [f"table-{number}" for number in range(known or tables)]
    collection = Collection("made-v1", "made", tuple(CollectionTable(name) for name in names))
    made = [
        Tables(
            name,
            rank_rows(
                [_entry(row, area, number) for row, area in areas.items()], ["drop-features"]
            ),
        )
        for number, name in enumerate(names[:tables])
    ]
    verdicts, _ = compare_across(made, collection, load_registry())
    (verdict,) = verdicts
    return verdict


def _entry(row: str, area: float, table: int) -> LeaderboardEntry:
    method, _, label = row.partition(" ")
    order = np.random.default_rng([table, len(row)]).permutation(len(_SPREAD))
    given = {"label": label, "params": f"label={label}"} if label else {}
    return with_folds(method, (area + _SPREAD[order]).tolist(), **given)
