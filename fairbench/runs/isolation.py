"""Processes in which a verification has a plugin train, encode or decode.

A plugin's code that is called in the process that verifies could take from its memory what it may
not know. Here it has what it is given, its own source, and the libraries.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from fairbench.runs.opened_files import FileRules, no_new_files
from fairbench.runs.own_process import call_in_own_process
from fairbench.training.device import VISIBLE
from fairbench.training.threads import use_one_thread

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

_LARGE = ("sklearn.ensemble", "pandas", "torch")
"""Libraries that are loaded beforehand: from their sources alone it would take long."""


@dataclass(frozen=True)
class Inherited:
    """What a process hands to one that it starts, beside what it gives it.

    Code of a plugin that found something in memory could write it there.
    """

    environment: Mapping[str, str]
    folder: str
    arguments: Sequence[str]
    path: Sequence[str]
    options: Sequence[str]  # of warnings

    @classmethod
    def now(cls) -> Inherited:
        """Return what this process hands on now."""
        arguments, path, options = tuple(sys.argv), tuple(sys.path), tuple(sys.warnoptions)
        return cls(dict(os.environ), os.getcwd(), arguments, path, options)

    @contextmanager
    def handed_on(self) -> Iterator[None]:
        """Let this process hand that on meanwhile; but the GPU is that of its job."""
        before = Inherited.now()
        gpu = {name: os.environ[name] for name in (VISIBLE,) if name in os.environ}
        self._set()
        os.environ.update(gpu)
        try:
            yield
        finally:
            before._set()

    def _set(self) -> None:
        os.environ.clear()
        if sys.platform == "linux":
            ctypes.CDLL(None).clearenv()  # os.putenv sets what os.environ does not show
        os.environ.update(self.environment)
        os.chdir(self.folder)
        sys.argv[:], sys.path[:], sys.warnoptions[:] = self.arguments, self.path, self.options


@dataclass(frozen=True)
class Isolation:
    """What the processes of a verification may have of what lies about.

    Parameters
    ----------
    since : float
        When the verification began, seconds since 1970: files must not be newer.
    data : tuple of Path
        Files that hold the data, and folders of such files: none of them is read.
    inherited : Inherited
        What processes hand on, as it was before the data were in memory.
    """

    since: float
    data: tuple[Path, ...]
    inherited: Inherited

    def rules(self, *, but: Path | None = None, trains: bool = False) -> FileRules:
        """Return what may be opened; the arguments are those of the rules."""
        return FileRules(self.since, tuple(map(os.path.realpath, self.data)), but, trains)

    def call(
        self,
        name: str,
        rules: FileRules,
        function: Callable[Given, Answer],
        *arguments: Given.args,
        **named: Given.kwargs,
    ) -> Answer:
        """Call a function in a process of its own; ``name`` is that of the method, for errors.

        Raises what that raises, and ContractError where it broke a rule.
        """
        # As bytes: the plugin's module is imported where it is seen what that opens.
        content = pickle.dumps((function, arguments, named))
        loaded = [library for library in _LARGE if library in sys.modules]
        with self.inherited.handed_on():
            return cast(Answer, call_in_own_process(_call_alone, content, rules, name, loaded))


def _call_alone(content: bytes, rules: FileRules, name: str, loaded: Sequence[str]) -> Any:
    """Call what is pickled, in a process that has opened no file of a plugin yet."""
    for library in loaded:
        importlib.import_module(library)
    # Trees of scikit-learn ask it, and it asks a program, once: plugins may start none.
    importlib.import_module("joblib").cpu_count(only_physical_cores=True)
    use_one_thread()
    with no_new_files(rules, name):
        function, arguments, named = pickle.loads(content)
        return function(*arguments, **named)
