"""Run the benchmarks of speed, and write the tables of README.md from what they measured.

    python benchmarks/publish.py --data-root DIR             # all of them: about an hour, two cores
    python benchmarks/publish.py --data-root DIR startup engine
    python benchmarks/publish.py --tables                    # only write the tables

Each benchmark runs in a process of its own, one after the other. The exit code is 1 if one fails.
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
    # name: command and its arguments
    "startup": ["startup.py"],
}
"""The benchmarks in the order of the table, by the names under which they keep their figures."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(COMMANDS))
    parser.add_argument("--data-root", type=Path, default=os.environ.get("FAIRBENCH_DATA"))
    parser.add_argument("--tables", action="store_true", help="run nothing")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(COMMANDS))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(COMMANDS)}")
    failed = []
    for name in [] if given.tables else given.names or list(COMMANDS):
        script, *arguments = COMMANDS[name]
        if "DATA" in arguments and given.data_root is None:
            parser.error(f"{name} needs --data-root DIR, the folder of the real files of Adults")
        words = [str(given.data_root) if word == "DATA" else word for word in arguments]
        print(f"== {name}", flush=True)
        command = [sys.executable, str(Path(__file__).parent / script), *words]
        if subprocess.run(command, check=False).returncode:
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
    return f"{before}{BEGIN}\n\n" + "\n".join(lines) + END + rest.split(END)[1]


if __name__ == "__main__":
    sys.exit(main())
