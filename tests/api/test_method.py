"""Hyperparameters: what tells results of different ones apart."""

import math
import os
import subprocess
import sys
from typing import ClassVar

import pytest
from pydantic import Field

from fairbench.api import Params


class Later(Params):
    """As if ``columns`` and ``rest`` had come when there were results."""

    width: float = 8.0
    columns: tuple[str, ...] = Field(default_factory=tuple)
    rest: str = ""
    added: ClassVar[frozenset[str]] = frozenset({"columns", "rest"})


def test_those_that_were_added_count_where_they_are_changed_alone() -> None:
    assert Later().identity() == {"width": 8.0}
    assert Later(columns=("a",), width=math.inf).identity() == {
        "width": math.inf,
        "columns": ["a"],
    }


SETS = """
from fairbench.api import Params

class Sets(Params):
    names: frozenset[str] = frozenset()
    sizes: set[int] = set()

made = Sets(names=set("abcdefgh"), sizes={3, 1, 2})
print(made.identity(), made.model_dump(mode="json"))
"""


@pytest.mark.parametrize("seed", ["1", "2"])
def test_equal_sets_are_one_set_of_results_in_every_process(seed: str) -> None:
    env = os.environ | {"PYTHONHASHSEED": seed}
    words = [sys.executable, "-c", SETS]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    plain = {"names": list("abcdefgh"), "sizes": [1, 2, 3]}
    assert done.stdout.strip() == f"{plain} {plain}"
