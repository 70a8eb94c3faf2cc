"""A third-party plugin for tests: a small dataset, and methods that misbehave in every way."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import gc
import os
import subprocess
import time
from typing import ClassVar

import numpy as np
import pandas as pd

from fairbench.api import (
    Architecture,
    DataFile,
    Dataset,
    Diverged,
    Images,
    Knob,
    Method,
    Metric,
    Params,
    Point,
    Representation,
    Role,
    Table,
)
from fairbench.hookspecs import hookimpl

LEAKED = []


class Toy(Dataset):
    name = "toy"
    summary = "1,500 rows, two groups, one task"
    files = (DataFile("toy.csv", (), "0" * 64, 1),)  # nowhere to be had: its twin stands in
    iterations = 200

    def load(self, folder):
        raise AssertionError("the toy dataset has no files")

    def simulate(self):
        rng = np.random.default_rng(0)
        n = 1500
        s = rng.integers(0, 2, n)
        a = rng.normal(size=n) + s
        b = rng.normal(size=n)
        c = rng.choice(["x", "y", "z"], size=n)
        y = (a + b + rng.normal(size=n) > 0.5).astype(np.int64)
        frame = pd.DataFrame({"a": a, "b": b, "c": c})
        return Table(frame, s.astype(np.int64), ("left", "right"), {"task": y})


class Drawn(Toy):
    """The same rows as a dataset that needs no files: its rows are no twin's."""

    name = "toy-drawn"
    files = ()

    def load(self, folder):
        return self.simulate()


class Official(Drawn):
    """The same with a test set of its own."""

    name = "toy-official"

    def load(self, folder):
        table = self.simulate()
        return dataclasses.replace(table, is_test=np.arange(len(table.s)) % 3 == 0)


class Bars(Dataset):
    """Bars in images of 16 x 16 pixels: upright in one group, lying in the other."""

    name = "toy-bars"
    summary = "images of bars"
    iterations = 100
    architecture = Architecture(hidden=(32,), latent=4, image=(1, 16, 16))

    def load(self, folder):
        rng = np.random.default_rng(0)
        pixels, s, y = {}, {}, {}
        for role, n in zip(Role, (600, 600, 200, 200), strict=True):
            s[role] = rng.integers(0, 2, n)
            images = np.zeros((n, 16, 16), np.uint8)
            for image, upright in zip(images, s[role], strict=True):
                height, width = (8, 2) if upright else (2, 8)
                row, column = rng.integers(0, 16 - height), rng.integers(0, 16 - width)
                image[row : row + height, column : column + width] = 1
            pixels[role] = np.packbits(images.reshape(n, -1), axis=1)
            y[role] = {"left": (images[:, :, :8].sum((1, 2)) > 8).astype(np.int64)}
        return Images(pixels, s, ("lying", "upright"), y, "rendered")


class Scale(Representation):
    def __init__(self, scale):
        self.scale = scale

    def encode(self, x, *, s=None, generator=None):
        return self.scale * x[:, :2]


class Plain(Method):
    """A method in a few lines, without a decoder."""

    name = "plain"
    summary = "keeps two columns"
    knobs = (Knob("scale", 0.0, 1.0, "does nothing"),)

    def points(self):
        return (Point.of(scale=0.5), Point.of(scale=1.0))

    def fit(self, train, units, context):
        return [Scale(unit.point["scale"]) for unit in units]


class Blurred(Representation):
    def __init__(self, params):
        self.params = params

    def encode(self, x, *, s=None, generator=None):
        drawn = np.random.default_rng(len(x)).normal(size=(len(x), 1))
        column = "ab".index(self.params.column)
        return x[:, [column]] + self.params.noise * drawn


class NoisyParams(Params):
    noise: float = 2.0
    column: str = "a"


