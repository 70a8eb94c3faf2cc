"""Reconstructions are read as they were kept; what does not fit the dataset is left out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairbench.models.reconstructions import MAX_SETTINGS, read_reconstructions
from fairbench.runs.point_arrays import ArrayName, Kind
from fairbench.store import files
from fairbench.store.records import ReadPoint

IMAGE = (1, 4, 4)


@dataclass(frozen=True)
class Unit:
    """What is read of a unit's record."""

    artefact: str | None
    points: tuple[Any, ...]
    method: str = "some"
    params_label: str = "default"
    label: str | None = None
    budget: str = "full"
    split: str = "official"
    seed: int = 0


def kept(
    results: Path,
    brightness: list[int],
    pixels: int = 16,
    knobs: Sequence[float] = (),
    **more: Any,
) -> Any:
    """A unit whose reconstructions at each point are all of one brightness, its knob unless given.

    The originals are of 255.
    """
    arrays = {}
    for i, value in enumerate(brightness):
        for part, shade in (("x", 255), ("own", value), ("same", value)):
            key = str(ArrayName(i, Kind.RECONSTRUCTIONS, part))
            arrays[key] = np.full((2, pixels), shade, np.uint8)
    points = tuple(ReadPoint(f"at={value}", {"at": value}) for value in knobs or brightness)
    return Unit(files.save(results, arrays), points, **more)


def labels(rows: list[Any]) -> list[list[str]]:
    return [[setting.label for setting in one.settings] for one in rows]


def test_points_of_one_model_keep_their_order_and_eight_are_shown(tmp_path: Path) -> None:
    brightness = list(range(200, 40, -10))
    (one,) = read_reconstructions(tmp_path, [kept(tmp_path, brightness)], IMAGE)
    assert len(one.settings) == MAX_SETTINGS
    assert one.settings[0].label == "at=200"
    assert one.settings[-1].label == "at=50"
    assert one.originals.shape == (2, 4, 4)
    assert (one.settings[0].own == 200).all()


def test_models_of_a_grid_are_sorted_by_their_knob_the_best_drawn_end_first(tmp_path: Path) -> None:
    units = [kept(tmp_path, [value]) for value in (50, 250, 100)]
    assert labels(read_reconstructions(tmp_path, units, IMAGE)) == [["at=250", "at=100", "at=50"]]

    # Of few images a setting within the curve may be drawn better than its end.
    units = [kept(tmp_path, [b], knobs=[at]) for at, b in ((2, 50), (0, 200), (1, 220))]
    assert labels(read_reconstructions(tmp_path, units, IMAGE)) == [["at=0", "at=1", "at=2"]]


def test_the_first_seed_is_shown_and_budgets_apart(tmp_path: Path) -> None:
    units = [
        kept(tmp_path, [90], seed=1),
        kept(tmp_path, [80]),
        kept(tmp_path, [70], budget="quick"),
    ]
    rows = read_reconstructions(tmp_path, units, IMAGE)
    assert labels(rows) == [["at=80"], ["at=70"]]
    assert [one.name for one in rows] == ["some, full", "some, quick"]


def test_of_several_splits_the_official_one_is_shown(tmp_path: Path) -> None:
    units = [kept(tmp_path, [90], split="fold 1 of 5"), kept(tmp_path, [80], seed=1)]
    assert labels(read_reconstructions(tmp_path, units, IMAGE)) == [["at=80"]]


def test_what_is_gone_or_of_another_size_is_left_out(tmp_path: Path) -> None:
    gone = Unit(None, (ReadPoint("at=1", {"at": 1.0}),), method="gone")
    other = kept(tmp_path, [90], pixels=25, method="other")
    missing = Unit("0" * 64 + ".npz", (ReadPoint("at=1", {"at": 1.0}),), method="missing")
    table = Unit(files.save(tmp_path, {"0/z/test": np.zeros((3, 2))}), (None,), method="table")
    assert read_reconstructions(tmp_path, [gone, other, missing, table], IMAGE) == []
