"""Fit the simulated twin of the UCI Adult table and write its parameters.

    python datasets/tools/fit_adults_twin.py FOLDER

FOLDER holds the official ``adult.data`` and ``adult.test``. Needs torch; a few minutes on one CPU
core. How long each column trains is chosen on a tenth of the rows, held out; the column is then
trained again on all rows for as long. No row is kept: the written file holds, for each column, the
list of its distinct values and the weights of one small network.
"""

from __future__ import annotations

import argparse
import copy
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fairbench_datasets import adults_twin
from fairbench_datasets.adults import AdultsGender, read_adult
from fairbench_datasets.adults_twin.sampling import (
    CHAIN,
    EDUCATION,
    NUMERIC,
    Conditional,
    features,
    quantise,
    restore,
)

#: Hidden units, by column: the first have few inputs, and the numbers' rare values would be learnt
#: by heart with more.
HIDDEN = {
    "sex": 1,
    "race": 8,
    "marital-status": 24,
    "relationship": 40,
    "hours-per-week": 40,
    "capital-gain": 40,
    "capital-loss": 40,
}
HIDDEN_DEFAULT = 64
BATCH = 512
LEARNING_RATE = 4e-3
WEIGHT_DECAY = 0.02
#: Share of the newest weights in the average over steps.
AVERAGING = 0.002
HELD_OUT = 0.1
#: Lengths of training to choose from.
EPOCHS = (20, 30, 40, 60, 80)
# Held-out loss is flat around its least value, and the shorter of two equally good trainings
# smooths weak dependences away, those on S among them: the least loss cost 2.5% of I(X;S). So
# the longest length whose loss is within this share of the least is taken. Not for gain and
# loss: their many rare values are where a model begins to repeat single rows.
TOLERANCE = 0.001
CAPITAL = ("capital-gain", "capital-loss")


class Fit(NamedTuple):
    """A trained network, its number of epochs and the held-out loss (nats) at that length."""

    network: nn.Sequential
    epochs: int
    loss: float


def read_table(folder: Path) -> pd.DataFrame:
    """All rows of the two official files."""
    parts = [read_adult(folder / file.name) for file in AdultsGender.files]
    return pd.concat(parts, ignore_index=True)


def distinct_values(table: pd.DataFrame, column: str) -> NDArray[Any]:
    """The column's distinct values, sorted; education by its rank."""
    if column == "education":
        return np.array(EDUCATION)
    if column in NUMERIC:
        return np.unique(table[column].to_numpy(dtype=np.int64))
    return np.unique(table[column].to_numpy(dtype=str))


def encode(table: pd.DataFrame, column: str, values: NDArray[Any]) -> NDArray[np.int64]:
    """Positions of the column's entries in `values`, shape ``(n,)``."""
    position = {value: code for code, value in enumerate(values.tolist())}
    return table[column].map(position).to_numpy(dtype=np.int64)


def train(x: Tensor, y: Tensor, *, hidden: int, outputs: int, epochs: int) -> nn.Sequential:
    """Maximum likelihood of `y`, shape ``(n,)``, given `x`, shape ``(n, f)``.

    The learning rate falls along a cosine and reaches zero with the last epoch. What is returned is
    an exponential average of the weights over steps: single steps are noisy, and their noise would
    be read as dependence between columns.
    """
    network = nn.Sequential(nn.Linear(x.shape[1], hidden), nn.ReLU(), nn.Linear(hidden, outputs))
    averaged = copy.deepcopy(network)
    optimizer = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    total = epochs * math.ceil(len(y) / BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=total)
    for _ in range(epochs):
        order = torch.randperm(len(y))
        for start in range(0, len(y), BATCH):
            rows = order[start : start + BATCH]
            loss: Tensor = nn.functional.cross_entropy(network(x[rows]), y[rows])
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
            with torch.no_grad():
                for mean, now in zip(averaged.parameters(), network.parameters(), strict=True):
                    mean.lerp_(now, AVERAGING)
    return averaged


