"""A small table, and estimators that fit it in a moment."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbench import FairRepresentation
from tests.support.small_table import make_table

TABLE = make_table(300)
X, S, Y = TABLE.x, np.array(["left", "right"])[TABLE.s], TABLE.y["task"]
SMALL = {"hidden": (8,), "latent": 3}


def small(method: str = "sofair", **knobs: Any) -> FairRepresentation:
    """An estimator of a small network that learns for 20 steps."""
    given = {"params": SMALL, "budget": 20} | knobs
    return FairRepresentation(method, **given)
