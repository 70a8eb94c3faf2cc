"""Figures of benchmarks: kept in files, held against their limits, and written into the page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
try:
    import figures
    import publish
    import yardstick
    from figures import Figure, Figures, Measured
    from fresh_process import spent_by
finally:
    sys.path.pop(0)

YARDSTICK = 2.0
"""Seconds."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where figures are kept, with a yardstick that takes no time."""
    monkeypatch.setattr(yardstick, "quickest", lambda: YARDSTICK)
    monkeypatch.setattr(figures, "FOLDER", tmp_path)
    monkeypatch.setattr(publish, "FOLDER", tmp_path)
    return tmp_path


def test_what_is_written_is_read_back(folder: Path) -> None:
    with Figures("made") as kept:
        kept.seconds("a time", 3.0, limit=2)
        kept.other("a share", 12.5, "%", limit=10, at_least=True, note="of all")
    measured = Measured.read(folder / "made.json")
    assert measured.benchmark == "made"
    assert measured.yardsticks == (YARDSTICK, YARDSTICK)
    assert "torch" in measured.versions
    assert measured.figures == [
        Figure("a time", 3.0, "s", 2),
        Figure("a share", 12.5, "%", 10, at_least=True, note="of all"),
    ]


@pytest.mark.parametrize(
    ("figure", "failed"),
    [
        (Figure("no limit", 1e6, "s"), 0),
        (Figure("4.9 s, 2.45 yardsticks", 4.9, "s", 2.5), 0),
        (Figure("5.1 s, 2.55 yardsticks", 5.1, "s", 2.5), 1),
        (Figure("a ratio is not in yardsticks", 3.0, "ratio", 2.5), 1),
        (Figure("enough", 24, "runs", 24, at_least=True), 0),
        (Figure("too few", 23, "runs", 24, at_least=True), 1),
    ],
    ids=lambda value: value.name if isinstance(value, Figure) else "",
)
def test_limits(figure: Figure, failed: int, capsys: pytest.CaptureFixture[str]) -> None:
    with Figures("made") as kept:
        kept.add(figure)
    assert kept.failed == failed
    assert (f"not within the limit: {figure.name}" in capsys.readouterr().out) == bool(failed)


def test_a_benchmark_that_breaks_keeps_nothing(folder: Path) -> None:
    def benchmark() -> None:
        with Figures("made") as kept:
            kept.seconds("a time", 3.0)
            sys.exit("broken")

    with pytest.raises(SystemExit, match="broken"):
        benchmark()
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("figure", "row"),
    [
        (Figure("run", 457.04, "s", 380), "| run | 457 s | 229 | 380 yardsticks |"),
        (Figure("run", 4168.4, "s", 3800), "| run | 4,168 s | 2,084 | 3,800 yardsticks |"),
        (Figure("step", 0.001534, "s"), "| step | 0.00153 s | 0.00077 |  |"),
        (Figure("just below", 999.7, "MB"), "| just below | 1,000 MB |  |  |"),
        (Figure("against one", 0.4449, "ratio", 0.45), "| against one | 0.445 |  | 0.45 |"),
        (Figure("lost", 0, "jobs", 0, note="of 4"), "| lost (of 4) | 0 jobs |  | 0 jobs |"),
        (Figure("same", 24, "runs", 24, True), "| same | 24 runs |  | at least 24 runs |"),
    ],
)
def test_rows(figure: Figure, row: str) -> None:
    measured = Measured("made", "2026-01-01", "a processor", {}, (1.9, 2.1), [figure])
    assert figures.row(measured, figure) == row


def test_the_page_keeps_the_text_around_its_tables() -> None:
    with Figures("startup") as kept:
        kept.seconds("`fairbench --help`", 0.5, limit=0.6)
    page = f"# Before\n\n{publish.BEGIN}\nold tables\n{publish.END}\n\n## After\n"
    written = publish.with_tables(page)
    assert written.startswith(f"# Before\n\n{publish.BEGIN}\n\n**startup**, ")
    assert "one yardstick 2.00 s\n\n| measure | value |" in written
    assert "\n| `fairbench --help` | 0.5 s | 0.25 | 0.6 yardsticks |\n" in written
    assert written.endswith(f"|\n\n{publish.END}\n\n## After\n")
    assert "old tables" not in written
    assert publish.with_tables(written) == written


def test_the_page_of_the_benchmarks_has_a_place_for_tables() -> None:
    page = publish.README.read_text()
    before, rest = page.split(publish.BEGIN)
    written = publish.with_tables(page)
    assert written.startswith(before)
    assert written.endswith(rest.split(publish.END)[1])


def test_every_published_benchmark_keeps_its_figures_under_its_name() -> None:
    for name, (script, *arguments) in publish.COMMANDS.items():
        own = f'"{name}"'
        if script == "runs.py":
            options = dict(zip(arguments[::2], arguments[1::2], strict=True))
            assert name == f"runs-{options['--job']}-{options['--budget']}"
            own = 'f"runs-{given.job}-{given.budget}"'
        if script == "against.py":
            assert name == f"against-{arguments[arguments.index('--job') + 1]}"
            own = 'f"against-{given.job}"'
        assert f"Figures({own})" in (publish.README.parent / script).read_text(), name


def test_a_fresh_process_does_not_count_the_memory_of_the_one_that_starts_it() -> None:
    large = b"\1" * 200_000_000
    spent = spent_by([sys.executable, "-c", "sum(range(1_000_000))"])
    assert 0.001 < spent.gigabytes < 0.1 < len(large) / 1e9
    assert spent.processor > 0
    assert spent.seconds > 0


def test_a_fresh_process_that_fails_is_told() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        spent_by([sys.executable, "-c", "raise SystemExit(2)"])
