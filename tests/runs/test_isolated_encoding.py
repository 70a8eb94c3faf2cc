"""Verification encodes again where there is x and nothing else."""

from __future__ import annotations

import pickle
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairbench.api.method import Method
from fairbench.config import RunConfig
from fairbench.data.prepared import Prepared
from fairbench.registry import load_registry
from fairbench.runs.data_files import DataFiles
from fairbench.runs.encoded_rows import EncodedRows
from fairbench.runs.isolated_encoding import EncodedAlone, encode_alone
from fairbench.runs.isolation import Isolation, isolated_processes
from fairbench.runs.own_processes import OwnProcesses
from fairbench.runs.plan import make_budget, units_of
from fairbench.store import encoders, files
from fairbench.store.records import ReadPoint, UnitRecord
from fairbench.store.status import Status
from tests.support.fits import fit_of
from tests.support.taken_from_elsewhere import (
    Aware,
    DecodingThief,
    FairBesideOthers,
    FairInLargeCalls,
    FileRemembering,
    FileThief,
    Forgetful,
    InBatches,
    NearbyThief,
    NoisyInLargeCalls,
    RareDraws,
    Remembering,
    Secretive,
    Thief,
    ThiefOfX,
    ThiefOfXWithNoise,
    UnevenDraws,
    WritingThief,
)

SLOWER = ("pca", "beta-vae", "merged-cells")
PROCESSES = isolated_processes()


