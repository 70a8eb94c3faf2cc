"""Processes in which a verification has a plugin train, encode or decode.

A plugin's code that is called in the process that verifies could take from its memory what it may
not know. Here it has what it is given, its own source, and the libraries.
"""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from multiprocessing import get_start_method, resource_tracker
from pathlib import Path
from typing import Any, TypeVar, cast

from fairbench.runs.data_files import DataFiles
from fairbench.runs.opened_files import FileRules, no_new_files
from fairbench.runs.own_processes import Inherited, OwnProcesses, dump
from fairbench.training.threads import use_one_thread

Answer = TypeVar("Answer")

_LIBRARIES = (
    *("sklearn.ensemble", "pandas", "torch", "joblib", "threadpoolctl", "psutil"),
    *("fairbench.runs.isolated_encoding", "fairbench.runs.isolated_training"),
)
_LIKE_HERE = (
    *("torch._dynamo", "torch._inductor.compile_fx"),
    "urllib3.util.connection",  # it opens a socket when it is loaded, to see whether it can
)
"""Libraries that are loaded beforehand, the latter ones if the process that calls has them: from
their sources alone it would take long."""


def isolated_processes() -> OwnProcesses:
    """Return processes that inherit what there is now: call it before a plugin is imported."""
    return OwnProcesses(Inherited.now(), _LIBRARIES, _LIKE_HERE)


@dataclass(frozen=True)
class Isolation:
    """What the processes of a verification may have of what lies about.

    Parameters
    ----------
    since : float
        When the verification began, seconds since 1970: files must not be newer.
    data : DataFiles
        Files that hold the data: none of them is read.
    processes : OwnProcesses
        They inherit what there was before the plugin was imported.
    method : str
    params : mapping of str
        The name of the method and its hyperparameters, as the submission has them: an object of a
        class of the plugin could hold more.
    """

    since: float
    data: DataFiles
    processes: OwnProcesses
    method: str
    params: Mapping[str, Any]

    def rules(self, *, but: Path | None = None, trains: bool = False) -> FileRules:
        """Return what may be opened; the arguments are those of the rules."""
        return FileRules(self.since, self.data, but, trains)

    def call(
        self,
        rules: FileRules,
        call: Callable[[], Answer],
        told: Callable[[Any], None] = lambda value: None,
    ) -> Answer:
        """Make a call in a process of its own; ``told`` gets what it tells.

        Raises what the call raises, and ContractError where it broke a rule.
        """
        # As bytes: the plugin's module is imported where it is seen what that opens.
        content = BytesIO()
        dump(call, content)
        alone = partial(_call_alone, content.getvalue(), rules, self.method)
        return cast(Answer, pickle.loads(self.processes.call(alone, told)))


def _call_alone(content: bytes, rules: FileRules, name: str) -> bytes:
    """Make a call that is pickled, in a process that has opened no file of a plugin yet."""
    # Trees of scikit-learn ask it, and it asks a program, once: plugins may start none.
    importlib.import_module("joblib").cpu_count(only_physical_cores=True)
    use_one_thread()
    if get_start_method() != "fork":
        resource_tracker.ensure_running()  # for locks of threads, as of tqdm
    with no_new_files(rules, name):
        # As bytes again: what pickle asks of an answer is seen too.
        return pickle.dumps(pickle.loads(content)())
