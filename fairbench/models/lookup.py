"""A stored model, looked up once: its unit, points, encoder, data, and the commands about it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from fairbench.api import Point
from fairbench.api.dataset import Dataset
from fairbench.api.method import Method
from fairbench.data.prepared import Prepared
from fairbench.data.used_columns import UsedColumns
from fairbench.errors import ConfigError, FairbenchError, StoreError
from fairbench.models.commands import TrainingCommand, changed_params, command_of
from fairbench.models.points import list_points, parse_point, resolve_point
from fairbench.models.query import ModelQuery, ResultsLocation
from fairbench.models.results import StoredResults
from fairbench.models.select import KEY_DIGITS, not_installed, select_unit
from fairbench.models.stored_data import find_source, load_training_data, root_of
from fairbench.registry import Registry
from fairbench.store import encoders
from fairbench.store import files as artefacts
from fairbench.store.encoders import Encoder
from fairbench.store.records import PointRecord, ReferenceRecord, UnitRecord

T = TypeVar("T")

BASELINE = "baseline"
"""Tag of methods that a leaderboard needs and nobody publishes papers about."""


def find_model(query: ModelQuery, location: ResultsLocation, registry: Registry) -> StoredModel:
    """Find the one stored model that a query means.

    Raises
    ------
    ConfigError, StoreError, UnknownNameError
        There is no store, or no model or several models match; the message lists the choices.
    """
    results = StoredResults.open(location, registry)
    return StoredModel(select_unit(query, results), results)


@dataclass(frozen=True, eq=False)
class StoredModel:
    """One trained model of a store; what files and plugins know of it is read when asked for."""

    unit: UnitRecord
    results: StoredResults

    @cached_property
    def points(self) -> tuple[PointRecord, ...]:
        """Its measured points by knobs, of each the newest and strictest audit."""
        return tuple(self.results.measured_points([self.unit]))

    @property
    def method(self) -> type[Method] | None:
        """Its method's class; None where the plugin is not installed."""
        return self.results.registry.methods.classes.get(self.unit.method)

    @cached_property
    def dataset(self) -> type[Dataset] | None:
        """Its dataset's class; None where it is not available any more."""
        try:
            return self.results.registry.dataset(self.dataset_option)
        except FairbenchError:
            return None

    @cached_property
    def dataset_option(self) -> str:
        """What ``fairbench run --dataset`` takes: the path of its dataset card, or its name."""
        return find_source(self.unit, self.results).dataset

    @property
    def data_options(self) -> list[str]:
        """The options of ``fairbench run`` that say on which data it was trained."""
        return find_source(self.unit, self.results).options

    @property
    def encoder(self) -> Encoder:
        """Its encoder; FairbenchError says why there is none, and how to get one."""
        return _value_of(self.encoder_or_error)

    @cached_property
    def encoder_or_error(self) -> Encoder | FairbenchError:
        """Its encoder, or why it cannot be read."""
        try:
            return self._read_encoder()
        except FairbenchError as error:
            return error

    @property
    def data(self) -> Prepared:
        """The data it was trained on; FairbenchError where they are not available any more."""
        return _value_of(self.data_or_error)

    @cached_property
    def data_or_error(self) -> Prepared | FairbenchError:
        """The data it was trained on, or why they cannot be loaded."""
        try:
            return load_training_data(self.unit, self.results)
        except FairbenchError as error:
            return error

    def unused_columns(self, point: Point | None) -> tuple[str, ...]:
        """Columns of the raw table that its encoder does not read at a point; none if unknown."""
        encoder = self.encoder_or_error
        if isinstance(encoder, FairbenchError) or encoder.preprocessing is None:
            return ()
        columns = encoder.at(point).input_columns()
        return UsedColumns.of(encoder.preprocessing, columns).unused

    def load_representations(self) -> Mapping[str, np.ndarray] | None:
        """Load its representations, and its bits where it has any; None where the file is gone."""
        if self.unit.artefact is None:
            return None
        return artefacts.load(self.results.folder, self.unit.artefact)

    def measured_point(self, text: str | None) -> StoredPoint:
        """Return the measured point with a label; without one the only measured point.

        Raises
        ------
        ConfigError, StoreError
            It has none of that label, none at all, or several and no label is given.
        """
        title = self.unit.title
        if not self.points:
            raise StoreError(
                f"No point of {title} was audited.", "fairbench run audits what it trains."
            )
        label = None if text is None else parse_point(text).label
        matches = [point for point in self.points if label in (None, point.label)]
        if len(matches) == 1:
            return StoredPoint(self, matches[0])
        problem = f"{label} was not audited" if label else "--point is missing"
        raise ConfigError(f"{title}: {problem}. Audited:\n{list_points(self.points)}")

    def resolve_point(self, text: str | None) -> Point | None:
        """Resolve where its encoder is read; see :func:`fairbench.models.points.resolve_point`."""
        return resolve_point(self.encoder, text, self.points)

    @property
    def changed_params(self) -> dict[str, Any]:
        """Its hyperparameters that differ from the defaults."""
        return changed_params(self.unit)

    def run_command(self) -> list[str]:
        """Return the words of a ``fairbench run`` command that trains it."""
        return [*self._command.words, *self.results.location.options]

    @property
    def command_note(self) -> str:
        """What stands in the files that :meth:`run_command` names, if that must be said."""
        note = self._command.note
        return f" ({note})" if note else ""

    @cached_property
    def _command(self) -> TrainingCommand:
        unit = self.unit
        config = self.results.configuration_of(unit)
        root = self.results.location.data_root or root_of(config)
        return command_of([unit], find_source(unit, self.results), [config], root)

    @property
    def has_encoder(self) -> bool:
        """Whether its encoder is in the results folder; an imported model has none there."""
        name = self.unit.encoder
        return name is not None and encoders.path_of(self.results.folder, name).is_file()

    def encode_command(self, point: PointRecord) -> list[str]:
        """Return the words of a ``fairbench encode`` command for this very model and point."""
        unit = self.unit
        dataset = unit.table
        words = ["fairbench", "encode", "--method", unit.method, "--dataset", dataset]
        words += ["--seed", str(unit.seed)]
        try:
            query = ModelQuery(unit.method, dataset, unit.seed, point.label)
            # The command names the dataset, not a card: it takes the data used last.
            location = replace(self.results.location, cards=())
            unique = select_unit(query, replace(self.results, location=location)).key == unit.key
        except FairbenchError:
            unique = False
        if not unique:
            words += ["--unit", unit.key[:KEY_DIGITS]]
        words += ["--point", point.label] if point.knobs else []
        return words + self.results.location.options

    def _read_encoder(self) -> Encoder:
        unit, title = self.unit, self.unit.title
        if self.method is None:
            raise not_installed(unit.method, [unit])
        if unit.encoder is None:
            raise self._no_encoder()
        path = encoders.path_of(self.results.folder, unit.encoder)
        if not path.is_file():
            raise StoreError(
                f"The encoder of {title} is not in {path.parent}: fairbench clean deleted it, or "
                "it was trained elsewhere.",
                f"Name the folder with --results. {self._retrain_hint()}",
            )
        if artefacts.read(path) is None:
            raise StoreError(f"The encoder of {title} is damaged: {path}.", self._retrain_hint())
        return encoders.read(path, self.results.registry)

    def _no_encoder(self) -> StoreError:
        """Why no encoder was stored."""
        unit, title = self.unit, self.unit.title
        if unit.error is not None:
            return StoreError(
                f"There is no encoder of {title}: {unit.error}",
                f"fairbench check {unit.method} says what its state() lacks. "
                + self._retrain_hint(),
            )
        if self.results.registry.methods[unit.method].restore is Method.restore:
            return StoreError(
                f"What {unit.method} fits has no form that could be stored, so it cannot encode "
                "new rows.",
                "Choose another method: fairbench recommend prints good ones.",
            )
        why = "its results were imported, or made by a version that did not store encoders yet"
        if unit.of_a_trial:
            why = "it was trained in a search"
        return StoreError(f"There is no encoder of {title} here: {why}.", self._retrain_hint())

    def retrain_command(self) -> list[str]:
        """Return the words of a ``fairbench run`` that trains it again: its results are stored."""
        return [*self.run_command(), "--rerun", "all"]

    def _retrain_hint(self) -> str:
        command = shlex.join(self.retrain_command())
        return f"Train it again with its encoder: {command}{self.command_note}"


