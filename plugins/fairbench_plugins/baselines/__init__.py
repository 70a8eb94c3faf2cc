"""Baselines that every leaderboard shows: release x, nothing, fewer columns or dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from fairbench.api import Method
from fairbench.hookspecs import hookimpl
from fairbench_plugins.baselines.conditional_quantile import ConditionalQuantile
from fairbench_plugins.baselines.drop_features import DropFeatures
from fairbench_plugins.baselines.extremes import Constant, Identity
from fairbench_plugins.baselines.projections import PCA, RandomProjection


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """The baselines."""
    return [Identity, Constant, RandomProjection, PCA, DropFeatures, ConditionalQuantile]
