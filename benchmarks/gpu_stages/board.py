"""Stage 3: the whole leaderboard of Adults-Gender for one replicate, by ``fairbench run``.

The run is a process of its own. Where its time is up it is interrupted as by Ctrl-C, and the next
call goes on from its results folder and its checkpoints, as any run does.
"""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from fairbench.leaderboard import build as leaderboard
from fairbench.registry import load_registry
from fairbench.store.database import Store
from fairbench.store.records import PointRecord, UnitRecord
from fairbench.store.status import Status
from gpu_stages.records import MIN_SECONDS, Outcome, Part, Row, of_unit
from gpu_stages.settings import Settings
from gpu_stages.small_data import write_small_table

_LONGEST_END = 20.0
"""Seconds that an interrupted run has to end by itself."""
_RESERVE = 2 * MIN_SECONDS + _LONGEST_END
"""Seconds of a stage that are left for what comes after the run."""
_CHECKPOINT_EVERY = "60s"
"""A run that is cut off every few minutes must not lose them."""
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class BoardRun(Row):
    """How far the run is."""

    exit_code: int | None  # None: interrupted
    units: int = of_unit("models")
    fitted: int = of_unit("models")
    failed: int = of_unit("models")
    points: int = of_unit("points of fitted models")
    audited: int = of_unit("points")


@dataclass(frozen=True)
class MethodSeconds(Row):
    """Seconds of one method's jobs, all its models and points together."""

    method: str
    models: int = of_unit("models")
    points: int = of_unit("points")
    train: float = of_unit("s, each stack alone")
    encode: float = of_unit("s of one core")
    audit: float = of_unit("s of one core")


@dataclass(frozen=True)
class BoardRow(Row):
    """A row of the leaderboard."""

    method: str
    track: str
    budget: str
    audit: str
    data_source: str
    complete: bool
    points: int = of_unit("points")
    points_missing: int = of_unit("points")
    aufdc: float | None = of_unit("share of the area between x and nothing")
    aufdc_low: float | None = of_unit("the same, 95% confidence")
    aufdc_high: float | None = of_unit("the same, 95% confidence")
    accuracy_y_at_accuracy_s_10: float | None = of_unit("share of rows")


def results_folder(settings: Settings) -> Path:
    """Return the results folder of the run."""
    return settings.out / "board"


def parts(settings: Settings) -> list[Part]:
    """Return the run, and what is read of its results, finished or not."""
    return [
        Part("run", _run, keeps_time=True),
        Part("seconds by method", _seconds),
        Part("leaderboard", _rows),
    ]


def _run(settings: Settings) -> Outcome:
    results = results_folder(settings)
    results.mkdir(parents=True, exist_ok=True)
    config = results / "run.yaml"
    config.write_text(f"checkpoint_every: {_CHECKPOINT_EVERY}\n")
    dataset = str(write_small_table(results)) if settings.quick else "adults-gender"
    command = [sys.executable, "-m", "fairbench", "run", *settings.sizes.board_options]
    command += ["--dataset", dataset, "--device", settings.device, "--config", str(config)]
    command += ["--data-root", str(settings.data_root), "--results", str(results)]
    code = _interruptible(command, results / "run.log", settings.seconds_left - _RESERVE)
    row = _counts(results, code)
    text = (
        f"{row.fitted} of {row.units} models fitted, {row.audited} of their {row.points} points "
        f"audited, {row.failed} models failed; "
        + ("interrupted" if code is None else f"exit code {code}")
    )
    if code not in (None, 0, 1):
        raise RuntimeError(f"fairbench run ended with {code}: see {results / 'run.log'}")
    finished = code is not None
    _mark(settings).touch() if finished else _mark(settings).unlink(missing_ok=True)
    over = [f"{row.failed} models failed"] if finished and row.failed else []
    options = [*settings.sizes.board_options, "--dataset", Path(dataset).name]
    note = f"fairbench run {' '.join(options)}; checkpoints every {_CHECKPOINT_EVERY}."
    return Outcome([row], text, note, tuple(over), finished)


