"""``fairbench encode``: new rows through a kept encoder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairbench.api import Coding, Point, Track
from fairbench.cli.console import err
from fairbench.cli.results import existing_store
from fairbench.data.csv_files import sniff
from fairbench.data.preprocessing import Preprocessing
from fairbench.data.tables import is_parquet
from fairbench.data.unknown import Unknown
from fairbench.errors import ConfigError
from fairbench.models.encode import Encoded, RowEncoder
from fairbench.models.lookup import (
    Place,
    Wanted,
    asked_of,
    audited,
    beside,
    find_unit,
    point_line,
    read_encoder,
    resolve_point,
)
from fairbench.registry import Registry
from fairbench.store.database import Row
from fairbench.store.encoders import Encoder


@dataclass(frozen=True)
class Request:
    """What was asked for on the command line; names as there."""

    results: Path | None
    store: str | None
    wanted: Wanted
    input: Path
    output: Path
    unknown: Unknown
    keep: Sequence[str]
    separator: str | None
    random_state: int | None


def encode_command(registry: Registry, request: Request) -> None:
    """Encode a file, and tell what was done."""
    place = Place(request.results, request.store, asked=asked_of(request.wanted.dataset))
    store = existing_store(request.results, request.store)
    unit = find_unit(store, registry, request.wanted)
    measured = audited(store, [unit])
    encoder = read_encoder(unit, store, registry, place)
    preprocessing = _usable(encoder, request)
    point = resolve_point(encoder, request.wanted.point, measured)
    rows = RowEncoder(
        encoder.at(point),
        preprocessing,
        encoder.method.coding,
        request.unknown,
        request.random_state,
    )
    separator = _separator(request)
    started = time.perf_counter()
    announced = False
    with _progress(request.output) as told:

        def first_told(done: int) -> None:
            nonlocal announced
            if not announced:  # not before the file has turned out to be one that can be encoded
                _tell(unit, point, measured)
                announced = True
            told(done)

        done = rows.encode_file(
            request.input, request.output, keep=request.keep, separator=separator, told=first_told
        )
    _report(done, preprocessing, request.output, time.perf_counter() - started)


def _usable(encoder: Encoder, request: Request) -> Preprocessing:
    """How rows become x; ConfigError where this encoder cannot take rows of a table alone."""
    name = encoder.method.name
    if encoder.preprocessing is None:
        raise ConfigError(
            f"{encoder.info.name} is made of images: {name} cannot encode rows of a table there.",
            "From Python: fairbench.store.encoders.read(...).at(point).encode(x), x being 0 and 1.",
        )
    if encoder.method.track is Track.AWARE:
        raise ConfigError(
            f"{name} is of the aware track: its encoder takes the sensitive attribute of every new "
            "row too, which this command does not read.",
            "Choose a method of the blind track: fairbench recommend --track blind",
        )
    if request.random_state is not None and encoder.method.coding is not Coding.STOCHASTIC:
        raise ConfigError(
            f"--random-state: {name} draws nothing at random.", "Leave --random-state out."
        )
    return encoder.preprocessing


def _separator(request: Request) -> str:
    if request.separator is None:
        return "," if is_parquet(request.input) else sniff(request.input)[0]
    separator = request.separator.replace("\\t", "\t")
    if len(separator) != 1:
        raise ConfigError(
            f"--separator {request.separator!r} is not one character.",
            "Leave it out, and it is found out; a tab is written \\t.",
        )
    return separator


def _tell(unit: Row, point: Point | None, measured: Sequence[Row]) -> None:
    label = "" if point is None or not point.values else f", {point.label}"
    title = f"{unit['method']} on {unit['dataset']}, seed {unit['seed']}{label}"
    err.print(f"{title} ({unit['params_label']}, budget {unit['budget']})", markup=False)
    if unit["data_source"] == "simulated":
        err.print(
            "SIMULATED DATA: this encoder was fitted on a simulated twin, not on real people.",
            markup=False,
        )
    known = [row for row in measured if point is None or row["label"] == point.label]
    if known:
        err.print(f"Its auditors found, on test: {point_line(known[0])}", markup=False)
        return
    err.print("This very point was not audited: what its z leaks is not known.", markup=False)
    if point is not None and point.values:
        for row in beside(point, measured):
            err.print(f"  audited nearby: {point_line(row)}", markup=False)


@contextmanager
def _progress(output: Path) -> Iterator[Callable[[int], None]]:
    """A line with the rows done, on a terminal; an interruption says how far it was."""
    rows = 0

    def told(done: int) -> None:
        nonlocal rows
        rows = done
        if bars is not None:
            bars.update(task, description=f"{done:,} rows")

    bars = None
    if err.is_terminal:
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
        bars = Progress(*columns, console=err, transient=True)
        task = bars.add_task("reading", total=None)
        bars.start()
    try:
        yield told
    except KeyboardInterrupt:
        err.print(f"Stopped after row {rows:,}; {output} was not written.", markup=False)
        raise
    finally:
        if bars is not None:
            bars.stop()


def _report(done: Encoded, preprocessing: Preprocessing, output: Path, seconds: float) -> None:
    for name, count in done.replaced.items():
        err.print(
            f"{name}: {count:,} unknown values became {preprocessing.substitute(name)}",
            markup=False,
        )
    columns = "z0" if done.dimensions == 1 else f"z0 to z{done.dimensions - 1}"
    err.print(
        f"{done.rows:,} rows, {columns}, in {seconds:.1f} s: {output}",
        markup=False,
    )
