"""Help and shell completion: fast, in panels by reader, and the same words everywhere."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairbench.cli.app import command_tree
from fairbench.cli.commands import COMMANDS
from tests.conftest import Call, cli_environment


def test_commands_stand_in_panels_by_reader(fairbench_here: Call) -> None:
    text = fairbench_here("--help").stdout
    places = [text.index(entry.panel) for entry in COMMANDS.values()]
    assert places == sorted(places)
    for name, entry in COMMANDS.items():
        assert re.search(rf"^\W*{name} +{re.escape(entry.help)}", text, re.M), name


def test_python_runs_the_package_as_the_command(fairbench_here: Call, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "fairbench", "list", "metrics"]
    done = subprocess.run(words, env=cli_environment(tmp_path), capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout == fairbench_here("list", "metrics").stdout


@pytest.mark.parametrize("name", [n for n, e in COMMANDS.items() if isinstance(e.target, str)])
def test_the_line_of_the_help_opens_the_commands_own_help(name: str) -> None:
    command = command_tree().commands[name]
    text = " ".join(str(inspect.getdoc(command.callback)).split("\n\n")[0].split())
    assert text == COMMANDS[name].help


def test_what_forms_of_a_command_need_tells_them_apart() -> None:
    forms = command_tree().commands["audit"].commands
    assert len(forms) == 2
    first, second = ({o for p in form.params for o in p.opts} for form in forms.values())
    assert first & second == {"--dataset", "--data-root"}
    assert {"--z", "--s"} <= first
    assert "--results" in second


def test_help_of_audit_shows_both_forms(fairbench_here: Call) -> None:
    for words in (["--help"], ["--z", "FILE", "--help"]):
        text = " ".join(fairbench_here("audit", *words).stdout.split())
        assert "audit --z FILE --s FILE [OPTIONS]" in text
        assert "audit --results DIR [OPTIONS]" in text


def completed(line: str) -> list[str]:
    """Words that a shell offers after a line."""
    words = line.split(" ")
    env = {"_FAIRBENCH_COMPLETE": "complete_bash", "COMP_WORDS": line}
    code = "import sys; sys.argv = ['fairbench']; from fairbench.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | env | {"COMP_CWORD": str(len(words) - 1)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.split()


@pytest.mark.thorough
def test_a_shell_completes_commands_options_and_names() -> None:
    assert completed("fairbench re") == ["report", "recommend", "results"]
    assert "--require-real-data" in completed("fairbench run --re")
    assert completed("fairbench audit --ro") == ["--roles"]
    assert completed("fairbench run --methods sofair,fun") == ["sofair,funnel"]
    assert "adults" in completed("fairbench data check ad")
