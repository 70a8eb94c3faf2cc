"""FNF: an invertible encoder for each group, so that the groups' codes have one density.

Balunovic, Ruoss and Vechev 2022, "Fair Normalizing Flows". Objective and departures are in
model.py; coupling layers in flow.py, the density of x in density.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field, PositiveInt

from fairbench.api import (
    Architecture,
    Coding,
    DatasetInfo,
    FitContext,
    Fitted,
    Floats,
    Knob,
    Method,
    Params,
    Point,
    Track,
    TrainingRows,
    Unit,
)
from fairbench.hookspecs import hookimpl
from fairbench.training import NeuralMethod, NeuralParams

if TYPE_CHECKING:
    from fairbench.training import Networks, Streams
    from fairbench_plugins.fnf.model import FlowModel

GAMMAS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 0.95, 0.99, 1.0)

_MAX_FEATURES = 128
_MAX_GROUPS = 16
"""Every row goes through the flows of all groups."""

_MOST_VALUES = 256
"""Values of a column that decoded rows are rounded to; columns with more are not rounded."""

_NARROWEST = 0.1
"""Least width of the noise, standard deviations: columns with a spike on fine steps have a density
too steep to be matched."""


class FNFParams(NeuralParams):
    """Hyperparameters of FNF. ``hidden`` and ``latent`` are not used: z has x's columns."""

    couplings: int = Field(8, ge=2)
    """Coupling layers of a flow; each moves half of the columns."""
    coupling_hidden: tuple[PositiveInt, ...] = (64, 64)
    """Units of the hidden layers of a coupling's network."""
    density_hidden: tuple[PositiveInt, ...] = (128, 128)
    """Units of the hidden layers of the density of x."""
    density_components: int = Field(8, ge=1)
    """Logistic components of each column's density given the columns before it."""
    warmup: float = Field(0.2, ge=0, lt=1)
    """Share of the training over which the divergence's weight grows to gamma: at first the
    densities are wrong."""


class FNF(NeuralMethod):
    """z = f_s(x), where the flows f move rows little and groups together."""

    name = "fnf"
    summary = "a normalising flow per group: rows move little, encoded densities meet"
    reference = "Balunovic, Ruoss and Vechev 2022, arXiv:2106.05937; unsupervised: x for y"
    track = Track.AWARE
    coding = Coding.STOCHASTIC
    knobs = (
        Knob(
            "gamma",
            0.0,
            1.0,
            "weight of the divergence between groups; more is fairer",
            limits=(0.0, 1.0),
        ),
    )
    Params: ClassVar[type[Params]] = FNFParams
    _widths: Floats | None = None
    _values: Floats | None = None

    def points(self) -> tuple[Point, ...]:
        """Twelve."""
        return tuple(Point.of(gamma=gamma) for gamma in GAMMAS)

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import CategoricalDistribution, FloatDistribution

        return {
            "learning_rate": FloatDistribution(3e-4, 3e-3, log=True),
            "couplings": CategoricalDistribution([4, 8, 12]),
            "density_components": CategoricalDistribution([4, 8, 16]),
        }

    def supports(self, info: DatasetInfo) -> str | None:
        features, groups = len(info.features), len(info.groups)
        if info.architecture.image is not None:
            return f"its flows take tables; {info.name} has images"
        if not 2 <= features <= _MAX_FEATURES:
            return f"its flows take 2 to {_MAX_FEATURES} features; {info.name} has {features}"
        if groups > _MAX_GROUPS:
            return f"it trains a flow per group, {_MAX_GROUPS} at most; {info.name} has {groups}"
        return None

    def architecture(self, info: DatasetInfo) -> Architecture:
        """That of a coupling, for estimates of memory."""
        return replace(
            info.architecture, hidden=self.params.coupling_hidden, latent=len(info.features)
        )

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        of_rows = copy(self)  # what is learned of these rows belongs to this fit
        of_rows._widths, of_rows._values = noise_widths(train.x), column_values(train.x)
        return super(FNF, of_rows).fit(train, units, context)

    def build(
        self, units: Sequence[Unit], info: DatasetInfo, networks: Networks, streams: Streams
    ) -> FlowModel:
        from fairbench_plugins.fnf.model import FlowModel

        gammas = [unit.point["gamma"] for unit in units if unit.point is not None]
        widths, values = self._widths, self._values
        if widths is None or values is None:  # a stored model brings its own
            widths = np.zeros(len(info.features), np.float32)
            values = np.zeros((len(widths), _MOST_VALUES), np.float32)
        return FlowModel(self.params, widths, values, len(info.groups), gammas, streams)


def noise_widths(x: Floats) -> Floats:
    """Width of the noise that fills each column: the smallest step between values, or .1."""
    steps = [np.diff(np.unique(column)) for column in x.T]
    smallest = [step.min() if len(step) else 0.0 for step in steps]
    return np.maximum(np.array(smallest, np.float32), np.float32(_NARROWEST))


def column_values(x: Floats) -> Floats:
    """Values of each column, ascending, ``(columns, 256)``; infinite where there are no more.

    A column with more than 256 has none here.
    """
    values = np.full((x.shape[1], _MOST_VALUES), np.inf, np.float32)
    for row, column in zip(values, x.T, strict=True):
        held = np.unique(column)
        if len(held) <= _MOST_VALUES:
            row[: len(held)] = held
    return values


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """FNF."""
    return [FNF]
