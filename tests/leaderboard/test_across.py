"""Verdicts over the tables of a collection, by hand."""

import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairbench.api import Collection, CollectionTable, Method
from fairbench.cli.across import show_verdict, write_across
from fairbench.errors import ConfigError, UnknownNameError
from fairbench.leaderboard.across import Verdict, compare_across
from fairbench.leaderboard.build import Tables
from fairbench.leaderboard.collections import check_tables, find_collection
from fairbench.leaderboard.ranking import LeaderboardEntry, rank_rows
from fairbench.registry import Registry, load_registry
from tests.support.rows import one_split, with_folds

NAMES = [f"table-{k}" for k in range(10)]
TEN = Collection("ten-v1", "ten tables", tuple(CollectionTable(name) for name in NAMES))
UNSEEN = Collection("u-v1", "", tuple(CollectionTable(n, unseen=f"{n}-unseen") for n in NAMES))
SPREAD = np.array([-0.002, -0.001, 0.0, 0.001, 0.002])


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


def a_table(name: str, entries: list[LeaderboardEntry]) -> Tables:
    return Tables(name, rank_rows(entries, ["drop-features"]))


def folds(mean: float, seed: int = 0) -> list[float]:
    order = np.random.default_rng(seed).permutation(5)
    return (mean + SPREAD[order]).tolist()


def ten_tables() -> list[Tables]:
    """sofair always best, msfair second or third, drop-features in between."""
    return [
        a_table(
            name,
            [
                with_folds("sofair", folds(0.1, k)),
                with_folds("msfair", folds(0.3 if k % 2 else 0.19, k + 20)),
                with_folds("drop-features", folds(0.2, k + 40)),
                with_folds("pca", folds(0.4, k + 60)),
            ],
        )
        for k, name in enumerate(NAMES)
    ]


def unseen_tables() -> list[Tables]:
    """sofair best on the unseen tasks, and worse by area."""
    return [
        a_table(
            f"{name}-unseen",
            [
                with_folds("sofair", folds(0.2), transfer_at_leakage_10=folds(0.7, k)),
                with_folds("drop-features", folds(0.1), transfer_at_leakage_10=folds(0.5, k + 9)),
            ],
        )
        for k, name in enumerate(NAMES)
    ]


def only(tables: list[Tables], collection: Collection, registry: Registry) -> Verdict:
    verdicts, unranked = compare_across(tables, collection, registry)
    assert len(verdicts) == 1
    assert not unranked
    return verdicts[0]


def test_a_plugin_cannot_choose_what_others_are_compared_with() -> None:
    class Easy(Method):
        name = "easy"
        summary = "Easily beaten."
        tested_against = True

    registry = load_registry()
    registry.methods.add(Easy, "easy (some-package)")
    tables = [
        a_table(
            name,
            [
                with_folds("sofair", folds(0.1, k)),
                with_folds("easy", folds(0.15, k + 20)),
                with_folds("drop-features", folds(0.2, k + 40)),
            ],
        )
        for k, name in enumerate(NAMES)
    ]
    assert only(tables, TEN, registry).reference == "drop-features"


def test_ranks_wins_and_tests_against_the_reference(registry: Registry) -> None:
    verdict = only(ten_tables(), TEN, registry)
    assert verdict.reference == "drop-features"
    by_name = {row.method: row for row in verdict.rows}
    assert [row.method for row in verdict.rows] == ["sofair", "msfair", "drop-features", "pca"]
    best = by_name["sofair"]
    # First everywhere: that says nothing of how far the rank of another source may be from 1.
    assert (best.mean_rank, best.mean_rank_low, best.mean_rank_high) == (1, None, None)
    assert (best.wins, best.ties, best.losses) == (10, 0, 0)
    assert best.improvement == 1
    assert best.p_value == pytest.approx(3 * 2**-10)  # Holm over the three other rows
    half = by_name["msfair"]
    assert (half.wins, half.losses) == (5, 5)
    assert half.improvement == 0.5
    assert by_name["drop-features"].p_value is None
    assert by_name["pca"].p_value == 1


