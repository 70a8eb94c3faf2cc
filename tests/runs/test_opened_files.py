"""What a restored encoder must not open is found however it is named."""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import pickle
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context, shared_memory
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib
import pytest

from fairbench.runs import opened_files
from fairbench.runs.data_files import DataFiles
from fairbench.runs.isolation import _call_alone
from fairbench.runs.opened_files import FileRules, no_new_files
from fairbench.runs.own_processes import Inherited, OwnProcesses
from fairbench.runs.plugin_values import ContractError

LEAK = "leak.npy"
PROCESSES = OwnProcesses(Inherited.now(), [__name__, "torch"])

MODULE = """
from pathlib import Path

left = Path(__file__).with_name("leak.npy")
known = left.read_text() if left.exists() else None


def encode():
    return known
"""


def guarded(way: str, folder: Path, since: float) -> None:
    with no_new_files(FileRules(since, DataFiles(), but=folder / "encoder"), "mine"):
        open_in_some_way(way, folder)


def open_in_some_way(way: str, folder: Path) -> None:
    if way == "the encoder itself":
        (folder / "encoder").read_text()
    elif way == "an older file":
        Path(os.__file__).read_text()
    elif way == "a module":
        import this  # noqa: F401
    elif way == "its name":
        (folder / LEAK).read_text()
    elif way == "the root of its process":
        Path(f"/proc/self/root{folder / LEAK}").read_text()
    elif way == "compiled modules":
        (folder / "__pycache__" / LEAK).read_text()
    elif way == "a folder":
        opened = os.open(folder, os.O_RDONLY)
        os.close(os.open(LEAK, os.O_RDONLY, dir_fd=opened))
    elif way == "writing":
        (folder / "__pycache__" / "new").write_text("s")
    elif way == "a link":
        os.symlink("what s is", folder / "link")
    elif way == "a socket":
        with socket.socket() as one, pytest.raises(ConnectionError):
            one.connect(("127.0.0.1", 9))
    elif way in WAYS:
        WAYS[way](folder)


def read_shared_memory(folder: Path) -> None:
    shared = shared_memory.SharedMemory(name=(folder / "shared").read_text())
    shared.close()


def send(folder: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"who is this?", ("127.0.0.1", 9))


def send_message(folder: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendmsg([b"who is this?"], [], 0, ("127.0.0.1", 9))


def look_up(folder: Path) -> None:
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("who-is-this.invalid", 80)


def read_attribute(folder: Path) -> None:
    os.listxattr(folder / "older")


def read_pipe(folder: Path) -> None:
    os.close(os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK))


def start_process(folder: Path) -> None:
    process = get_context("spawn").Process(target=print)
    process.start()
    process.join()


def fork(folder: Path) -> None:
    if not (child := os.fork()):
        os._exit(0)
    os.waitpid(child, 0)


def ask_for_locks(folder: Path) -> None:
    with open(os.devnull) as null:
        fcntl.fcntl(null, fcntl.F_GETLK, b"0" * 32)


def lock(folder: Path) -> None:
    with open(folder / "older") as older:
        fcntl.flock(older, fcntl.LOCK_EX | fcntl.LOCK_NB)


def open_other_end(folder: Path) -> None:
    _, writes = os.pipe()
    os.close(os.open(f"/proc/self/fd/{writes}", os.O_RDONLY))


