"""Finding one model among those of a store, and the points of it that were audited."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbench.api import NO_KNOBS, Point
from fairbench.api.method import Curve, Method
from fairbench.config import DEFAULT_RESULTS
from fairbench.data.card import is_card
from fairbench.errors import ConfigError, FairbenchError, StoreError, UnknownNameError, nearest
from fairbench.leaderboard.build import table_name
from fairbench.leaderboard.select import latest
from fairbench.registry import Registry
from fairbench.runs.curve_points import DEFAULT_POINTS
from fairbench.store import encoders
from fairbench.store import files as artefacts
from fairbench.store.database import Row, Store, belongs, of_a_trial
from fairbench.store.encoders import Encoder
from fairbench.store.records import PointRecord, UnitRecord
from fairbench.store.status import Status

KEY_DIGITS = 10
"""Of a unit's key, where it is shown."""


@dataclass(frozen=True)
class Wanted:
    """What somebody says of the model they want; all but ``method`` or ``unit`` may be left out.

    Parameters
    ----------
    method, dataset : str, optional
        Names or aliases; a dataset's twin has ``-simulated`` behind its name.
    seed : int, optional
    point : str, optional
        Label of a point, ``beta=0.3``.
    unit : str, optional
        Start of the unit's key.
    """

    method: str | None = None
    dataset: str | None = None
    seed: int | None = None
    point: str | None = None
    unit: str | None = None


@dataclass(frozen=True)
class Place:
    """Where results and data are, as somebody named it; what is left out has a default.

    Parameters
    ----------
    results : Path, optional
        The folder.
    store : str, optional
        Database URL.
    data_root : Path, optional
        Folder with data files.
    asked : sequence of str
        Names of datasets, or paths of their cards.
    """

    results: Path | None = None
    store: str | None = None
    data_root: Path | None = None
    asked: Sequence[str] = ()

    @property
    def folder(self) -> Path:
        """Of the results."""
        return self.results or DEFAULT_RESULTS

    @property
    def words(self) -> list[str]:
        """The options of a command that is to find the same results."""
        words = [] if self.results is None else ["--results", str(self.results)]
        return words + ([] if self.store is None else ["--store", self.store])


def asked_of(dataset: str | None) -> tuple[str, ...]:
    """What ``--dataset`` named, if anything."""
    return () if dataset is None else (dataset,)


def find_unit(store: Store, registry: Registry, wanted: Wanted) -> Row:
    """The one unit that is meant.

    Raises
    ------
    ConfigError, StoreError, UnknownNameError
        There is none, or several; the message lists what there is.
    """
    fitted = [
        row for row in store.records(UnitRecord, status=Status.DONE.value) if row["read_points"]
    ]
    if wanted.unit is not None:
        return _by_key(fitted, wanted.unit)
    if wanted.method is None:
        raise ConfigError("--method is missing.", f"Methods here: {_listed(fitted, 'method')}.")
    name = _stored_method(wanted.method, fitted, registry)
    rows = [row for row in fitted if row["method"] == name]
    rows = latest([row for row in rows if not of_a_trial(row)]) or rows
    if not rows:
        raise StoreError(
            f"The store holds no fitted model of {name}.",
            f"Methods here: {_listed(fitted, 'method')}.",
        )
    rows = _of_dataset(rows, wanted.dataset, registry)
    rows = _of_seed(rows, wanted.seed)
    rows = _of_point(rows, wanted.point, audited(store, rows))
    if len(rows) > 1:
        raise ConfigError(
            f"{len(rows)} models of {name} fit: name one with --unit.\n"
            + "\n".join(f"  --unit {_described(row)}" for row in rows)
        )
    return rows[0]


def audited(store: Store, units: Iterable[Row]) -> list[Row]:
    """Measured points of some units, of each the newest and strictest audit, by their knobs."""
    found: dict[tuple[str, str], Row] = {}
    for unit in units:
        for row in store.records(PointRecord, unit=unit["key"], status=Status.DONE.value):
            # A model that was trained again may be read elsewhere: what the old one gave is past.
            if not belongs(row, unit):
                continue
            best = found.setdefault((unit["key"], row["label"]), row)
            if _worth(row) > _worth(best):
                found[unit["key"], row["label"]] = row
    return sorted(found.values(), key=lambda row: sorted(row["knobs"].items()))


