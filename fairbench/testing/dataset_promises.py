"""Promises of a dataset: texts, arrays, roles, and that it is the same everywhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from fairbench.api import Role
from fairbench.api.dataset import Dataset, Images, Table
from fairbench.data.card_dataset import CardDataset
from fairbench.data.checks import determines
from fairbench.data.files import data_root, find_files
from fairbench.data.loading import load_dataset
from fairbench.data.prepare import prepare
from fairbench.data.prepared import Prepared
from fairbench.data.roles import assign_roles
from fairbench.testing.check_results import BrokenPromise, Unmet
from fairbench.testing.method_declarations import check_texts
from fairbench.testing.promises import promise
from fairbench.testing.surroundings import check_unharmed

_FINGERPRINT = """
import importlib, sys
from contextlib import redirect_stdout
from functools import reduce
from pathlib import Path
from fairbench.data.loading import load_dataset
module, name, root = sys.argv[1:]
with redirect_stdout(sys.stderr):
    dataset = reduce(getattr, name.split("."), importlib.import_module(module))
    data = load_dataset(dataset, root=Path(root) if root else None)
print(data.fingerprint)
"""


@dataclass
class DatasetTrial:
    """A dataset, and the data root of its files."""

    dataset: type[Dataset]
    root: Path | None = None  # data root, as of ``--data-root``

    @cached_property
    def prepared(self) -> Prepared:
        """The dataset as runs use it; its twin without files."""
        return load_dataset(self.dataset, root=self.root)

    @cached_property
    def _loaded(self) -> Prepared | None:
        try:
            return self.prepared
        except (Exception, SystemExit):
            return None

    @property
    def is_simulated(self) -> bool:
        """Whether its rows are simulated, as its files are not here."""
        return self._loaded is not None and self._loaded.simulated

    @property
    def data(self) -> Prepared:
        """The same; Unmet where it cannot be loaded, which is a promise of its own."""
        if self._loaded is None:
            raise Unmet("it does not load; see above")
        return self._loaded

    @cached_property
    def raw(self) -> Table | Images | None:
        """The result of ``load``, or of ``simulate`` without files."""
        _ = self.data
        instance = self.dataset()
        files = find_files(self.dataset, data_root(self.root))
        return instance.simulate() if files is None else instance.load(files.folder)

    @property
    def table(self) -> Table:
        """The same; Unmet for images."""
        if not isinstance(self.raw, Table):
            raise Unmet("it holds images")
        return self.raw


@promise("its name and texts are there")
def texts(trial: DatasetTrial) -> None:
    """Readers of a leaderboard need citation and licence; a private table may lack them."""
    check_texts(trial.dataset)
    for text in () if issubclass(trial.dataset, CardDataset) else ("citation", "licence"):
        if not getattr(trial.dataset, text, ""):
            raise BrokenPromise(f"it has no {text}.", "Write so in words if there is none.")
    for file in trial.dataset.files:
        if file.sha256 is not None and not re.fullmatch(r"[0-9a-f]{64}", file.sha256):
            raise BrokenPromise(
                f"The sha256 of {file.name} is {file.sha256!r}.", "64 hexadecimal digits."
            )


@promise("it loads")
def loads(trial: DatasetTrial) -> None:
    """A run begins with loading."""
    _ = trial.prepared


@promise("x is finite numbers, one column per feature")
def features(trial: DatasetTrial) -> None:
    """Methods and auditors use it unchanged."""
    data = trial.data
    for role, rows in data.roles.items():
        x = rows.x
        if x.dtype not in (np.float32, np.uint8) or x.ndim != 2:
            raise BrokenPromise(f"x of {role} is {x.dtype}, {x.shape}.", "float32 or uint8 (n, d).")
        if x.dtype == np.float32 and not np.isfinite(x).all():
            raise BrokenPromise(f"x of {role} is not finite.", "Fill in missing values.")
        if x.shape[1] != len(data.info.features):
            raise BrokenPromise(f"x of {role} has {x.shape[1]} columns.", "One per feature.")


@promise("s is codes 0, 1, ... of its groups, all of them in every role")
def groups(trial: DatasetTrial) -> None:
    """Auditors cannot predict a group that they were not trained on."""
    count = len(trial.data.info.groups)
    for role, rows in trial.data.roles.items():
        if rows.s.dtype != np.int64 or rows.s.shape != (len(rows.stored),):
            raise BrokenPromise(f"s of {role} is {rows.s.dtype}, {rows.s.shape}.", "int64 (n,).")
        if not np.array_equal(np.unique(rows.s), np.arange(count)):
            raise BrokenPromise(f"s of {role} is not 0 .. {count - 1}.", "Every role, every group.")


@promise("y is codes 0, 1, ... of one task at least, the same tasks in every role")
def labels(trial: DatasetTrial) -> None:
    """A_y is measured on the main task, the first."""
    tasks = list(trial.data.roles[Role.TEST].y)
    if not tasks:
        raise BrokenPromise("it has no task labels.", "A_y needs at least one.")
    for role, rows in trial.data.roles.items():
        if list(rows.y) != tasks:
            raise BrokenPromise(
                f"{role} has the tasks {list(rows.y)}.", f"The others have {tasks}."
            )
        for task, codes in rows.y.items():
            if codes.dtype != np.int64 or len(codes) != len(rows.s) or codes.min() < 0:
                raise BrokenPromise(
                    f"y[{task!r}] of {role} is not a code.", "int64 (n,), 0, 1, ..."
                )
        if len(np.unique(rows.y[tasks[0]])) < 2:
            raise BrokenPromise(
                f"the main task, y[{tasks[0]!r}], has one class in {role}.",
                "Name a task with two classes or more first.",
            )


@promise("the four roles are disjoint and leave no row out")
def roles(trial: DatasetTrial) -> None:
    """An auditor trained on test rows overestimates."""
    raw = trial.raw
    if isinstance(raw, Images):
        seen: Counter[bytes] = Counter()
        for role in Role:
            seen.update({row.tobytes() for row in np.unique(raw.pixels[role], axis=0)})
        if max(seen.values()) > 1:
            raise BrokenPromise(
                "An image is in two roles, so roles overlap.",
                "Split the distinct images first, then draw.",
            )
        return
    rows = np.concatenate(list(assign_roles(trial.table).values()))
    # Where people have several rows, one of each is measured, and the others are in no role.
    all_used = len(rows) == len(trial.table.s) or trial.table.person is not None
    if len(np.unique(rows)) != len(rows) or not all_used:
        raise BrokenPromise("Its roles overlap or leave rows out.", "Every row, one role.")


@promise("loaded twice it is the same")
def same_again(trial: DatasetTrial) -> None:
    """Results are stored, and looked up, under the fingerprint of the data."""
    data = trial.data
    again = prepare(trial.table, trial.dataset, source=data.source, origin=data.origin)
    if again.fingerprint != data.fingerprint:
        raise BrokenPromise(
            "loaded twice it has another fingerprint.",
            "Seed all random draws; nothing may depend on time.",
        )


@promise("no column of x is s under another name")
def copies(trial: DatasetTrial) -> None:
    """Otherwise dropping that column would be enough, and there would be nothing to compare."""
    table = trial.table
    if issubclass(trial.dataset, CardDataset) and trial.dataset.card.allowed_copies:
        # Loading it has refused all others.
        allowed = ", ".join(map(repr, trial.dataset.card.allowed_copies))
        raise Unmet(f"its card allows copies: {allowed}")
    for name in table.x.columns:
        if determines(table.x[name], table.s):
            raise BrokenPromise(
                f"the column {str(name)!r} determines the sensitive attribute: it is a copy of it, "
                "possibly with another coding.",
                "Leave it out of x.",
            )


@promise("no column of x is the label of the main task under another name")
def label_copies(trial: DatasetTrial) -> None:
    """Otherwise A_y says only whether that column is released. Other tasks may be columns of x."""
    task, labels = next(iter(trial.table.y.items()), ("", np.array([])))
    if len(np.unique(labels)) < 2:
        raise Unmet("it has no task of two classes; see above")
    for name in trial.table.x.columns:
        if determines(trial.table.x[name], labels):
            raise BrokenPromise(
                f"the column {str(name)!r} determines the task {task!r}.",
                "Leave it out of x, or put another task first in y.",
            )


@promise("what encoder-train looks like depends on encoder-train alone")
def scaling(trial: DatasetTrial) -> None:
    """Scaling by all rows lets test rows into training."""
    table, data = trial.table, trial.data
    x = table.x.copy()
    others = np.setdiff1d(np.arange(len(x)), assign_roles(table)[Role.ENCODER_TRAIN])
    for name in x.columns:
        if x[name].dtype.kind in "iuf":
            moved = x[name].to_numpy(np.float64, copy=True)
            moved[others] = 3 * moved[others] + 1_000
            x[name] = moved
    changed = prepare(replace(table, x=x), trial.dataset, source=data.source, origin=data.origin)
    before, after = (d.roles[Role.ENCODER_TRAIN].x for d in (data, changed))
    if not np.array_equal(before, after):
        raise BrokenPromise("its scaling depends on other roles.", "Only on encoder-train.")


@promise("it has the rows that it declares")
def declared_rows(trial: DatasetTrial) -> None:
    """'fairbench data list' shows that number."""
    declared = trial.dataset.rows
    count = trial.data.table_rows
    if declared is None or trial.data.simulated:
        raise Unmet("it declares none" if declared is None else "this is its simulated twin")
    if count != declared:
        raise BrokenPromise(f"it has {count:,} rows.", f"It declares {declared:,}.")


@promise("it leaves its process unchanged")
def unharmed(trial: DatasetTrial) -> None:
    """Other plugins run in the same process, and rely on its folder and random state."""
    _ = trial.data
    # Loaded again under watch; later promises use this copy.
    trial.__dict__.pop("raw", None)
    check_unharmed(lambda: trial.raw, "load")


@promise("another process finds the same")
def elsewhere(trial: DatasetTrial) -> None:
    """Jobs run in their own processes, and results are merged between machines."""
    fingerprint = trial.data.fingerprint
    dataset = trial.dataset
    if dataset.home is not None:
        raise Unmet("it is made from a dataset card")
    # -P: a folder of the module's name in the working directory would hide it.
    words = [sys.executable, "-P", "-c", _FINGERPRINT, dataset.__module__, dataset.__qualname__]
    done = subprocess.run(
        [*words, str(trial.root or "")],
        env=os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise BrokenPromise(
            f"another process cannot load it: {last}.",
            "Define the class at the top of an importable module.",
        )
    if done.stdout.strip() != fingerprint:
        raise BrokenPromise(
            "another process gets another fingerprint.",
            "Nothing may depend on the order of a set or of hashes.",
        )
