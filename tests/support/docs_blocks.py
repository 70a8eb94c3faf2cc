"""The code blocks of the README and the documentation, and the commands in them."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

SHELL = ("sh", "bash", "console", "shell")
DATA = ("yaml", "toml", "json")
OUTPUT = "text"
LANGUAGES = (*SHELL, *DATA, "python", OUTPUT)

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+|~~~+)(?P<info>.*)$")


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Parameters
    ----------
    page : str
        File name.
    line : int
        Of its first line of code, from 1.
    language : str
        As after the fence; empty where it names none.
    text : str
    """

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        """What reasons are matched with: the page and the first line."""
        return f"{self.page}: {self.language} {self.text.splitlines()[0] if self.text else ''}"


@dataclass(frozen=True)
class Command:
    """One command of a shell block.

    Parameters
    ----------
    page, line
        As of the block it stands in.
    words : tuple of str
        As the shell would split them.
    """

    page: str
    line: int
    words: tuple[str, ...]

    def __str__(self) -> str:
        """What reasons are matched with: the page and the words."""
        return f"{self.page}: {' '.join(self.words)}"

    @property
    def is_fairbench(self) -> bool:
        """Whether it is this suite's own command."""
        return self.words[0].rpartition("/")[2] == "fairbench"


def blocks_of(page: Path) -> Iterator[Block]:
    """Every fenced block of a page; ValueError for one that does not end."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start, opened = 0, None
    for number, line in enumerate(lines, 1):
        found = _FENCE.match(line)
        if opened is None:
            start, opened = number, found
        elif found and found["fence"].startswith(opened["fence"]) and not found["info"].strip():
            text = textwrap.dedent("\n".join(lines[start : number - 1]))
            yield Block(page.name, start + 1, opened["info"].strip().partition(" ")[0], text)
            opened = None
    if opened is not None:
        raise ValueError(f"{page.name}: the block of line {start} does not end")


def commands_of(block: Block) -> Iterator[Command]:
    """The commands of a shell block, one by one, comments left out."""
    text = re.sub(r"\\\n\s*", " ", block.text)
    for line in text.splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        one: list[str] = []
        for word in [*words, "&&"]:
            if word in ("&&", ";", "|"):
                if one:
                    yield Command(block.page, block.line, tuple(one))
                one = []
            else:
                one.append(word)


def outside_fences(page: Path) -> Iterator[str]:
    """The lines of a page that stand in no fenced block."""
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            yield line
