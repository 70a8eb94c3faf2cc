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


class PostgresServer:
    """A server that listens on a socket in a folder of its own."""

    def __init__(self, folder: Path, program: str, user: str | None) -> None:
        self.url = f"postgresql+psycopg://tester@/postgres?host={folder}"
        self._folder, self._program, self._user = folder, program, user

    def start(self) -> None:
        """Start it; return when it accepts connections."""
        folder = self._folder
        self._process = subprocess.Popen(
            [self._program, "-D", str(folder / "data"), "-k", str(folder), "-h", "", "-F"],
            stderr=subprocess.PIPE,
            text=True,
            user=self._user,
            cwd=folder,
            preexec_fn=_die_with_the_tests,
        )
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if "ready to accept connections" in line:
                return

    def stop(self) -> None:
        """Stop it at once, whoever is still connected."""
        self._process.send_signal(signal.SIGINT)
        assert self._process.stderr is not None
        self._process.stderr.close()
        self._process.wait(timeout=30)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A fresh server in a temporary folder; skips without PostgreSQL's programs."""
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
        options = ["-A", "trust", "-U", "tester", "-N", "-E", "UTF8", "--no-locale"]
        make = [initdb, "-D", str(folder / "data"), *options]
        subprocess.run(make, check=True, capture_output=True, user=user, cwd=folder)
        server = PostgresServer(folder, postgres, user)
        server.start()
        try:
            yield server
        finally:
            server.stop()
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
