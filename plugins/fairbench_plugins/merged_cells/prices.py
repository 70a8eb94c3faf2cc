"""The knob of these methods: the price of a nat, in units of distortion."""

from __future__ import annotations

import numpy as np

from fairbench.api import Knob, Point
from fairbench_plugins.merged_cells.joining import Array


def price_knob(low: float, high: float) -> Knob:
    """Return the knob of a method that solves prices from ``low`` to ``high``."""
    meaning = "distortion paid per nat of I(S;code); more is fairer"
    return Knob("price", low, high, meaning, logarithmic=True)


def nearest_price(prices: Array, point: Point) -> int:
    """Return the number of the price that is nearest to a point's."""
    return int(np.abs(np.log(prices / point["price"])).argmin())
