"""Standard streams that are closed or full; benchmarks/faults.py tries more commands."""

import subprocess
import sys
from pathlib import Path

import pytest

from fairbench.cli.console import err, out
from tests.conftest import cli_environment

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def run(folder: Path, words: str) -> tuple[int, str]:
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m fairbench {words}"],
        cwd=folder,
        env=cli_environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "list methods 1>&-",
        pytest.param("list methods 2>&-", marks=pytest.mark.thorough),
        pytest.param("leaderboard 2>/dev/full", marks=pytest.mark.thorough),
        "--help | true",
    ],
)
def test_what_nobody_reads_is_lost_without_a_word(tmp_path: Path, words: str) -> None:
    code, told = run(tmp_path, words)
    assert code == (2 if "leaderboard" in words else 0)  # there are no results
    assert "Traceback" not in told
    assert "Exception" not in told


def test_a_command_goes_on_to_its_exit_code_when_nobody_reads_it(tmp_path: Path) -> None:
    """A verification whose output goes to ``head`` must not pass because of it."""
    code = (
        "import sys; from fairbench.cli import streams; streams.secure();"
        "[print('x' * 9999, flush=True) for _ in range(99)]; sys.exit(3)"
    )
    words = ["bash", "-o", "pipefail", "-c", f'{sys.executable} -c "{code}" | true']
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "")


def test_names_with_colons_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    out.print("a:b: 20 unknown values", markup=False)
    err.print("a:b: 20 unknown values", markup=False)
    printed = capsys.readouterr()
    assert printed.out == printed.err == "a:b: 20 unknown values\n"


def test_full_output_is_told(tmp_path: Path) -> None:
    code, told = run(tmp_path, "list methods >/dev/full")
    assert code == 2
    assert "Error: Output cannot be written: No space left on device." in told
    assert "Traceback" not in told
    assert "Exception" not in told
