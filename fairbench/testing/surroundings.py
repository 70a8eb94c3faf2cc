"""What a plugin shares with everything else in its process, and must leave as it was."""

from __future__ import annotations

import functools
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fairbench.api.dataset import Dataset
from fairbench.testing.verdicts import BrokenPromise

_REMEDY = {
    "the working directory": "Never call os.chdir; build paths from Path(__file__).",
    "the environment": "Do not write into os.environ.",
    "Python's global random state": "Draw from numpy.random.default_rng(seed) instead.",
    "NumPy's global random state": "Draw from numpy.random.default_rng(seed) instead.",
    "torch's global random state": "Draw from a torch.Generator of your own, seeded by the unit.",
    "torch's default dtype": "Say the dtype where a tensor is made.",
    "NumPy's handling of errors": "Use 'with numpy.errstate(...)' instead of numpy.seterr.",
}

_ODD = 20_211_121


def surroundings() -> dict[str, Any]:
    """State of the process by name; torch's only where it is loaded."""
    # The legacy generator is what careless code draws from; nothing of the suite does.
    state: Any = np.random.get_state()  # noqa: NPY002
    found = {
        "the working directory": os.getcwd(),
        "the environment": dict(os.environ),
        "Python's global random state": random.getstate(),
        "NumPy's global random state": (state[1].tobytes(), *state[2:]),
        "NumPy's handling of errors": np.geterr(),
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch's global random state"] = torch.get_rng_state().numpy().tobytes()
        found["torch's default dtype"] = torch.get_default_dtype()
    return found


@contextmanager
def restored() -> Iterator[None]:
    """Put folder, environment and random states back afterwards.

    So one plugin's harm does not reach the next, and what it does again is seen again. Global
    random states start anywhere: who draws from them gets something else each time.
    """
    folder, environment, python = os.getcwd(), dict(os.environ), random.getstate()
    legacy = np.random.get_state()  # noqa: NPY002
    torch = sys.modules.get("torch")
    drawn = torch.get_rng_state() if torch is not None else None
    random.seed()
    np.random.seed()  # noqa: NPY002
    if torch is not None:
        torch.seed()
    try:
        yield
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002
        if torch is not None:
            torch.set_rng_state(drawn)


def check_unharmed(act: Callable[[], object], doing: str) -> None:
    """BrokenPromise if ``act`` leaves the process's surroundings changed."""
    with restored():
        # Where random states are the ones that a plugin sets, its setting them would go unseen.
        random.seed(_ODD)
        np.random.seed(_ODD)  # noqa: NPY002
        before = surroundings()
        act()
        after = surroundings()
    for name, value in before.items():
        if after[name] != value:
            raise BrokenPromise(f"{doing} changes {name}.", _REMEDY[name])


@dataclass
class Reads:
    """Data that was read while somebody watched.

    Parameters
    ----------
    folders : tuple of Path
        Whose files are watched.
    seen : list of str
        What was read.
    """

    folders: tuple[Path, ...]
    seen: list[str] = field(default_factory=list)


_watching: list[Reads] = []


@functools.cache
def _install_hook() -> None:
    """Python's audit hooks cannot be taken off again: one for all, idle unless somebody watches."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or not _watching or not isinstance(arguments[0], str | bytes):
            return
        path = Path(os.path.abspath(os.fsdecode(arguments[0])))
        for reads in _watching:
            if any(path.is_relative_to(folder) for folder in reads.folders):
                reads.seen.append(f"the file {path.name}")

    sys.addaudithook(hook)


@contextmanager
def watched_data(folders: tuple[Path, ...]) -> Iterator[Reads]:
    """Record which files below some folders are opened, and which datasets are loaded."""
    _install_hook()
    reads = Reads(tuple(Path(os.path.abspath(folder)) for folder in folders))
    replaced: list[tuple[type, str, Any]] = []

    def spied(cls: type, name: str) -> None:
        original = vars(cls)[name]

        @functools.wraps(original)
        def loads(self: Dataset, *words: Any, **named: Any) -> Any:
            reads.seen.append(f"the dataset {self.name!r}")
            return original(self, *words, **named)

        replaced.append((cls, name, original))
        setattr(cls, name, loads)

    for cls in _subclasses(Dataset):
        for name in {"load", "simulate"} & set(vars(cls)):
            spied(cls, name)
    _watching.append(reads)
    try:
        yield reads
    finally:
        _watching.remove(reads)
        for cls, name, original in replaced:
            setattr(cls, name, original)


def _subclasses(base: type) -> list[type]:
    below: list[type] = base.__subclasses__()
    return list(dict.fromkeys([*below, *(deep for cls in below for deep in _subclasses(cls))]))