WAYS: dict[str, Callable[[Path], None]] = {
    "shared memory": read_shared_memory,
    "a datagram": send,
    "a message": send_message,
    "a name server": look_up,
    "an attribute": read_attribute,
    "a pipe": read_pipe,
    "the time of a file": lambda folder: os.utime(folder / "older", (5, 5)),
    "the mode of a file": lambda folder: os.chmod(folder / "older", 0o600),
    "removing": lambda folder: os.remove(folder / "older"),
    "a program": lambda folder: subprocess.run(["cat", folder / LEAK], capture_output=True),
    "a command": lambda folder: os.system("true"),
    "a process": start_process,
    "a copy of the process": fork,
    "flags and locks": ask_for_locks,
    "a lock": lock,
    "the other end of a pipe": open_other_end,
    "cutting": lambda folder: os.truncate(folder / "older", 0),
}
"""Ways to leave or find something that open no file by its name."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "older").write_text("source")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "old.csv").write_text("s")
    (tmp_path / "shared").write_text(f"fairbench-{os.getpid()}")
    time.sleep(0.05)
    return tmp_path


@pytest.fixture
def since(folder: Path) -> float:
    """When the verification began; it has left files."""
    began = time.time()
    time.sleep(0.05)
    (folder / "__pycache__").mkdir()
    for name in ("encoder", LEAK, f"__pycache__/{LEAK}"):
        (folder / name).write_text("s")
    if sys.platform != "win32":
        os.mkfifo(folder / "pipe")
    return began


@pytest.mark.parametrize(
    "way",
    ["the encoder itself", pytest.param("an older file", marks=pytest.mark.thorough), "a module"],
)
def test_what_was_there_before_may_be_read(way: str, folder: Path, since: float) -> None:
    PROCESSES.call(partial(guarded, way, folder, since))


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux names files")
@pytest.mark.parametrize(
    "way",
    [
        *("its name", "compiled modules", "writing"),
        *(
            pytest.param(way, marks=pytest.mark.thorough)
            for way in ("the root of its process", "a folder", "a link", "a socket")
        ),
    ],
)
def test_what_the_training_left_is_refused(way: str, folder: Path, since: float) -> None:
    with pytest.raises(ContractError, match="All that encode and decode need is in state"):
        PROCESSES.call(partial(guarded, way, folder, since))


@pytest.mark.thorough
def test_so_is_what_a_module_reads_while_it_is_imported(
    folder: Path, since: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    (folder / LEAK).rename(folder / "elsewhere")
    import mine  # type: ignore[import-not-found]

    (folder / "elsewhere").rename(folder / LEAK)
    content = pickle.dumps(mine.encode)
    del sys.modules["mine"]
    rules = FileRules(since, DataFiles(), but=folder / "encoder")
    processes = OwnProcesses(Inherited.now())
    with pytest.raises(ContractError, match=f"reads .*{LEAK}, which was changed since the ver"):
        processes.call(partial(_call_alone, content, rules, "mine"))


@pytest.mark.thorough
def test_libraries_may_ask_how_many_cores_there_are(folder: Path, since: float) -> None:
    """Trees of scikit-learn do, and a program answers."""
    content = pickle.dumps(count_cores)
    rules = FileRules(since, DataFiles(), but=folder / "encoder")
    answer = PROCESSES.call(partial(_call_alone, content, rules, "mine"))
    assert pickle.loads(answer) > 0


def count_cores() -> int:
    return int(joblib.cpu_count(only_physical_cores=True))


def trains(way: str, folder: Path, since: float) -> None:
    with no_new_files(FileRules(since, DataFiles.among([folder / "data"]), trains=True), "mine"):
        if way in TRAINING:
            TRAINING[way](folder)
        else:
            open_in_some_way(way, folder)


def rename(folder: Path) -> None:
    (folder / LEAK).replace(folder / "mine")
    (folder / "mine").read_text()


def add(folder: Path) -> None:
    with (folder / LEAK).open("a+") as file:
        file.seek(0)
        file.read()


def move_it_elsewhere(folder: Path) -> None:
    """Which fails, as the other folder is on another disk, or is noted as done."""
    (folder / "mine").write_text("")
    sys.audit("os.rename", str(folder / "mine"), str(folder / LEAK), -1, -1)
    (folder / LEAK).read_text()


def link_to_a_name(folder: Path) -> None:
    (folder / "mine").write_text("")
    (folder / "link").symlink_to(folder / "mine")
    (folder / "link").replace(folder / "other")
    (folder / LEAK).replace(folder / "other")
    (folder / "other").read_text()


def ask_another_interpreter(folder: Path) -> None:
    interpreters: Any = importlib.import_module("_xxsubinterpreters")
    code = f"open({str(folder / 'data' / 'old.csv')!r}).read()"
    with contextlib.suppress(RuntimeError):
        interpreters.run_string(interpreters.create(), code)


def listen(folder: Path) -> None:
    with socket.socket() as one:
        one.listen()


def rename_over_its_own(folder: Path) -> None:
    (folder / "mine").write_text("")
    (folder / LEAK).replace(folder / "mine")
    (folder / "mine").read_text()


def link_over_its_own(folder: Path) -> None:
    (folder / "mine").write_text("")
    (folder / "mine").unlink()
    os.link(folder / "data" / "old.csv", folder / "mine")
    (folder / "mine").read_text()


def load_dataset(folder: Path) -> None:
    from fairbench_datasets.adults import AdultsGender

    AdultsGender().simulate()


def rename_data(folder: Path) -> None:
    (folder / "data").rename(folder / "mine")
    (folder / "mine" / "old.csv").read_text()


def ask_a_library(folder: Path) -> None:
    from torch._inductor.runtime.benchmarking import benchmarker

    benchmarker.benchmark_cpu(lambda: subprocess.run(["cat", folder / LEAK], capture_output=True))


def of_its_own(folder: Path) -> None:
    import torch  # here, as in others: processes that do without it start in a third of the time

    new = Path(tempfile.mkdtemp(dir=folder))
    (new / "one").write_text("loss")
    (new / "one").replace(new / "two")
    (new / "two").read_text()
    for _ in range(2):
        torch.save({"loss": 1}, new / "best.pt")
        torch.load(new / "best.pt")
    with tempfile.TemporaryFile() as file:
        file.write(b"loss")
    sys.audit("open", str(folder / LEAK), "w", os.O_WRONLY | os.O_TRUNC)  # as if it were emptied
    assert not (folder / LEAK).read_text()
    shutil.copy2(new / "two", folder / "copy")
    shutil.copy2(folder / "older", folder / "copy")
    shutil.rmtree(new)
    with (folder / "older").open("a") as log:
        log.write("done")


TRAINING: dict[str, Callable[[Path], None]] = {
    "the data": lambda folder: (folder / "data" / "old.csv").read_text(),
    "a leak, renamed": rename,
    "a leak, to which it adds": add,
    "a leak, renamed to a name of its own": rename_over_its_own,
    "a leak that it says it renamed": move_it_elsewhere,
    "a leak in place of a link": link_to_a_name,
    "what the system says of sockets": lambda _: Path("/proc/net/unix").read_text(),
    "another interpreter": ask_another_interpreter,
    "a socket that listens": listen,
    "the data, by another name": link_over_its_own,
    "the data, elsewhere": rename_data,
    "a program, by a library": ask_a_library,
    "a dataset": load_dataset,
    "files of its own": of_its_own,
}


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="as Linux names files")
@pytest.mark.parametrize(
    "way",
    [
        *(way for way in TRAINING if way != "files of its own"),
        *("its name", "a folder", "a program", "a process", "a socket", "shared memory"),
    ],
)
def test_a_fit_finds_neither_the_data_nor_what_was_left(
    way: str, folder: Path, since: float, shared: Any
) -> None:
    with pytest.raises(ContractError, match="All that fit needs is given to it"):
        PROCESSES.call(partial(trains, way, folder, since))


@pytest.mark.thorough
def test_it_may_write_files_and_read_what_it_has_written(folder: Path, since: float) -> None:
    PROCESSES.call(partial(trains, "files of its own", folder, since))


@pytest.fixture
def shared(folder: Path) -> Any:
    """Memory that outlives the process that has written to it, as the training may leave it."""
    name = (folder / "shared").read_text()
    memory = shared_memory.SharedMemory(name=name, create=True, size=8)
    yield memory
    memory.close()
    memory.unlink()


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="as Linux has these")
@pytest.mark.parametrize("way", list(WAYS))
def test_so_is_what_is_left_without_opening_a_file(
    way: str, folder: Path, since: float, shared: Any
) -> None:
    with pytest.raises(ContractError, match="All that encode and decode need is in state"):
        PROCESSES.call(partial(guarded, way, folder, since))


@pytest.mark.parametrize(
    ("path", "flags", "mode", "refused"),
    [
        ("/dev/pts/3", os.O_RDWR, stat.S_IFCHR, True),
        ("/dev/null", os.O_RDWR, stat.S_IFCHR, False),
        ("/dev/urandom", os.O_RDONLY, stat.S_IFCHR, False),
        ("/proc/meminfo", os.O_RDONLY, stat.S_IFREG, False),
        ("/sys/devices/system/cpu/online", os.O_RDONLY, stat.S_IFREG, False),
        ("/proc/OWN/fd/pipe:[1]", os.O_WRONLY, None, False),
        ("/proc/OWN/fd/pipe:[1]", os.O_RDONLY, None, True),
        ("/proc/OWN/fd", os.O_RDONLY, stat.S_IFDIR, True),
        ("/dev/left", os.O_RDONLY, stat.S_IFREG, True),
        ("/dev/left", os.O_WRONLY | os.O_CREAT, None, True),
        ("/dev/sda", os.O_RDONLY, stat.S_IFBLK, True),
        ("/proc/sys/kernel/hostname", os.O_WRONLY, stat.S_IFREG, True),
        ("/proc/1/mem", os.O_RDONLY, stat.S_IFREG, True),
    ],
)
def test_of_the_folders_of_the_system_only_the_system_itself_may_be_read(
    path: str, flags: int, mode: int | None, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of devices takes files, and settings of the system can be written, as by root."""

    def status(of: str) -> SimpleNamespace:
        if mode is None:
            raise FileNotFoundError(of)
        return SimpleNamespace(
            st_mode=mode, st_ctime=time.time(), st_rdev=os.makedev(136 if "pts" in of else 1, 3)
        )

    monkeypatch.setattr(os, "stat", status)
    path = path.replace("OWN", str(os.getpid()))
    assert bool(opened_files._refused(path, flags, time.time() - 60)) is refused
