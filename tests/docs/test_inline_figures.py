"""Figures inside sentences, which marks fill from published boards."""

import re
from collections.abc import Callable
from typing import Any

import pytest

import inline_figures
from fairbench.leaderboard.build import Tables
from fairbench.leaderboard.ranking import LeaderboardEntry
from fairbench.metrics.rows import PointRow
from inline_figures import KINDS, rewrite_figures
from tables import MARKED, PAGES, rewrite
from tests.support.rows import a_row, one_split, with_folds

Publish = Callable[..., None]


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Publish rows and points, in place of those of every board."""

    def instead(*entries: LeaderboardEntry, points: list[PointRow] | None = None) -> None:
        table = Tables("d", list(entries), points or [])
        monkeypatch.setattr(inline_figures, "read_table", lambda board, folder: table)

    return instead


def a_point(split: str, point: str, seed: int = 0, *, counted: bool = True, **figures: Any) -> Any:
    """A point of the default row of ``sofair``; I(X;S) is .4, D_max 8."""
    named = {
        "method": "sofair",
        "params": "default",
        "track": "blind",
        "budget": "full",
        "audit": "strict",
        "dataset": "d",
        "data_source": "real",
        "status": "DONE",
    }
    ends = dict.fromkeys(("mutual_information_max", "mutual_information_max_validation"), 0.4)
    ends |= dict.fromkeys(("distortion_max", "distortion_max_validation"), 8.0)
    for column in ("distortion", "mutual_information"):
        if column in figures:
            figures[f"{column}_validation"] = figures[column]
    return PointRow(
        **named, **ends, split=split, seed=seed, counted=counted, point=point, figures=figures
    )


def write(mark: str, old: str = "old") -> str:
    """What a mark gives in the middle of a sentence."""
    kind = mark.partition(":")[0]
    start, end = f"<!-- {mark} -->", f"<!-- end of {kind} -->"
    text = rewrite_figures(f"It is {start}{old}{end}, say.")
    assert text.startswith(f"It is {start}"), text
    assert text.endswith(f"{end}, say."), text
    return text.removeprefix(f"It is {start}").removesuffix(f"{end}, say.")


def test_a_figure_of_a_row_has_three_decimals_or_as_many_as_are_asked(publish: Publish) -> None:
    publish(
        LeaderboardEntry(a_row("sofair", 0.2554, distortion_min=8.049, train_seconds=1234.4)),
        LeaderboardEntry(a_row("sofair", 0.3, params="a=1", label="tuned", aufdc_official=0.26)),
    )
    assert write("figure: d-1: sofair: aufdc") == ".255"
    assert write("figure: d-1: sofair: aufdc: 2") == ".26"
    assert write("figure: d-1: sofair: distortion_min: 1") == "8.0"
    assert write("figure: d-1: sofair: train_seconds: 0") == "1,234"
    assert write("figure: d-1: sofair (tuned): aufdc_official") == ".260"
    assert write("figure: d-1: sofair: points: 0") == "1"


def test_what_is_written_stays_and_so_does_all_around_it(publish: Publish) -> None:
    publish(LeaderboardEntry(a_row("sofair", 0.2554)))
    mark = "<!-- figure: d-1: sofair: aufdc -->{}<!-- end of figure -->"
    page = f"*Two* of it: {mark}, **{mark}**\nand [{mark}](a.md).\n<!-- a note -->\n| | {mark} |\n"
    assert rewrite(page.format(*["old"] * 4)) == page.format(*[".255"] * 4)
    assert rewrite(page.format(*[".255"] * 4)) == page.format(*[".255"] * 4)


def test_an_interval_stands_behind_its_figure(publish: Publish) -> None:
    publish(LeaderboardEntry(a_row("sofair", 0.25, aufdc_low=0.2, aufdc_high=0.3)))
    assert write("interval: d-1: sofair: aufdc") == ".250 [.200, .300]"


def test_a_gap_is_that_of_the_first_row_to_the_second_paired_over_splits(
    publish: Publish,
) -> None:
    """Differences of .1, .2 and .3: their mean over splits, and Student's t with 2 degrees."""
    publish(
        with_folds("sofair", [0.2, 0.4, 0.6], replicated=True),
        with_folds("msfair", [0.1, 0.2, 0.3], replicated=True),
    )
    half = 4.302653 * 0.1 * (1 / 3 + 1 / 2) ** 0.5
    low, high = 0.2 - half, 0.2 + half
    assert write("gap: d-1: sofair, msfair: aufdc") == f".200 [{low:.3f}, {high:.3f}]".replace(
        "0.", "."
    )
    assert write("gap: d-1: msfair, sofair: aufdc").startswith("-.200 [")


