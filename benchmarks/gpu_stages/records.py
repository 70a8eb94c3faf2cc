"""Parts and stages as stored: what is measured is written at once, and not measured again.

A stage is a list of parts. Each part gives rows, dataclasses whose fields name their units::

    @dataclass(frozen=True)
    class Speed(Row):
        method: str
        rate: float = of_unit("steps/s")

and its stage's file, ``stages/2-speed.json`` in the output folder, is written after every part.
"""

from __future__ import annotations

import dataclasses
import json
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from fairbench.files import write_atomically
from fairbench.store.text import describe
from gpu_stages.settings import Settings

MIN_SECONDS = 20.0
"""A part is not begun with less time left, nor with less than the longest part took so far."""


def of_unit(unit: str) -> Any:
    """Declare the unit of a field of a row: ``s``, ``steps/s``, ``TFLOP/s``, ``share``, ..."""
    return field(metadata={"unit": unit})


@dataclass(frozen=True)
class Row:
    """A row of a part's table; all of a part have one class."""

    @classmethod
    def column_units(cls) -> dict[str, str]:
        """Return the unit of each column that has one."""
        fields = dataclasses.fields(cls)
        return {one.name: one.metadata["unit"] for one in fields if "unit" in one.metadata}


R = TypeVar("R", bound=Row)


@dataclass(frozen=True)
class Outcome:
    """What a part measured.

    ``text`` is its line on the screen, ``note`` says how it was measured, ``over`` which limits
    were exceeded. A part that is not ``finished`` goes on at the next call.
    """

    rows: Sequence[Row]
    text: str
    note: str = ""
    over: tuple[str, ...] = ()
    finished: bool = True


@dataclass(frozen=True)
class Part:
    """A piece of a stage that is stored on its own.

    One that ``keeps_time`` ends by itself before the deadline, and takes the time that there is: it
    says nothing of how long others take.
    """

    name: str
    run: Callable[[Settings], Outcome]
    keeps_time: bool = False


@dataclass(frozen=True)
class PartRecord:
    """A part as stored; ``error`` is the traceback of one that raised, which is tried again."""

    name: str
    finished: bool
    seconds: float  # of all calls together
    text: str
    note: str = ""
    over: tuple[str, ...] = ()
    rows: tuple[Mapping[str, Any], ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    last_seconds: float = 0.0  # of the last call; 0 in files from before it was stored

    def rows_as(self, kind: type[R]) -> list[R]:
        """Return the rows, of the class that they were made of."""
        return [kind(**row) for row in self.rows]


@dataclass(frozen=True)
class StageRecord:
    """A stage as stored."""

    number: int
    name: str
    device: str
    quick: bool
    finished: bool = False
    machine: Mapping[str, Any] = field(default_factory=dict)  # on which it was last worked on
    parts: tuple[PartRecord, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a stage's file."""
        plain = json.loads(path.read_text())
        parts = tuple(
            PartRecord(**{**one, "over": tuple(one["over"]), "rows": tuple(one["rows"])})
            for one in plain.pop("parts")
        )
        return cls(**plain, parts=parts)

    def write(self, path: Path) -> None:
        """Write a stage's file, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (json.dumps(asdict(self), indent=1) + "\n").encode())

    def part(self, name: str) -> PartRecord | None:
        """Return a part; None where it has not been begun."""
        return next((one for one in self.parts if one.name == name), None)

    def with_part(self, part: PartRecord) -> Self:
        """Return the stage with a part added or replaced."""
        others = [one for one in self.parts if one.name != part.name]
        return replace(self, parts=(*others, part))


@dataclass(frozen=True)
class Stage:
    """A stage: its number, its name, and the parts it has under given settings."""

    number: int
    name: str
    parts: Callable[[Settings], Sequence[Part]]

    @property
    def file_name(self) -> str:
        """Name of its file."""
        return f"{self.number}-{self.name}.json"

    def path(self, out: Path) -> Path:
        """Return its file in an output folder."""
        return out / "stages" / self.file_name

    def stored(self, settings: Settings) -> StageRecord:
        """Return what is stored of it, or a record without parts."""
        path = self.path(settings.out)
        if path.exists():
            return StageRecord.read(path)
        return StageRecord(self.number, self.name, settings.device, settings.quick)


def run_stage(stage: Stage, settings: Settings, machine: Mapping[str, Any]) -> StageRecord:
    """Do what is missing of a stage until its deadline; print one line per part."""
    record, path = stage.stored(settings), stage.path(settings.out)
    head = f"stage {stage.number}, {stage.name}"
    if record.finished:
        print(f"{head}: finished before", flush=True)
        return record
    parts = stage.parts(settings)
    names = {part.name for part in parts}
    # A part that failed when the stage was divided otherwise would count as failed for ever.
    kept = tuple(one for one in record.parts if one.finished or one.name in names)
    record = replace(record, machine=machine, parts=kept)
    begun = False
    for part in parts:
        earlier = record.part(part.name)
        if earlier is not None and earlier.finished:
            print(f"{head}: {part.name}: done before: {earlier.text}", flush=True)
            continue
        # The first of a call needs no more: a stage with a part of eight minutes would never end.
        needed = _seconds_needed(part, parts, record) if begun else MIN_SECONDS
        if settings.seconds_left < needed:
            print(f"{head}: out of time before {part.name}", flush=True)
            break
        begun = True
        print(f"{head}: {part.name}: ", end="", flush=True)  # it may take minutes
        record = record.with_part(_done(part, earlier, settings))
        done = record.parts[-1]
        print(f"{done.text} [{done.seconds:.1f} s]", flush=True)
        record.write(path)
    stored = [record.part(part.name) for part in parts]
    record = replace(record, finished=all(one is not None and one.finished for one in stored))
    record.write(path)
    if not record.finished:
        print(f"{head}: not finished: give the same command again", flush=True)
    return record


def _seconds_needed(part: Part, parts: Sequence[Part], record: StageRecord) -> float:
    """Seconds that must be left for a part to begin: what the longest took so far.

    A part is not cut off, so a stage is longer than its time by what a part takes beyond that.
    """
    if part.keeps_time:
        return MIN_SECONDS
    alike = {one.name for one in parts if not one.keeps_time}
    took = [one.last_seconds or one.seconds for one in record.parts if one.name in alike]
    return max([MIN_SECONDS, *took])


def _done(part: Part, earlier: PartRecord | None, settings: Settings) -> PartRecord:
    """Run a part; what it raises is recorded, and costs no other part."""
    start = time.monotonic()
    before = 0.0 if earlier is None else earlier.seconds
    try:
        outcome = part.run(settings)
    except Exception as error:
        spent = time.monotonic() - start
        failed = PartRecord(
            part.name,
            finished=False,
            seconds=before + spent,
            last_seconds=spent,
            text=f"FAILED: {describe(error)}",
            error=traceback.format_exc(),
        )
        # What earlier calls measured of it stands.
        return (
            failed if earlier is None else replace(failed, rows=earlier.rows, units=earlier.units)
        )
    spent = time.monotonic() - start
    return PartRecord(
        name=part.name,
        finished=outcome.finished,
        seconds=before + spent,
        last_seconds=spent,
        text=outcome.text + "".join(f"; OVER THE LIMIT: {one}" for one in outcome.over),
        note=outcome.note,
        over=outcome.over,
        rows=tuple(asdict(row) for row in outcome.rows),
        units=type(outcome.rows[0]).column_units() if outcome.rows else {},
    )
