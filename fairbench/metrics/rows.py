"""Rows of the published tables: each column's name, type and meaning, spelled once.

The fields of a row are its columns, in their order; ``figures`` stands where the metrics' own
columns stand. Lists of columns, documentation and the types of loaded tables derive from these
classes (:mod:`fairbench.metrics.columns`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

from fairbench.config import NO_LABEL
from fairbench.metrics.limits import mark_of, share_within_limit

Method = Annotated[str, "name of the method"]
Params = Annotated[str, "hyperparameters that differ from the defaults; `default` where none does"]
Track = Annotated[str, "what the encoder sees: blind or aware; each is ranked apart"]
Budget = Annotated[str, "full, quick or a number of iterations; each is ranked apart"]
Audit = Annotated[str, "strict or quick; each is ranked apart"]
Dataset = Annotated[str, "name of the dataset"]
DataSource = Annotated[
    str,
    "real; rendered: images drawn by fairbench; or simulated: an embedded twin, never to be "
    "compared with real rows",
]
Splits = Annotated[str, "splits that the figures are of: 5 folds, official, or a part of the folds"]
Seeds = Annotated[int, "seeds with at least one measured point"]
DistortionMax = Annotated[
    float | None, "mean squared distance of x from the mean of its group, on the test set"
]
Origin = Annotated[
    str | None, "what it was imported from, the given name or a file's; empty: made here"
]


DEFAULT = NO_LABEL
"""Hyperparameters of a row of which none differs from the method's defaults."""

P_VALUES = "p_values"
"""Field of a leaderboard's row that holds a column for each reference method."""


def p_value_column(reference: str) -> str:
    """Return the column of p-values against a reference method."""
    return f"p_{reference.replace('-', '_')}"


def describe_p_value(reference: str) -> str:
    """Return the meaning of that column."""
    return (
        f"p-value that the row is better than {reference}, one-sided, adjusted over all ranked "
        "rows; empty where the row is not replicated"
    )


class RankingGroup(NamedTuple):
    """Rows that are ranked together."""

    track: str
    budget: str
    audit: str


class Variant(NamedTuple):
    """A method with one choice of hyperparameters: one row of its group."""

    method: str
    params: str

    @property
    def label(self) -> str:
        """The method, and its hyperparameters where they are not the defaults."""
        return self.method if self.params == DEFAULT else f"{self.method} ({self.params})"


def named(variant: Variant, label: str | None) -> str:
    """Name a row by its method and the label of its hyperparameters, if they have one."""
    return f"{variant.method} ({label})" if label else variant.label


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """A row of a table.

    The classes below declare ``method``, ``params``, ``track``, ``budget`` and ``audit`` where
    their tables have them.
    """

    @property
    def group(self) -> RankingGroup:
        """Rows that it is ranked with, or belongs to."""
        return RankingGroup(*(getattr(self, name) for name in RankingGroup._fields))

    @property
    def variant(self) -> Variant:
        """Method and hyperparameters."""
        return Variant(*(getattr(self, name) for name in Variant._fields))

    def cells(self) -> dict[str, Any]:
        """Return values by column, in the order of the table."""
        cells: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name == P_VALUES:
                value = {p_value_column(name): p for name, p in value.items()}
            cells.update(value if isinstance(value, Mapping) else {one.name: value})
        return cells


