"""Five findings for readers from outside the field, with the rows that each rests on.

``python docs/tables.py`` writes the text, ``python docs/findings.py`` draws the figures.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from board_rows import (
    MISSING,
    TASK,
    compare_by_ranks,
    get_figure,
    read_rows,
    show_figure,
    show_name,
    show_share,
)
from claims import FAILS
from fairbench.api import Track
from fairbench.metrics.rows import DEFAULT
from fairbench.registry import load_registry
from fairbench.report.figure_files import write_png
from fairbench.report.format import format_count, format_interval, format_share
from fairbench.report.style import new_figure, styled
from fairbench.stats.intervals import LEVEL
from markdown_parts import list_names, make_paragraph, make_table
from published_figures import BOARD, Published, read_published
from single_shot import (
    MARGIN,
    SUFFIX,
    describe_shares,
    judge,
    list_twins,
    read_pairs,
    training_share,
)
from verdict import least_p_value, read_verdicts, show_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fairbench.leaderboard.across import Verdict
    from fairbench.leaderboard.ranking import LeaderboardEntry

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "leaderboards" / "figures" / "finding-adversaries.png"
LIMIT = ROOT / "benchmarks" / "measured" / "limit.json"
_LIMIT_CELLS = 600

ADVERSARIAL = ("latfr", "maxent-arl")
REFERENCE = "drop-features"
"""What leaves columns out."""
_VACUOUS = 0.495
"""Certified areas from which on certificates say nothing: that of no representation is .5."""
_DARK, _ACCENT, _GREY = "#1f4e79", "#d55e00", "#999999"


def format_findings() -> str:
    """Format the five sections."""
    board = read_published()
    sections = (_adversaries, _columns, _single_shot, _certified, _open)
    return "\n\n".join(part for section in sections for part in section(board))


def _adversaries(board: Published) -> Iterator[str]:
    names = [name for name in ADVERSARIAL if name in board.rows]
    if not names:
        return
    yield "## 1. An adversary alone hides s only from classifiers like itself"
    yield make_paragraph(
        "Some methods train an encoder against a classifier that tries to predict s, until it",
        "fails. New classifiers of the same kind fail as well. Strict auditors succeed: they",
        "reconstruct x from the code (the representation z) before they predict s. The table has",
        "the lowest leakage at any setting, as a share of I(X;S), as the paper's audit finds it",
        "(five MLPs), and as the strict audit does. (Together with a penalty on how much z says of",
        "x, an adversary does hide s: see `l-mifr` below, and",
        "[`sofair-adv`](strict.md#a-variant-of-sofair-that-knows-s).)",
    )
    least = ("mutual_information_min_paper", "mutual_information_min")
    rows = (
        [f"`{name}`", *(show_percent(board.least_share(name, column).value) for column in least)]
        for name in names
    )
    yield make_table(["method", "five MLPs", "strict auditors"], rows)
    yield _image("Leakage by five MLPs and by strict auditors", "finding-adversaries")


def _columns(board: Published) -> Iterator[str]:
    reference = board.of(REFERENCE, "aufdc")
    learned = _learned(board)
    ranks = compare_by_ranks(BOARD, REFERENCE)
    ahead, behind, level = (
        [name for name in learned if name in names]
        for names in (ranks.ahead, ranks.behind, ranks.level)
    )
    rows = read_rows(BOARD)
    best = find_most_useful(rows)
    yield "## 2. Leaving columns out is hard to beat"
    yield make_paragraph(
        f"`{REFERENCE}` learns nothing: it leaves out the columns that tell most of s. Its area",
        f"is {format_interval(reference.value, *reference.interval())}.",
        f"Of {len(learned)} blind methods other than baselines and single-shot twins, all with",
        "[default hyperparameters](strict.md#defaults-and-tuned-settings), by their",
        f"[ranks](protocol.md#ranks-over-splits), {len(ahead)} are clearly ahead of it",
        f"({list_names(ahead)}), {len(behind)} clearly behind ({list_names(behind)}), and",
        f"{len(level)} do not differ significantly from it ({list_names(level)}). (Whether two",
        "rows differ is tested in pairs; their ranges of ranks may overlap all the same.) For",
        f"predicting income where at most a tenth of the information leaks, `{REFERENCE}` has an",
        f"accuracy of {show_figure(board.rows[REFERENCE], TASK)}; the best blind row that is not a",
        f"baseline, {show_name(best) if best else MISSING}, has",
        f"{show_figure(rows[best], TASK) if best else MISSING}. (From x itself it is",
        f"{format_share(board.accuracy_of('identity'))}; always guessing the more frequent",
        f"class gives {format_share(board.accuracy_of('constant'))}.)",
    )
    verdict = read_verdicts()["aufdc"]
    yield make_paragraph(
        f"{format_count(len(verdict.tables), 'dataset')} of the collection",
        f"[`{verdict.collection}`](across.md#collections) have boards with",
        f"{format_count(len(verdict.rows), 'row')} in common.",
        *describe_mean_ranks(verdict),
        "`kept-cells`, `merged-cells` and `paired-cells` are [our own](own-method.md).",
        "`transferred`: with hyperparameters tuned on Adults-Gender; `tasks`: some columns are",
        "released as they are.",
    )
    yield _image("Ranks over five splits", "readme-ranks")


def _single_shot(board: Published) -> Iterator[str]:
    pairs = read_pairs()
    areas = [[get_figure(one, "aufdc") for one in pair] for pair in pairs]
    known = [(whole, twin) for whole, twin in areas if whole is not None and twin is not None]
    larger = sum(twin > whole for whole, twin in known)
    yield "## 3. One model for all settings is not free"
    yield make_paragraph(
        "A single-shot method trains one model, and its knob is set afterwards. We gave methods",
        "that train a model for each setting a single-shot twin. A twin costs a small part of the",
        "training.",
        _over_splits(board),
        "The table is of the official split alone, with one seed and up to 16 points per curve.",
        f"There {larger} of {len(known)} twins have a larger area ([both tables](single-shot.md)).",
    )
    rows = (
        [f"`{pair[0].row.method}`", *map(show_share, area), show_percent(training_share(*pair))]
        for pair, area in zip(pairs, areas, strict=True)
    )
    yield make_table(["method", "area", "of its twin", "share of the training"], rows)
    too_low = describe_shares([pair[0].row.method for pair in pairs], show_percent)
    if too_low:
        yield make_paragraph(too_low)


def _over_splits(board: Published) -> str:
    """Say which twins lose area over the splits of the board; nothing where it has none."""
    twins = list_twins(board)
    if not twins:
        return ""
    gaps = {name: judge(board.gap(name + SUFFIX, name, "aufdc")) for name in twins}
    worse = [name + SUFFIX for name in twins if gaps[name] == FAILS]
    return (
        f"Of {format_count(len(twins), 'twin')} on the board of five splits, {len(worse)} "
        f"lose clearly more than {format_share(MARGIN)} of area ({list_names(worse)})."
    )


def _certified(board: Published) -> Iterator[str]:
    found = [
        (board.of(name, "aufdc_certified").value, name)
        for name in _learned(board)
        if "aufdc_certified" in board.rows[name].folds
    ]
    known = sorted((area, name) for area, name in found if area < _VACUOUS)
    yield "## 4. Only codes that many people share can be certified"
    yield make_paragraph(
        "An audit is a lower bound: a better auditor may find more. A",
        "[certificate](certificate.md) is an upper bound that holds against every auditor, with",
        "95% probability. It exists for codes that many people share. Of",
        f"{len(_learned(board))} blind methods other than baselines and single-shot twins,",
        f"{len(known)} have one that says anything, and then the area is larger than the audited",
        "one. The bound holds for one model on one split. The areas of this table are means over",
        "five splits, for which [no such statement holds](certificate.md#the-certified-area):",
    )
    rows = (
        [f"`{name}`", format_share(board.of(name, "aufdc").value), format_share(area)]
        for area, name in known
    )
    yield make_table(["method", "area, audited", "area, certified"], rows)


def _open(_: Published) -> Iterator[str]:
    measured = {one["name"]: one["value"] for one in json.loads(LIMIT.read_text())["figures"]}

    def area(what: str) -> str:
        return format_share(measured[f"{_LIMIT_CELLS} cells of Adults-Gender: area of {what}"])

    yield "## 5. With given cells little area is left to gain; usefulness is open"
    yield make_paragraph(
        f"Suppose that a blind encoder knows only a person's cell, one of {_LIMIT_CELLS} sets of",
        f"similar people. Then its area is at least {area('the limit')} on the training set;",
        f"`merged-cells` with these cells has {area('merged cells')} there ([how that is",
        "known](own-method.md#the-limit)). This is no limit for other encoders: more cells, or",
        "columns that are released as they are, as in `kept-cells`, give smaller areas. What is",
        "open is to hide s and to keep what tasks need: see the accuracies of finding 2.",
    )
    yield _image("Curves beside the limit", "adults-gender-limit")


def _image(words: str, name: str) -> str:
    return f"![{words}](../leaderboards/figures/{name}.png)"


def _learned(board: Published) -> list[str]:
    """Methods of the board that are no baselines, and no single-shot twins of others."""
    classes = load_registry().methods.classes
    methods = (name for name in board.rows if not name.endswith(SUFFIX))
    return sorted(name for name in methods if not classes[name].baseline)


def find_most_useful(rows: Mapping[str, LeaderboardEntry]) -> str | None:
    """Find the blind row of a method with the highest A_y where a tenth of I(X;S) leaks.

    Tuned rows too; by its name. None where no row leaks as little.
    """
    classes = load_registry().methods.classes
    known = {
        name: value
        for name, entry in rows.items()
        if entry.row.track == Track.BLIND.value and not classes[entry.row.method].baseline
        if (value := get_figure(entry, TASK)) is not None
    }
    return max(known, key=known.__getitem__, default=None)


def describe_mean_ranks(verdict: Verdict) -> Iterator[str]:
    """Say which rows come before the reference, and whether that is significant.

    Nothing where the tables have no reference.
    """
    own = (verdict.reference, DEFAULT)
    reference = next((row for row in verdict.rows if (row.method, row.params) == own), None)
    if reference is None:
        return
    before = [show_row(row) for row in verdict.rows if row.mean_rank < reference.mean_rank]
    yield f"By the mean rank over them, {', '.join(before) or MISSING} come before"
    yield f"{show_row(reference)} ([all figures](across.md#what-is-published))."
    yield _significance(verdict)


def _significance(verdict: Verdict) -> str:
    """Which rows are better than the reference at 5%, one-sided, adjusted over all rows."""
    known = [(row, row.p_value) for row in verdict.rows if row.p_value is not None]
    if not known:
        return ""
    told = [f"{show_row(row)} (p = {format_share(p)})" for row, p in known if p < 1 - LEVEL]
    if told:
        others = "; no other is shown to be better yet" if len(told) < len(known) else ""
        return (
            f"Significantly better at 5%, adjusted for all {len(known)} comparisons: "
            f"{', '.join(told)}{others}."
        )
    least = format_share(min(p for _, p in known))
    possible = least_p_value(verdict)
    reason = (
        f"With so few sources no adjusted p-value can be below {format_share(possible)}, so these "
        "tests cannot find any difference"
        if possible > 1 - LEVEL
        else f"The smallest p-value is {least}"
    )
    return (
        f"But the tables come from {format_count(verdict.source_count, 'source')}, and tables from "
        "the same source are not independent: they count as one. After adjustment for all "
        f"{len(known)} comparisons none is significantly better. {reason}."
    )


def show_percent(share: float) -> str:
    """Return a share of a whole as pages show it."""
    if math.isnan(share):
        return MISSING
    return f"{100 * max(0.0, share):.0f}%"  # classifiers that overfit read less than nothing


def draw_adversaries(board: Published) -> Figure:
    """Draw what five MLPs read against what strict auditors read, point by point."""
    shown = {
        "latfr": (_ACCENT, "o"),
        "maxent-arl": (_DARK, "s"),
        "sofair": (_GREY, "^"),
        REFERENCE: (_GREY, "x"),
    }
    with styled():
        figure = new_figure(6.4, 4.4)
        axes: Axes = figure.axes[0]
        for name, (colour, marker) in shown.items():
            points = [point for curve in board.curves(name) for point in curve]
            both = [
                (p.figures["mutual_information_paper"], p.figures["mutual_information"])
                for p in points
            ]
            if both:
                weak, strict = zip(*both, strict=True)
                axes.scatter(weak, strict, s=18, c=colour, marker=marker, label=name, alpha=0.8)
        most = axes.get_ylim()[1]
        axes.plot([0, most], [0, most], color=_GREY, linewidth=1)
        axes.text(most, most, "as much", color=_GREY, ha="right", va="bottom", fontsize=8)
        axes.set_xlabel("I(Z;S) as five MLPs read it, nats")
        axes.set_ylabel("as strict auditors read it, nats")
        axes.legend(loc="lower right")
    return figure


def main() -> None:
    """Write the file."""
    write_png(draw_adversaries(read_published()), TARGET, dpi=110)


if __name__ == "__main__":
    main()
