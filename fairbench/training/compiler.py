"""PyTorch's compiler for the CPU, and what jobs on one machine share of its work.

It writes C++, which needs a compiler on the machine. What it makes it keeps in
TORCHINDUCTOR_CACHE_DIR, by default in the folder for temporary files; there too it keeps a header
that it compiles first of all, for all later programs. That takes eight seconds and half a gigabyte,
once on a machine. Nothing heavy is imported here: whoever plans jobs asks whether there is one.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench.training.schedule import FEWEST_COMPILED

if TYPE_CHECKING:
    from torch.fx import GraphModule

_LONGEST_WAIT = 120.0
"""Seconds for which a job waits for another that compiles the same."""


def compiler_is_there() -> bool:
    """Whether the machine has the C++ compiler that PyTorch would call, and may call it."""
    usual = "clang++" if sys.platform == "darwin" else "g++"
    command = shlex.split(os.environ.get("CXX", "")) or [usual]
    return shutil.which(command[0]) is not None and os.environ.get("TORCH_COMPILE_DISABLE") != "1"


def are_compiled(iterations: int, device: str) -> bool:
    """Whether a training of so many steps is compiled on a device, if its model can be traced."""
    return iterations >= FEWEST_COMPILED and device == "cpu" and compiler_is_there()


def compile_for_cpu(traced: GraphModule) -> Callable[..., Any]:
    """Compile a traced step when it is first called, in this process: a job has one thread.

    Of jobs that would compile the same, one does, and the others find what it made.
    """
    compiled = _compile(traced)
    is_first = True

    def call(*values: Any) -> Any:
        nonlocal is_first
        if not is_first:
            return compiled(*values)
        is_first = False
        with _one_at_a_time(_name(traced)):
            return compiled(*values)

    return call


def header_is_compiled() -> bool:
    """Whether the header was compiled on this machine before, or cannot be kept."""
    try:
        return _header_mark().exists()
    except OSError:  # of the folder for temporary files
        return True


def start_compiling_header() -> subprocess.Popen[bytes]:
    """Start a process, of a group of its own, that compiles the header without a word.

    It is best done before jobs start: then the memory is there that they would need. Trainings do
    it where that failed, and tell what is missing.
    """
    call = f"from {__name__} import compile_header; compile_header()"
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-c", call],
        stdin=nowhere,
        stdout=nowhere,
        stderr=nowhere,
        start_new_session=True,
    )


def compile_header() -> None:
    """Have the header compiled, by compiling something small."""
    import torch

    with torch.no_grad():
        _compile(torch.add)(torch.ones(64), torch.ones(64))
    _header_mark().touch()


def _header_mark() -> Path:
    """Return the file that is there once the header is; another PyTorch has another header."""
    torch = find_spec("torch")
    where = torch.origin if torch is not None else None
    return _kept("header-" + _hashed(f"{where} {version('torch')} {os.environ.get('CXX')}"))


def _compile(function: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    options: dict[str, Any] = {
        "compile_threads": 1,
        # With larger loops PyTorch 2.13 fails at l-mifr-ss (KeyError), and is not faster elsewhere.
        "realize_reads_threshold": 2,
    }
    compiled: Callable[..., Any] = torch.compile(
        function, fullgraph=True, dynamic=False, options=options
    )
    return compiled


def _name(traced: GraphModule) -> str:
    """Name what is computed, on tensors of which shapes."""
    shapes = [getattr(node.meta.get("val"), "shape", None) for node in traced.graph.nodes]
    return _hashed(f"{traced.code}{shapes}")


@contextmanager
def _one_at_a_time(name: str) -> Iterator[None]:
    """Let one process of this user do what has some name; the others wait meanwhile."""
    from filelock import FileLock, Timeout

    with ExitStack() as held:
        # Where there can be no lock, or another process takes too long, several do the same.
        with suppress(OSError, Timeout):
            held.enter_context(FileLock(_kept(f"{name}.lock"), timeout=_LONGEST_WAIT))
        yield


def _kept(name: str) -> Path:
    """Return a path beside PyTorch's header."""
    folder = own_folder()
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / name


def own_folder() -> Path:
    """Return a folder of this user for temporary files."""
    return Path(tempfile.gettempdir(), f"fairbench-{os.getuid()}")


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