def encoded_alone(
    method: type[Method], data: Prepared, results: Path, processes: OwnProcesses = PROCESSES
) -> EncodedAlone:
    """Train a method for ten steps, keep what a run keeps, and encode its last point alone."""
    config = RunConfig(methods=(method.name,), datasets=(data.info.name,), points=2)
    (*_, planned) = units_of(method, method.Params(), data, make_budget(10, data), config)
    params = dict(planned.record("").params)
    apart = Isolation(time.time(), DataFiles(), processes, method.name, params)
    result = fit_of(planned, data, rows=planned.budget.audit.rows)
    assert result.status is Status.DONE, result.traceback
    unit: UnitRecord = planned.record("run").replace(
        status=Status.DONE,
        read_points=tuple(ReadPoint(p.label, dict(p.values)) for p in result.points),
        artefact=files.save(results, result.arrays),
        encoder=encoders.save(results, result.encoder) if result.encoder else None,
    )
    return encode_alone(planned, unit, unit.points[-1].label, results, apart)


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested is which rows are encoded together: no process needs seconds to start."""

    def call_here(_: Any, alone: Any, told: Any) -> bytes:
        return pickle.dumps(pickle.loads(alone.args[0])())

    monkeypatch.setattr(OwnProcesses, "call", call_here)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["sofair", *(pytest.param(n, marks=pytest.mark.slow) for n in SLOWER)]
)
def test_honest_encoders_give_the_codes_that_were_audited(
    name: str, prepared: Prepared, tmp_path: Path
) -> None:
    """Of a curve of bits, a projection, a stochastic encoder, and cells."""
    alone = encoded_alone(load_registry().methods[name], prepared, tmp_path)
    assert alone.differing == 0
    assert alone.agrees


@pytest.mark.parametrize(
    "method",
    [
        Thief,
        *(
            pytest.param(m, marks=pytest.mark.thorough)
            for m in (DecodingThief, WritingThief, Remembering)
        ),
    ],
)
def test_what_was_taken_from_memory_is_missed(
    method: type[Method], prepared: Prepared, tmp_path: Path
) -> None:
    thief = encoded_alone(method, prepared, tmp_path)
    assert thief.differing is not None
    assert thief.differing > 0.9
    assert not thief.agrees


@pytest.mark.thorough
@pytest.mark.parametrize("method", [NearbyThief, ThiefOfX, ThiefOfXWithNoise])
def test_x_of_other_rows_is_no_help_to_encoders_and_decoders(
    method: type[Method], prepared: Prepared, tmp_path: Path
) -> None:
    """The processes that have x alone have that of all rows, in their memory."""
    thief = encoded_alone(method, prepared, tmp_path)
    assert thief.differing is not None
    assert thief.differing > 0.1


@pytest.mark.parametrize(
    ("method", "says"),
    [
        (FileThief, r"reads \S+stash.npz, which was changed since the verification began"),
        (FileRemembering, r"writes \S+stash.npz"),
    ],
)
@pytest.mark.thorough
def test_what_was_put_into_a_file_is_found(
    method: type[Method],
    says: str,
    prepared: Prepared,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STASH", str(tmp_path / "stash.npz"))
    alone = encoded_alone(method, prepared, tmp_path, isolated_processes())
    assert not alone.agrees
    assert re.search(says, str(alone.why))


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("method", [FairInLargeCalls, NoisyInLargeCalls])
def test_codes_that_depend_on_how_many_rows_are_encoded_are_found(
    method: type[Method], prepared: Prepared, tmp_path: Path
) -> None:
    alone = encoded_alone(method, prepared, tmp_path)
    assert alone.differing is not None
    assert alone.differing > 0.05


@pytest.mark.usefixtures("in_this_process")
def test_so_is_one_that_gives_away_single_rows_alone(prepared: Prepared, tmp_path: Path) -> None:
    """Only two of all rows are encoded by themselves."""
    assert not encoded_alone(FairBesideOthers, prepared, tmp_path).agrees


@pytest.mark.usefixtures("in_this_process")
def test_codes_that_depend_on_other_rows_are_found_in_noise(
    prepared: Prepared, tmp_path: Path
) -> None:
    alone = encoded_alone(InBatches, prepared, tmp_path)
    assert alone.differing is not None
    assert alone.differing > 0.5


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("method", [UnevenDraws, RareDraws])
def test_honest_noise_of_other_kinds_agrees(
    method: type[Method], prepared: Prepared, tmp_path: Path
) -> None:
    """Whose generator other rows move, and rare codes."""
    assert encoded_alone(method, prepared, tmp_path).agrees


@pytest.mark.usefixtures("in_this_process")
def test_an_encoder_that_cannot_be_restored_does_not_agree(
    prepared: Prepared, tmp_path: Path
) -> None:
    alone = encoded_alone(Forgetful, prepared, tmp_path)
    assert not alone.agrees
    assert "ValueError: lost" in str(alone.why)


@pytest.mark.parametrize(("method", "why"), [(Secretive, "no state()"), (Aware, "it may")])
def test_what_cannot_be_checked_is_said(
    method: type[Method], why: str, prepared: Prepared, tmp_path: Path
) -> None:
    alone = encoded_alone(method, prepared, tmp_path)
    assert alone.differing is None
    assert alone.agrees
    assert why in str(alone.why)


def test_outliers_hide_no_difference_of_other_rows() -> None:
    """A hundredth of the rows is huge; all others have one of two codes."""
    rng = np.random.default_rng(0)
    z = (rng.random((1000, 1)) < 0.5).astype(np.float32)
    other = 1 - z
    for codes in (z, other):
        codes[:10] = 1e25
    audited, again = (EncodedRows(codes, None, None) for codes in (z, other))
    assert again.share_of_changed_rows(audited) == pytest.approx(0.99)
    rounded = EncodedRows(z * np.float32(1 + 1e-6), None, None)
    assert rounded.share_of_changed_rows(audited) == 0


@pytest.mark.parametrize("offset", [0.0, 1e5, 1e6, 2.0**23])
@pytest.mark.parametrize("levels", [2, 160])
def test_codes_far_from_zero_hide_no_difference(offset: float, levels: int) -> None:
    """Rounding is that of single precision, so it says little of a column of large numbers."""
    rng = np.random.default_rng(0)
    z = (offset + rng.integers(0, levels, (2000, 3))).astype(np.float32)
    constant = np.full_like(z, offset + levels // 2)
    again = EncodedRows(constant, None, None)
    share = again.share_of_changed_rows(EncodedRows(z, None, None))
    assert share > 0.8  # a constant is right by chance in one row of eight


def test_a_rare_value_far_from_zero_hides_no_difference() -> None:
    z = np.full((1000, 1), 2.0**23, np.float32)
    z[:100] += 5
    again = EncodedRows(np.full_like(z, 2.0**23), None, None)
    assert again.share_of_changed_rows(EncodedRows(z, None, None)) == pytest.approx(0.1)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("offset", [0.0, 1.0, 100.0])
def test_rounding_of_single_precision_is_no_difference(scale: float, offset: float) -> None:
    """Of a column beside zero and far from it, of a constant one, and of outliers."""
    rng = np.random.default_rng(0)
    z = (scale * (offset + rng.normal(size=(1000, 3)))).astype(np.float32)
    z[:, 1] = scale * (offset + 0.7)
    z[:10, 2] = 1e25
    for steps in (-4, 4):
        rounded = z + np.float32(steps) * np.spacing(np.abs(z))
        again = EncodedRows(rounded, None, None)
        assert again.share_of_changed_rows(EncodedRows(z, None, None)) == 0