def test_a_width_is_in_widths_of_the_other_interval(publish: Publish) -> None:
    publish(
        LeaderboardEntry(a_row("sofair", 0.5, aufdc_low=0.1, aufdc_high=0.9)),
        LeaderboardEntry(a_row("msfair", 0.5, aufdc_low=0.46, aufdc_high=0.54)),
    )
    assert write("width: d-1: sofair, msfair: aufdc") == "10"


def test_ranks_are_among_the_ranked_rows_of_the_group(publish: Publish) -> None:
    ranked = {"replicated": True, "rank_high": 2}
    publish(
        with_folds("sofair", [0.1, 0.2], rank_low=1, **ranked),
        with_folds("msfair", [0.1, 0.3], rank_low=2, **ranked),
        with_folds("fnf", [0.1, 0.3], rank_low=1, track="aware", **ranked),
        LeaderboardEntry(a_row("latfr", 0.4)),
    )
    assert write("rank: d-1: sofair") == "1 to 2 among 2"
    assert write("rank: d-1: msfair") == "2 among 2"
    assert write("count: d-1") == "4"


def test_models_are_told_apart_by_split_and_seed(publish: Publish) -> None:
    """One point at D = 4, I = .1 cuts a quarter of the rectangle from the triangle of .5."""
    half_way = {"distortion": 4.0, "mutual_information": 0.1}
    publish(
        LeaderboardEntry(a_row("sofair", 0.4)),
        points=[
            a_point("fold 1 of 2", "beta=0", **half_way),
            a_point("fold 1 of 2", "beta=1", distortion=5.0, mutual_information=0.3),
            a_point("fold 1 of 2", "beta=0", 1, distortion=2.0, mutual_information=0.3),
            a_point("fold 2 of 2", "beta=0", distortion=8.0, mutual_information=0.0),
            a_point("official", "beta=0", counted=False, distortion=0.0, mutual_information=0.0),
        ],
    )
    assert write("models: d-1: sofair: aufdc") == ".375 to .500"
    assert write("models: d-1: sofair: distortion_min: 1") == "2.0 to 8.0"
    assert write("models: d-1: sofair: distortion_max: 0") == "8 to 8"


def test_a_point_is_the_mean_over_splits_each_the_mean_of_its_seeds(publish: Publish) -> None:
    publish(
        LeaderboardEntry(a_row("sofair", 0.4)),
        points=[
            a_point("fold 1 of 2", "beta=0", mutual_information=0.1),
            a_point("fold 1 of 2", "beta=0", 1, mutual_information=0.3),
            a_point("fold 2 of 2", "beta=0", mutual_information=0.4),
            a_point("fold 2 of 2", "beta=1", mutual_information=0.9),
            a_point("official", "beta=0", counted=False, mutual_information=0.7),
        ],
    )
    assert write("point: d-1: sofair, beta=0: mutual_information: 2") == ".30"
    assert write("point: d-1: sofair, beta=0, official: mutual_information") == ".700"
    with pytest.raises(ValueError, match=r"'beta=2' is no point of sofair of d-1.*: beta=0, bet"):
        write("point: d-1: sofair, beta=2: mutual_information")
    with pytest.raises(ValueError, match=r"'fold' is no split of sofair of d-1.*: fold 1 of 2, f"):
        write("point: d-1: sofair, beta=0, fold: mutual_information")
    with pytest.raises(ValueError, match=r"'i' is no column of the points of d-1.*: mutual_inf"):
        write("point: d-1: sofair, beta=0: i")


