"""Reconstructions of a few test images by the models of a results folder, along their curves."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fairbench.errors import FairbenchError
from fairbench.metrics.rows import DEFAULT
from fairbench.models.select import first_split
from fairbench.registry import Registry
from fairbench.runs.point_arrays import PICTURES, ArrayName, Kind
from fairbench.store import files
from fairbench.store.records import UnitRecord

MAX_SETTINGS = 8
"""Settings of a curve that are shown, ends included."""

Pictures = npt.NDArray[np.uint8]
"""``(images, height, width)``, of 0 to 255."""


@dataclass(frozen=True)
class Setting:
    """Reconstructions of the same images at one setting of the knobs."""

    label: str
    knobs: tuple[float, ...]  # values, by name
    own: Pictures  # decoded for each image's own group
    same: Pictures  # decoded for the first group, all of them


@dataclass(frozen=True)
class Reconstructed:
    """One method's reconstructions of the same images, the most informative setting first."""

    method: str
    name: str  # the method, and what tells its rows apart
    budget: str
    seed: int
    originals: Pictures
    settings: tuple[Setting, ...]


def image_shape(dataset: str, registry: Registry) -> tuple[int, int, int] | None:
    """Channels, height and width of a dataset's images; None for a table or an unknown dataset."""
    try:
        return registry.dataset(dataset).architecture.image
    except FairbenchError:
        return None


def read_reconstructions(
    results: Path, units: Sequence[UnitRecord], image: tuple[int, int, int]
) -> list[Reconstructed]:
    """Read what fitted models of one leaderboard have kept; models without any are left out.

    Of several seeds and splits the first is shown.
    """
    curves: dict[tuple[str, str, str], list[UnitRecord]] = defaultdict(list)
    for unit in sorted(units, key=lambda u: (u.method, u.params_label, u.budget)):
        curves[unit.method, unit.params_label, unit.budget].append(unit)
    found = [_read_curve(results, own, image) for own in curves.values()]
    shown = [one for one in found if one is not None]
    budgets = {one.budget for one in shown}
    if len(budgets) < 2:
        return shown
    return [replace(one, name=f"{one.name}, {one.budget}") for one in shown]


def _read_curve(
    results: Path, units: Sequence[UnitRecord], image: tuple[int, int, int]
) -> Reconstructed | None:
    split = first_split(unit.split for unit in units)
    seed = min(unit.seed for unit in units if unit.split == split)
    own = [unit for unit in units if (unit.split, unit.seed) == (split, seed)]
    first = own[0]
    read = [_read_point(results, unit, i, image) for unit in own for i in range(len(unit.points))]
    kept = [pair for pair in read if pair is not None]
    if not kept:
        return None
    originals = kept[0][0]
    settings = [setting for _, setting in kept]
    # From the informative to the fair end: so the points of one model come.
    if len(own) > 1:
        settings.sort(key=lambda setting: setting.knobs)
        first_error, last_error = (_error(originals, settings[i].own) for i in (0, -1))
        if first_error > last_error:
            settings.reverse()
    chosen = np.unique(np.linspace(0, len(settings) - 1, MAX_SETTINGS).round().astype(int))
    name = first.label or (None if first.params_label == DEFAULT else first.params_label)
    return Reconstructed(
        first.method,
        first.method if name is None else f"{first.method}, {name}",
        first.budget,
        first.seed,
        originals,
        tuple(settings[i] for i in chosen),
    )


def _read_point(
    results: Path, unit: UnitRecord, number: int, image: tuple[int, int, int]
) -> tuple[Pictures, Setting] | None:
    """Originals and reconstructions at one point of a unit; None where none are kept."""
    if unit.artefact is None:
        return None
    keys = [str(ArrayName(number, Kind.RECONSTRUCTIONS, part)) for part in PICTURES]
    arrays = files.load_few(results, unit.artefact, keys)
    if arrays is None:
        return None
    # A dataset of this name may have had images of another size when it was trained on.
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) > 1 or [shape[1:] for shape in shapes] != [(math.prod(image),)]:
        return None
    x, own, same = (_pictures(arrays[key], image) for key in keys)
    point = unit.points[number]
    return x, Setting(point.label, tuple(point.knobs.values()), own, same)


def _pictures(flat: npt.NDArray[np.uint8], image: tuple[int, int, int]) -> Pictures:
    channels, height, width = image
    shaped = flat.reshape(-1, channels, height, width)
    mean: Pictures = shaped.mean(axis=1).round().astype(np.uint8)
    return mean


def _error(originals: Pictures, drawn: Pictures) -> float:
    return float(np.square(originals.astype(float) - drawn).mean())
