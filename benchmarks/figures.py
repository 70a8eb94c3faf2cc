"""Figures of a benchmark: printed beside their limits, and kept for the tables of README.md.

    with Figures("startup") as figures:
        figures.seconds("`fairbench --help`", 0.21, limit=0.2)
    return figures.failed

Times are given in seconds and published as multiples of the yardstick (yardstick.py) too, which is
timed before and after; limits of times are multiples. Everything is written to
``measured/NAME.json`` beside this file, from which publish.py writes README.md.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Self

import yardstick

FOLDER = Path(__file__).parent / "measured"


@dataclass(frozen=True)
class Figure:
    """One measured value and its limit, which it may not exceed."""

    name: str
    value: float
    unit: str  # "s" for times, and any other: "GB", "ratio", "%", "rows/s"
    # In ``unit``; of times, in yardsticks
    limit: float | None = None
    at_least: bool = False  # the value may not be below its limit
    note: str = ""


@dataclass(frozen=True)
class Measured:
    """What a benchmark measured, and on what."""

    benchmark: str
    date: str
    processor: str
    versions: dict[str, str]
    yardsticks: tuple[float, float]  # seconds, before and after
    figures: list[Figure]

    @property
    def yardstick(self) -> float:
        """Seconds of one yardstick: the mean of the two."""
        return sum(self.yardsticks) / 2

    def in_limits(self, figure: Figure) -> bool:
        """Whether a figure keeps its limit; True where it has none."""
        if figure.limit is None:
            return True
        value = figure.value / self.yardstick if figure.unit == "s" else figure.value
        return value >= figure.limit if figure.at_least else value <= figure.limit

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file that :class:`Figures` wrote."""
        plain = json.loads(path.read_text())
        figures = [Figure(**one) for one in plain.pop("figures")]
        return cls(**{**plain, "yardsticks": tuple(plain["yardsticks"])}, figures=figures)


class Figures:
    """Collects figures while a benchmark runs; prints and writes them at its end."""

    def __init__(self, benchmark: str) -> None:
        self.benchmark = benchmark
        self.failed = 0
        self._figures: list[Figure] = []

    def __enter__(self) -> Self:
        self._before = yardstick.quickest()
        return self

    def seconds(
        self, name: str, value: float, *, limit: float | None = None, note: str = ""
    ) -> None:
        """Add a time in seconds; ``limit`` in yardsticks."""
        self.add(Figure(name, value, "s", limit, note=note))

    def other(
        self,
        name: str,
        value: float,
        unit: str,
        *,
        limit: float | None = None,
        at_least: bool = False,
        note: str = "",
    ) -> None:
        """Add any other figure, with a limit in its own unit."""
        self.add(Figure(name, value, unit, limit, at_least, note))

    def add(self, figure: Figure) -> None:
        """Add a figure, and print it as it was measured."""
        self._figures.append(figure)
        note = f" ({figure.note})" if figure.note else ""
        print(f"{figure.name}{note}: {_with_unit(figure.value, figure.unit)}", flush=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            return
        measured = Measured(
            self.benchmark,
            time.strftime("%Y-%m-%d"),
            yardstick.processor(),
            {name: version(name) for name in ("fairbench-frl", "torch", "scikit-learn", "numpy")},
            (self._before, yardstick.quickest()),
            self._figures,
        )
        print(
            f"\n{self.benchmark} on {measured.processor}, one yardstick {measured.yardstick:.3f} s"
        )
        for figure in self._figures:
            print(f"  {row(measured, figure)}")
        missed = [one.name for one in self._figures if not measured.in_limits(one)]
        self.failed = int(bool(missed))
        if missed:
            print(f"not within the limit: {'; '.join(missed)}")
        FOLDER.mkdir(exist_ok=True)
        text = json.dumps(asdict(measured), indent=1)
        (FOLDER / f"{self.benchmark}.json").write_text(text + "\n")


def row(measured: Measured, figure: Figure) -> str:
    """Return a row of a Markdown table: measure, value, yardsticks, limit."""
    value, units, limit = _with_unit(figure.value, figure.unit), "", ""
    if figure.unit == "s":
        units = _digits(figure.value / measured.yardstick, 2)
    if figure.limit is not None:
        unit = "yardsticks" if figure.unit == "s" else figure.unit
        limit = ("at least " if figure.at_least else "") + _with_unit(figure.limit, unit)
        limit += "" if measured.in_limits(figure) else ": **exceeded**"
    note = f" ({figure.note})" if figure.note else ""
    return f"| {figure.name}{note} | {value} | {units} | {limit} |"


def _with_unit(value: float, unit: str) -> str:
    """A number of three digits, and its unit unless it is a ratio."""
    return _digits(value, 3) + ("" if unit == "ratio" else f" {unit}")


def _digits(value: float, least: int) -> str:
    """So many digits, and all those before the point: never 1e+03."""
    whole = f"{value:,.0f}"
    return whole if sum(map(str.isdigit, whole)) >= least else f"{value:.{least}g}"
