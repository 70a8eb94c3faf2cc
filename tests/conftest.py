"""Fixtures: the real data where it is given, a small prepared table, the command line."""

from __future__ import annotations

import os

# As in jobs: networks this small only wait for a second thread. Set before torch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Processes that tests start compile each module once, as everywhere, and not at every start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from fairbench.cli.app import main
from fairbench.data.prepare import prepare
from fairbench.data.prepared import Prepared
from fairbench_datasets.adults import AdultsGender
from tests.support.postgres import postgres_server
from tests.support.small_table import make_table

# No test is timed: other work on the machine must not fail it.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

TOY = Path(__file__).parent / "support" / "toy"

# Databases of tests wait for no disk where there is room in memory: half of the time of a test with
# a store goes to commits. Before the first temporary folder is made.
_MEMORY = Path("/dev/shm")
_ROOM = 4e9
if "TMPDIR" not in os.environ and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM:
    os.environ["TMPDIR"] = str(_MEMORY)

# A shell's background jobs ignore Ctrl-C, and so would every process that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def adults_root() -> Path:
    """Folder with the official Adult files; tests that need it are skipped without."""
    root = os.environ.get("FAIRBENCH_DATA")
    if not root or not (Path(root) / "adults" / "adult.data").exists():
        pytest.skip("needs FAIRBENCH_DATA with the official Adult files")
    return Path(root).resolve()


@pytest.fixture(scope="session")
def prepared() -> Prepared:
    """A small prepared table."""
    return prepare(make_table(), AdultsGender, source="simulated", origin="test")


Call = Callable[..., "subprocess.CompletedProcess[str]"]
"""The command line, called with its words; keywords are environment variables."""


def cli_environment(folder: Path) -> dict[str, str]:
    """The environment with the toy plugin, and without settings, network or data."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("FAIRBENCH_")}
    paths = [str(TOY), clean.get("PYTHONPATH", "")]
    return clean | {
        "PYTHONPATH": os.pathsep.join(p for p in paths if p),
        "FAIRBENCH_OFFLINE": "1",
        "FAIRBENCH_CACHE": str(folder / "cache"),
        "COLUMNS": "200",
    }


def fairbench_in(folder: Path) -> Call:
    """Run the command line as a process of its own, in a folder."""

    def call(*words: str, timeout: float = 300, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "fairbench", *words],
            cwd=folder,
            env=cli_environment(folder) | env,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return call


@pytest.fixture
def fairbench(tmp_path: Path) -> Call:
    """Run the command line as a process of its own, in an empty folder."""
    return fairbench_in(tmp_path)


@pytest.fixture
def fairbench_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """The same in this process: where the process itself is not tested, its start is spared."""

    def call(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            patch.syspath_prepend(str(TOY))
            for name in [name for name in os.environ if name.startswith("FAIRBENCH_")]:
                patch.delenv(name)
            for name, value in (cli_environment(tmp_path) | env).items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["fairbench", *words])
            capsys.readouterr()
            with pytest.raises(SystemExit) as ended:
                main()
        said = capsys.readouterr()
        return subprocess.CompletedProcess(words, int(ended.value.code or 0), said.out, said.err)

    return call


@pytest.fixture(scope="session")
def _postgres() -> Iterator[str]:
    with postgres_server() as server:
        yield server.url


@pytest.fixture
def postgres(_postgres: str) -> str:
    """URL of an empty PostgreSQL database."""
    import sqlalchemy as sa

    name = f"db{uuid.uuid4().hex}"
    engine = sa.create_engine(_postgres, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return _postgres.replace("/postgres?", f"/{name}?")


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty store, of each database in turn."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres"))
    return f"sqlite:///{tmp_path / 'store.sqlite'}"
