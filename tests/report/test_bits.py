"""Figures and rows of the bits of a code."""

import numpy as np

from fairbench.models.bits import bit_table, step
from fairbench.report.bits import bits_figure, information_figure
from fairbench.report.explain import bit_rows
from tests.models.test_bits import RNG, N, S, bits_of, info


def test_figures_can_be_drawn_of_any_table() -> None:
    x = RNG.normal(size=(N, 2)).astype(np.float32)
    tight, loose = bits_of(np.full(N, -1), np.full(N, -1)), bits_of(x[:, 0] > 0, S)
    tables = [bit_table("beta=1", tight, S), bit_table("beta=0", loose, S)]
    assert len(bit_rows(tables)) == 4
    drawn = bits_figure(tables, "toy")
    assert len([axes for axes in drawn.axes if axes.images]) == 2
    steps = [step("beta=1", "beta=0", tight, loose, x, info("age", "hours"))]
    assert information_figure(steps, "toy").axes[0].images