def fit_column(x: Tensor, y: Tensor, *, column: str, outputs: int) -> Fit:
    """Choose how long to train on held-out rows, then train on all rows for as long."""
    hidden = HIDDEN.get(column, HIDDEN_DEFAULT)
    torch.manual_seed(CHAIN.index(column))
    held = torch.rand(len(y)) < HELD_OUT
    losses = {}
    for epochs in EPOCHS:
        network = train(x[~held], y[~held], hidden=hidden, outputs=outputs, epochs=epochs)
        with torch.no_grad():
            losses[epochs] = float(nn.functional.cross_entropy(network(x[held]), y[held]))
    bound = min(losses.values()) * (1 if column in CAPITAL else 1 + TOLERANCE)
    longest = max(epochs for epochs, loss in losses.items() if loss <= bound)
    network = train(x, y, hidden=hidden, outputs=outputs, epochs=longest)
    return Fit(network, longest, losses[longest])


def calibrate(
    conditional: Conditional, x: NDArray[np.float64], y: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Output biases that give every value its frequency in the table, despite rounded weights."""
    frequency = np.bincount(y, minlength=len(conditional.values)) / len(y)
    bias = conditional.output_bias.copy()
    for _ in range(30):
        conditional.output_bias[:] = bias
        bias = bias + np.log(frequency / conditional.probabilities(x).mean(axis=0))
    return bias.astype(np.float32)


def weights_of(network: nn.Sequential) -> list[NDArray[np.float64]]:
    """Hidden weight and bias, output weight and bias, as arrays."""
    return [parameter.detach().double().numpy() for parameter in network.parameters()]


def fit(table: pd.DataFrame) -> dict[str, NDArray[Any]]:
    """Fit every column of the chain; returns the arrays to store, by name."""
    stored: dict[str, NDArray[Any]] = {}
    x = np.empty((len(table), 0))
    for column in CHAIN:
        values = distinct_values(table, column)
        y = encode(table, column, values)
        # torch has no layer without inputs: the first column sees a constant nought instead.
        seen = torch.tensor(x if x.shape[1] else np.zeros((len(table), 1)), dtype=torch.float32)
        fitted = fit_column(seen, torch.tensor(y), column=column, outputs=len(values))
        hidden, hidden_bias, output, output_bias = weights_of(fitted.network)
        hidden_integers, hidden_scale = quantise(hidden[:, : x.shape[1]])
        output_integers, output_scale = quantise(output)
        rounded = Conditional(
            values=values,
            hidden_weight=restore(hidden_integers, hidden_scale),
            hidden_bias=hidden_bias.astype(np.float32).astype(np.float64),
            output_weight=restore(output_integers, output_scale),
            output_bias=output_bias,
        )
        stored |= {
            f"{column}/values": values.astype(np.int32) if column in NUMERIC else values,
            f"{column}/hidden": hidden_integers,
            f"{column}/hidden_scale": hidden_scale,
            f"{column}/hidden_bias": hidden_bias.astype(np.float32),
            f"{column}/output": output_integers,
            f"{column}/output_scale": output_scale,
            f"{column}/output_bias": calibrate(rounded, x, y),
        }
        chance = rounded.probabilities(x)[np.arange(len(y)), y]
        print(
            f"{column:16s} inputs {x.shape[1]:3d}  values {len(values):3d}  epochs {fitted.epochs}"
            f"  held-out {fitted.loss:.4f} nats  all rows, rounded {-np.log(chance).mean():.4f}",
            flush=True,
        )
        x = np.hstack([x, features(column, values)[y]])
    return stored


def main() -> None:
    """Read the folder named on the command line, fit, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="folder with adult.data and adult.test")
    default = Path(adults_twin.__file__).with_name("parameters.npz")
    parser.add_argument("--output", type=Path, default=default, help="where to write (%(default)s)")
    arguments = parser.parse_args()
    # One thread and deterministic kernels, so that the same folder gives the same file.
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    stored = fit(read_table(arguments.folder))
    np.savez_compressed(arguments.output, allow_pickle=False, **stored)
    print(f"wrote {arguments.output}: {arguments.output.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