def test_an_excess_is_the_largest_and_counts_what_is_below_0_as_0(publish: Publish) -> None:
    publish(
        LeaderboardEntry(a_row("sofair", 0.4)),
        points=[
            a_point("fold 1 of 2", "beta=0", mutual_information=0.3, mutual_information_paper=-0.5),
            a_point("fold 2 of 2", "beta=0", mutual_information=0.5, mutual_information_paper=0.4),
            a_point("official", "beta=0", counted=False, mutual_information=0.9),
        ],
    )
    mark = "excess: d-1: sofair: mutual_information, mutual_information_paper"
    assert write(mark) == ".300"


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ("figure: d-1: sofar: aufdc", r"'sofar' is no row of d-1. There are: sofair, latfr \(a=1"),
        ("figure: d-1: sofair: aufd", r"'aufd' is no column of d-1. There are: .*, aufdc, "),
        ("figure: d-1: sofair: aufdc_official", r"no aufdc_official of sofair of d-1: it is None"),
        ("figure: d-1: sofair: label", r"no label of sofair of d-1: it is None"),
        ("interval: d-1: sofair: aufdc", r"aufdc of sofair of d-1 has no interval"),
        ("gap: d-1: sofair, latfr (a=1): aufdc", r"sofair and latfr \(a=1\) of d-1 cannot be pai"),
        ("rank: d-1: sofair", r"sofair of d-1 has no rank"),
        ("figur: d-1: sofair: aufdc", r"'figur' is no kind of figure. There are: figure, inter"),
    ],
)
def test_a_mistake_names_what_is_wrong_and_what_there_is(
    mark: str, told: str, publish: Publish
) -> None:
    publish(
        LeaderboardEntry(a_row("sofair", 0.2)), LeaderboardEntry(a_row("latfr", 0.2, params="a=1"))
    )
    with pytest.raises(ValueError, match=told) as raised:
        write(mark)
    assert raised.value.__notes__ == [f"of the mark <!-- {mark} -->"]


def test_models_have_few_columns(publish: Publish) -> None:
    points = [a_point("official", "beta=0", distortion=1.0, mutual_information=0.3)]
    publish(LeaderboardEntry(a_row("sofair", 0.2)), points=points)
    with pytest.raises(ValueError, match=r"'seeds' is no column of a model of d-1.*: aufdc, dist"):
        write("models: d-1: sofair: seeds")


def test_rows_of_one_split_are_paired_over_its_test_rows(publish: Publish) -> None:
    publish(one_split("sofair", 1, aufdc=0.4), one_split("msfair", 1, aufdc=0.1))
    assert write("gap: d-1: sofair, msfair: aufdc") == ".300 [.300, .300]"  # errors cancel


def test_a_board_that_is_not_there_is_an_error_that_names_those_that_are() -> None:
    with pytest.raises(ValueError, match=r"no board 'adult' in leaderboards/fair.*: acs-income-s"):
        write("figure: adult: sofair: aufdc")
    with pytest.raises(ValueError, match=r"no board 'adult' in leaderboards/exp.*: dsprites, "):
        write("figure: experiments/adult: sofair: aufdc")


@pytest.mark.parametrize("start", ["", "  ", "* ", "- ", "1. ", "> ", "Text.\n"])
def test_a_mark_that_begins_a_line_is_refused(start: str, publish: Publish) -> None:
    """Markdown would end the paragraph there, and begin a block of HTML."""
    publish(LeaderboardEntry(a_row("sofair", 0.2)))
    with pytest.raises(ValueError, match="put a word before it"):
        rewrite_figures(f"{start}<!-- figure: d-1: sofair: aufdc -->.2<!-- end of figure -->")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_every_mark_on_a_page_is_whole(page: Any) -> None:
    """A misspelt end would leave a figure as it is for ever."""
    text = page.read_text(encoding="utf-8")
    matched = [*MARKED.finditer(text), *inline_figures.MARKED.finditer(text)]
    ends = re.findall(r"<!-- end of .*? -->", text)
    assert len(ends) == len(matched)
    starts = re.findall(rf"<!-- (?:{'|'.join(KINDS)}): [^>]*-->\S", text)
    assert len(starts) == sum(part["name"] in KINDS for part in matched)