def _worth(row: Row) -> tuple[int, bool, str]:
    return row["audit_version"] or 1, row["audit"] == "strict", row["finished"] or ""


def read_encoder(unit: Row, store: Store, registry: Registry, place: Place) -> Encoder:
    """The encoder kept of a unit; StoreError says why there is none, and how to get one."""
    title = f"{unit['method']} on {unit['dataset']}, seed {unit['seed']}"
    if unit["encoder"] is None:
        if unit["error"] is not None:
            raise StoreError(
                f"There is no encoder of {title}: {unit['error']}",
                f"fairbench check {unit['method']} tells what its state() lacks. "
                + _again(unit, store, registry, place),
            )
        if registry.methods[unit["method"]].restore is Method.restore:
            raise StoreError(
                f"What {unit['method']} fits has no form that could be kept, so it cannot encode "
                "new rows.",
                "Choose another method: fairbench recommend tells which do well here.",
            )
        why = "in a search" if of_a_trial(unit) else "by a version that did not keep encoders yet"
        raise StoreError(
            f"The encoder of {title} was not kept: it was trained {why}.",
            _again(unit, store, registry, place),
        )
    path = encoders.path_of(place.folder, unit["encoder"])
    if not path.is_file():
        raise StoreError(
            f"The encoder of {title} is not in {path.parent}: fairbench clean deleted it, or it "
            "was trained elsewhere.",
            f"Name the folder with --results. {_again(unit, store, registry, place)}",
        )
    if artefacts.read(path) is None:
        raise StoreError(
            f"The encoder of {title} is damaged: {path}.",
            _again(unit, store, registry, place),
        )
    return encoders.read(path, registry)


def _again(unit: Row, store: Store, registry: Registry, place: Place) -> str:
    command = shlex.join([*run_words(unit, store, registry, place), "--rerun", "all"])
    params = changed_params(unit)
    holding = f" (params.yaml: {json.dumps({unit['method']: params})})" if params else ""
    return f"Train it again with its encoder: {command}{holding}"


def changed_params(unit: Row) -> dict[str, Any]:
    """A unit's parameters that differ from the defaults."""
    if unit["params_label"] == "default":
        return {}
    named = {word.partition("=")[0] for word in unit["params_label"].split(" ")}
    return {k: v for k, v in unit["params"].items() if k in named}


def card_of(unit: Row, store: Store, registry: Registry, asked: Sequence[str] = ()) -> str | None:
    """Path of the card of a unit's own table, as given now, or to the run that trained it."""
    if unit["dataset"] in registry.datasets:
        return None
    configs = {run["id"]: run["config"] for run in store.runs()}
    named = configs.get(unit["run"] or "", {}).get("datasets", ())
    cards = [text for text in (*asked, *named) if is_card(text)]
    return next((text for text in cards if _name_of(text, registry) == unit["dataset"]), None)


def _name_of(card: str, registry: Registry) -> str:
    """The dataset of a card; of one that cannot be read, what its file's name suggests."""
    try:
        return registry.dataset(card).name
    except FairbenchError:
        return Path(card).stem


def run_words(unit: Row, store: Store, registry: Registry, place: Place) -> list[str]:
    """The words of a ``fairbench run`` command that trains a unit."""
    card = card_of(unit, store, registry, place.asked)
    words = ["fairbench", "run", "--methods", unit["method"], "--dataset", card or unit["dataset"]]
    words += ["--seed-list", str(unit["seed"]), "--budget", unit["budget"]]
    if unit["curve_points"] not in (None, DEFAULT_POINTS):
        words += ["--points", str(unit["curve_points"])]
    if unit["params_label"] != "default":
        words += ["--params", "params.yaml"]
    return words + place.words