@dataclass(frozen=True, kw_only=True)
class LeaderboardRow(TableRow):
    """One method on one dataset, over all its seeds."""

    rank_low: Annotated[
        int | None,
        "best rank that the folds allow: with 95% confidence the rank within track, budget and "
        "audit is rank_low to rank_high; empty where the row is not replicated",
    ] = None
    rank_high: Annotated[int | None, "worst rank that the folds allow"] = None
    p_values: Annotated[
        Mapping[str, float | None],
        "by name of a reference method: p-value of being better, adjusted over all ranked rows",
    ] = field(default_factory=dict)
    may_be_best: Annotated[
        bool | None,
        "whether it could be the best of the ranked rows: False where another is better at 5%",
    ] = None
    replicated: Annotated[
        bool,
        "whether all folds of the ranked rows are complete; other rows stand below, without rank; "
        "never where the dataset is for demonstration",
    ] = False
    ranked_by: Annotated[
        str | None,
        "column that ranks the row's group: aufdc, or accuracy_y_at_leakage_10 in the aware track",
    ] = None
    interval_over: Annotated[
        str | None,
        "what 95% confidence intervals account for: splits (folds, their rows and seeds), rows and "
        "seeds, or rows (the test set of this one model); empty without bootstrap replicates",
    ] = None
    method: Method
    params: Params
    track: Track
    tags: Annotated[str, "coding, shots, whether it has a decoder, and whether it is a baseline"]
    budget: Budget
    audit: Audit
    dataset: Dataset
    data_source: DataSource
    splits: Splits
    complete: Annotated[
        bool, "whether all points of each of these seeds are there on each of these splits"
    ]
    seeds: Seeds
    seeds_missing: Annotated[int, "requested seeds without a single measured point"]
    points: Annotated[int, "measured points, over all seeds"]
    points_missing: Annotated[int, "points that failed, are not done, or only other curves have"]
    figures: Mapping[str, float | None]
    aufdc_official: Annotated[
        float | None, "aufdc on the official split, which other publications use"
    ] = None
    mutual_information_max: Annotated[
        float | None,
        "I(X;S) of raw x by the auditors on the test set, nats; mean over splits and seeds",
    ]
    distortion_max: DistortionMax
    device: Annotated[
        str | None, "device it was trained on; costs of cpu and cuda are never summed"
    ]
    processor: Annotated[str | None, "processor, or accelerator, of the training machine"]
    iterations: Annotated[int, "training steps"]
    protocol: Annotated[int, "version of the measuring protocol"]
    audit_version: Annotated[int | None, "version of the auditors and metrics that measured it"]
    plugin: Annotated[str, "distribution and version that the method comes from"]
    fairbench: Annotated[str | None, "version of fairbench that trained it"]
    python: Annotated[str | None, "version of Python that it was trained with"]
    torch: Annotated[str | None, "version of torch"]
    scikit_learn: Annotated[str | None, "version of scikit-learn"]
    fingerprint: Annotated[
        str, "first 12 digits of the sha256 of data and split; of several splits, of all of them"
    ]
    origin: Origin = None
    demonstration: Annotated[
        str | None,
        "why rows on this dataset are shown but not ranked, such as too few rows; else empty",
    ] = None
    label: Annotated[
        str | None, "name of the row's hyperparameters, such as tuned; empty where they have none"
    ] = None

    def no_point_within_limit(self, column: str) -> bool:
        """Whether no point is within the column's limit of leakage.

        Its figure is then that of a constant guess; tables show ``none``.
        """
        return share_within_limit(column, self.figures) == 0

    def limit_mark(self, column: str) -> str:
        """A dagger where the column's figure is in part a constant guess's; else nothing."""
        return mark_of(column, self.figures)

    @property
    def settings(self) -> str:
        """The hyperparameters in short: their label, else those that differ from the defaults."""
        return self.label or self.params

    def value(self, column: str) -> Any:
        """Return the value of any column; None where the row has none."""
        if column == "rank":
            return self.rank
        return self._values.get(column)

    @cached_property
    def _values(self) -> Mapping[str, Any]:
        return self.cells()

    @property
    def rank(self) -> str | None:
        """The ranks that the folds allow, in words: ``1 to 4``; None where it is not replicated."""
        if self.rank_low is None or self.rank_high is None:
            return None
        alone = self.rank_low == self.rank_high
        return f"{self.rank_low}" if alone else f"{self.rank_low} to {self.rank_high}"

    def interval(self, column: str) -> tuple[float, float] | None:
        """Return the 95% confidence interval of a figure, where there is one."""
        low, high = (self.figures.get(f"{column}_{end}") for end in ("low", "high"))
        return None if low is None or high is None else (low, high)


@dataclass(frozen=True, kw_only=True)
class VariantRow(TableRow):
    """A row that begins with its variant and its group."""

    method: Method
    params: Params
    track: Track
    budget: Budget
    audit: Audit


@dataclass(frozen=True, kw_only=True)
class PointRow(VariantRow):
    """One point of one curve, or a unit that gave no point."""

    dataset: Dataset
    data_source: DataSource
    split: Annotated[str, "official, or the fold: fold 1 of 5"]
    counted: Annotated[bool, "whether the row of the leaderboard is made of this split"]
    seed: Annotated[int, "seed of the unit"]
    point_number: Annotated[int | None, "number of the point on its curve, from 0"] = None
    point: Annotated[str | None, "setting of the knobs"] = None
    status: Annotated[str, "DONE, or the reason why there are no figures"]
    auditor: Annotated[
        str | None, "auditor chosen on the validation set, and the view it is trained on"
    ] = None
    on_front: Annotated[
        bool | None,
        "whether the point is on its curve's Pareto front of accuracy_y_validation against "
        "accuracy_s_validation",
    ] = None
    origin: Origin = None
    figures: Mapping[str, Any]
    mutual_information_max: Annotated[
        float | None,
        "I(X;S) of raw x by the auditors on the test set, nats, for the row's seed",
    ]
    distortion_max: DistortionMax
    mutual_information_max_validation: Annotated[
        float | None, "I(X;S) on the validation set by the same auditor"
    ]
    distortion_max_validation: Annotated[float | None, "D_max on the validation set"]
    transfer_mean: Annotated[
        float | None,
        "mean over unseen tasks of the accuracy on the test set, as a share of the way from a "
        "constant guess (0) to the accuracy from x (1); empty where the dataset has none",
    ] = None
    transfer_worst: Annotated[float | None, "the least of these shares"] = None
    transfer_mean_validation: Annotated[
        float | None, "the same mean on the validation set; points are chosen by it"
    ] = None


