"""The figures of pages show what the boards and the searches say."""

from collections.abc import Callable
from pathlib import Path

import pytest
import readme_figure
import tune
from matplotlib.figure import Figure

import findings
import verdict
from fairbench.report.figure_files import digest, write_png
from fairbench.report.style import new_figure
from published_figures import read_published

_SEARCHES = Path(__file__).parents[2] / "leaderboards" / "experiments" / "tuned"
_SEARCHED = sorted(folder.name for folder in _SEARCHES.iterdir())

_DRAWN: list[tuple[str, Callable[[], Figure], Path]] = [
    ("readme_figure.py", readme_figure.draw, readme_figure.TARGET),
    ("verdict.py", verdict.draw, verdict.TARGET),
    ("findings.py", lambda: findings.draw_adversaries(read_published()), findings.TARGET),
]


def read_digest(path: Path) -> str | None:
    """Return the digest of what a file shows; None where it was not written so."""
    from PIL import Image

    with Image.open(path) as image:
        found = image.info.get("Description")
    return str(found) if found is not None else None


@pytest.mark.thorough
@pytest.mark.parametrize(("script", "draw", "path"), _DRAWN, ids=[name for name, _, _ in _DRAWN])
def test_a_figure_shows_what_the_boards_say_now(
    script: str, draw: Callable[[], Figure], path: Path
) -> None:
    assert read_digest(path) == digest(draw()), f"out of date: run python docs/{script}"


@pytest.mark.parametrize("dataset", _SEARCHED)
def test_a_figure_shows_all_searches(dataset: str) -> None:
    folder = _SEARCHES / dataset
    assert read_digest(folder / "best-so-far.png") == digest(tune.draw(folder))


def test_another_figure_has_another_digest(tmp_path: Path) -> None:
    def drawn(height: float, words: str = "area") -> Figure:
        figure = new_figure(3, 2)
        figure.axes[0].plot([0, 1], [0, height])
        figure.axes[0].set_xlabel(words)
        return figure

    write_png(drawn(1.0), tmp_path / "a.png", dpi=50)
    assert read_digest(tmp_path / "a.png") == digest(drawn(1.0)) == digest(drawn(1.00001))
    assert digest(drawn(1.01)) != digest(drawn(1.0)) != digest(drawn(1.0, "D"))


def test_a_file_of_another_program_has_no_digest(tmp_path: Path) -> None:
    new_figure(3, 2).savefig(tmp_path / "a.png")
    assert read_digest(tmp_path / "a.png") is None