def encode_words(
    unit: Row, point: Row, store: Store, registry: Registry, place: Place
) -> list[str]:
    """The words of a ``fairbench encode`` command that finds this very unit and point."""
    dataset = table_name(unit["dataset"], unit["data_source"])
    words = ["fairbench", "encode", "--method", unit["method"], "--dataset", dataset]
    words += ["--seed", str(unit["seed"])]
    wanted = Wanted(unit["method"], dataset, unit["seed"], point["label"])
    try:
        alone = find_unit(store, registry, wanted)["key"] == unit["key"]
    except FairbenchError:
        alone = False
    if not alone:
        words += ["--unit", unit["key"][:KEY_DIGITS]]
    return words + (["--point", point["label"]] if point["knobs"] else []) + place.words


# ---- which dataset, seed, point ------------------------------------------------------------


def _by_key(rows: Sequence[Row], start: str) -> Row:
    found = [row for row in rows if row["key"].startswith(start)]
    if len(found) != 1:
        raise ConfigError(
            f"{len(found) or 'No'} fitted model{'s have' if len(found) > 1 else ' has'} a key that "
            f"starts with {start!r}.",
            "Give more digits." if found else "fairbench recommend prints the commands to use.",
        )
    return found[0]


def _stored_method(text: str, rows: Sequence[Row], registry: Registry) -> str:
    names = {row["method"] for row in rows}
    if text in names and text not in registry.methods:
        raise StoreError(
            f"The method {text!r} is in the store, but its plugin is not installed here.",
            "Install it: fairbench list methods tells what is.",
        )
    return registry.methods.resolve(text)


def dataset_of(rows: Iterable[Row], text: str | None, registry: Registry) -> str:
    """The table, as leaderboards call it, that is meant; without a name the only one.

    Raises
    ------
    ConfigError, UnknownNameError
        There are several and none is named, or nothing of that name.
    """
    known = sorted({table_name(row["dataset"], row["data_source"]) for row in rows})
    if text is None:
        if len(known) != 1:
            raise ConfigError(
                f"The store holds {len(known)} datasets: name one with --dataset.",
                f"They are {', '.join(known)}.",
            )
        return known[0]
    name = text
    if is_card(text):
        name = registry.dataset(text).name
    elif text not in known and text in registry.datasets:
        name = registry.datasets[text].name
    for one in (name, table_name(name, "simulated")):
        if one in known:
            return one
    raise ConfigError(f"The store holds nothing of {text!r}.", nearest(name, known))


def _of_dataset(rows: Sequence[Row], text: str | None, registry: Registry) -> list[Row]:
    table = dataset_of(rows, text, registry)
    return [row for row in rows if table_name(row["dataset"], row["data_source"]) == table]


def _of_seed(rows: Sequence[Row], seed: int | None) -> list[Row]:
    seeds = sorted({row["seed"] for row in rows})
    chosen = seeds[0] if seed is None else seed
    if chosen not in seeds:
        raise ConfigError(
            f"{rows[0]['method']} has no fitted model of seed {chosen} on {rows[0]['dataset']}.",
            f"Seeds here: {', '.join(map(str, seeds))}.",
        )
    return [row for row in rows if row["seed"] == chosen]


def _of_point(rows: Sequence[Row], text: str | None, measured: Sequence[Row]) -> list[Row]:
    """Of a multi-shot method the units at one point; of others all."""
    multi = [row for row in rows if row["point"] not in (None, NO_KNOBS)]
    if not multi:
        return list(rows)
    labels = dict.fromkeys(row["label"] for row in measured)
    labels |= dict.fromkeys(row["point"] for row in multi)
    wanted = None if text is None else parse_point(text).label
    if wanted is None and len({row["point"] for row in multi}) == 1:
        return multi
    found = [row for row in multi if row["point"] == wanted]
    if not found:
        problem = "--point is missing" if text is None else f"there is no model at {wanted}"
        raise ConfigError(
            f"{rows[0]['method']} is multi-shot, each of its points a model of its own: {problem}."
            f"\n{listed_points(measured) or '  ' + ', '.join(labels)}",
            "Another point needs training: fairbench run.",
        )
    return found