def test_the_best_row_of_a_family_stands_for_it(registry: Registry) -> None:
    verdict = only(ten_tables(), TEN, registry)
    assert [verdict.rows[k].method for k in verdict.families] == ["sofair", "drop-features", "pca"]
    assert [verdict.rows[k].family for k in verdict.families] == ["sofair", "drop-features", "pca"]
    assert (verdict.p_families[0, 1:] < 0.05).all()


def test_equal_figures_of_one_and_of_three_seeds_share_their_rank(registry: Registry) -> None:
    """Where no point keeps a limit both rows have the accuracy of a constant guess."""
    guess = [0.7601, 0.7602, 0.7603, 0.7605, 0.7607]
    of_three_seeds = [statistics.fmean([one] * 3) for one in guess]
    assert of_three_seeds != guess  # by rounding
    tables = [
        a_table(
            f"{name}-unseen",
            [
                with_folds("drop-features", folds(0.1), transfer_at_leakage_10=guess),
                with_folds("sofair", folds(0.2), transfer_at_leakage_10=of_three_seeds),
            ],
        )
        for name in NAMES
    ]
    verdict = only(tables, UNSEEN, registry)
    assert [row.mean_rank for row in verdict.rows] == [1.5, 1.5]
    (compared,) = [row for row in verdict.rows if row.compared_with]
    assert (compared.wins, compared.ties, compared.losses) == (0, 10, 0)
    assert compared.improvement == 0.5
    assert compared.p_value == 1


def test_weights_count(registry: Registry) -> None:
    half = tuple(CollectionTable(name, 0.5 if k % 2 else 1) for k, name in enumerate(NAMES))
    verdict = only(ten_tables(), Collection("half-v1", "", half), registry)
    # Rank 2 on the five tables of weight 1, rank 3 on those of weight 1/2.
    assert verdict.rows[1].mean_rank == pytest.approx((5 * 2 + 2.5 * 3) / 7.5)


def test_tables_of_one_source_are_one_replicate(registry: Registry) -> None:
    paired = tuple(
        CollectionTable(name, 0.5, source=f"survey-{k // 2}") for k, name in enumerate(NAMES)
    )
    verdict = only(ten_tables(), Collection("paired-v1", "", paired), registry)
    best, half, *_ = verdict.rows
    assert (best.tables, best.sources) == (10, 5)
    assert best.p_value == pytest.approx(3 * 2**-5)
    # Second on one table of each survey, third on the other: nothing differs between surveys.
    assert half.mean_rank == 2.5
    assert half.mean_rank_low is half.mean_rank_high is None


def test_only_replicated_rows_count_and_methods_must_be_on_all_tables(registry: Registry) -> None:
    tables = ten_tables()
    tables[0].entries.append(one_split("lucky", 1, aufdc=0.01))
    tables[1] = a_table(
        NAMES[1], [with_folds("sofair", folds(0.1)), with_folds("drop-features", folds(0.2))]
    )
    tables[2] = a_table(NAMES[2], [one_split("sofair", 1, aufdc=0.1)])
    verdict = only(tables, TEN, registry)
    assert [row.method for row in verdict.rows] == ["sofair", "drop-features"]
    assert verdict.partial == ("msfair", "pca")
    assert verdict.missing == (NAMES[2],)
    assert verdict.rows[0].tables == 9
    assert verdict.rows[0].tables_missing == 1


def test_twins_and_demonstrations_never_count(registry: Registry) -> None:
    tables = ten_tables()[:3]
    tables[0] = a_table(f"{NAMES[0]}-simulated", [with_folds("sofair", folds(0.5))])
    shown = [with_folds("sofair", folds(0.5), demonstration="too few rows")]
    tables[1] = a_table(NAMES[1], shown)
    assert only(tables, TEN, registry).tables == (NAMES[2],)


