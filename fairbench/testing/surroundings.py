"""The state that a plugin shares with everything else in its process, and must not change."""

from __future__ import annotations

import functools
import os
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fairbench.api.dataset import Dataset
from fairbench.testing.check_results import BrokenPromise

_REMEDY = {
    "the working directory": "Never call os.chdir; build paths from Path(__file__).",
    "the environment": "Do not write into os.environ.",
    "Python's global random state": "Draw from numpy.random.default_rng(seed) instead.",
    "NumPy's global random state": "Draw from numpy.random.default_rng(seed) instead.",
    "torch's global random state": "Draw from a torch.Generator of your own, seeded by the unit.",
    "torch's default dtype": "Give the dtype where a tensor is made.",
    "NumPy's handling of errors": "Use 'with numpy.errstate(...)' instead of numpy.seterr.",
}

_ODD = 20_211_121


def surroundings() -> dict[str, Any]:
    """Return the state of the process by name; torch's only where it is loaded."""
    # The legacy generator, which careless code uses; the suite does not.
    state: Any = np.random.get_state()  # noqa: NPY002
    state_by_name = {
        "the working directory": os.getcwd(),
        "the environment": dict(os.environ),
        "Python's global random state": random.getstate(),
        "NumPy's global random state": (state[1].tobytes(), *state[2:]),
        "NumPy's handling of errors": np.geterr(),
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        state_by_name["torch's global random state"] = torch.get_rng_state().numpy().tobytes()
        state_by_name["torch's default dtype"] = torch.get_default_dtype()
    return state_by_name


@contextmanager
def restored() -> Iterator[None]:
    """Restore all that :func:`surroundings` has afterwards.

    So one plugin's harm does not reach the next check, and a repeated one is seen again. Global
    random states start at random: code that draws from them differs from call to call.
    """
    folder, environment, python = os.getcwd(), dict(os.environ), random.getstate()
    legacy = np.random.get_state()  # noqa: NPY002
    torch = sys.modules.get("torch")
    errors = np.geterr()
    drawn, dtype = (torch.get_rng_state(), torch.get_default_dtype()) if torch else (None, None)
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
        np.seterr(**errors)
        if torch is not None:
            torch.set_rng_state(drawn)
        # The plugin may be what loads torch.
        if (loaded := sys.modules.get("torch")) is not None:
            loaded.set_default_dtype(dtype or loaded.float32)


def check_unharmed(act: Callable[[], object], doing: str) -> None:
    """Raise BrokenPromise if ``act`` changes the process's surroundings."""
    with restored():
        # An odd seed: a plugin that sets a usual one is noticed.
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
    """Data that was read while it was watched."""

    folders: tuple[Path, ...]  # folders whose files are watched
    seen: list[str] = field(default_factory=list)  # files and datasets that were read


_watching: list[Reads] = []


@functools.cache
def _install_hook() -> None:
    """Install one audit hook for all, idle unless watching: Python cannot remove them."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or not _watching or not isinstance(arguments[0], str | bytes):
            return
        path = Path(os.path.abspath(os.fsdecode(arguments[0])))
        for reads in _watching:
            if any(path.is_relative_to(folder) for folder in reads.folders):
                reads.seen.append(f"the file {path.name}")

    sys.addaudithook(hook)


@contextmanager
def watched_data(folders: Iterable[Path]) -> Iterator[Reads]:
    """Record which files below some folders are opened, and which datasets are loaded."""
    _install_hook()
    reads = Reads(tuple(Path(os.path.abspath(folder)) for folder in folders))

    def spied(original: Any) -> Any:
        @functools.wraps(original)
        def loads(self: Dataset, *words: Any, **named: Any) -> Any:
            reads.seen.append(f"the dataset {self.name!r}")
            return original(self, *words, **named)

        return loads

    replaced: list[tuple[type, str, Any]] = [
        (cls, name, vars(cls)[name])
        for cls in subclasses(Dataset)
        for name in {"load", "simulate"} & set(vars(cls))
    ]
    for cls, name, original in replaced:
        setattr(cls, name, spied(original))
    _watching.append(reads)
    try:
        yield reads
    finally:
        _watching.remove(reads)
        for cls, name, original in replaced:
            setattr(cls, name, original)


def subclasses(base: type) -> list[Any]:
    """Return all classes below one, at any depth."""
    below: list[Any] = base.__subclasses__()
    return list(dict.fromkeys([*below, *(deep for cls in below for deep in subclasses(cls))]))