def _listed(rows: Iterable[Row], column: str) -> str:
    return ", ".join(sorted({str(row[column]) for row in rows})) or "none"


def _described(row: Row) -> str:
    kind = ", simulated" if row["data_source"] == "simulated" else ""
    return (
        f"{row['key'][:KEY_DIGITS]}  {row['params_label']}, budget {row['budget']}{kind}, "
        f"finished {row['finished']}"
    )


# ---- points --------------------------------------------------------------------------------


def parse_point(text: str) -> Point:
    """``beta=0.3``, several with commas, or ``-`` for a method without knobs."""
    if text.strip() == NO_KNOBS:
        return Point()
    knobs = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        try:
            knobs[name.strip()] = float(value)
        except ValueError:
            raise ConfigError(
                f"--point {text!r} is no setting of knobs.", 'Write it as in --point "beta=0.3".'
            ) from None
    return Point(tuple(sorted(knobs.items())))


def listed_points(measured: Sequence[Row]) -> str:
    """Points, a line each, with what auditors found on test."""
    return "\n".join(f"  {point_line(row)}" for row in measured)


def point_line(row: Row) -> str:
    """``beta=0.3: I = 0.021 nats, D = 1.234, A_y = 0.810`` of a measured point."""
    values = row["values"]
    label = f"{row['label']}: " if row["knobs"] else ""
    useful = f", A_y = {values['accuracy_y']:.3f}" if values.get("accuracy_y") is not None else ""
    return f"{label}I = {max(values['mutual_information'], 0.0):.3f} nats, D = {values['distortion']:.3f}{useful}"


def resolve_point(encoder: Encoder, text: str | None, measured: Sequence[Row]) -> Point | None:
    """The point at which a kept encoder is to be read; None where there is nothing to choose.

    Raises
    ------
    ConfigError, UnknownNameError
        A curve is read nowhere, or the point is none of it.
    """
    fitted, method = encoder.fitted, encoder.method.name
    if not isinstance(fitted, Curve):
        own = encoder.unit.point
        if text is not None and own is not None and parse_point(text).label != own.label:
            raise ConfigError(
                f"This model of {method} is at {own.label}, not at {text}.", "Leave --point out."
            )
        return own
    knob = fitted.knob
    example = f'--point "{knob.name}=NUMBER"'
    if text is None:
        raise ConfigError(
            f"{method} is single-shot: its model can be read at any {knob.name}, so name one with "
            f"{example}. Audited:\n{listed_points(measured) or '  none'}"
        )
    point = parse_point(text)
    for row in measured:  # a label is rounded
        if row["label"] == point.label:
            return Point(tuple(sorted(row["knobs"].items())))
    names = [name for name, _ in point.values]
    if names != [knob.name]:
        wrong = next((name for name in names if name != knob.name), NO_KNOBS)
        raise UnknownNameError(f"knob of {method}", wrong, [knob.name])
    value = point[knob.name]
    if fitted.points is not None:
        natural = {one.label: one for one in fitted.points}
        if point.label not in natural:
            raise ConfigError(
                f"{method} can be read at these points alone: {', '.join(natural)}.",
                f"{point.label} is none of them.",
            )
        return natural[point.label]
    if not knob.low <= value <= knob.high or math.isnan(value):
        raise ConfigError(
            f"{knob.name} of {method} goes from {knob.low:g} to {knob.high:g}, not to {value:g}."
        )
    return point


def beside(point: Point, measured: Sequence[Row]) -> list[Row]:
    """The audited points on both sides of one that was not audited; none unless of one knob."""
    if len(point.values) != 1:
        return []
    ((knob, value),) = point.values
    rows = [row for row in measured if knob in row["knobs"]]
    below = [row for row in rows if row["knobs"][knob] <= value]
    above = [row for row in rows if row["knobs"][knob] > value]
    return below[-1:] + above[:1]
