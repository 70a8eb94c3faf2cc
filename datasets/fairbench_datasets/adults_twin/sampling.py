"""The twin's model, read from its parameters and sampled with numpy alone.

The joint distribution is a chain of conditionals, p(x) = prod_j p(x_j | x_1 ... x_{j-1}), in the
order of `CHAIN`. Each conditional is a network with one hidden layer of rectified units over the
features of the columns before it, and a softmax over the column's distinct values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbench_datasets.reading import words

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

#: The order in which columns are drawn. S comes first, so that its frequencies are fitted exactly.
CHAIN = words(
    "sex race marital-status relationship education workclass occupation hours-per-week income "
    "capital-gain capital-loss"
)

#: The columns of a frame, in the order of the official files.
COLUMNS = words(
    "workclass education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week income"
)

NUMERIC = frozenset({"capital-gain", "capital-loss", "hours-per-week"})

#: `education` from `education-num` 1 to 16: the one is a relabelling of the other.
EDUCATION = words(
    "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-voc "
    "Assoc-acdm Bachelors Masters Prof-school Doctorate"
)

# Rows are drawn in blocks of this size: it bounds memory at a few megabytes per column, and a row's
# sums do not depend on how many rows are drawn.
_BLOCK = 4096

# Upper edges of the bins that a numeric column shows to the columns after it. Forty hours has a bin
# of its own (half of all rows), as have zero gain and zero loss (more than nine rows in ten).
_EDGES: Mapping[str, Sequence[int]] = {
    "hours-per-week": (10, 19, 25, 34, 39, 40, 44, 48, 50, 59, 65),
    "capital-gain": (0, 3000, 5000, 7000, 10000, 20000),
    "capital-loss": (0, 1500, 1800, 2000),
}
_SCALE = {"hours-per-week": 40.0, "capital-gain": 10_000.0, "capital-loss": 2_000.0}


@dataclass(frozen=True, kw_only=True)
class Conditional:
    """One column given the columns before it."""

    values: NDArray[Any]  # the column's distinct values, shape ``(v,)``: strings or integers
    # hidden_weight, hidden_bias: shapes ``(h, f)`` and ``(h,)``; f is the width of the features
    # before this column
    hidden_weight: Floats
    hidden_bias: Floats
    # output_weight, output_bias: shapes ``(v, h)`` and ``(v,)``
    output_weight: Floats
    output_bias: Floats

    def probabilities(self, inputs: Floats) -> Floats:
        """Probabilities of every value, shape ``(n, v)``, given features of shape ``(n, f)``."""
        hidden = np.maximum(inputs @ self.hidden_weight.T + self.hidden_bias, 0.0)
        logits = hidden @ self.output_weight.T + self.output_bias
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def features(column: str, values: NDArray[Any]) -> Floats:
    """Return the features of each value of a column for later columns, shape ``(v, width)``.

    A category is an indicator; a number is the indicators of its bins and the number itself, scaled
    and clipped to the order of 1. Education has both: its levels are ordered.
    """
    if column in NUMERIC:
        edges = np.asarray(_EDGES[column])
        indicators = np.eye(len(edges) + 1)[np.searchsorted(edges, values)]
        scaled = np.minimum(np.asarray(values, dtype=np.float64) / _SCALE[column], 2.5)
        return np.column_stack([indicators, scaled])
    indicators = np.eye(len(values))
    if column == "education":
        return np.column_stack([indicators, np.arange(len(values)) / 8.0])
    return indicators


def quantise(weight: Floats) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round ``(r, c)`` weights to int8, a scale per row: ``weight ~ integer * scale[:, None]``."""
    largest = np.abs(weight).max(axis=1, initial=0.0)
    scale = (np.maximum(largest, 1e-8) / 127.0).astype(np.float32)
    return np.rint(weight / scale[:, None]).astype(np.int8), scale


def restore(integers: NDArray[np.int8], scale: NDArray[np.float32]) -> Floats:
    """Undo `quantise`, up to its rounding."""
    return integers.astype(np.float64) * scale.astype(np.float64)[:, None]


def load_network() -> dict[str, Conditional]:
    """Read the committed parameters: one conditional per column of `CHAIN`, in that order."""
    network = {}
    with files(__package__).joinpath("parameters.npz").open("rb") as file, np.load(file) as stored:
        for column in CHAIN:
            values = stored[f"{column}/values"]
            network[column] = Conditional(
                values=values.astype(np.int64) if column in NUMERIC else values,
                hidden_weight=restore(stored[f"{column}/hidden"], stored[f"{column}/hidden_scale"]),
                hidden_bias=stored[f"{column}/hidden_bias"].astype(np.float64),
                output_weight=restore(stored[f"{column}/output"], stored[f"{column}/output_scale"]),
                output_bias=stored[f"{column}/output_bias"].astype(np.float64),
            )
    return network


def draw(network: Mapping[str, Conditional], *, rows: int, seed: int) -> dict[str, NDArray[Any]]:
    """Draw rows by ancestral sampling.

    Returns the values of each column of `CHAIN`, shape ``(rows,)``.
    """
    # Row-major uniforms, one per cell: row i takes the same numbers whatever `rows` is.
    uniforms = np.random.default_rng(seed).random((rows, len(CHAIN)))
    starts = range(0, max(rows, 1), _BLOCK)
    codes = np.concatenate([_draw_block(network, uniforms[i : i + _BLOCK]) for i in starts])
    return {column: network[column].values[codes[:, j]] for j, column in enumerate(CHAIN)}


def _draw_block(network: Mapping[str, Conditional], uniforms: Floats) -> Codes:
    """Codes of shape ``(n, 11)`` from uniforms of that shape, by inverting cumulative sums."""
    codes = np.empty(uniforms.shape, dtype=np.int64)
    inputs = np.empty((len(uniforms), 0))
    for j, column in enumerate(CHAIN):
        sums = network[column].probabilities(inputs).cumsum(axis=1)
        # The last sum can fall short of 1 by rounding; leaving it out keeps every code valid.
        codes[:, j] = (sums[:, :-1] <= uniforms[:, j, None]).sum(axis=1)
        inputs = np.hstack([inputs, features(column, network[column].values)[codes[:, j]]])
    return codes


def to_frame(drawn: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
    """The drawn columns as a frame like the official files, `education-num` added."""
    import pandas as pd

    rank = {name: number for number, name in enumerate(EDUCATION, start=1)}
    frame = pd.DataFrame(dict(drawn))
    frame["education-num"] = frame["education"].map(rank).astype(np.int64)
    return frame[list(COLUMNS)]