class Noisy(Method):
    """One point, and something to find: column a tells of s, column b does not."""

    name = "noisy"
    summary = "one column and noise"
    Params = NoisyParams

    def search_space(self):
        from optuna.distributions import CategoricalDistribution, FloatDistribution

        return {
            "noise": FloatDistribution(0.01, 10.0, log=True),
            "column": CategoricalDistribution(["a", "b"]),
        }

    def fit(self, train, units, context):
        return [Blurred(self.params) for _ in units]


class Unlucky(Noisy):
    name = "unlucky"

    def fit(self, train, units, context):
        raise ValueError("no luck with these")


class Raises(Plain):
    name = "raises"

    def fit(self, train, units, context):
        if os.environ.get("TOY_CALM"):
            return super().fit(train, units, context)
        raise ValueError("this method always raises")


class Crashes(Plain):
    name = "crashes"

    def fit(self, train, units, context):
        os._exit(7)


class Segfaults(Plain):
    name = "segfaults"

    def fit(self, train, units, context):
        ctypes.string_at(0)


class Hangs(Plain):
    name = "hangs"

    def fit(self, train, units, context):
        time.sleep(600)


class HoldsTheGil(Plain):
    """HeldByAnotherRun in C without letting other threads of Python run."""

    name = "holds-the-gil"

    def fit(self, train, units, context):
        ctypes.PyDLL(None).sleep(600)


class Leaks(Plain):
    """Leaves a gigabyte behind."""

    name = "leaks"

    def fit(self, train, units, context):
        LEAKED.append(np.ones(125_000_000))
        return super().fit(train, units, context)


class RaisesLater(Plain):
    """Fits; the representation of its first point does not encode."""

    name = "raises-later"

    def fit(self, train, units, context):
        first, *rest = super().fit(train, units, context)
        first.scale = "half"
        return [first, *rest]


class OutOfMemory(Plain):
    name = "out-of-memory"

    def fit(self, train, units, context):
        raise MemoryError("no more")


class HalfDiverges(Plain):
    name = "half-diverges"

    def fit(self, train, units, context):
        rest = super().fit(train, units, context)[1:]
        return [Diverged("loss nan at step 3"), *rest]


class GivesNan(Plain):
    name = "gives-nan"

    def fit(self, train, units, context):
        return [Scale(np.float32("nan")) for _ in units]


class Vandal(Plain):
    """Changes its inputs, the working directory and global random state."""

    name = "vandal"

    def fit(self, train, units, context):
        os.chdir("/")
        np.random.seed(0)  # noqa: NPY002 - harming global state is what it is for
        train.x[:] = 0
        return super().fit(train, units, context)


class ReportsNan(Plain):
    name = "reports-nan"

    def fit(self, train, units, context):
        context.report("steps", float("nan"))
        return super().fit(train, units, context)


class ReportsText(Plain):
    name = "reports-text"

    def fit(self, train, units, context):
        context.report("steps", "many")
        return super().fit(train, units, context)


class ReportsNames(Plain):
    name = "reports-names"

    def fit(self, train, units, context):
        context.report("my steps\x1b[2J", 1.0)
        return super().fit(train, units, context)


class OddText(Plain):
    """Raises with a file name that is no UTF-8, and a byte that PostgreSQL does not take."""

    name = "odd-text"

    def fit(self, train, units, context):
        raise ValueError("no such file: " + os.fsdecode(b"caf\xe9.csv") + "\x00\x1b[2J")


class Loud(Plain):
    """Prints 100 MB, and raises with 50 more."""

    name = "loud"

    def fit(self, train, units, context):
        for _ in range(100):
            print("flood " * 166_666)
        raise ValueError(50_000_000 * "y")


class TellsSecrets(Plain):
    name = "tells-secrets"

    def fit(self, train, units, context):
        print("at postgresql://ann:S3NTINEL@localhost:1/x")
        raise ValueError("cannot reach postgresql://ann:S3NTINEL@localhost:1/x")


