"""From records to tables: one row a method, one row a point. A pure function of the store."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench.api import NO_KNOBS, CurveEvaluation, Metric
from fairbench.atomic import write_atomically
from fairbench.columns import POINT_COLUMNS
from fairbench.errors import StoreError
from fairbench.metrics.pareto import on_front
from fairbench.registry import Registry
from fairbench.status import Status
from fairbench.store import Row, Store, belongs, of_a_trial

if TYPE_CHECKING:
    import pandas as pd

Group = tuple[str, ...]


@dataclass(frozen=True)
class Tables:
    """Leaderboard and points of one dataset.

    Parameters
    ----------
    dataset : str
        Name, with ``-simulated`` for a twin: the file's name.
    leaderboard, points : list of dict
        Rows, columns in order.
    problems : list of str
        Metrics that raised, each with what it said; their columns are empty.
    """

    dataset: str
    leaderboard: list[Row]
    points: list[Row]
    problems: list[str]


def build(store: Store, registry: Registry) -> list[Tables]:
    """All tables of a store, by dataset name."""
    asked = [row for row in store.rows("units") if not of_a_trial(row)]
    units = _latest([row for row in asked if row["status"] != Status.SKIPPED])
    by_key = {row["key"]: row for row in units}
    measured = [
        # A model that was trained again may be read elsewhere: points of the old one do not count.
        row
        for row in store.rows("points")
        if belongs(row, by_key.get(row["unit"]))
    ]
    newest: dict[str, int] = {}
    for row in measured:
        data = by_key[row["unit"]]["fingerprint"]
        newest[data] = max(newest.get(data, 1), _audit_version(row))
    points: dict[str, list[Row]] = defaultdict(list)
    for row in measured:
        # Figures of two versions of the auditors do not compare: what the newest has not measured
        # counts as missing.
        if _audit_version(row) == newest[by_key[row["unit"]]["fingerprint"]]:
            points[row["unit"]].append(row)
    references = {
        (row["fingerprint"], row["protocol"], row["seed"], row["audit"]): row["values"]
        for row in store.rows("references")
        if row["status"] == Status.DONE
        and _audit_version(row) == newest.get(row["fingerprint"], _audit_version(row))
    }
    curves = _curves(units, points)
    by_dataset: dict[str, list[Row]] = defaultdict(list)
    tidy: dict[str, list[Row]] = defaultdict(list)
    problems: dict[str, list[str]] = defaultdict(list)
    metrics = list(registry.metrics.classes.values())
    for group in curves.values():
        first = group[0].units[0]
        name = table_name(first["dataset"], first["data_source"])
        by_dataset[name].append(_row(group, references, metrics, problems[name]))
        tidy[name] += [_in_columns(row, metrics) for c in group for row in _point_rows(c)]
    return [
        Tables(name, _ranked(rows), sorted(tidy[name], key=_point_order), problems[name])
        for name, rows in sorted(by_dataset.items())
    ]


def _audit_version(row: Row) -> int:
    return row["audit_version"] or 1


def table_name(dataset: str, data_source: str) -> str:
    """Name of a dataset's files: a simulated twin has files of its own."""
    return f"{dataset}-simulated" if data_source == "simulated" else dataset


@dataclass(frozen=True)
class _Curve:
    """All units and points of one method, dataset and seed."""

    seed: int
    audit: str
    units: list[Row]
    points: list[Row]

    @property
    def done(self) -> list[Row]:
        return [row for row in self.points if row["status"] == Status.DONE]

    @property
    def missing(self) -> int:
        """Points without figures: failed ones, and all of a unit that gave none."""
        empty = [unit for unit in self.units if not unit["read_points"]]
        known = sum(len(unit["read_points"] or ()) for unit in self.units)
        return sum(unit["curve_points"] or 1 for unit in empty) + known - len(self.done)


def _latest(units: Sequence[Row]) -> list[Row]:
    """The rows that a leaderboard speaks of.

    Of a dataset those of the data and protocol used last; of a method those of the code used last;
    of a single-shot unit that was read at different numbers of points, the one with most.
    """
    units = _newest(units, ("dataset", "data_source"), ("fingerprint", "protocol"))
    units = _newest(units, IDENTITY, ("code",))
    chosen: dict[Group, Row] = {}
    for row in sorted(units, key=lambda r: (r["curve_points"] or 0, r["finished"] or "")):
        chosen[(*_identity(row), str(row["seed"]), str(row["point"]))] = row
    return sorted(chosen.values(), key=lambda r: str(r["key"]))


def _newest(units: Sequence[Row], same: Sequence[str], differ: Sequence[str]) -> list[Row]:
    """Of rows alike in ``same``, those whose ``differ`` are as in the one finished last."""
    newest: dict[Group, tuple[str, Group]] = {}
    for row in units:
        made = (row["finished"] or "", _values(row, differ))
        key = _values(row, same)
        newest[key] = max(newest.get(key, made), made)
    return [row for row in units if newest[_values(row, same)][1] == _values(row, differ)]


