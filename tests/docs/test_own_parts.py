"""What a part of a method is worth: rows of two boards, which must be measured alike."""

from typing import Any

import pytest

from fairbench.leaderboard.ranking import LeaderboardEntry
from own_parts import compare_part
from tests.support.rows import with_folds


def a_whole(**more: Any) -> dict[str, LeaderboardEntry]:
    return {"paired-cells": with_folds("paired-cells", [0.1, 0.2, 0.3], replicated=True, **more)}


def a_part(**more: Any) -> LeaderboardEntry:
    named = {"params": "cells=300", "label": "300 cells", "replicated": True}
    return with_folds("paired-cells", [0.11, 0.22, 0.33], **(named | more))


def test_a_part_is_compared_with_the_method_as_it_is() -> None:
    assert compare_part(a_part(), a_whole()).value == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"audit_version": 2}, "audit version 2, paired-cells of adults-gender-5 has 1"),
        ({"fingerprint": "other"}, "fingerprint other, paired-cells of adults-gender-5 has f"),
    ],
)
def test_rows_that_were_measured_differently_are_not_compared(
    given: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=rf"paired-cells \(300 cells\) .* has the {words}"):
        compare_part(a_part(**given), a_whole())


def test_a_part_of_a_method_that_is_not_on_the_board_is_an_error() -> None:
    with pytest.raises(ValueError, match="adults-gender-5 has no ranked row paired-cells"):
        compare_part(a_part(), {})