class LeavesChildren(Plain):
    """Starts processes that would live on: plain, in a group and in a session of their own."""

    name = "leaves-children"

    def fit(self, train, units, context):
        for more in ({}, {"process_group": 0}, {"start_new_session": True}):
            child = subprocess.Popen(["sleep", "600"], **more)
            with open(os.environ["TOY_CHILDREN"], "a") as file:
                file.write(f"{child.pid}\n")
        return super().fit(train, units, context)


class SpoilsDescriptors(Plain):
    """Writes to every descriptor that it finds."""

    name = "spoils-descriptors"

    def fit(self, train, units, context):
        for descriptor in range(3, 64):
            with contextlib.suppress(OSError):
                os.write(descriptor, b"garbage " * 1000)
        time.sleep(60)
        return super().fit(train, units, context)


class LooksAround(Representation):
    """Finds the rows that are encoded in the memory of its process, with their groups."""

    def encode(self, x, *, s=None, generator=None):
        z = x[:, :2].copy()
        for rows in gc.get_objects():
            if type(rows).__name__ == "RowsToEncode":
                everybody = np.concatenate(list(rows.x.values()))
                found = dict(zip(map(bytes, everybody), rows.s, strict=True))
                group = np.array([found[bytes(row)] for row in x])
                for value in np.unique(group):
                    z[group == value] -= z[group == value].mean(axis=0)
        return z

    def state(self):
        return {}


class TakesS(Noisy):
    """Blind only by name."""

    name = "takes-s"

    def fit(self, train, units, context):
        return [LooksAround() for _ in units]

    def restore(self, state, unit, info):
        return LooksAround()


class Remembers(Representation):
    """Codes of rows that it was fitted to, and of others the first columns."""

    def __init__(self, x, z):
        self.x, self.z = x, z

    def encode(self, x, *, s=None, generator=None):
        known = dict(zip(map(bytes, self.x), self.z, strict=True))
        return np.array([known.get(bytes(row), row[:2]) for row in x])

    def state(self):
        return {"x": self.x, "z": self.z}


class FitsEverybody(Noisy):
    """Finds all rows and their groups in memory while it is fitted; its encoder keeps them."""

    name = "fits-everybody"

    def fit(self, train, units, context):
        x, z = np.zeros((0, 3), np.float32), np.zeros((0, 2), np.float32)
        for data in gc.get_objects():
            if type(data).__name__ == "Prepared":
                x = np.concatenate([role.x for role in data.roles.values()])
                s = np.concatenate([role.s for role in data.roles.values()])
                z = x[:, :2].copy()
                for value in np.unique(s):
                    z[s == value] -= z[s == value].mean(axis=0)
        return [Remembers(x, z) for _ in units]

    def restore(self, state, unit, info):
        return Remembers(state["x"], state["z"])


class Widest(Metric):
    name = "widest"
    summary = "dimensions of z"
    level = "point"
    columns: ClassVar = {"dimensions": "dimensions of z"}

    def compute(self, evaluation):
        if os.environ.get("TOY_BAD_METRIC"):
            raise ValueError("this metric raises")
        if os.environ.get("TOY_METRIC_CRASHES") == str(evaluation.z.shape[1]):
            os._exit(7)
        return {"dimensions": float(evaluation.z.shape[1])}


METHODS = [
    Plain,
    Noisy,
    Unlucky,
    Raises,
    Crashes,
    Segfaults,
    Hangs,
    HoldsTheGil,
    Leaks,
    RaisesLater,
    OutOfMemory,
    HalfDiverges,
    GivesNan,
    Vandal,
    ReportsNan,
    ReportsText,
    ReportsNames,
    OddText,
    Loud,
    TellsSecrets,
    LeavesChildren,
    SpoilsDescriptors,
    TakesS,
    FitsEverybody,
]


@hookimpl
def register_methods():
    return METHODS


@hookimpl
def register_datasets():
    return [Toy, Drawn, Official, Bars]


@hookimpl
def register_metrics():
    return [Widest]