@dataclass(frozen=True, kw_only=True)
class AttainmentRow(VariantRow):
    """One vertex of an attainment surface of a method's curves, over splits and seeds."""

    dataset: Dataset
    data_source: DataSource
    splits: Splits
    seeds: Seeds
    level: Annotated[
        float,
        "percent of the curves, one per split and seed, that pass through or below the point; 50: "
        "the median",
    ]
    distortion: Annotated[float, "D on the test set: shares of each split's D_max times their mean"]
    mutual_information: Annotated[float, "I on the test set, nats"]


@dataclass(frozen=True, kw_only=True)
class AuditorRow(VariantRow):
    """The estimate of one auditor on one view of one measured point."""

    auditor: str
    view: str
    mutual_information: float
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class FailureRow(VariantRow):
    """A unit or a point that was tried and gave no figures."""

    seed: int
    point: str | None
    status: str
    error: str | None


@dataclass(frozen=True, kw_only=True)
class AcrossRow(VariantRow):
    """One method over the tables of a collection, by one measure."""

    collection: Annotated[str, "name of the collection of tables"]
    measure: Annotated[
        str,
        "what is compared: aufdc, aufdc_certified, transfer_at_leakage_10 on unseen tasks, or in "
        "the aware track accuracy_y_at_leakage_10",
    ]
    family: Annotated[str, "methods of one module; a baseline is a family of its own"]
    tables: Annotated[int, "number of tables on which all these rows are replicated"]
    sources: Annotated[int, "number of their sources; those of one describe the same people"]
    tables_missing: Annotated[int, "number of tables of the collection without replicated rows"]
    mean_rank: Annotated[float, "mean rank over tables, by weight; 1 is best, ties share ranks"]
    mean_rank_low: Annotated[
        float | None,
        "lower end of its approximate 95% interval over sources (Student's t); empty below five "
        "sources, and where all agree",
    ]
    mean_rank_high: Annotated[float | None, "upper end of the same interval"]
    mean_figure: Annotated[float, "mean of the measure over tables, by weight"]
    compared_with: Annotated[str | None, "method that the next columns compare with"] = None
    wins: Annotated[
        int | None,
        "number of tables on which the 95% interval of the difference over folds is in favour",
    ] = None
    ties: Annotated[int | None, "number of tables on which that interval holds 0"] = None
    losses: Annotated[int | None, "number of tables on which it is against"] = None
    improvement: Annotated[
        float | None,
        "probability that a fold's figure is better than one of the other method on the same "
        "table, mean over tables by weight",
    ] = None
    improvement_low: Annotated[float | None, "lower end of its interval, as of mean_rank"] = None
    improvement_high: Annotated[float | None, "upper end of the same interval"] = None
    p_value: Annotated[
        float | None,
        "p-value of being better, by weighted signed ranks over sources, one-sided, adjusted over "
        "all rows",
    ] = None
    label: Annotated[
        str | None, "name of the row's hyperparameters, such as tuned; empty where they have none"
    ] = None

    @property
    def name(self) -> str:
        """The method, and its hyperparameters by their label, or where they are no defaults."""
        return named(self.variant, self.label)


PUBLISHED: tuple[type[TableRow], ...] = (LeaderboardRow, PointRow, AttainmentRow, AcrossRow)
"""Rows of the CSV files, their columns documented."""


def describe_columns(kind: type[TableRow]) -> tuple[dict[str, str], dict[str, str]]:
    """Return columns and meanings of a table: those before and those after its metrics' columns."""
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    place = before
    hints = get_type_hints(kind, include_extras=True)
    for one in fields(kind):
        if one.name == "figures":
            place = after
        elif one.name != P_VALUES:
            place[one.name] = hints[one.name].__metadata__[0]
    return before, after


def columns_of_type(kind: type) -> frozenset[str]:
    """Return the columns of the published tables that hold values of one type."""
    return frozenset(
        name
        for row in PUBLISHED
        for name, hint in get_type_hints(row).items()
        if name not in ("figures", P_VALUES) and kind in (get_args(hint) or (hint,))
    )
