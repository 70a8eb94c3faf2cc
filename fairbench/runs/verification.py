"""Verifying a submission: some of its points, chosen by the verifier, are trained again.

The submission is taken for a run that was interrupted before the drawn points were audited. It is
resumed as any run: their models train again, in the stacks in which they were trained, and only
the drawn points are audited.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from fairbench.api import Point
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.config import NO_LABEL, RunConfig, check_label
from fairbench.data.splits import OFFICIAL, Split
from fairbench.errors import ConfigError, say_where, say_why
from fairbench.leaderboard.board import Board
from fairbench.registry import Registry, plugin_source
from fairbench.runs.point_gains import PointGains
from fairbench.runs.verified_figures import (
    AREA_FIGURES,
    AllowedDifferences,
    RetrainedFigure,
    compared_figures,
)
from fairbench.stats.bootstrap import from_text
from fairbench.store.keys import point_key
from fairbench.store.records import PointRecord, Record, ReferenceRecord, UnitRecord
from fairbench.store.submission import Submission, SubmissionInfo

_ROUNDED = 1e-3
"""Nats by which a figure of a point may differ from that of its auditor."""

_DESCRIBES = (
    *("method", "dataset", "split", "seed", "point", "track", "tags", "params", "params_label"),
    *("budget", "iterations", "curve_points", "data_source", "fingerprint", "protocol", "code"),
)
"""Fields of a model's record that tables are made by, and that do not depend on its training."""

_WHOLE_ROWS = "Submit every split and point of the row: those left out may be the bad ones."


