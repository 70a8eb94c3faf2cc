"""A PostgreSQL server of its own for the tests, from Debian's packages where they are there."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def postgres_server() -> Iterator[str]:
    """URL of a fresh server that listens on a socket in a temporary folder; skips without one."""
    pytest.importorskip("psycopg", reason="needs psycopg (pip install 'fairbench-frl[postgres]')")
    initdb, postgres = _program("initdb"), _program("postgres")
    if initdb is None or postgres is None:
        pytest.skip("needs PostgreSQL's server programs (apt-get install postgresql)")
    user = _user()
    if os.getuid() == 0 and user is None:
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # short: a socket's path has a limit
    try:
        if user is not None:
            shutil.chown(folder, user)
        data = str(folder / "data")
        options = ["-D", data, "-A", "trust", "-U", "tester", "-N", "-E", "UTF8", "--no-locale"]
        subprocess.run([initdb, *options], check=True, capture_output=True, user=user, cwd=folder)
        server = subprocess.Popen(
            [postgres, "-D", data, "-k", str(folder), "-h", "", "-F"],
            stderr=subprocess.PIPE,
            text=True,
            user=user,
            cwd=folder,
            preexec_fn=_die_with_the_tests,
        )
        assert server.stderr is not None
        for line in server.stderr:
            if "ready to accept connections" in line:
                break
        try:
            yield f"postgresql+psycopg://tester@/postgres?host={folder}"
        finally:
            server.send_signal(signal.SIGINT)  # at once, whoever is still connected
            server.stderr.close()
            server.wait(timeout=30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _die_with_the_tests() -> None:
    """Have the system stop the server when the tests are killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGINT)  # PR_SET_PDEATHSIG


def _program(name: str) -> str | None:
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return shutil.which(name, path=os.pathsep.join([os.environ["PATH"], *map(str, places)]))


def _user() -> str | None:
    """Whom to be instead of root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)
