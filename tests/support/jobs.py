"""Jobs that do what their name says: fail, crash, hang, print, spoil what is not theirs."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any


def ray_worker() -> int:
    """Of a job under Ray its worker, behind the job's guardian and the fork server."""
    pid = os.getpid()
    for _ in range(3):
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return pid


def first_time(path: str) -> bool:
    """Whether nobody asked before; ``path`` is a file that remembers."""
    seen = Path(path).exists()
    Path(path).touch()
    return not seen


def import_it() -> Any:
    raise AttributeError("Can't get attribute 'Late' on <module 'plugin'>")


class Unimportable:
    """Its process cannot make it of what it is sent."""

    id, title, estimate = "unimportable", "unimportable", 1.0

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return import_it, ()


@dataclass(frozen=True)
class Work:
    """A job that does what its name says."""

    what: str
    id: str = "job"
    title: str = "job"
    estimate: float = 1.0

    def run(self, progress: Any) -> Any:
        progress(0.5, "half")
        if self.what == "pid":
            return os.getpid()
        if self.what == "raise":
            raise ValueError("no luck")
        if self.what == "interrupt":
            raise KeyboardInterrupt
        if self.what == "memory":
            raise MemoryError("no more")
        if self.what == "exit":
            os._exit(3)
        if self.what == "system-exit":
            raise SystemExit(0)
        if self.what == "segfault":
            ctypes.string_at(0)
        if self.what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.what == "real-time-signal":
            os.kill(os.getpid(), signal.SIGRTMIN + 6)
        if self.what == "sleep":
            time.sleep(600)
        if self.what == "hold-the-gil":
            ctypes.PyDLL(None).sleep(600)
        if self.what == "lose-the-worker" or (self.what == "lose-it-once" and first_time(self.id)):
            os.kill(ray_worker(), signal.SIGKILL)
            time.sleep(600)
        if self.what == "lose-the-node-once" and first_time(self.id):
            time.sleep(600)
        if self.what == "vandal":
            os.chdir("/")
            os.environ["FAIRBENCH_VANDAL"] = "was here"
        if self.what == "look":
            return os.getcwd(), os.environ.get("FAIRBENCH_VANDAL")
        if self.what == "threads":
            import torch

            return torch.get_num_threads()
        if self.what == "print":
            print("to stdout")
            os.write(2, b"to stderr \x1b[2J \xff\r\n")
            raise ValueError("printed")
        if self.what == "flood":
            for _ in range(100):
                print("x" * 999_999)
            print("the end")
        if self.what == "loud":
            raise ValueError("\x1b[31m\udcff\x00" + 50_000_000 * "y")
        if self.what == "unreadable":
            raise Unreadable
        if self.what == "exits-when-read":
            raise ExitsWhenRead
        if self.what == "unsendable":
            return lambda: None
        if self.what == "garbage":
            spoil_descriptors(b"garbage " * 1000)
        if self.what == "garbled-end":
            spoil_descriptors(b"\x89fairb\r\n" + bytes(12) + b"no pickle")
        if self.what.startswith("close-descriptors"):
            os.closerange(3, 256)
            if self.what.endswith("and-open-others"):
                _kept.extend(open(os.devnull, "wb") for _ in range(256))  # noqa: SIM115
        if self.what.startswith("children"):
            start_children(self.id)
            self.end_as(self.what.removeprefix("children-"))
        if self.what.startswith("pool"):
            _, method, end = self.what.split("-")
            start_pool(self.id, method)
            self.end_as(end)
        if self.what.startswith("memory-"):
            share_memory(self.id)
            self.end_as(self.what.removeprefix("memory-"))
        if self.what == "loader":
            return load_in_a_worker()
        if self.what == "big":
            return bytes(20_000_000)
        return self.what

    def __getstate__(self) -> dict[str, Any]:
        if self.what == "cannot-leave":
            raise ValueError("its arrays are gone")
        return vars(self)

    def end_as(self, what: str) -> None:
        if what == "raise":
            raise ValueError("no luck")
        if what == "segfault":
            ctypes.string_at(0)
        if what == "sleep":
            time.sleep(600)


class Unreadable(Exception):
    """An error that raises when it is looked at."""

    def __str__(self) -> str:
        raise RuntimeError("do not look")


class ExitsWhenRead(Exception):
    """An error that ends the process when it is looked at."""

    def __str__(self) -> str:
        raise SystemExit(3)

    __repr__ = __str__


def spoil_descriptors(content: bytes) -> None:
    """Write to every descriptor that this process has."""
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            os.write(descriptor, content)
    time.sleep(30)


def start_children(folder: str) -> None:
    """Start processes in every way, each of which notes its number in a folder."""
    wait = (
        "import os, sys, time; open(f'{sys.argv[1]}/{os.getpid()}', 'w').close(); time.sleep(600)"
    )
    words = [sys.executable, "-S", "-c", wait, folder]
    subprocess.Popen(words)
    subprocess.Popen(words, process_group=0)
    subprocess.Popen(words, start_new_session=True)
    if os.fork() == 0:  # a daemon: nobody's child, in a session of its own
        os.setsid()
        if os.fork() == 0:
            os.execv(words[0], words)
        os._exit(0)
    if os.fork() == 0:  # with all descriptors of the job
        Path(folder, str(os.getpid())).touch()
        time.sleep(600)
    while len(list(Path(folder).iterdir())) < 5:
        time.sleep(0.01)


def start_pool(folder: str, method: str) -> None:
    """Start five processes as multiprocessing does, which note their numbers, and leave them."""
    pool = multiprocessing.get_context(method).Pool(5)
    numbers = pool.map(note_number, [folder] * 5, chunksize=1)
    assert set(numbers) == {int(path.name) for path in Path(folder).iterdir()}
    _kept.append(pool)


_kept: list[Any] = []
"""Pools, memory and files that nobody closes."""


def note_number(folder: str) -> int:
    """Note this process's number in a folder, and wait until five have."""
    Path(folder, str(os.getpid())).touch()
    while len(list(Path(folder).iterdir())) < 5:
        time.sleep(0.01)
    return os.getpid()


def share_memory(folder: str) -> None:
    """Share memory with processes that are still there when the job ends, and leave it."""
    memory = SharedMemory(create=True, size=1_000_000)
    Path(folder, memory.name).touch()
    multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,)).start()
    _kept.append(memory)


def load_in_a_worker() -> list[int]:
    """Numbers that came through a process of torch's."""
    from torch.utils.data import DataLoader

    return [int(batch.sum()) for batch in DataLoader([1, 2, 3, 4], batch_size=2, num_workers=1)]  # type: ignore[arg-type]


def assert_none_lives(folder: Path) -> None:
    """Fail where a process that a job has started still runs."""
    pids = [int(path.name) for path in folder.iterdir()]
    assert len(pids) == 5
    living = [pid for pid in pids if runs(pid)]
    for pid in living:
        os.kill(pid, signal.SIGKILL)
    assert not living


def runs(pid: int) -> bool:
    """Whether there is such a process, and not only what nobody has asked after yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"