class SubmittedRow:
    """The records of a submission, by kind, checked against the board that it is for.

    Raises ConfigError where they are not one complete row of that board.
    """

    def __init__(self, submission: Submission, board: Board) -> None:
        self.info: SubmissionInfo = submission.info
        self.records: Sequence[Record] = submission.records
        self.units = {u.key: u for u in self.records if isinstance(u, UnitRecord)}
        self.points = [p for p in self.records if isinstance(p, PointRecord) and p.done]
        self.references = [r for r in self.records if isinstance(r, ReferenceRecord)]
        info, of = board.info, submission.info
        known = {(one.fingerprint, one.seed): one for one in board.references}
        self._board_references: Mapping[tuple[str, int], ReferenceRecord] = known
        rows = {(unit.dataset, unit.method, unit.params_label) for unit in self.units.values()}
        if of.board != info.name or rows != {(info.dataset, of.method, of.params)}:
            raise ConfigError(
                f"It is not one row of the {info.title}: it is for {of.board}, and holds "
                f"{len(rows)} rows.",
                "Name its board: --against BOARD",
            )
        for unit in self.units.values():
            if (unit.fingerprint, unit.seed) not in known:
                raise ConfigError(
                    f"{unit.title} is of a split or seed that the {info.title} does not have.",
                    "fairbench submit leaves such models out.",
                )
        for point in self.points:
            if (point.audit, point.version) != (info.audit, info.audit_version):
                raise ConfigError(
                    f"A point ({point.label}) is not of the audit of the {info.title}.",
                    "Measure it again with this version: fairbench audit --results DIR",
                )
        self._check_label()
        self._check_keys(board)
        self._check_completeness(board)
        self._allowed = AllowedDifferences(board, self.points)

    @property
    def label(self) -> str | None:
        """What the submitter calls the hyperparameters; tables show it in their place."""
        return next((unit.label for unit in self.units.values() if unit.label is not None), None)

    def _check_label(self) -> None:
        """Raise ConfigError where no run could have given the row its label.

        Tables name rows by it: one in brackets could imitate another row.
        """
        labels = {unit.label for unit in self.units.values() if unit.label is not None}
        if len(labels) > 1:
            raise ConfigError(
                "The models of the row have different labels.",
                "Give the command of the run again with one --label, and submit the row again.",
            )
        if self.label is None:
            return
        try:
            check_label(self.label)
        except ValueError as error:
            raise ConfigError(f"The label of the row cannot be used: {error}.") from None
        if self.info.params == NO_LABEL:
            raise ConfigError(f"The row has default hyperparameters, but the label {self.label!r}.")

    def _check_keys(self, board: Board) -> None:
        """Raise ConfigError where a record is not that of one point of one of its models.

        It would count on a curve, and could be drawn, but nothing would be measured in its place.
        """
        if len({one.key for one in self.records}) < len(self.records):
            raise ConfigError("The submission holds a record twice.", _WHOLE_ROWS)
        audit = PRESETS[AuditPreset(board.info.audit)].as_dict()
        version = board.info.audit_version
        planned = {
            (unit.key, point.label): point_key(unit.key, point.label, audit, version)
            for unit in self.units.values()
            for point in unit.points
            if _is_setting(point.label, point.knobs)
        }
        for one in self.records:
            if isinstance(one, PointRecord) and (
                planned.get((one.unit, one.label)) != one.key
                or not _is_setting(one.label, one.knobs)
            ):
                raise ConfigError(
                    f"A record ({one.label}) is not one of the points of the submitted models.",
                    "Write the submission with the version that the row was measured with.",
                )

    def _check_completeness(self, board: Board) -> None:
        """Raise ConfigError where a fold, a model or a point is missing: it may be a bad one."""
        ranked = [u for u in board.units if (u.split != OFFICIAL.name) == bool(board.info.folds)]
        needed = {unit.fingerprint for unit in ranked}
        if missing := needed - {unit.fingerprint for unit in self.units.values()}:
            raise ConfigError(
                f"{len(missing)} of the {len(needed)} splits of the {board.info.title} "
                "are missing.",
                _WHOLE_ROWS,
            )
        seeds = sorted({unit.seed for unit in self.units.values()})
        allowed = sorted({unit.seed for unit in board.units})[: len(seeds)]
        if seeds != allowed:
            raise ConfigError(
                f"The row has the seeds {seeds}; of this board it may have {allowed}: which "
                "seeds a row has is not the submitter's choice.",
                _WHOLE_ROWS,
            )
        splits = {unit.fingerprint for unit in self.units.values()}
        for seed in seeds:
            of_seed = {unit.fingerprint for unit in self.units.values() if unit.seed == seed}
            if missing := splits - of_seed:
                raise ConfigError(
                    f"Of the row, seed {seed} is missing for {len(missing)} of its "
                    f"{len(splits)} splits.",
                    _WHOLE_ROWS,
                )
        measured = {(point.unit, point.label) for point in self.points}
        curves = Counter(
            (unit.split, unit.seed) for unit in self.units.values() for _ in unit.points
        )
        asked_for = [unit.curve_points or 0 for unit in self.units.values()]
        if (longest := max([*curves.values(), *asked_for], default=0)) > board.most_points:
            raise ConfigError(
                f"Its curves have up to {longest} points; those of the {board.info.title} have at "
                f"most {board.most_points}, and more can only make an area smaller.",
                f"Run it with --against {board.info.name}, which takes care of that.",
            )
        for point in self.points:
            if lacking := [name for name in AREA_FIGURES if point.figures.get(name) is None]:
                raise ConfigError(
                    f"{self.units[point.unit].title}, {point.label}: {lacking[0]} is missing.",
                    _WHOLE_ROWS,
                )
        for unit in self.units.values():
            asked = {(unit.key, point.label) for point in unit.points}
            if not asked or asked - measured:
                raise ConfigError(
                    f"{unit.title}: {len(asked - measured)} of {len(asked)} points are missing.",
                    _WHOLE_ROWS,
                )

    def contradictions(self) -> list[str]:
        """Points whose own bootstrap replicates, or auditors, are of other figures."""
        found = []
        for point in self.points:
            title = f"{self.units[point.unit].title}, {point.label}"
            for name, replicates in from_text(point.replicates).items():
                value = point.figures.get(name)
                spread = float(replicates.std())
                if value is None or abs(float(replicates.mean()) - value) > spread / 2 + _ROUNDED:
                    found.append(f"{title}: its {name} is not that of its replicates")
            for name in ("mutual_information", "mutual_information_validation"):
                auditor, figure = point.chosen_auditor, point.figures.get(name)
                read = None if auditor is None else float(getattr(auditor, name))
                if read is None or figure is None or abs(read - figure) > _ROUNDED:
                    found.append(f"{title}: its {name} is not that of its auditor")
        return found

    def check_described(self, planned: Mapping[str, UnitRecord]) -> None:
        """Raise ConfigError where a model is described otherwise than this version describes it.

        A model of the aware track called blind would be ranked among blind ones. ``planned``: as
        this version plans them, by key.
        """
        for key, unit in self.units.items():
            for field in _DESCRIBES:
                told, here = (getattr(one, field) for one in (unit, planned[key]))
                if told != here:
                    raise ConfigError(
                        f"{unit.title} has {field.replace('_', ' ')} {told!r} in the submission; "
                        f"here it is {here!r}.",
                        "It was written by another version, or changed by hand.",
                    )

    @property
    def records_to_keep(self) -> list[Record]:
        """Its models and points, and in place of its references those of the board."""
        mine: list[Record] = [r for r in self.records if not isinstance(r, ReferenceRecord)]
        used = {(unit.fingerprint, unit.seed) for unit in self.units.values()}
        return mine + [one for key, one in self._board_references.items() if key in used]

    def config(self) -> RunConfig:
        """Return the configuration of the run that made it."""
        unit = next(iter(self.units.values()))
        folds = {Split.parse(u.split).folds for u in self.units.values()} - {OFFICIAL.folds}
        points = {u.curve_points for u in self.units.values()}
        if len(folds) > 1 or len(points) > 1:
            raise ConfigError("Its models are of several runs: of other folds, or points.")
        per_split = {u.split: 0 for u in self.units.values()}
        for one in self.units.values():
            per_split[one.split] += one.seed == unit.seed
        count = points.pop() or max(per_split.values())
        try:
            return RunConfig(
                methods=(unit.method,),
                datasets=(unit.dataset,),
                seeds=tuple(sorted({u.seed for u in self.units.values()})),
                splits=folds.pop() if folds else None,
                budget=unit.budget,
                points=count if count > 1 else None,
                params={unit.method: unit.params},
                against=self.info.board,
            )
        except ValidationError as error:
            first = error.errors()[0]
            raise ConfigError(f"No run has its {say_where(first)}: {say_why(first)}.") from None

    def draw(self, count: int, seed: int | None) -> list[PointRecord]:
        """Draw points, of as many splits as there are; by chance where no seed is given.

        The first one is that by which the row's rank gains most, the second one any of those that
        areas are made of; others are drawn by chance, the more often the more a figure gains by
        them: a single point can make an area.
        """
        source = random.SystemRandom() if seed is None else random.Random(seed)
        left = sorted(self.points, key=lambda point: point.key)
        gains = PointGains.of(self.units, self.points, self._board_references, source)
        drawn: list[PointRecord] = []
        while left and len(drawn) < count:
            used = {self.units[point.unit].split for point in drawn}
            fresh = [p for p in left if self.units[p.unit].split not in used] or left
            if not drawn:
                drawn.append(max(fresh, key=gains.of_rank))
            elif len(drawn) == 1:
                drawn += source.choices(fresh, gains.of_hulls(fresh))
            else:
                figure = source.choice([*gains.by_figure, None])
                drawn += source.choices(fresh, gains.weights(fresh, figure))
            left.remove(drawn[-1])
        return drawn

    def compare(self, drawn: PointRecord, again: PointRecord) -> list[RetrainedFigure]:
        """Compare a drawn point with what was measured now."""
        now = again.figures
        return [
            RetrainedFigure(
                self.units[drawn.unit],
                drawn,
                figure,
                drawn.figures.get(figure),
                now.get(figure),
                self._allowed.of(drawn, figure, now.get(figure)),
            )
            for figure in compared_figures(drawn.figures, now)
        ]


def _is_setting(label: str, knobs: Mapping[str, float]) -> bool:
    """Whether a point's knobs are those that its label says; points stand in their order."""
    parts = Point(tuple(knobs.items())).label.split(",")
    return sorted(parts) == sorted(label.split(","))


def check_source(info: SubmissionInfo, registry: Registry) -> None:
    """Raise ConfigError unless the installed method has the source that the row was made with."""
    if info.method not in registry.methods:
        raise ConfigError(
            f"The method {info.method} is not installed, so nothing can be trained again.",
            f"Install {info.plugin}" + (f" from {info.code}" if info.code else "") + ".",
        )
    installed: Mapping[str, str] = plugin_source(registry.methods[info.method])
    if dict(installed) != info.source:
        changed = sorted(
            name
            for name in {*installed, *info.source}
            if installed.get(name) != info.source.get(name)
        )
        raise ConfigError(
            f"The installed {info.method} has other source files than the submission: "
            f"{', '.join(changed[:3])}{' ...' if len(changed) > 3 else ''}.",
            f"Install {info.plugin}" + (f" from {info.code}" if info.code else "") + ".",
        )
