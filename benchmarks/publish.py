"""Run the benchmarks of speed, and write the tables of README.md from what they measured.

    python benchmarks/publish.py --data-root DIR                  # all of them
    python benchmarks/publish.py --data-root DIR startup engine   # some
    python benchmarks/publish.py --tables                         # only write the tables

Each benchmark runs in a process of its own, one after the other, on a machine that should do
nothing else. ``against-all`` alone takes two hours; it is the last. The exit code is 1 if a
benchmark fails or a figure is over its limit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from figures import FOLDER, Measured, row

README = Path(__file__).parent / "README.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

COMMANDS = {
    # name: script and its arguments
    "startup": ["startup.py"],
    "runs-main-quick": ["runs.py", "--job", "main", "--budget", "quick", "--data-root", "DATA"],
    "runs-main-full": ["runs.py", "--job", "main", "--budget", "full", "--data-root", "DATA"],
    "audits": ["audits.py", "--data-root", "DATA"],
    "sofair-training": ["sofair_training.py", "--data-root", "DATA"],
    "compiled-training": ["compiled_training.py", "--data-root", "DATA"],
    "engine": ["engine.py", "--data-root", "DATA"],
    "growth": ["growth.py"],
    "executors": ["executors.py"],
    "leaderboard": ["leaderboard.py"],
    "encode": ["encode.py"],
    "image-step": ["image_step.py"],
    "image-networks": ["image_networks.py"],
    "dsprites-render": ["dsprites_render.py"],
    "heritage-loading": ["heritage_loading.py"],
    "certificate": ["certificate.py"],
    "report": ["report.py"],
    "limit": ["limit.py", "--data-root", "DATA"],
    "faults": ["faults.py"],
    "against-quick": ["against.py", "--job", "quick", "--repeats", "3", "--data-root", "DATA"],
    "against-main": ["against.py", "--job", "main", "--repeats", "3", "--data-root", "DATA"],
    "against-all": ["against.py", "--job", "all", "--data-root", "DATA"],
}
"""The benchmarks in the order of the tables, by the names under which they keep their figures.

DATA is replaced by the folder of the real files of Adults.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(COMMANDS))
    parser.add_argument("--data-root", type=Path, default=os.environ.get("FAIRBENCH_DATA"))
    parser.add_argument("--tables", action="store_true", help="run nothing")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(COMMANDS))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(COMMANDS)}")
    names = [] if given.tables else given.names or list(COMMANDS)
    with_data = [name for name in names if "DATA" in COMMANDS[name]]
    if with_data and given.data_root is None:
        parser.error(
            f"{', '.join(with_data)}: give the folder of Adults' files with --data-root DIR"
        )
    environment = dict(os.environ)
    if given.data_root is not None:  # for what the benchmarks start in their turn
        environment["FAIRBENCH_DATA"] = str(given.data_root)
    failed = []
    for name in names:
        script, *arguments = COMMANDS[name]
        words = [str(given.data_root) if word == "DATA" else word for word in arguments]
        print(f"== {name}", flush=True)
        command = [sys.executable, str(Path(__file__).parent / script), *words]
        if subprocess.run(command, check=False, env=environment).returncode:
            failed.append(name)
    README.write_text(with_tables(README.read_text()))
    if failed:
        print(f"failed, or over a limit: {', '.join(failed)}")
    return int(bool(failed))


def with_tables(text: str) -> str:
    """Return the page with the tables of what is in the folder of measured figures."""
    lines = []
    for name in COMMANDS:
        path = FOLDER / f"{name}.json"
        if not path.exists():
            continue
        measured = Measured.read(path)
        known = ", ".join(f"{package} {of}" for package, of in measured.versions.items())
        lines += [
            f"**{name}**, {measured.date}: {measured.processor}; {known}; one yardstick "
            f"{measured.yardstick:.2f} s",
            "",
            "| measure | value | yardsticks | limit |",
            "|---|---|---|---|",
            *(row(measured, figure) for figure in measured.figures),
            "",
        ]
    before, rest = text.split(BEGIN)
    return "\n".join([f"{before}{BEGIN}", "", *lines, END]) + rest.split(END)[1]


if __name__ == "__main__":
    sys.exit(main())
