"""Methods whose encoders or decoders take what they may not know, and honest ones beside them.

They import little: a process in which their codes are checked reads modules from their sources.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairbench.api import Coding, DatasetInfo, Floats, Ints, Track, Unit
from fairbench.api.method import Method, Representation
from fairbench.runs.encoding import RowsToEncode
from fairbench.runs.isolated_encoding import IsolatedEncodingTask


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
