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
import shutil
import stat
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

from fairbench.runs.plugin_values import ContractError
from fairbench.training import compiler

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_SYSTEM = ("/proc/", "/sys/")
"""Folders that hold no files of a plugin, but for the memory of processes, and for settings."""
_SHARED_MEMORY = "_posixshmem.shm_open"
"""The event of opening shared memory: Python has none of its own."""
_NEW_PROCESS = "_posixsubprocess.fork_exec"
"""The event of starting a process as :mod:`multiprocessing` does: Python has none of its own."""
_CHANGES = {
    event: what
    for what, events in {
        "changes a folder": "os.link os.mkdir os.remove os.rename os.rmdir os.symlink",
        "changes a file": "os.chmod os.chown os.removexattr os.setxattr os.truncate os.utime",
    }.items()
    for event in events.split()
}
"""What leaves something behind, by the name of Python's event."""
_OTHER_EVENTS = _CHANGES | {
    event: what
    for what, events in {
        "reads the attributes of a file": "os.getxattr os.listxattr",
        "opens shared memory": _SHARED_MEMORY,
        "starts a program": (
            f"{_NEW_PROCESS} _winapi.CreateProcess os.exec os.fork os.forkpty os.posix_spawn "
            "os.spawn os.startfile os.system pty.spawn subprocess.Popen"
        ),
        "opens a database": "sqlite3.connect",
        "speaks to another process": "socket.bind socket.connect socket.sendmsg socket.sendto",
        "asks a network for a name": (
            "socket.getaddrinfo socket.gethostbyaddr socket.gethostbyname socket.getnameinfo"
        ),
    }.items()
    for event in events.split()
}
"""What else than a file may hold or tell what it may not know, by the name of Python's event."""
_OF_A_PROCESS = re.compile(r"/proc/(\d+)/")
_TORCH = find_spec("torch")
_COMPILERS = (
    compiler.__file__,
    os.path.join(os.path.dirname(str(_TORCH and _TORCH.origin)), "_inductor", ""),
)
"""Where the source of PyTorch's compiler is, and what calls it here."""


@dataclass(frozen=True)
class FileRules:
    """What the code of a plugin may not open.

    Parameters
    ----------
    since : float
        When the verification began, seconds since 1970: no file that was changed since.
    data : tuple of str
        Real paths of files that hold the data, and of folders that hold such files.
    but : Path or None
        A file that may be read all the same: that of the encoder.
    trains : bool
        Whether it trains: it may write files then, and read what it has written. So may PyTorch's
        compiler, which starts programs too.
    """

    since: float
    data: tuple[str, ...] = ()
    but: Path | None = None
    trains: bool = False


@contextmanager
def no_new_files(rules: FileRules, name: str) -> Iterator[None]:
    """Raise ContractError, which calls the method ``name``, at the end if a rule was broken.

    For the rest of the process, as Python removes no audit hook: use it in a process of its own.
    What does not open files by Python's own functions is not seen.
    Modules are read from their sources from now on: compiled ones may have been changed since.
    """
    watch = _Watch(rules)
    sys.dont_write_bytecode = True
    sys.pycache_prefix = os.path.join(os.sep, uuid.uuid4().hex)  # which is not there
    sys.addaudithook(watch)
    _report(_SHARED_MEMORY)
    _report(_NEW_PROCESS)
    yield
    if watch.found:
        needs = (
            "fit needs is given to it" if rules.trains else "encode and decode need is in state()"
        )
        raise ContractError(f"{name} {watch.found[0]}. All that {needs}.")


@dataclass
class _Watch:
    """An audit hook that notes what a process opens against the rules."""

    rules: FileRules
    found: list[str] = field(default_factory=list)
    _written: set[str] = field(default_factory=set)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            if isinstance(arguments[0], int):
                return
            what = self._opened(_real(arguments[0]), arguments[2])
        elif event not in _OTHER_EVENTS:
            return
        elif self.rules.trains and event in _CHANGES:
            # A file that it wrote stays its own under another name.
            if event == "os.rename" and _real(arguments[0]) in self._written:
                self._written.add(_real(arguments[1]))
            return
        else:
            what = f"{_OTHER_EVENTS[event]} ({event})"
        caller = sys._getframe(1)
        if what is not None and not (self.rules.trains and _is_of_a_library(caller)):
            self.found.append(what)

    def _opened(self, path: str, flags: int) -> str | None:
        """Say what is wrong with opening a file; None: nothing."""
        rules = self.rules
        if path in self._written or (rules.but is not None and path == _real(rules.but)):
            return None
        if any(path == data or path.startswith(data + os.sep) for data in rules.data):
            return f"reads the data, {path}"
        what = _refused(path, flags, rules.since)
        # One that is there is not its own before it is emptied.
        new = bool(flags & os.O_TRUNC) or not os.path.exists(path)
        if rules.trains and flags & _WRITES and new and not path.startswith(_SYSTEM):
            self._written.add(path)
            return None
        return what


def _real(path: Any) -> str:
    """Return a path without links, as /proc/self/root is one."""
    return os.path.realpath(os.fsdecode(path))


def _is_of_a_library(caller: FrameType) -> bool:
    """Whether something happens for PyTorch's compiler, or to delete a folder with its files.

    The compiler writes code, and starts programs.
    """
    if caller.f_code.co_filename == shutil.__file__ and "rmtree" in caller.f_code.co_name:
        return True
    frame: FrameType | None = caller
    while frame is not None:
        if frame.f_code.co_filename.startswith(_COMPILERS):
            return True
        frame = frame.f_back
    return False


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


def _refused(path: str, flags: int, since: float) -> str | None:
    """Say what is wrong with opening a file; None: nothing."""
    if path.startswith(_SYSTEM):
        other = _OF_A_PROCESS.match(path)
        if other:
            return f"reads {path}" if int(other[1]) != os.getpid() else None
        return f"writes {path}" if flags & _WRITES else None
    try:
        status = os.stat(path)
    except OSError:
        return f"writes {path}" if flags & _WRITES else None
    if stat.S_ISCHR(status.st_mode):
        return None  # as /dev/null and a terminal are
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
