"""Files that a plugin must not open where it is verified: they could hold what it may not know.

A plugin that took s from the memory of the process that called it, or remembered the rows that it
encoded, could put that into a file, and read it where it is trained again, or its encoder is
restored. What is older than the verification is left out, as the plugin's own source is; but not
the data.
"""

from __future__ import annotations

import importlib
import os
import re
import stat
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairbench.api.dataset import Dataset
from fairbench.runs.data_files import DataFiles, file_number
from fairbench.runs.library_calls import (
    deletes_a_folder,
    folders_of_the_compiler,
    starts_a_compiler,
    uses_what_was_compiled,
)
from fairbench.runs.plugin_values import ContractError

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_SYSTEM = ("/proc/", "/sys/")
"""Folders that hold no files of a plugin, but for the memory of processes, and for settings."""
_SHARED_MEMORY = "_posixshmem.shm_open"
"""The event of opening shared memory: Python has none of its own."""
_NEW_PROCESS = "_posixsubprocess.fork_exec"
"""The event of starting a process as :mod:`multiprocessing` does: Python has none of its own."""


def _events(names: str) -> frozenset[str]:
    return frozenset(names.split())


_LINKS = _events("os.link os.mkdir os.remove os.rename os.rmdir os.symlink")
_CHANGES = _LINKS | _events("os.chmod os.chown os.removexattr os.setxattr os.truncate os.utime")
"""What leaves something behind, by the names of Python's events."""
_ATTRIBUTES = _events("os.getxattr os.listxattr")
_LOCKS = _events("fcntl.fcntl fcntl.flock fcntl.lockf")
_PROGRAMS = _events(
    f"{_NEW_PROCESS} _winapi.CreateProcess os.exec os.fork os.forkpty os.posix_spawn os.spawn "
    "os.startfile os.system pty.spawn subprocess.Popen cpython.PyInterpreterState_New"
)
_OTHER_EVENTS = {
    event: what
    for what, events in {
        "changes a folder": _LINKS,
        "changes a file": _CHANGES - _LINKS,
        "reads the attributes of a file": _ATTRIBUTES,
        "asks for a lock, or for flags": _LOCKS,
        "opens shared memory": {_SHARED_MEMORY},
        "starts a program": _PROGRAMS,
        "opens a database": {"sqlite3.connect"},
        "speaks to another process": _events(
            "socket.__new__ socket.bind socket.connect socket.sendmsg socket.sendto"
        ),
        "asks a network for a name": _events(
            "socket.getaddrinfo socket.gethostbyaddr socket.gethostbyname socket.getnameinfo"
        ),
    }.items()
    for event in events
}
"""What else than a file may hold or tell what it may not know, by the name of Python's event."""
_OF_A_PROCESS = re.compile(r"/proc/(\d+)/(?!net/)")
_A_PIPE = re.compile(r"/fd/\w+:")
"""What a process has open without a name, such as the other end of a pipe."""
_SAYS_OF_OTHERS = re.compile(r"/proc/(\d+/net/|locks)")
"""What the system says of the sockets and locks of all processes."""
_MEMORY_DEVICES = 1
"""Number of the devices that hold nothing, as /dev/null and /dev/urandom."""


@dataclass(frozen=True)
class FileRules:
    """What the code of a plugin may not open.

    Parameters
    ----------
    since : float
        When the verification began, seconds since 1970: no file that was changed since.
    data : DataFiles
        None of these either.
    but : Path or None
        A file that may be read all the same: that of the encoder.
    trains : bool
        Whether it trains: it may write files then, and read what it has written. PyTorch's compiler
        may start programs, and read what other trainings have compiled.
    """

    since: float
    data: DataFiles
    but: Path | None = None
    trains: bool = False


@contextmanager
def no_new_files(rules: FileRules, name: str) -> Iterator[None]:
    """Raise ContractError, which calls the method ``name``, where a rule is broken, and at the end.

    For the rest of the process, as Python removes no audit hook: use it in a process of its own.
    What does not open files by Python's own functions is not seen.
    Modules are read from their sources from now on: compiled ones may have been changed since.
    """
    watch = _Watch(rules, name, folders_of_the_compiler())
    sys.dont_write_bytecode = True
    sys.pycache_prefix = os.path.join(os.sep, uuid.uuid4().hex)  # which is not there
    sys.addaudithook(watch)
    _report(_SHARED_MEMORY)
    _report(_NEW_PROCESS)
    if rules.trains:
        _report_writes_of_torch()
    Dataset.__new__ = watch.refuse_dataset  # type: ignore[method-assign]
    yield
    watch.check()