def test_a_collection_cannot_name_a_twin(registry: Registry) -> None:
    twin = f"{NAMES[0]}-simulated"
    twins = Collection("twins", "", (CollectionTable(twin), CollectionTable(NAMES[1])))
    with pytest.raises(ConfigError, match="has simulated data"):
        check_tables(twins, {twin, NAMES[1]}, registry)
    simulated = [with_folds("sofair", folds(0.5), data_source="simulated")]
    tables = [a_table(twin, simulated), ten_tables()[1]]
    assert only(tables, twins, registry).tables == (NAMES[1],)


def test_a_row_without_the_measure_on_some_fold_is_left_out(registry: Registry) -> None:
    tables = ten_tables()
    holed = replace(with_folds("msfair", folds(0.1)), folds={})
    tables[0].entries[:] = [e for e in tables[0].entries if e.row.method != "msfair"] + [holed]
    verdict = only(tables, TEN, registry)
    assert verdict.partial == ("msfair",)


def test_higher_is_better_for_unseen_tasks(registry: Registry) -> None:
    verdict = only(unseen_tables(), UNSEEN, registry)
    assert verdict.measure == "transfer_at_leakage_10"
    assert [row.method for row in verdict.rows] == ["sofair", "drop-features"]
    assert verdict.rows[0].mean_figure == pytest.approx(0.7)
    assert verdict.rows[0].wins == 10
    assert verdict.figures.min() > 0


def test_the_aware_track_is_first_ranked_by_what_is_left_for_y(registry: Registry) -> None:
    """As on each table: with s in hand an encoder can be almost free of it at no distortion."""
    tables = [
        a_table(
            name,
            [
                with_folds(
                    method,
                    folds(aufdc, k),
                    accuracy_y_at_leakage_10=folds(a_y, k + 9),
                    track="aware",
                )
                for method, aufdc, a_y in (("qleace", 0.01, 0.7), ("fnf", 0.02, 0.8))
            ],
        )
        for k, name in enumerate(NAMES)
    ]
    verdicts, _ = compare_across(tables, TEN, registry)
    assert [verdict.measure for verdict in verdicts] == ["accuracy_y_at_leakage_10", "aufdc"]
    by_task, by_area = ([row.method for row in verdict.rows] for verdict in verdicts)
    assert by_task == ["fnf", "qleace"]
    assert by_area == ["qleace", "fnf"]
    assert all(t.leaderboard[0].method == by_task[0] for t in tables)


def test_without_replicated_rows_the_table_has_no_ranks(registry: Registry) -> None:
    tables = [Tables(NAMES[k], [one_split("pca", k, aufdc=0.1 * k)]) for k in (1, 2)]
    tables[1].entries.append(one_split("sofair", 3, aufdc=0.05))
    verdicts, unranked = compare_across(tables, TEN, registry)
    assert not verdicts
    (shown,) = unranked
    assert shown.tables == tuple(NAMES[1:3])
    np.testing.assert_allclose(shown.figures, [[0.1, 0.2], [np.nan, 0.05]])