def _mark(settings: Settings) -> Path:
    """Return the file that is there once the run has ended by itself."""
    return results_folder(settings) / "ended"


def _interruptible(command: list[str], log: Path, seconds: float) -> int | None:
    """Run a command; None where it was interrupted after so many seconds."""
    with log.open("ab") as stream:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            preexec_fn=_follow_the_parent,
        )
        try:
            return process.wait(max(1.0, seconds))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            return None
        finally:
            # Also where this process itself is interrupted: a terminal's Ctrl-C reaches both.
            try:
                process.wait(_LONGEST_END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _follow_the_parent() -> None:
    """Have this process be interrupted when its parent is gone; a shell may ignore interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)


def _counts(results: Path, code: int | None) -> BoardRun:
    units, points = _records(results)
    statuses = Counter(unit.status for unit in units)
    return BoardRun(
        exit_code=code,
        units=len(units) - statuses[Status.SKIPPED],
        fitted=statuses[Status.DONE],
        failed=sum(count for status, count in statuses.items() if status.is_failure),
        points=sum(len(unit.points) for unit in units if unit.done),
        audited=sum(point.done for point in points),
    )


def _records(results: Path) -> tuple[list[UnitRecord], list[PointRecord]]:
    if not (results / "fairbench.sqlite").exists():
        return [], []
    store = Store.in_folder(results, create=False)
    return store.records(UnitRecord), store.records(PointRecord)


def _seconds(settings: Settings) -> Outcome:
    units, points = _records(results_folder(settings))
    rows = []
    for name in sorted({unit.method for unit in units}):
        mine = {unit.key: unit.costs or {} for unit in units if unit.method == name}
        audited = [point for point in points if point.unit in mine]
        rows.append(
            MethodSeconds(
                method=name,
                models=sum(unit.done for unit in units if unit.method == name),
                points=sum(point.done for point in audited),
                train=sum(costs.get("train_seconds", 0.0) for costs in mine.values()),
                encode=sum(costs.get("encode_seconds", 0.0) for costs in mine.values()),
                audit=sum(point.seconds or 0.0 for point in audited),
            )
        )
    text = ", ".join(
        f"{phase} {sum(getattr(row, phase) for row in rows):,.0f} s"
        for phase in ("train", "encode", "audit")
    )
    note = "Fits that share a device slow each other down; their seconds are of wall time."
    return Outcome(rows, text, note, finished=_mark(settings).exists())


def _rows(settings: Settings) -> Outcome:
    tables = []
    if _records(results_folder(settings))[0]:
        store = Store.in_folder(results_folder(settings), create=False)
        tables = leaderboard.build(store, load_registry())
    rows = [
        BoardRow(
            method=row.method,
            track=row.track,
            budget=row.budget,
            audit=row.audit,
            data_source=row.data_source,
            complete=row.complete,
            points=row.points,
            points_missing=row.points_missing,
            aufdc=row.figures.get("aufdc"),
            aufdc_low=row.figures.get("aufdc_low"),
            aufdc_high=row.figures.get("aufdc_high"),
            accuracy_y_at_accuracy_s_10=row.figures.get("accuracy_y_at_accuracy_s_10"),
        )
        for table in tables
        for row in table.leaderboard
    ]
    ranked = sorted((row.aufdc, row.method) for row in rows if row.aufdc is not None)
    text = f"{len(rows)} rows, {sum(row.complete for row in rows)} complete"
    if ranked:
        text += f"; AUFDC from {ranked[0][0]:.3f} ({ranked[0][1]}) to {ranked[-1][0]:.3f}"
    note = "One replicate: official split, seed 0. AUFDC: lower is better."
    return Outcome(rows, text, note, finished=_mark(settings).exists())