IDENTITY = ("dataset", "data_source", "track", "budget", "method", "params")
"""What makes a row of the leaderboard, with the audit."""


def _identity(row: Row) -> Group:
    return _values(row, IDENTITY)


def _values(row: Row, names: Sequence[str]) -> Group:
    return tuple(json.dumps(row[name], sort_keys=True) for name in names)


def _curves(units: Sequence[Row], points: Mapping[str, list[Row]]) -> dict[Group, list[_Curve]]:
    """Curves of each leaderboard row, by seed."""
    members: dict[tuple[Group, str, int], tuple[list[Row], list[Row]]] = {}
    for unit in units:
        audits = {row["audit"] for row in points[unit["key"]]}
        for audit in audits or {"quick" if unit["budget"] == "quick" else "strict"}:
            place = members.setdefault((_identity(unit), audit, unit["seed"]), ([], []))
            place[0].append(unit)
            place[1].extend(row for row in points[unit["key"]] if row["audit"] == audit)
    found: dict[Group, list[_Curve]] = defaultdict(list)
    for (identity, audit, seed), (own, measured) in sorted(members.items(), key=lambda m: m[0]):
        found[(*identity, audit)].append(_Curve(seed, audit, own, _in_order(own, measured)))
    return found


def _in_order(units: Sequence[Row], points: Sequence[Row]) -> list[Row]:
    """Points by their knobs: the order in which a curve is drawn."""
    return sorted(points, key=lambda row: (sorted(row["knobs"].items()), row["number"]))


def _row(
    curves: Sequence[_Curve],
    references: Mapping[tuple[str, int, int, str], Mapping[str, float]],
    metrics: Sequence[type[Metric]],
    problems: list[str],
) -> Row:
    first = curves[0].units[0]
    hardware = [unit["hardware"] for curve in curves for unit in curve.units if unit["hardware"]]
    # Costs on cpu and cuda are never summed or averaged: a mixed row has none.
    one_device = len({h["device"] for h in hardware}) == 1
    per_seed: list[dict[str, float | None]] = []
    used: list[Mapping[str, float]] = []
    for curve in curves:
        reference = references.get(
            (first["fingerprint"], first["protocol"], curve.seed, curve.audit)
        )
        if reference is None or not curve.done:
            continue
        used.append(reference)
        per_seed.append(_curve_values(curve, reference, metrics, problems, one_device))
    missing = sum(curve.missing for curve in curves)
    complete = missing == 0 and len(per_seed) == len(curves)
    row: Row = {
        "rank": None,
        "method": first["method"],
        "params": first["params_label"],
        "track": first["track"],
        "tags": " ".join(first["tags"]),
        "budget": first["budget"],
        "audit": curves[0].audit,
        "dataset": first["dataset"],
        "data_source": first["data_source"],
        "complete": complete,
        "seeds": sum(1 for curve in curves if curve.done),
        "points": sum(len(curve.done) for curve in curves),
        "points_missing": missing,
    }
    for metric in metrics:
        if metric.level == "curve":
            for column in metric.columns:
                row[column] = _mean(values.get(column) for values in per_seed)
    versions = [unit["versions"] for curve in curves for unit in curve.units if unit["versions"]]
    row |= {
        "i_max": _mean(reference["i_max"] for reference in used),
        "d_max": _mean(reference["d_max"] for reference in used),
        "device": _one_or_mixed(h["device"] for h in hardware),
        "processor": _one_or_mixed(h.get("accelerator", h["processor"]) for h in hardware),
        "iterations": first["iterations"],
        "protocol": first["protocol"],
        "plugin": first["plugin"],
        "torch": _one_or_mixed(v["torch"] for v in versions),
        "fingerprint": first["fingerprint"][:12],
    }
    return row


def _curve_values(
    curve: _Curve,
    reference: Mapping[str, float],
    metrics: Sequence[type[Metric]],
    problems: list[str],
    one_device: bool,
) -> dict[str, float | None]:
    seconds: dict[str, float] = defaultdict(float)
    for point in curve.done:
        seconds[point["unit"]] += point["seconds"]
    costs = [
        {**unit["costs"], "audit_seconds": seconds[unit["key"]]}
        for unit in curve.units
        if unit["costs"]
    ]
    evaluation = CurveEvaluation(
        points=[row["values"] for row in curve.done],
        reference=reference,
        costs=costs if one_device else (),
        single_shot=curve.units[0]["point"] in (None, NO_KNOBS),
    )
    found: dict[str, float | None] = {}
    for metric in metrics:
        if metric.level == "curve":
            try:
                found.update(metric().compute(evaluation))
            # A stranger's metric must not take the leaderboard along.
            except Exception as error:
                method = curve.units[0]["method"]
                problems.append(f"The metric {metric.name} raised {error!r} on {method}.")
    return found


