"""``fairbench verify``: train some points of a submission again, and compare."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from fairbench.cli import setup
from fairbench.cli.against import show_compared
from fairbench.cli.console import err, out, show_columns
from fairbench.cli.options import DataRoot, TrainOn, Workers
from fairbench.cli.plugins import load_plugins
from fairbench.cli.progress import ProgressDisplay
from fairbench.cli.remaining import Remaining
from fairbench.cli.verify_folder import began_at, folder_of, verification_folder
from fairbench.config import Device, RunConfig
from fairbench.errors import ConfigError
from fairbench.files import is_writable, write_file
from fairbench.leaderboard.against import compare_with
from fairbench.leaderboard.boards import PUBLISHED, find_board
from fairbench.leaderboard.select import select
from fairbench.registry import Registry
from fairbench.report.format import format_count, format_figure
from fairbench.runs.cost import versions
from fairbench.runs.data_files import DataFiles
from fairbench.runs.driver import drive
from fairbench.runs.executors import make_executor
from fairbench.runs.fit_job import FitJob
from fairbench.runs.isolated_encoding import EncodedAlone, encode_alone
from fairbench.runs.isolation import Isolation, isolated_processes
from fairbench.runs.own_processes import OwnProcesses
from fairbench.runs.plan import make_plan
from fairbench.runs.training import TrainingRun
from fairbench.runs.verification import SubmittedRow, check_source
from fairbench.runs.verified_figures import MeanAdvantage, RetrainedFigure, mean_advantages
from fairbench.store.database import Store, now
from fairbench.store.records import PointRecord, UnitRecord
from fairbench.store.submission import SUFFIX, read_submission
from fairbench.training.device import resolve_device

_MAIN = {"mutual_information": "I", "distortion": "D", "accuracy_y": "A_y"}
"""What is shown of a point where it agrees; other figures are shown where they differ."""
_NAMES = {
    **_MAIN,
    **{f"{name}_validation": f"{short}, val." for name, short in _MAIN.items()},
    "accuracy_s_validation": "A_s, val.",
    "mutual_information_y_validation": "I(Z;Y), val.",
    "certified_plug_in_information": "I, counted",
    "certified_mutual_information": "I, cert.",
    "certified_rows": "rows",
    "certified_smallest_group": "of a group",
    "certified_groups": "groups",
}
"""Short names of figures that rank rows: the whole ones would be broken in a table."""


@dataclass(frozen=True)
class TrainedAgain:
    """The drawn points that were measured again, by key, and their rows encoded from x alone."""

    points: Mapping[str, PointRecord]
    alone: Sequence[EncodedAlone]


@dataclass(frozen=True)
class Findings:
    """All that was found of a submission: contradictions within it, and of its drawn points."""

    contradictions: Sequence[str]
    compared: Sequence[RetrainedFigure]
    alone: Sequence[EncodedAlone]

    @property
    def advantages(self) -> list[MeanAdvantage]:
        """By how much figures were better as submitted, on average over the points."""
        return mean_advantages(self.compared)

    @property
    def agree(self) -> bool:
        """Whether the submission is verified."""
        return (
            not self.contradictions
            and len(self.compared) > 0
            and all(one.agrees for one in self.compared)
            and all(one.agrees for one in self.advantages)
            and all(one.agrees for one in self.alone)
        )

    @property
    def whole(self) -> bool:
        """Whether it was checked what its encoder needs."""
        return all(one.differing is not None for one in self.alone)


def verify_command(
    file: Annotated[Path, typer.Argument(help="Submission to verify.")],
    points: Annotated[int, typer.Option(min=1, help="Number of points to train again.")] = 3,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the draw [default: drawn by chance].")
    ] = None,
    against: Annotated[
        str, typer.Option("--against", metavar="BOARD", help="Published board that it is for.")
    ] = PUBLISHED,
    add_to: Annotated[
        Path | None,
        typer.Option(help="Results folder to add the row to, marked as verified, if it passes."),
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(
            "--dataset", metavar="CARD", help="Dataset card (.yaml) of a board of your own data."
        ),
    ] = None,
    device: TrainOn = None,
    workers: Workers = None,
    data_root: DataRoot = None,
) -> None:
    """Check a submission: train and audit some of its points again, most drawn by chance.

    The file holds no code: the method must be installed, with the same source. Exit code 1 where a
    figure differs by more than is allowed. Interrupted, it goes on after the last training that
    ended: give the same command again.
    """
    if not file.name:
        raise ConfigError(f"{file} is no file.", "Name a submission (.submission.jsonl.gz).")
    if add_to is not None and add_to.exists() and not add_to.is_dir():
        raise ConfigError(f"--add-to {add_to} is no folder.", "Name a results folder.")
    path = file.with_name(file.name.removesuffix(SUFFIX) + ".verification.json")
    for written in (path.parent, add_to):
        if written is not None and not is_writable(written):
            raise ConfigError(
                f"Nothing can be written to {written}.",
                "Nothing was trained. Copy the submission to another folder, or name another one "
                "with --add-to.",
            )
    # Before the plugin is imported.
    processes, began = isolated_processes(), time.time()
    registry = load_plugins()
    submission = read_submission(file)
    board = find_board(against, registry, submission.info.dataset)
    row = SubmittedRow(submission, board)
    check_source(submission.info, registry)
    references = list(board.references)
    records = select(row.units.values(), row.points, references)
    show_compared(compare_with(records, board, registry), "submitted, as its file says")
    if row.label is not None:  # the table may show it in place of the hyperparameters
        err.print(f"Its hyperparameters, labelled {row.label}: {row.info.params}", markup=False)
    wrong = row.contradictions()
    for line in wrong:
        err.print(f"Contradiction: {line}.", markup=False)
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    folder = folder_of(sha256)
    with verification_folder(folder, sha256=sha256, points=points, seed=seed) as (draw, goes_on):
        if goes_on:
            err.print(f"Going on with the interrupted verification in {folder}.", markup=False)
        drawn = row.draw(points, draw)
        config = row.config()
        again = _train_again(
            row,
            drawn,
            config.model_copy(
                update={
                    "datasets": config.datasets if card is None else (str(card),),
                    "workers": workers,
                    "data_root": data_root,
                    "device": device or Device.AUTO,
                    "results": folder,
                    "require_real_data": True,
                }
            ),
            registry,
            processes,
            began,
        )
        found = Findings(
            wrong,
            [one for point in drawn for one in _compare(row, point, again.points.get(point.key))],
            again.alone,
        )
        _show(found)
        # Before the file, which a full disk may refuse: the verdict took long.
        if found.agree:
            agreed = f"{format_count(len(drawn), 'point')} drawn here agree. {path}"
            out.print(f"Verified{'' if found.whole else ', but not its encoder'}: {agreed}")
        else:
            out.print(f"NOT verified: see above, and {path}.", markup=False)
        # Within: where something cannot be written, the same command need not train again.
        _write(path, sha256, submission.info.model_dump(), found)
        if found.agree and add_to is not None:
            _add(row, add_to)
    if not found.agree:
        raise typer.Exit(1)


def _add(row: SubmittedRow, folder: Path) -> None:
    """Add a verified row to a results folder."""
    origin = row.info.origin(now()[:10])
    kept = row.records_to_keep
    taken = Store.in_folder(folder).merge(kept, origin, verified=True)["points"]
    out.print(f"Added to {folder}: {format_count(taken, 'point')}, {origin}.", markup=False)
    own = sum(isinstance(one, PointRecord) for one in kept) - taken
    if own:
        err.print(f"{format_count(own, 'point')} are left out: {folder} has made them itself.")


def _train_again(
    row: SubmittedRow,
    drawn: Sequence[PointRecord],
    config: RunConfig,
    registry: Registry,
    processes: OwnProcesses,
    began: float,
) -> TrainedAgain:
    """Resume the run as if the drawn points had not been audited.

    ``processes`` are those that train or encode apart from the data. ``began``: when this command
    did, seconds since 1970.
    """
    # All of this before the data are in memory: the plugin is asked things when they are.
    store = Store.in_folder(config.results)
    started = (dt.datetime.fromisoformat(run.started).timestamp() for run in store.runs())
    isolation = Isolation(
        since=began_at(config.results, [began, *started]),
        data=DataFiles.among(setup.paths_of_data(config, registry)),
        processes=processes,
        method=row.info.method,
        params=next(iter(row.units.values())).params,
    )
    datasets = setup.load_datasets(config, registry)
    if (name := datasets[0].info.name) != row.info.dataset:
        raise ConfigError(
            f"The submission is for {row.info.dataset}, and --dataset is {name}.",
            "Give the card that the board was made with.",
        )
    plan = make_plan(config, registry, datasets)
    # A row over folds may lack the official split, of which nobody is ranked.
    splits = {unit.split for unit in row.units.values()}
    of_row = [unit for unit in plan.units if unit.record("").split in splits]
    if set(row.units) != {unit.key for unit in of_row}:
        raise ConfigError(
            "The models of the submission are not all those that this version trains for the row.",
            "Use the versions of fairbench and of the plugin that it was made with.",
        )
    row.check_described({unit.key: unit.record("") for unit in of_row})
    keys = {point.key for point in drawn}
    store.merge([record for record in row.records if record.key not in keys])
    plan = replace(plan, units=of_row)
    device = resolve_device(config.device)
    run = TrainingRun(config, registry, plan, store, device, isolation=isolation)
    jobs = run.jobs()
    executor = make_executor(config)
    remaining = Remaining(executor.workers)
    for job in jobs:
        remaining.plan(job.estimate, fits=isinstance(job, FitJob))
    err.print(
        f"{format_count(len(drawn), 'point')} drawn; {format_count(len(jobs), 'job')}.",
        markup=False,
    )
    try:
        with ProgressDisplay(remaining, len(jobs)) as display:
            run.begin(setup.command_line())
            drive(run, executor, display)
    finally:
        executor.stop()
    for failure in run.summary.failures:
        err.print(failure.line, markup=False)
    units = store.find(UnitRecord, sorted({point.unit for point in drawn}))
    for key, unit in units.items():
        if unit.done and {p.label for p in unit.points} != {p.label for p in row.units[key].points}:
            raise ConfigError(
                f"{unit.title} has {format_count(len(unit.points), 'point')} here, and "
                f"{len(row.units[key].points)} in the submission.",
                "Both must have the same points. Use the versions of fairbench and the plugin with "
                "which the submission was made.",
            )
    points = {k: point for k, point in store.find(PointRecord, list(keys)).items() if point.done}
    by_key = {unit.key: unit for unit in plan.units}
    err.print("Encoding the rows of these points again, from x alone.", markup=False)
    alone = [
        encode_alone(by_key[point.unit], units[point.unit], point.label, config.results, isolation)
        for point in points.values()
    ]
    return TrainedAgain(points, alone)


def _compare(
    row: SubmittedRow, drawn: PointRecord, again: PointRecord | None
) -> list[RetrainedFigure]:
    """A point that gave nothing now agrees with nothing."""
    return row.compare(drawn, again or drawn.replace(values={}))


def _show(found: Findings) -> None:
    def number(value: float | None) -> str:
        return "none" if value is None else format_figure(value, decimals=4)

    measured = {one.point.key for one in found.compared if one.again is not None}
    show_columns(
        ("split", "point", "", "submitted", "measured now", "allowed", ""),
        [
            (
                one.unit.split,
                one.point.label,
                _NAMES.get(one.figure, one.figure),
                number(one.submitted),
                number(one.again),
                number(one.allowed),
                "agrees" if one.agrees else "DIFFERS",
            )
            for one in found.compared
            if (one.submitted is not None or one.again is not None)
            and (one.figure in _MAIN or (not one.agrees and one.point.key in measured))
        ],
    )
    for mean in found.advantages:
        if not mean.agrees:
            err.print(
                f"On average over the drawn points, {_NAMES[mean.figure]} was lower by "
                f"{number(mean.advantage)} as submitted; by chance it would be at most "
                f"{number(mean.allowed)}. --points 10 compares more points.",
                markup=False,
            )
    for why in sorted({one.why for one in found.alone if one.why and not one.failed}):
        err.print(
            f"Whether its encoder needs x alone was not checked: {why}. Read its source.",
            markup=False,
        )
    for one in found.alone:
        if one.failed:
            what = f"it failed: {one.why}"
        elif one.differing is not None and not one.agrees:
            what = f"{one.differing:.1%} of the rows differ: it uses more than x"
        else:
            continue
        err.print(f"{one.unit.split}, {one.label}, encoded from x alone: {what}.", markup=False)


def _write(
    path: Path,
    sha256: str,
    info: dict[str, Any],
    found: Findings,
) -> None:
    """Write what was compared beside the submission."""
    content = {
        "submission": info,
        "sha256": sha256,
        "verified": found.agree,
        "when": now(),
        "versions": dict(versions()),
        "contradictions": list(found.contradictions),
        "points": [
            {
                "split": one.unit.split,
                "seed": one.unit.seed,
                "point": one.point.label,
                "figure": one.figure,
                "submitted": one.submitted,
                "measured_now": one.again,
                "allowed": one.allowed,
                "agrees": one.agrees,
            }
            for one in found.compared
        ],
        "mean_advantages": [
            {
                "figure": one.figure,
                "advantage": one.advantage,
                "allowed": one.allowed,
                "agrees": one.agrees,
            }
            for one in found.advantages
        ],
        "encoded_from_x_alone": [
            {
                "split": one.unit.split,
                "seed": one.unit.seed,
                "point": one.label,
                "share_of_changed_rows": one.differing,
                "why": one.why,
                "agrees": one.agrees,
            }
            for one in found.alone
        ],
    }
    write_file(path, json.dumps(content, indent=1).encode())
