"""Figures of a committed small run: drawn, honest about gaps, the same every time."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fairbench.cli.app import app
from fairbench.cli.plot import split_formats
from fairbench.metrics.rows import Variant
from fairbench.registry import load_registry
from fairbench.report import frames
from fairbench.report.auditors_figure import auditors_figure
from fairbench.report.figures import cost_figure, curves_figure, fronts_figure
from fairbench.report.gather import DatasetReport, gather
from fairbench.report.identity import Identities
from fairbench.report.panels import Panel
from fairbench.report.style import FAINT, GREY, SHADES, shaded
from fairbench.store.records import PointRecord, Record, ReferenceRecord
from tests.support.runs import Change, failed, five_folds, honest, stored, three_seeds


def dataset(folder: Path, change: Change | None = None) -> DatasetReport:
    return gather(stored(folder, change), load_registry()).datasets[0]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> DatasetReport:
    """The run as it was, for tests that only look at it."""
    return dataset(tmp_path_factory.mktemp("small"))


def latfr_failed(records: list[Record]) -> list[Record]:
    return failed(records, "latfr")


def notes(figure: object) -> str:
    """What stands under the panel."""
    return " ".join(text.get_text() for text in figure.axes[0].texts)  # type: ignore[attr-defined]


def legend(figure: object) -> list[str]:
    found = figure.axes[0].get_legend()  # type: ignore[attr-defined]
    return [text.get_text() for text in found.get_texts()]


def test_curves_run_from_x_to_nothing_and_name_every_method(small: DatasetReport) -> None:
    figure = curves_figure(small.panels)
    names = [row.method for row in small.panels[0].rows]
    assert [text.split()[0] for text in legend(figure)] == names
    d_max = small.panels[0].rows[0].distortion_max
    surfaces = [line.get_data() for line in figure.axes[0].lines if len(line.get_xdata()) > 20]
    assert len(surfaces) == len(names)
    for x, y in surfaces:
        assert x[0] == 0
        assert x[-1] == pytest.approx(d_max, rel=0.01)
        assert y[-1] < 0.01
        assert (y[1:] <= y[:-1] + 1e-9).all()


def test_the_line_of_x_for_some_is_that_of_identity_over_folds(tmp_path: Path) -> None:
    """Both are medians over the folds, of which each has an I(X;S) of its own."""

    def uneven(records: list[Record]) -> list[Record]:
        factors = {f"{fold}" * 64: factor for fold, factor in enumerate((1, 1.1, 0.3, 1.2, 0.9), 1)}

        def change(one: Record) -> Record:
            if not isinstance(one, ReferenceRecord) or one.fingerprint not in factors:
                return one
            found = dict(one.figures)
            found["mutual_information_max"] *= factors[one.fingerprint]
            return one.replace(values=found)

        return [change(one) for one in five_folds(records)]

    (panel,) = dataset(tmp_path, uneven).panels
    (identity,) = (row for row in panel.rows if row.method == "identity")
    d, i = panel.surface(identity, 50)
    assert panel.ends == pytest.approx((d[-1], i[0]))


def test_what_is_incomplete_says_so(tmp_path: Path) -> None:
    found = dataset(tmp_path, latfr_failed)
    assert not any(text.startswith("latfr") for text in legend(curves_figure(found.panels)))
    assert [f.status for f in found.failures] == ["FAILED"] * 4
    assert "latfr: 4 of 4 points missing (4 FAILED)" in notes(curves_figure(found.panels))


def test_every_figure_says_what_failed_what_is_missing_and_what_is_simulated(
    small: DatasetReport, tmp_path: Path
) -> None:
    found = dataset(tmp_path, honest)
    drawn = [draw(found.panels) for draw in (curves_figure, fronts_figure, cost_figure)]
    for figure in (*drawn, auditors_figure(found.panels, found.auditors)):
        said = notes(figure)
        assert "SIMULATED DATA" in said
        assert "latfr: 4 of 4 points missing (4 FAILED)" in said
        assert "sofair: 4 of 8 points missing; 1 of 2 seeds without any (1 CRASHED)" in said
        assert "simulated" in figure.axes[0].get_title()
    for figure in drawn[:2]:
        assert any(t.startswith("sofair") and "(incomplete)" in t for t in legend(figure))
    assert "not" not in notes(cost_figure(small.panels))


def test_of_many_rows_that_are_not_complete_only_the_names_are_told() -> None:
    lines = [f"method {i}: {i} of 8 points missing" for i in range(1, 6)]
    few, many = (frames.shortfall_notes(lines[:most]) for most in (4, 5))
    assert few == [f"Not complete: {line}." for line in lines[:4]]
    (note,) = many
    assert note.endswith("missing): method 1, method 2, method 3, method 4, method 5.")


def test_several_seeds_are_drawn_as_their_median_and_a_band(tmp_path: Path) -> None:
    found = dataset(tmp_path, three_seeds)
    panel = found.panels[0]
    for figure in (curves_figure(found.panels), fronts_figure(found.panels)):
        assert "median over splits and seeds, 3 curves at most" in notes(figure)
        assert len(figure.axes[0].collections) >= len(panel.rows) - 2  # one point has no band
    for row in panel.rows:
        x, low, high = panel.front_band(row)
        middle = panel.front(row, 50)
        assert all(a <= b for a, b in zip(low, high, strict=True))
        assert x == sorted(x)
        assert middle[1] == sorted(middle[1])


def test_cost_of_single_shot_is_flat(small: DatasetReport) -> None:
    figure = cost_figure(small.panels)
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    assert lines["sofair"][0] == lines["sofair"][-1]
    assert lines["latfr"][-1] == pytest.approx(4 * lines["latfr"][0])


def test_what_costs_nothing_is_named_below_all_lines(small: DatasetReport) -> None:
    figure = cost_figure(small.panels)
    (axes,) = figure.axes
    (words,) = (text for text in axes.texts if text.get_text().startswith("below"))
    top = words.get_window_extent(figure.canvas.get_renderer()).y1
    lowest = min(axes.transData.transform(line.get_xydata())[:, 1].min() for line in axes.lines)
    assert top < lowest


def test_fronts_never_fall(small: DatasetReport) -> None:
    for name, seeds in small.panels[0].curves.items():
        front = sorted(
            (p.figures["accuracy_s"], p.figures["accuracy_y"])
            for points in seeds
            for p in points
            if p.on_front
        )
        heights = [a_y for _, a_y in front]
        assert heights == sorted(heights), name
    (axes,) = fronts_figure(small.panels).axes
    drawn = [line for line in axes.lines if line.get_drawstyle() == "steps-post"]
    assert len(drawn) == len(small.panels[0].rows)
    assert any(len(set(line.get_ydata())) > 1 for line in drawn)
    for line in drawn:
        assert sorted(line.get_xdata()) == list(line.get_xdata())
        assert sorted(line.get_ydata()) == list(line.get_ydata())


def test_auditors_show_every_reading(small: DatasetReport) -> None:
    texts = [t.get_text() for t in auditors_figure(small.panels, small.auditors).axes[0].texts]
    assert len(texts) == len(small.auditors)
    counted = sum(int(t.split("(")[1].strip(")")) for t in texts if "(" in t)
    assert counted == len(small.panels[0].points)


@pytest.mark.thorough
def test_plot_gives_the_same_bytes_again(tmp_path: Path) -> None:
    stored(tmp_path)
    call = ["plot", "curves", "--results", str(tmp_path), "--format", "png,pdf,svg"]
    assert CliRunner().invoke(app, call).exit_code == 0
    first = {path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()}
    assert len(first) == 3
    assert CliRunner().invoke(app, call).exit_code == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()} == first


def test_plot_takes_a_dataset_by_its_alias_as_run_does(
    small: DatasetReport, tmp_path: Path
) -> None:
    stored(tmp_path)
    name = small.name
    alias = name.replace("adults-gender", "adults")
    call = ["plot", "curves", "--dataset", alias, "--results", str(tmp_path), "--format", "svg"]
    assert CliRunner().invoke(app, call).exit_code == 0
    assert [path.name for path in (tmp_path / "figures").iterdir()] == [f"{name}-curves.svg"]


def test_a_format_that_is_named_twice_is_written_once() -> None:
    assert split_formats("svg, png,svg") == ("svg", "png")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["plot", "curvs"], "curves"),
        (["plot", "--format", "gif"], "png"),
        (["plot", "--dataset", "adult"], "adults-gender"),
        (["plot", "shift"], "fairbench run --shift COLUMN"),
        (["plot", "transfer"], "adults-gender-unseen"),
        (["explain"], "No method is named.\nMethods here with bits: sofair."),
        (["explain", "leace", "--dataset", "adults"], "not made of bits"),
        (["explain", "msfair", "--dataset", "adults"], "a model of its own"),
        (["explain", "pca", "--dataset", "adults"], "not made of bits"),
        (["explain", "sofair", "--dataset", "adults"], "real files"),
    ],
)
def test_a_wrong_word_is_answered(
    tmp_path: Path, words: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)
    monkeypatch.setenv("FAIRBENCH_OFFLINE", "1")
    stored(tmp_path)
    found = CliRunner().invoke(app, [*words, "--results", str(tmp_path)])
    assert found.exception is not None
    assert says in str(found.exception)


def test_a_method_looks_alike_whatever_else_is_shown() -> None:
    identities = Identities.of(load_registry())
    names = [*identities.families, *identities.baselines]
    everything = identities.looks([Variant(name, "default") for name in names])
    for name in names:
        variant = Variant(name, "default")
        assert identities.looks([variant])[variant] == everything[variant]
    marks = [(look.colour, look.marker) for look in everything.values()]
    assert len(set(marks)) == len(names)
    baselines = [everything[Variant(name, "default")] for name in identities.baselines]
    assert {look.colour for look in baselines} <= {shaded(GREY, shade) for shade in SHADES}
    assert len({(look.colour, look.line) for look in baselines}) == len(baselines)


def test_methods_of_different_families_are_told_apart() -> None:
    """By their mark, or by a colour that is clearly another (CIE 1976 distance in Lab)."""
    identities = Identities.of(load_registry())
    looks = {name: identities._look(name, 0, {}) for name in identities.families}
    for one, other in itertools.combinations(looks, 2):
        if identities.family(one) != identities.family(other):
            if looks[one].marker != looks[other].marker:
                continue
            apart = np.linalg.norm(lab(looks[one].colour) - lab(looks[other].colour))
            assert apart > 12, (one, other)


def lab(colour: str) -> np.ndarray:
    """CIE Lab of an sRGB colour, under D65."""
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(matrix) @ linear / [0.95047, 1, 1.08883]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_rows_of_a_method_differ_in_their_lines_and_families_share_a_colour() -> None:
    identities = Identities({"a": "one", "b": "one", "c": "two"}, ("plain",))
    rows = [Variant("a", "default"), Variant("a", "bits=4"), Variant("b", "default")]
    first, tuned, other = identities.looks(rows).values()
    assert (first.colour, first.marker) == (tuned.colour, tuned.marker)
    assert first.line != tuned.line
    assert other.colour == shaded(first.colour, SHADES[1])
    assert other.marker != first.marker
    unknown = Variant("of-elsewhere", "default")
    assert identities.looks([unknown]) == Identities().looks([unknown])


def test_methods_that_are_not_installed_look_different_as_long_as_they_can() -> None:
    identities = Identities.of(load_registry())
    strangers = [f"stranger-{i}" for i in range(60)]
    names = [*identities.families, *strangers]
    found = identities.looks([Variant(name, "default") for name in names])
    assert len({(look.colour, look.marker) for look in found.values()}) == len(names)
    shuffled = identities.looks([Variant(name, "default") for name in reversed(strangers)])
    assert all(found[variant] == look for variant, look in shuffled.items())


def test_many_rows_are_drawn_in_a_frame_for_each_family(
    small: DatasetReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "_MAX_ROWS", 1)
    shown = [panel for panel in small.panels if panel.group.track == "blind"]
    figure = curves_figure(shown)
    titles = {axes.get_title(): axes for axes in figure.axes if axes.get_title()}
    (panel,) = shown
    methods = {row.method for row in panel.rows if "baseline" not in row.tags.split()}
    assert set(titles) >= {panel.identities.family(method) for method in methods}
    assert "baselines" in titles
    (reference,) = panel.identities.references
    for axes in titles.values():
        names = " ".join(text.get_text() for text in axes.get_legend().get_texts())
        assert reference in names
    own = titles[panel.identities.family("latfr")]
    assert "sofair" not in " ".join(text.get_text() for text in own.get_legend().get_texts())


def test_methods_are_left_out_or_faint(small: DatasetReport) -> None:
    panel = small.panels[0]

    def names(shown: Panel) -> str:
        (axes,) = curves_figure([shown]).axes
        return " ".join(text.get_text() for text in axes.get_legend().get_texts())

    assert "latfr" not in names(panel.only(["sofair", "pca"]))
    lit = replace(panel, highlighted=("latfr",))
    assert "latfr" in names(lit)
    assert "sofair" not in names(lit)
    (axes,) = curves_figure([lit]).axes
    assert FAINT in {line.get_color() for line in axes.get_lines()}


def test_panels_without_a_curve_are_not_drawn(small: DatasetReport) -> None:
    (panel, *_) = small.panels
    (single,) = [row for row in panel.rows if row.method == "constant"]
    points = tuple(point for point in panel.points if point.method == "constant")
    lone = replace(panel, rows=(single,), points=points)
    assert len(curves_figure([lone, panel]).axes) == 1
    assert len(curves_figure([lone]).axes) == 1


def test_status_tells_what_is_done_and_what_failed(tmp_path: Path) -> None:
    stored(tmp_path, latfr_failed)
    found = CliRunner().invoke(app, ["status", "--results", str(tmp_path)])
    assert found.exit_code == 0
    lines = {line.split()[0]: line.split()[1:] for line in found.output.splitlines() if line}
    assert lines["sofair"][:5] == ["1", "-", "-", "-", "4"]
    assert lines["latfr"][3] == "4"
    assert "ValueError: no" in found.output
    assert "Newest point" in found.output


def test_status_counts_each_point_once_whatever_audits_it_has_seen(tmp_path: Path) -> None:
    def audited_before(records: list[Record]) -> list[Record]:
        points = [one for one in records if isinstance(one, PointRecord)]
        return [*records, *(p.replace(key=f"old-{p.key}", audit_version=1) for p in points)]

    stored(tmp_path / "once")
    stored(tmp_path / "twice", audited_before)
    once, twice = (
        CliRunner().invoke(app, ["status", "--results", str(tmp_path / name)]).output
        for name in ("once", "twice")
    )
    assert once == twice