def test_what_is_printed_and_written(
    registry: Registry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = only(ten_tables(), TEN, registry)
    show_verdict(verdict)
    said = capsys.readouterr().out
    assert "2.5 [2.1, 2.9]" in said  # and of rows with one rank everywhere none
    assert "better than drop-features at 5%: sofair (sofair, p = 0.0029)" in " ".join(said.split())
    path = write_across([verdict], "ten-v1", tmp_path)
    header, *rows = path.read_text().splitlines()
    assert len(rows) == 4
    assert "mean_rank_low" in header.split(",")


def test_a_collection_of_ones_own_extends_another(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "collection: mine-v1\nextends: tabular-v1\ntables: [{dataset: my-table, weight: 2}]\n"
    )
    found = find_collection(str(path), registry)
    assert found.name == "mine-v1"
    assert found.tables[:-1] == registry.collections["tabular-v1"].tables
    assert found.tables[-1] == CollectionTable("my-table", 2.0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("collection: tabular-v1\ntables: [{dataset: a}]", "belongs to a registered collection"),
        ("collection: Mine!\ntables: [{dataset: a}]", "lower-case words"),
        ("collection: mine\ntables: [{dataset: a}, {dataset: a}]", "stands twice"),
        ("collection: mine\ntables: [{dataset: a, weight: -1}]", "tables.0.weight"),
        ("collection: mine\ntables: [{name: a}]", "tables.0"),
        ("collection: mine", "has no tables"),
        ("just text", "must hold"),
        ("a: [", "is not YAML"),
        ("a:\n\tb: 1", r"is not YAML \(line 2\).\nA tab stands there: indent with spaces"),
    ],
)
def test_a_bad_collection_is_told(registry: Registry, tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=told):
        find_collection(str(path), registry)


def test_unknown_collections_are_told(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="tabular-v1"):
        find_collection("tabular-v9", registry)
    with pytest.raises(ConfigError, match="No such file"):
        find_collection(str(tmp_path / "none.yaml"), registry)


def test_the_built_in_collection_has_ten_tables_and_known_datasets(registry: Registry) -> None:
    tables = registry.collections["tabular-v1"].tables
    assert sum(table.weight for table in tables) >= 7
    for table in tables:
        assert table.dataset in registry.datasets.classes
        assert not registry.datasets[table.dataset].demonstration
        assert table.unseen is None or table.unseen in registry.datasets.classes


@pytest.mark.parametrize(
    ("make_tables", "collection", "measure", "share"),
    [
        (ten_tables, TEN, "AUFDC", "share of folds at most that"),
        (unseen_tables, UNSEEN, "unseen tasks at I<10%", "share of folds at least that"),
    ],
    ids=["area", "unseen tasks"],
)
def test_a_figure_is_drawn_of_every_measure(
    registry: Registry,
    tmp_path: Path,
    make_tables: Callable[[], list[Tables]],
    collection: Collection,
    measure: str,
    share: str,
) -> None:
    from fairbench.report.across_figure import across_figure
    from fairbench.report.identity import Identities

    verdict = only(make_tables(), collection, registry)
    figure = across_figure(verdict, Identities())
    ranks, profiles, families = figure.axes
    assert ranks.get_title().endswith(f": {measure}")
    assert ranks.get_xlabel().startswith("mean rank over 10 tables")
    names = [label.get_text() for label in ranks.get_yticklabels()]
    assert names == [row.method for row in verdict.rows]
    assert (profiles.get_xlabel(), profiles.get_ylabel()) == (f"threshold of {measure}", share)
    assert families.get_xlabel().startswith("mean rank of the best row of each family")
    for axes in (ranks, families):
        assert set(axes.get_xticks()) <= set(range(1, len(verdict.rows) + 1))
    figure.savefig(tmp_path / "across.png")
    assert (tmp_path / "across.png").stat().st_size > 10_000


def test_a_figure_of_a_part_of_the_tables_says_so_and_cuts_no_mark(registry: Registry) -> None:
    from fairbench.report.across_figure import across_figure
    from fairbench.report.identity import Identities

    verdict = only(ten_tables(), TEN, registry)
    first, *others = verdict.tables
    part = replace(verdict, tables=(first,), missing=tuple(others), sources=("one",))
    ranks, _, families = across_figure(part, Identities()).axes
    assert ranks.get_xlabel().startswith("mean rank over 1 of 10 tables")
    assert "\nfrom 1 source no two" in families.get_xlabel()
    for axes in (ranks, families):
        low, high = sorted(axes.get_ylim())
        places = [line.get_ydata()[0] for line in axes.lines]
        assert low <= min(places) - 0.4
        assert high >= max(places) + 0.4
