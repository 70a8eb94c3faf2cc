"""``fairbench calibrate``: the audit ensemble on channels whose information is known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from fairbench.auditing.config import PRESETS, AuditPreset, Member
from fairbench.auditing.tolerance import tolerance
from fairbench.auditing.validation.suite import CHANNELS
from fairbench.cli.console import err, out
from fairbench.cli.options import LIST, DataRoot, complete_datasets
from fairbench.config import split_names
from fairbench.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from fairbench.auditing.validation.calibrate import ChannelAudit

_COLUMNS = {
    "mlp": Member.MLP,
    "trees": Member.BOOSTED_TREES,
    "soft": Member.SOFT_TREES,
    "logistic": Member.LOGISTIC,
    "knn": Member.KNN,
    "counts": Member.COUNTING,
    "blend": Member.BLEND,
}
"""Headings of the table; each auditor's best view on the validation set is shown."""
_MIN_ROWS = 100
_MAX_ROWS = 10_000_000


def calibrate_command(
    channels: Annotated[
        str | None, typer.Option(metavar=LIST, help="Channels, separated by commas [default: all].")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(help="Number of training rows, and of test rows [default: 10000]."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="Number of draws per channel: seeds 0 to N-1 [default: 1]."),
    ] = None,
    attacks: Annotated[
        bool,
        typer.Option(
            "--attacks", help="Audit encoders built to hide s from auditors, on a dataset."
        ),
    ] = False,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Dataset of --attacks, which need one.", autocompletion=complete_datasets
        ),
    ] = None,
    data_root: DataRoot = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use the quick audit with --attacks.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, with the figures of every auditor and view.")
    ] = False,
) -> None:
    """Test the auditors on synthetic data whose I(Z;S) is known.

    Prints the truth beside each auditor and the audit ensemble. The exit code is 1 if a target is
    missed. With --attacks, the auditors are tested on encoders built to hide s from them.
    """
    if attacks:
        if any(option is not None for option in (channels, rows, seeds)):
            raise ConfigError(
                "--attacks audits the rows of a dataset; it uses no channels.",
                "Leave --channels, --rows and --seeds out, or --attacks.",
            )
        if dataset is None:
            raise ConfigError(
                "--attacks need a dataset whose rows are encoded.",
                "Give one with --dataset NAME; see: fairbench list datasets",
            )
        from fairbench.cli.calibrate_attacks import calibrate_attacks

        raise typer.Exit(calibrate_attacks(dataset, data_root, quick=quick, as_json=as_json))
    if dataset is not None or data_root is not None or quick:
        raise ConfigError(
            "Channels are simulated: they have no dataset and no quick audit.",
            "Leave --dataset, --data-root and --quick out, or add --attacks.",
        )
    names = split_names(channels) if channels is not None else None
    code = calibrate(
        names,
        rows=10_000 if rows is None else rows,
        seeds=1 if seeds is None else seeds,
        as_json=as_json,
    )
    raise typer.Exit(code)


def calibrate(names: Sequence[str] | None, *, rows: int, seeds: int, as_json: bool) -> int:
    """Print the truth beside each auditor and the ensemble; return 1 if a target is missed.

    ``rows`` train and as many test, half as many choose; figures are means over ``seeds`` draws.

    Raises
    ------
    ConfigError, UnknownNameError
        Too few rows or seeds, too many rows, or there is no such channel.
    """
    for name in names or ():
        if name not in CHANNELS:
            raise UnknownNameError("channel", name, CHANNELS)
    for what, value, least in (("rows", rows, _MIN_ROWS), ("seeds", seeds, 1)):
        if value < least:
            raise ConfigError(f"--{what} is {value}.", f"Give {least} or more.")
    if rows > _MAX_ROWS:
        raise ConfigError(f"--rows is {rows}.", f"Give at most {_MAX_ROWS:,}.")
    from fairbench.auditing.validation.calibrate import audit_channel

    readings_of: dict[str, list[ChannelAudit]] = {}
    if not as_json:
        out.print(
            f"I(Z;S) in nats: {rows:,} rows to train and to test, {rows // 2:,} to choose; "
            f"{seeds} {'seed' if seeds == 1 else 'seeds'}\n"
        )
        out.print(_line("channel", "truth", "ensemble", "low", "high", *_COLUMNS, "chosen"))
    for channel in (CHANNELS[name] for name in names or CHANNELS):
        readings = [
            audit_channel(channel, rows=rows, seed=seed, config=PRESETS[AuditPreset.STRICT])
            for seed in range(seeds)
        ]
        readings_of[channel.name] = readings
        if not as_json:
            out.print(_row(readings), markup=False)
    if as_json:
        print(json.dumps([_plain(readings) for readings in readings_of.values()]))
    missed = [name for name, readings in readings_of.items() if not _hit(readings)]
    if missed:
        err.print(
            f"Missed: {', '.join(missed)}. The target: at most max(.02 nats, 8%) below the truth, "
            "and above it by no more than the confidence interval.",
            markup=False,
        )
    return 1 if missed else 0


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _hit(readings: Sequence[ChannelAudit]) -> bool:
    """Whether the means over seeds meet the target; a known limit always does."""
    truth = readings[0].truth
    gap = truth - _mean(r.estimate for r in readings)
    near = gap <= tolerance(truth) or readings[0].channel.limit
    return near and _mean(r.low for r in readings) <= truth


def _figure(reading: ChannelAudit, member: Member) -> float | None:
    own = [r for r in reading.results if r.auditor == member.value]
    if not own:
        return None
    return max(own, key=lambda r: r.validation_information).test_information


def _row(readings: Sequence[ChannelAudit]) -> str:
    first = readings[0]
    cells: list[str] = []
    for member in _COLUMNS.values():
        own = [f for r in readings if (f := _figure(r, member)) is not None]
        cells.append(f"{_mean(own):.3f}" if own else "-")
    by = f"{first.chosen.auditor}, {first.chosen.view}"
    note = "" if _hit(readings) else "  MISSED"
    if first.channel.limit:
        note = "  (known limit)"
    return _line(
        first.channel.name,
        f"{first.truth:.3f}",
        f"{_mean(r.estimate for r in readings):.3f}",
        f"{_mean(r.low for r in readings):.3f}",
        f"{_mean(r.high for r in readings):.3f}",
        *cells,
        by + note,
    )


def _line(name: str, *cells: str) -> str:
    *numbers, last = cells
    return f"{name:15}" + "".join(f"{cell:>9}" for cell in numbers) + f"  {last}"


def _plain(readings: Sequence[ChannelAudit]) -> dict[str, Any]:
    channel = readings[0].channel
    return {
        "channel": channel.name,
        "classes": channel.classes,
        "formula": channel.formula,
        "truth": readings[0].truth,
        "known_limit": channel.limit,
        "within_target": _hit(readings),
        "seeds": [
            {
                "seed": r.seed,
                "ensemble": r.estimate,
                "low": r.low,
                "high": r.high,
                "plug_in": r.plug_in,
                "chosen": asdict(r.chosen),
                "auditors": [asdict(result) for result in r.results],
            }
            for r in readings
        ],
    }