def _point_rows(curve: _Curve) -> list[Row]:
    unit_of = {unit["key"]: unit for unit in curve.units}
    front: dict[str, bool] = {}
    measured = [row for row in curve.done if "a_y" in row["values"]]
    if measured:
        a_s = np.array([row["values"]["a_s"] for row in measured])
        a_y = np.array([row["values"]["a_y"] for row in measured])
        keys = [row["key"] for row in measured]
        front = dict(zip(keys, on_front(a_s, a_y).tolist(), strict=True))
    rows = []
    for point in curve.points:
        unit = unit_of[point["unit"]]
        chosen = next((a for a in point["auditors"] or () if a["chosen"]), None)
        label = f"{chosen['auditor']} on {chosen['view']}" if chosen else None
        rows.append(
            {
                **_point_head(unit, curve),
                "number": point["number"],
                "point": point["label"],
                "status": point["status"],
                "auditor": label,
                "front": front.get(point["key"]),
                **(point["values"] or {}),
            }
        )
    for unit in curve.units:
        if not unit["read_points"]:
            rows.append(
                {
                    **_point_head(unit, curve),
                    "number": None,
                    "point": unit["point"],
                    "status": unit["status"],
                    "auditor": None,
                    "front": None,
                }
            )
    return _numbered(rows)


def _in_columns(row: Row, metrics: Sequence[type[Metric]]) -> Row:
    """The row with its columns in the order in which the metrics declare them."""
    ordered = {name: row[name] for name in POINT_COLUMNS}
    for metric in metrics:
        for declared in metric.columns if metric.level == "point" else ():
            head, brace, _ = declared.partition("{")
            for name, value in row.items():
                if name == declared or (brace and name.startswith(head)):
                    ordered.setdefault(name, value)
    return ordered | row


def _numbered(rows: list[Row]) -> list[Row]:
    """Number the points of a curve in the order of their knobs, over all its units."""
    done = [row for row in rows if row["number"] is not None]
    return [row | {"number": n} for n, row in enumerate(done)] + rows[len(done) :]


def _point_head(unit: Row, curve: _Curve) -> Row:
    return {
        "method": unit["method"],
        "params": unit["params_label"],
        "track": unit["track"],
        "budget": unit["budget"],
        "audit": curve.audit,
        "dataset": unit["dataset"],
        "data_source": unit["data_source"],
        "seed": unit["seed"],
    }


def _point_order(row: Row) -> tuple[Any, ...]:
    number = row["number"] if row["number"] is not None else 10**6
    names = ("track", "budget", "audit", "method", "params", "seed")
    return (*(row[name] for name in names), number)


def _ranked(rows: list[Row]) -> list[Row]:
    """Rank complete rows within track, budget and audit; incomplete ones stand below."""
    groups: dict[Group, list[Row]] = defaultdict(list)
    for row in rows:
        groups[(row["track"], row["budget"], row["audit"])].append(row)
    out = []
    for key in sorted(groups, key=lambda k: (k[0] != "blind", k[0], k[1] != "full", k[1], k[2])):
        complete = [r for r in groups[key] if r["complete"] and r.get("aufdc") is not None]
        rest = [r for r in groups[key] if not any(r is c for c in complete)]
        complete.sort(key=lambda r: (r["aufdc"], r["method"], r["params"]))
        for row in complete:
            row["rank"] = 1 + sum(other["aufdc"] < row["aufdc"] for other in complete)
        rest.sort(key=lambda r: (r["method"], r["params"]))
        out += [*complete, *rest]
    return out


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _one_or_mixed(values: Iterable[str]) -> str | None:
    found = sorted(set(values))
    return None if not found else found[0] if len(found) == 1 else "mixed"


def write(tables: Sequence[Tables], results: Path) -> list[Path]:
    """Write ``<dataset>.csv`` and ``<dataset>-points.csv`` into the results' ``leaderboards``."""
    folder = results / "leaderboards"
    written = []
    for table in tables:
        for name, rows in (
            (table.dataset, table.leaderboard),
            (f"{table.dataset}-points", table.points),
        ):
            path = folder / f"{name}.csv"
            text = to_frame(rows).to_csv(index=False, lineterminator="\n")
            try:
                folder.mkdir(parents=True, exist_ok=True)
                write_atomically(path, text.encode())
            except OSError as error:
                raise StoreError(f"{path} cannot be written: {error.strerror}.") from error
            written.append(path)
    return written


def to_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Rows as a frame; numbers rounded to 6 significant digits, columns in order of appearance."""
    import pandas as pd

    columns = list(dict.fromkeys(column for row in rows for column in row))
    rounded = [{k: _short(v) for k, v in row.items()} for row in rows]
    frame = pd.DataFrame(rounded, columns=columns)
    whole = [c for c in ("rank", "number", "distinct") if c in frame]
    return frame.astype(dict.fromkeys(whole, "Int64"))


def _short(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return value
