"""Files that a restored encoder or decoder must not open: they could hold what it may not know.

A plugin that took s from the memory of the process that called it, or remembered the rows that it
encoded, could put that into a file, and read it where the encoder is restored. What is older than
the verification is left out, as the plugin's own source is.
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
from pathlib import Path
from typing import Any

from fairbench.runs.plugin_values import ContractError

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_SYSTEM = ("/proc/", "/sys/")
"""Folders that hold no files of a plugin, but for the memory of processes, and for settings."""
_SHARED_MEMORY = "_posixshmem.shm_open"
"""The event of opening shared memory: Python has none of its own."""
_NEW_PROCESS = "_posixsubprocess.fork_exec"
"""The event of starting a process as :mod:`multiprocessing` does: Python has none of its own."""
_OTHER_EVENTS = {
    event: what
    for what, events in {
        "changes a folder": "os.link os.mkdir os.remove os.rename os.rmdir os.symlink",
        "changes a file": "os.chmod os.chown os.removexattr os.setxattr os.truncate os.utime",
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


@contextmanager
def no_new_files(since: float, name: str, *, but: Path) -> Iterator[None]:
    """Raise ContractError at the end if a file was written, or one read that was changed since.

    For the rest of the process, as Python removes no audit hook: use it in a process of its own.
    What does not open files by Python's own functions is not seen.
    Modules are read from their sources from now on: compiled ones may have been changed since.

    Parameters
    ----------
    since : float
        When the verification began, seconds since 1970.
    name : str
        The method's, for the error.
    but : Path
        The file of its encoder.
    """
    found: list[str] = []
    allowed = os.path.realpath(but)
    sys.dont_write_bytecode = True
    sys.pycache_prefix = os.path.join(os.sep, uuid.uuid4().hex)  # which is not there

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _OTHER_EVENTS:
            found.append(f"{_OTHER_EVENTS[event]} ({event})")
        if event != "open" or isinstance(arguments[0], int):
            return
        # Through links, as /proc/self/root is one.
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if path != allowed and (what := _refused(path, arguments[2], since)):
            found.append(what)

    sys.addaudithook(hook)
    _report(_SHARED_MEMORY)
    _report(_NEW_PROCESS)
    yield
    if found:
        raise ContractError(f"{name} {found[0]}. All that encode and decode need is in state().")


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
