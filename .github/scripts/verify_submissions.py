"""Verify the submissions among some files, and write the verdict as Markdown.

Reads file names from standard input, one a line. A submission lies in a folder of its own,
``submissions/NAME/``: the file that ``fairbench submit`` wrote, and in ``plugin/`` the source of
the plugin, which can be installed by pip. Exit code 1 where one is not verified.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ENDING = ".submission.jsonl.gz"

_HARMLESS = " .,:;=-_+/*()%"
_MARK = {True: "verified", False: "**not verified**"}


def main() -> int:
    """Verify each submission; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True, help="Markdown file to write")
    parser.add_argument("--against", default="published", help="board, as for fairbench verify")
    parser.add_argument("--install", action="store_true", help="install the plugins first")
    given = parser.parse_args()
    names = [Path(line.strip()) for line in sys.stdin if line.strip().endswith(ENDING)]
    parts, verified = [], True
    for path in names:
        text, agrees = verify(path, given.against, install=given.install)
        parts.append(text)
        verified &= agrees
    if not names:
        parts.append(f"No file ends in `{ENDING}`: nothing was verified.")
    given.output.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return 0 if verified else 1


def verify(path: Path, against: str, *, install: bool) -> tuple[str, bool]:
    """Verify one submission; return what to say of it, and whether it agrees."""
    plugin = path.parent / "plugin"
    if install and plugin.is_dir():
        done = _run([sys.executable, "-m", "pip", "install", "-q", str(plugin)])
        if done.returncode:
            return _failed(path, "its plugin could not be installed", done.stderr), False
    verdict = path.with_name(path.name.removesuffix(ENDING) + ".verification.json")
    verdict.unlink(missing_ok=True)  # one that came with the submission is nobody's verdict
    done = _run([sys.executable, "-m", "fairbench", "verify", str(path), "--against", against])
    if done.returncode not in (0, 1) or not verdict.exists():
        return _failed(path, "it could not be checked", done.stderr), False
    told = json.loads(verdict.read_text(encoding="utf-8"))
    return _table(path, told), bool(told["verified"]) and done.returncode == 0


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False)


def _failed(path: Path, why: str, said: str) -> str:
    lines = "\n".join(said.strip().splitlines()[-5:]).replace("```", "'''")
    return f"### `{_plain(path.name)}`: {_MARK[False]}\n\n{why}:\n\n```text\n{lines}\n```"


def _table(path: Path, told: dict[str, Any]) -> str:
    info = told["submission"]
    lines = [
        f"### `{_plain(path.name)}`: {_MARK[bool(told['verified'])]}",
        "",
        f"`{_plain(info['method'])}` ({_plain(info['params'])}) for {_plain(info['board'])}. "
        "Points drawn by this check:",
        "",
        "| split | point | figure | submitted | measured now | allowed | |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in told["points"]:
        cells = [one["split"], one["point"], one["figure"]]
        numbers = [one["submitted"], one["measured_now"], one["allowed"]]
        cells += ["none" if value is None else f"{value:.4f}" for value in numbers]
        cells.append("agrees" if one["agrees"] else "**differs**")
        lines.append("| " + " | ".join(map(_plain, cells)) + " |")
    lines += [f"\nContradiction: {_plain(text)}" for text in told["contradictions"]]
    for one in told["encoded_from_x_alone"]:
        share = one["share_of_changed_rows"]
        what = one["why"] if share is None else f"{share:.1%} of the rows differ"
        mark = "" if one["agrees"] else ": **differs**"
        where = _plain(f"{one['split']}, {one['point']}: {what}")
        lines.append(f"\nEncoded from x alone, {where}{mark}")
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Text of strangers, without marks that Markdown reads."""
    return "".join(mark if mark.isalnum() or mark in _HARMLESS else " " for mark in str(text))


if __name__ == "__main__":
    raise SystemExit(main())
