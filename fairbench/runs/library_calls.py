"""Whether a library asks for what a plugin may not: PyTorch's compiler, or what deletes folders."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from types import FrameType

from fairbench.training.compiler import own_folder

_STANDARD = os.path.dirname(os.__file__) + os.sep
_COMPILER = "_inductor"
_STARTS_PROGRAMS = ("codecache", "cpp_builder", "cpu_vec_isa")
"""Modules of PyTorch's compiler that start another compiler, and ask what the processor can do."""


def starts_a_compiler() -> bool:
    """Whether the innermost code that is not of Python's own library starts one for PyTorch."""
    return _asks().startswith(tuple(_in_torch(_COMPILER, f"{one}.py") for one in _STARTS_PROGRAMS))


def folders_of_the_compiler() -> tuple[str, ...]:
    """Return where it keeps what it has compiled, and locks."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as PyTorch calls it
        name = f"uid_{os.getuid()}"
    user = re.sub(r'[\\/:*?"<>|]', "_", name)
    usual = os.path.join(tempfile.gettempdir(), f"torchinductor_{user}")
    kept = (os.environ.get("TORCHINDUCTOR_CACHE_DIR", usual), own_folder())
    return tuple(os.path.join(os.path.realpath(one), "") for one in kept)


def uses_what_was_compiled() -> bool:
    """Whether PyTorch's compiler asks, or what locks its files."""
    own = (_in_torch(_COMPILER, ""), _in_torch("utils", "_filelock.py"), _in("filelock", ""))
    return _asks().startswith(own)


def deletes_a_folder() -> bool:
    """Whether Python's own library does, which opens the folder for it."""
    code = next(_frames()).f_code
    return code.co_filename == shutil.__file__ and "rmtree" in code.co_name


def _in_torch(*names: str) -> str:
    return _in("torch", *names)


def _in(package: str, *names: str) -> str:
    """Return a path in the folder of a package, without loading it."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return os.path.join(os.path.dirname(spec.origin), *names)


def _frames() -> Iterator[FrameType]:
    """Yield the frames of what has asked, the innermost first, without those that look."""
    here, frame = os.path.dirname(__file__), sys._getframe(1)
    inside: FrameType | None = frame
    while inside is not None and os.path.dirname(inside.f_code.co_filename) == here:
        inside = inside.f_back
    while inside is not None:
        yield inside
        inside = inside.f_back


def _asks() -> str:
    """Return the file of the innermost code that is not of Python's own library."""
    for frame in _frames():
        name = frame.f_code.co_filename
        own = name.startswith(_STANDARD) and "site-packages" not in name
        if not own and not name.startswith("<frozen "):
            return name
    return ""