@dataclass(frozen=True, eq=False)
class StoredPoint:
    """A measured point of a stored model."""

    model: StoredModel
    point: PointRecord

    @property
    def unit(self) -> UnitRecord:
        """The model's unit."""
        return self.model.unit

    @property
    def key(self) -> str:
        """The point's key."""
        return self.point.key

    @property
    def figures(self) -> Mapping[str, float | None]:
        """Its figures by column."""
        return self.point.figures

    def figure(self, column: str) -> float:
        """Return a figure that every point has."""
        value = self.figures[column]
        assert value is not None
        return value

    @property
    def reference(self) -> ReferenceRecord | None:
        """What its curve is normalised by; None where it was not measured."""
        return self.model.results.reference_of(self.unit, self.point)

    @property
    def unused_columns(self) -> tuple[str, ...]:
        """Columns of the raw table that its encoder does not read; none if that is not known."""
        return self.model.unused_columns(Point(tuple(sorted(self.point.knobs.items()))))

    @property
    def is_baseline(self) -> bool:
        """Whether its method is a baseline."""
        return BASELINE in self.unit.tags

    @property
    def title(self) -> str:
        """Method, point and seed."""
        knobs = f", {self.point.label}" if self.point.knobs else ""
        return f"{self.unit.method}{knobs}, seed {self.unit.seed}"


def _value_of(value: T | FairbenchError) -> T:
    if isinstance(value, FairbenchError):
        raise value
    return value
