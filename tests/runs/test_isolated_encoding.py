"""Verification encodes again where there is x and nothing else."""

from __future__ import annotations

import gc
import os
import pickle
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairbench.api import Coding, DatasetInfo, Floats, Ints, Track, Unit
from fairbench.api.method import Method, Representation
from fairbench.config import RunConfig
from fairbench.data.prepared import Prepared
from fairbench.registry import load_registry
from fairbench.runs.data_files import DataFiles
from fairbench.runs.encoded_rows import EncodedRows
from fairbench.runs.encoding import RowsToEncode
from fairbench.runs.isolated_encoding import EncodedAlone, IsolatedEncodingTask, encode_alone
from fairbench.runs.isolation import Isolation, isolated_processes
from fairbench.runs.own_processes import OwnProcesses
from fairbench.runs.plan import make_budget, units_of
from fairbench.store import encoders, files
from fairbench.store.records import ReadPoint, UnitRecord
from fairbench.store.status import Status
from tests.support.fits import fit_of

SLOWER = ("pca", "beta-vae", "merged-cells")
PROCESSES = isolated_processes()


class Sums(Representation):
    """The sum of x, in a column."""

    def __init__(self, width: int) -> None:
        self.width = width

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        return x.sum(axis=1, keepdims=True)

    def state(self) -> Mapping[str, np.ndarray] | None:
        return {}


class WithoutS(Sums):
    """The same, less what its group has more of on average: blind only by name."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        z = super().encode(x)
        for rows in [one for one in gc.get_objects() if type(one) is RowsToEncode]:
            everybody = np.concatenate(list(rows.x.values()))
            found = dict(zip(map(bytes, everybody), rows.s, strict=True))
            group = np.array([found[bytes(row)] for row in x])
            for value in np.unique(group):
                z[group == value] -= z[group == value].mean()
        return z


class FoundX(Sums):
    """An honest code, and a decoder that looks up whose it is."""

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        x_hat = np.zeros((len(z), self.width), np.float32)
        for rows in [one for one in gc.get_objects() if type(one) is RowsToEncode]:
            everybody = np.concatenate(list(rows.x.values()))
            found = dict(zip(map(bytes, self.encode(everybody)), everybody, strict=True))
            for i, code in enumerate(map(bytes, z)):
                x_hat[i] = found.get(code, 0)
        return x_hat


class Remembered(Sums):
    """Decodes the mean of all rows that it has encoded."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.seen: list[Floats] = []

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        self.seen.append(x)
        return (x[:, :1] > 0.5).astype(np.float32)

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        x = np.concatenate(self.seen) if self.seen else np.zeros((1, self.width), np.float32)
        return np.repeat(x.mean(axis=0, keepdims=True), len(z), axis=0)


def everybody_in_memory() -> Floats:
    """Return x of all audited rows: wherever some are encoded or decoded, others are about."""
    found = [list(one.x.values()) for one in gc.get_objects() if type(one) is RowsToEncode]
    found += [list(one.parts) for one in gc.get_objects() if type(one) is IsolatedEncodingTask]
    everybody: Floats = np.unique(np.concatenate([np.concatenate(each) for each in found]), axis=0)
    return everybody


class NearbyInMemory(Sums):
    """The mean of the two nearest sums of anybody, found wherever there is x."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        known = np.unique(everybody_in_memory().sum(axis=1, dtype=np.float64))
        pairs = np.arange(len(known)) // 2
        means = np.bincount(pairs, known) / np.bincount(pairs)
        place = np.abs(known - x.sum(axis=1, dtype=np.float64, keepdims=True)).argmin(axis=1)
        return means[pairs[place]][:, None].astype(np.float32)


class FoundInMemory(Sums):
    """A coarse code, and a decoder that gives the mean of the rows that have it, wherever x is."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        codes: Floats = np.round(4 * x.sum(axis=1, keepdims=True))
        return codes

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        everybody = everybody_in_memory()
        codes = self.encode(everybody)[:, 0]
        return np.stack(
            [
                everybody[codes == code].mean(axis=0)
                if (codes == code).any()
                else np.zeros(self.width, np.float32)
                for code in z[:, 0]
            ]
        )


class FoundForDraws(FoundInMemory):
    """The same of a code with noise, which its decoder removes."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        z = super().encode(x)
        if generator is None:
            return z
        return (z + generator.uniform(0, 0.4, z.shape)).astype(np.float32)

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        return super().decode(np.round(z), s)


class Written(WithoutS):
    """The same, in a table that it makes of the first rows that it encodes, and stores."""

    def __init__(self, width: int, table: Mapping[str, np.ndarray] | None = None) -> None:
        super().__init__(width)
        self.table = dict(table or {})

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        if not self.table and len(x) > 100:
            self.table = {"x": x, "z": super().encode(x)}
        known = {bytes(row): z for row, z in zip(*self.table.values(), strict=True)}
        return np.array([known.get(bytes(row), row.sum(keepdims=True)) for row in x])

    def state(self) -> Mapping[str, np.ndarray] | None:
        return self.table


class InAFile(WithoutS):
    """The same, in a table in a file, made where there is s to take."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        if any(type(one) is RowsToEncode for one in gc.get_objects()):
            z = super().encode(x)
            np.savez(stash(), x=x, z=z)
            return z
        with np.load(stash()) as table:
            known = {bytes(row): z for row, z in zip(table["x"], table["z"], strict=True)}
        return np.array([known[bytes(row)] for row in x])