@dataclass
class _Watch:
    """An audit hook that refuses what a process opens against the rules.

    ``_written`` are names of files that are its own, each with the number of the file where that is
    known; ``_made`` those of folders.
    """

    rules: FileRules
    name: str
    compiled: tuple[str, ...]
    found: str | None = None
    _written: dict[str, tuple[int, int] | None] = field(default_factory=dict)
    _made: set[str] = field(default_factory=set)

    def check(self) -> None:
        """Raise ContractError if a rule was broken: the plugin may have caught it."""
        if self.found is not None:
            need = "fit needs is given to it" if self.rules.trains else _IN_STATE
            raise ContractError(f"{self.name} {self.found}. All that {need}.")

    def refuse_dataset(self, *arguments: Any, **named: Any) -> Any:
        """Stand in for what makes an object of a dataset: some have no files."""
        self.found = self.found or "loads a dataset"
        self.check()

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            what = None if isinstance(arguments[0], int) else self._opened(*arguments)
        elif event not in _OTHER_EVENTS or (self.rules.trains and self._may(event, arguments)):
            return
        else:
            what = f"{_OTHER_EVENTS[event]} ({event})"
        if what is not None:
            self.found = self.found or what
            self.check()

    def _may(self, event: str, arguments: tuple[Any, ...]) -> bool:
        """Whether a training may do what is no opening of a file."""
        if event in _PROGRAMS:
            return starts_a_compiler()
        if event in _ATTRIBUTES:
            of = arguments[0]
            return not isinstance(of, int) and self._opened(of, None, os.O_RDONLY) is None
        if event in ("os.rename", "os.link", "os.symlink"):
            self._renamed(event, *map(_place, arguments[:2]))
        elif event == "os.mkdir" and _is_absent(arguments[0]):
            self._made.add(_place(arguments[0]))
        return event in _CHANGES or (event == "fcntl.flock" and uses_what_was_compiled())

    def _renamed(self, event: str, source: str, target: str) -> None:
        """Note which names are those of its own files from now on."""
        own = event == "os.rename" and self._is_own(source)
        gone = {
            name
            for name in (*self._written, *self._made)
            if name == target or name.startswith(target + os.sep)
        }
        self._made -= gone
        self._written = {name: of for name, of in self._written.items() if name not in gone}
        if own:
            # By its number: it need not succeed.
            self._written[target] = file_number(source)

    def _is_own(self, path: str) -> bool:
        number = self._written.get(path)
        return path in self._written and (number is None or number == file_number(path))

    def _opened(self, name: Any, mode: Any, flags: int) -> str | None:
        """Say what is wrong with opening a file; None: nothing."""
        rules, path = self.rules, _real(name)
        if rules.but is not None and path == _real(rules.but):
            return None
        if rules.data.includes(path):
            return f"reads the data, {path}"
        if self._is_own(path):
            return None
        what = _refused(path, flags, rules.since)
        # What another process has open need not have a name.
        opened = _place(name)
        if what is None and opened.startswith(_SYSTEM):
            what = _refused(opened, flags, rules.since)
        if what is None or not rules.trains or f"{path}/".startswith(_SYSTEM):
            return what
        if os.path.isdir(path):
            # Opened to write, it is that of a file without a name.
            may = bool(flags & (os.O_WRONLY | os.O_RDWR)) or (
                path in self._made and deletes_a_folder()
            )
            return None if may else what
        return None if self._may_write(path, flags) or self._uses_compiled(path) else what

    def _may_write(self, path: str, flags: int) -> bool:
        """Whether a training may open a file to write: it cannot read what stood there before."""
        if not flags & _WRITES:
            return False
        if _is_absent(path):
            self._written[path] = None
        elif not os.path.isfile(path):
            return False
        elif flags & os.O_TRUNC and not flags & os.O_EXCL:
            os.truncate(path, 0)  # here: anybody can say by sys.audit that it will be
            self._written[path] = file_number(path)
        else:
            return not flags & os.O_RDWR
        return True

    def _uses_compiled(self, path: str) -> bool:
        return path.startswith(self.compiled) and uses_what_was_compiled()


_IN_STATE = "encode and decode need is in state()"


def _report(event: str) -> None:
    """Let the call of a function of a module be an event; without the module there is no call."""
    module, name = event.split(".")
    try:
        found = importlib.import_module(module)
    except ImportError:  # as on Windows
        return
    call = getattr(found, name)

    def reported(*arguments: Any, **keywords: Any) -> Any:
        sys.audit(event)
        return call(*arguments, **keywords)

    setattr(found, name, reported)


def _report_writes_of_torch() -> None:
    """Let a file that torch.save writes be an event, as it is of those that Python opens."""
    import torch

    writer = torch._C.PyTorchFileWriter

    def reported(name: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(name, str | os.PathLike):
            sys.audit("open", os.fspath(name), "w", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        return writer(name, *arguments, **named)

    torch._C.PyTorchFileWriter = reported  # type: ignore[misc, assignment]


def _real(path: Any) -> str:
    """Return a path without links, as /proc/self/root is one."""
    return os.path.realpath(os.fsdecode(path))


def _place(path: Any) -> str:
    """Return a path whose last part may be a link: the place of its name."""
    folder, name = os.path.split(os.path.abspath(os.fsdecode(path)))
    return os.path.join(os.path.realpath(folder), name)


def _is_absent(path: Any) -> bool:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False  # as of a folder that may not be searched
    return False


def _refused(path: str, flags: int, since: float) -> str | None:
    """Say what is wrong with opening a file; None: nothing."""
    if path.startswith(_SYSTEM):
        if _SAYS_OF_OTHERS.match(path):
            return f"reads {path}"
        if os.path.isdir(path):
            return f"opens the folder {path}"  # as below
        other = _OF_A_PROCESS.match(path)
        if other and _A_PIPE.search(path) and not flags & os.O_WRONLY:
            return f"reads {path}, which is no file"
        if other:
            return f"reads {path}" if int(other[1]) != os.getpid() else None
        return f"writes {path}" if flags & _WRITES else None
    try:
        status = os.stat(path)
    except OSError:
        return f"writes {path}" if flags & _WRITES else None
    if stat.S_ISCHR(status.st_mode) and os.major(status.st_rdev) == _MEMORY_DEVICES:
        return None
    if flags & _WRITES:
        return f"writes {path}"
    if stat.S_ISDIR(status.st_mode):
        return f"opens the folder {path}"  # by which files in it could be opened unseen
    if not stat.S_ISREG(status.st_mode):
        return f"opens {path}, which is no file"  # a pipe, or a disk with all its files
    # The time of the last change: that of the last write can be set to any other.
    if status.st_ctime >= since:
        return f"reads {path}, which was changed since the verification began"
    return None
