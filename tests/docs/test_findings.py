"""The page of findings says what the rows of the board say."""

import re

import pytest

from fairbench.registry import load_registry
from findings import REFERENCE, format_findings
from published_figures import Published, read_published


@pytest.mark.thorough
def test_every_method_is_told_ahead_level_or_behind_as_its_difference_says() -> None:
    board = read_published()
    (section,) = re.findall(r"## 2\..*?(?=## 3)", format_findings(), re.DOTALL)
    text = " ".join(section.split())
    (ahead,) = re.findall(r"are ahead of it \((.*?)\)", text)
    (behind,) = re.findall(r"\d behind \((.*?)\)", text)
    learned = _learned(board)
    for name in learned:
        low, high = board.gap(name, REFERENCE, "aufdc").interval()
        assert (f"`{name}`" in ahead) == (high < 0), name
        assert (f"`{name}`" in behind) == (low > 0), name
    assert "qleace" not in learned  # it sees s: another track
    assert f"Of {len(learned)} blind methods" in text


@pytest.mark.thorough
def test_a_certified_area_is_never_below_the_audited_one() -> None:
    (section,) = re.findall(r"## 4\..*?(?=## 5)", format_findings(), re.DOTALL)
    rows = re.findall(r"\| `\S+` \| (\.\d+) \| (\.\d+) \|", section)
    assert rows
    assert all(float(audited) < float(certified) for audited, certified in rows)


def _learned(board: Published) -> list[str]:
    classes = load_registry().methods.classes
    return [name for name in board.rows if not classes[name].baseline]
