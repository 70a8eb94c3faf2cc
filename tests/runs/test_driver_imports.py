"""What the process that drives a run loads: not the libraries that only its jobs need."""

import subprocess
import sys


def test_the_driver_of_a_run_loads_neither_torch_nor_scikit_learn() -> None:
    """They take seconds and hundreds of megabytes."""
    code = (
        "import sys, fairbench.runs.audits, fairbench.runs.training;"
        "print(sorted({'torch', 'sklearn'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
