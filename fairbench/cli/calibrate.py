"""``fairbench calibrate``: the strict family against channels whose information is known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench.auditing.config import PRESETS, Audit, Member
from fairbench.auditing.validation.channels import CHANNELS, Channel
from fairbench.cli.console import err, out
from fairbench.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from fairbench.auditing.validation.calibrate import ChannelAudit

_COLUMNS = {
    "mlp": Member.MLP,
    "trees": Member.BOOSTED_TREES,
    "deep": Member.DEEP_TREES,
    "logistic": Member.LOGISTIC,
    "knn": Member.KNN,
    "counts": Member.COUNTING,
    "blend": Member.BLEND,
}
"""Heads of the table's columns; of a member's views the best on validation is shown."""
_FEWEST_ROWS = 100


def calibrate_command(names: Sequence[str] | None, *, rows: int, seeds: int, as_json: bool) -> int:
    """Print truth against each auditor and the family; 1 if a target is missed, else 0.

    Parameters
    ----------
    names : sequence of str, optional
        Channels; all of them unless given.
    rows : int
        Rows to train on, and as many to test on; half as many choose.
    seeds : int
        Draws of every channel; figures are means over them.
    as_json : bool
        Print JSON, with every auditor's figure on every view.

    Raises
    ------
    ConfigError
        Too few rows or seeds; UnknownNameError: a channel that does not exist.
    """
    channels = _channels(names, list(CHANNELS))
    for what, value, least in (("rows", rows, _FEWEST_ROWS), ("seeds", seeds, 1)):
        if value < least:
            raise ConfigError(f"--{what} is {value}.", f"Give {least} or more.")
    from fairbench.auditing.validation.calibrate import audit_channel

    found: dict[str, list[ChannelAudit]] = {}
    if not as_json:
        out.print(
            f"I(Z;S) in nats: {rows:,} rows to train and to test, {rows // 2:,} to choose; "
            f"{seeds} {'seed' if seeds == 1 else 'seeds'}\n"
        )
        out.print(_line("channel", "truth", "family", "low", "high", *_COLUMNS, "found by"))
    for channel in channels:
        readings = [
            audit_channel(channel, rows=rows, seed=seed, config=PRESETS[Audit.STRICT])
            for seed in range(seeds)
        ]
        found[channel.name] = readings
        if not as_json:
            out.print(_row(readings), markup=False)
    if as_json:
        print(json.dumps([_plain(readings) for readings in found.values()]))
    missed = [name for name, readings in found.items() if not _hit(readings)]
    if missed:
        err.print(
            f"Missed: {', '.join(missed)}. The target is within max(.02 nats, 8%) of the truth "
            "from below, and not above it by more than the interval.",
            markup=False,
        )
    return 1 if missed else 0


def _channels(names: Sequence[str] | None, default: Sequence[str]) -> list[Channel]:
    for name in names or ():
        if name not in CHANNELS:
            raise UnknownNameError("channel", name, CHANNELS)
    return [CHANNELS[name] for name in names or default]


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _hit(readings: Sequence[ChannelAudit]) -> bool:
    """Whether the means over seeds keep to the target; a known limit always does."""
    from fairbench.auditing.validation.calibrate import tolerance

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
                "family": r.estimate,
                "low": r.low,
                "high": r.high,
                "plug_in": r.plug_in,
                "chosen": asdict(r.chosen),
                "auditors": [asdict(result) for result in r.results],
            }
            for r in readings
        ],
    }