class RememberedInAFile(Sums):
    """Adds the rows that it encodes to a file, and decodes their mean."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        with stash().open("ab") as file:
            file.write(x.tobytes())
        return (x[:, :1] > 0.5).astype(np.float32)

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        rows = np.frombuffer(stash().read_bytes(), np.float32).reshape(-1, self.width)
        return np.tile(rows.mean(axis=0), (len(z), 1))


class AmongOthers(Sums):
    """The mean of the rows nearest by their sum, if many are encoded, and a little noise."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        assert generator is not None
        z = super().encode(x).astype(np.float64)
        if len(x) > 100:
            for near in np.array_split(np.argsort(z[:, 0]), len(z) // 3):
                z[near] = z[near].mean()
        return (z + 1e-6 * generator.normal(size=z.shape)).astype(np.float32)


class FairForMany(Sums):
    """A constant if many rows are encoded at once; a few rows as they are."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        return super().encode(x) if len(x) < 200 else np.zeros((len(x), 1), np.float32)


class FairForMore(Sums):
    """A constant where more than one row is encoded; a single one as it is."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        return super().encode(x) if len(x) == 1 else np.zeros((len(x), 1), np.float32)


class NoisyForFew(FairForMany):
    """The same with noise."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        assert generator is not None
        noise = generator.normal(0, 0.01, (len(x), 1))
        z = Sums.encode(self, x) if len(x) <= 1000 else np.zeros((len(x), 1))
        return (z + noise).astype(np.float32)


class Rare(Sums):
    """A code of two values, of which one is rare: draws of few rows need not show it."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        assert generator is not None
        return (generator.random((len(x), 1)) < 0.01).astype(np.float32)


class Uneven(Sums):
    """Draws a number for rows of a large sum alone, so others move its generator."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        assert generator is not None
        z = super().encode(x)
        large = z[:, 0] > np.float32(0.5)
        z[large] += generator.normal(size=(int(large.sum()), 1))
        return z


def stash() -> Path:
    """A file that outlives the process."""
    return Path(os.environ["STASH"])


class Honest(Method):
    name, summary = "sums", "the sum of x"
    fits: type[Sums] = Sums

    def fit(self, train: Any, units: Any, context: Any) -> list[Any]:
        return [self.fits(train.x.shape[1]) for _ in units]

    def restore(
        self, state: Mapping[str, np.ndarray], unit: Unit, info: DatasetInfo
    ) -> Representation:
        return self.fits(len(info.features))


class Thief(Honest):
    name, fits = "thief", WithoutS


class WritingThief(Honest):
    name, fits = "writing-thief", Written

    def restore(
        self, state: Mapping[str, np.ndarray], unit: Unit, info: DatasetInfo
    ) -> Representation:
        return Written(len(info.features), state)


class DecodingThief(Honest):
    name, fits, has_decoder = "decoding-thief", FoundX, True


class NearbyThief(Honest):
    name, fits = "nearby-thief", NearbyInMemory


class ThiefOfX(Honest):
    name, fits, has_decoder = "thief-of-x", FoundInMemory, True


class ThiefOfXWithNoise(Honest):
    name, fits, has_decoder = "thief-of-x-with-noise", FoundForDraws, True
    coding = Coding.STOCHASTIC


class Remembering(Honest):
    name, fits, has_decoder = "remembering", Remembered, True


class FileThief(Honest):
    name, fits = "file-thief", InAFile


class FileRemembering(Honest):
    name, fits, has_decoder = "file-remembering", RememberedInAFile, True


class InBatches(Honest):
    name, fits, coding = "in-batches", AmongOthers, Coding.STOCHASTIC


class FairInLargeCalls(Honest):
    name, fits = "fair-in-large-calls", FairForMany


class FairBesideOthers(Honest):
    name, fits = "fair-beside-others", FairForMore


class NoisyInLargeCalls(Honest):
    name, fits, coding = "noisy-in-large-calls", NoisyForFew, Coding.STOCHASTIC


class RareDraws(Honest):
    name, fits, coding = "rare-draws", Rare, Coding.STOCHASTIC


class UnevenDraws(Honest):
    name, fits, coding = "uneven-draws", Uneven, Coding.STOCHASTIC


class Forgetful(Honest):
    """Nothing can be restored."""

    name = "forgetful"

    def restore(
        self, state: Mapping[str, np.ndarray], unit: Unit, info: DatasetInfo
    ) -> Representation:
        raise ValueError("lost")


class Secretive(Honest):
    name = "secretive"
    fits = type("NoState", (Sums,), {"state": lambda self: None})


class Aware(Honest):
    name, track = "sees-s", Track.AWARE


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
