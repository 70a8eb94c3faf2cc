"""A dataset that keeps every promise, and others that each break one."""

import os
from pathlib import Path

import numpy as np

from fairbench.api import Architecture, Role
from fairbench.api.dataset import DataFile, Dataset, Images, Table
from tests.support.small_table import make_table


class Toy(Dataset):
    """A dataset that keeps every promise."""

    name = "toy-checked"
    summary = "a toy"
    citation = "nobody"
    licence = "none needed"
    optional = True
    rows = 2_000

    def load(self, folder: Path) -> Table | Images:
        return make_table()


class Nameless(Toy):
    name = "Toy Checked"


class Unlicensed(Toy):
    licence = ""


class Miscounted(Toy):
    rows = 2_001


class Unseeded(Toy):
    def load(self, folder: Path) -> Table | Images:
        table = make_table()
        noise = np.random.default_rng().normal(size=len(table.s))
        return Table(table.x.assign(noise=noise), table.s, table.groups, table.y)


class Hashed(Toy):
    def load(self, folder: Path) -> Table | Images:
        table = make_table()
        order = list({"red", "green", "blue", "white", "black", "brown"})
        words = np.array(order)[np.arange(len(table.s)) % len(order)]
        return Table(table.x.assign(colour=words), table.s, table.groups, table.y)


class Leaking(Toy):
    def load(self, folder: Path) -> Table | Images:
        table = make_table()
        coded = np.where(table.s == 1, "f", "m")
        return Table(table.x.assign(title=coded), table.s, table.groups, table.y)


class LabelInX(Toy):
    def load(self, folder: Path) -> Table | Images:
        table = make_table()
        (labels,) = table.y.values()
        return Table(table.x.assign(outcome=labels), table.s, table.groups, table.y)


class Taskless(Toy):
    def load(self, folder: Path) -> Table | Images:
        table = make_table()
        return Table(table.x, table.s, table.groups, {})


class OneClass(Toy):
    def load(self, folder: Path) -> Table | Images:
        table = make_table()
        return Table(table.x, table.s, table.groups, {"hired": 0 * table.s})


class Mover(Toy):
    def load(self, folder: Path) -> Table | Images:
        os.chdir("/")
        return make_table()


class Odd(Toy):
    """Says beforehand what its file must be, in no sha256."""

    files = (DataFile("odd.csv", sha256="secret"),)


class Talkative(Toy):
    """Says what it does, as loaders do, and keeps every promise."""

    def load(self, folder: Path) -> Table | Images:
        print("reading ...")
        return make_table()


class Unreadable(Toy):
    def load(self, folder: Path) -> Table | Images:
        return Table(make_table().x.drop(columns="nothing"), *[None] * 3)


class Gappy(Toy):
    def load(self, folder: Path) -> Table | Images:
        table = make_table()
        return Table(table.x.assign(noise=np.nan), table.s, table.groups, table.y)


class Shared(Toy):
    """The same images in every role."""

    architecture = Architecture(image=(1, 4, 4))
    rows = None

    def load(self, folder: Path) -> Table | Images:
        bits = np.random.default_rng(0).integers(0, 256, (64, 2), dtype=np.uint8)
        s = np.arange(64) % 2
        return Images(
            dict.fromkeys(Role, bits),
            dict.fromkeys(Role, s),
            ("a", "b"),
            {role: {"y": s} for role in Role},
            "rendered",
        )
