"""The contract of plugins as runnable checks, for built-in ones and strangers' alike."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from fairbench.api import Dataset, Images, Role, Table
from fairbench.data.checks import check_copies
from fairbench.data.files import data_root, find_files
from fairbench.data.prepare import Prepared, load_dataset, prepare
from fairbench.data.roles import assign_roles
from fairbench.errors import CheckError
from fairbench.registry import NAME

_FINGERPRINT = """
import importlib, sys
from functools import reduce
from pathlib import Path
from fairbench.data.prepare import load_dataset
module, name, root = sys.argv[1:]
dataset = reduce(getattr, name.split("."), importlib.import_module(module))
print(load_dataset(dataset, root=Path(root) if root else None).fingerprint)
"""


def check_dataset(dataset: type[Dataset], *, root: Path | None = None) -> Prepared:
    """Check that a dataset keeps the promises of its interface; its twin where there are no files.

    Names and texts are there; arrays have the types and values that methods and auditors rely on;
    the four roles are disjoint (images: by pixels) and leave no row out; scaling knows
    encoder-train alone; no column of X is s under another name; a process with other hash
    randomisation finds the same fingerprint.

    Parameters
    ----------
    dataset : type of Dataset
        It must be importable by module and name.
    root : Path, optional
        Data root, as of ``--data-root``.

    Returns
    -------
    Prepared
        The dataset as runs use it.

    Raises
    ------
    CheckError
        Names the promise that is broken.
    DataError
        The files are bad, or there are none and no twin.
    """
    _check_texts(dataset)
    data = load_dataset(dataset, root=root)
    _check_arrays(data)
    instance = dataset()
    found = find_files(dataset, data_root(root))
    table = instance.simulate() if found is None else instance.load(found.folder)
    if isinstance(table, Images):
        _check_images(table)
    elif isinstance(table, Table):
        _check_table(table, dataset, data)
    _check_rows(dataset, data)
    _check_fingerprint(dataset, data, root)
    return data


def _fail(dataset: str, what: str, why: str) -> CheckError:
    return CheckError(f"Dataset {dataset!r}: {what}.", why)


def _check_texts(dataset: type[Dataset]) -> None:
    name = getattr(dataset, "name", "")
    for word in (name, *dataset.aliases):
        if not NAME.fullmatch(word):
            raise _fail(name, f"{word!r} is no name", "Lower-case words joined by hyphens.")
    for text in ("summary", "citation", "licence"):
        if not getattr(dataset, text, ""):
            raise _fail(name, f"it has no {text}", "Readers of a leaderboard look for it.")


def _check_arrays(data: Prepared) -> None:
    name, groups = data.info.name, len(data.info.groups)
    tasks = list(data.roles[Role.TEST].y)
    if not tasks:
        raise _fail(name, "it has no task labels", "A_y needs at least one.")
    for role, rows in data.roles.items():
        x = rows.x
        if x.dtype not in (np.float32, np.uint8) or x.ndim != 2:
            raise _fail(name, f"x of {role} is {x.dtype}, {x.shape}", "float32 or uint8 (n, d).")
        if x.dtype == np.float32 and not np.isfinite(x).all():
            raise _fail(name, f"x of {role} is not finite", "Fill in missing values.")
        if x.shape[1] != len(data.info.features):
            raise _fail(name, f"x of {role} has {x.shape[1]} columns", "One a feature.")
        if rows.s.dtype != np.int64 or len(rows.s) != len(x):
            raise _fail(name, f"s of {role} is {rows.s.dtype}, {rows.s.shape}", "int64 (n,).")
        if not np.array_equal(np.unique(rows.s), np.arange(groups)):
            raise _fail(name, f"s of {role} is not 0 .. {groups - 1}", "Every role, every group.")
        if list(rows.y) != tasks:
            raise _fail(name, f"{role} has the tasks {list(rows.y)}", f"The others have {tasks}.")
        for task, labels in rows.y.items():
            if labels.dtype != np.int64 or len(labels) != len(x) or labels.min() < 0:
                raise _fail(name, f"y[{task!r}] of {role} is no code", "int64 (n,), 0, 1, ...")


def _check_images(images: Images) -> None:
    seen: Counter[bytes] = Counter()
    for role in Role:
        seen.update({row.tobytes() for row in np.unique(images.pixels[role], axis=0)})
    if max(seen.values()) > 1:
        raise CheckError(
            "An image stands in two roles.",
            "Split the distinct images first, then draw: an auditor must not know its test rows.",
        )


def _check_table(table: Table, dataset: type[Dataset], data: Prepared) -> None:
    roles = assign_roles(table)
    rows = np.concatenate(list(roles.values()))
    if len(np.unique(rows)) != len(rows) or len(rows) != len(table.s):
        raise _fail(dataset.name, "its roles overlap or leave rows out", "Every row, one role.")
    again = prepare(table, dataset, source=data.source, origin=data.origin)
    if again.fingerprint != data.fingerprint:
        raise _fail(
            dataset.name,
            "loaded twice it has another fingerprint",
            "Seed what is drawn; nothing may depend on time.",
        )
    check_copies(table.x, table.s, (), dataset.name)
    # Numbers of all rows but encoder-train's are moved: what encoder-train looks like must not.
    x = table.x.copy()
    others = np.setdiff1d(np.arange(len(x)), roles[Role.ENCODER_TRAIN])
    for name in x.columns:
        if x[name].dtype.kind in "iuf":
            moved = x[name].to_numpy(np.float64, copy=True)
            moved[others] = 3 * moved[others] + 1_000
            x[name] = moved
    changed = prepare(replace(table, x=x), dataset, source=data.source, origin=data.origin)
    before, after = (d.roles[Role.ENCODER_TRAIN].x for d in (data, changed))
    if not np.array_equal(before, after):
        raise _fail(dataset.name, "its scaling depends on other roles", "Only on encoder-train.")


def _check_rows(dataset: type[Dataset], data: Prepared) -> None:
    count = sum(len(rows.s) for rows in data.roles.values())
    if dataset.rows is not None and data.source != "simulated" and count != dataset.rows:
        raise _fail(dataset.name, f"it has {count:,} rows", f"It says {dataset.rows:,}.")


def _check_fingerprint(dataset: type[Dataset], data: Prepared, root: Path | None) -> None:
    words = [sys.executable, "-c", _FINGERPRINT, dataset.__module__, dataset.__qualname__]
    found = subprocess.run(
        [*words, str(root or "")],
        env=os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        last = (found.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise _fail(dataset.name, "another process cannot load it", last)
    if found.stdout.strip() != data.fingerprint:
        raise _fail(
            dataset.name,
            "another process finds another fingerprint",
            "Nothing may depend on the order of a set or of hashes.",
        )
