"""The dataset card: a YAML file that declares X, S and Y of a user's own table.

``dataset_from_card`` turns it into a dataset like any other; no other module depends on cards.
docs/own-data.md explains every key.
"""

from __future__ import annotations

import enum
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from fairbench.api import Architecture
from fairbench.data.column_values import ColumnKind, Decimal
from fairbench.data.task_names import fault_of_task_name
from fairbench.files.paths import MAX_NAME_LENGTH, SHIFT_MARK, TAKEN_ENDINGS

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Encoding(enum.StrEnum):
    """How categories become numbers."""

    INTEGER = "integer"
    """One column of sorted codes."""
    ONEHOT = "onehot"
    """One column per category."""


class MissingPolicy(enum.StrEnum):
    """Treatment of rows with missing values."""

    ERROR = "error"
    """The table is refused with an error."""
    DROP = "drop"
    """They are left out."""
    CATEGORY = "category"
    """In categories of X and in S, ``missing`` is a value of its own; elsewhere it is an error."""
    CATEGORY_OR_DROP = "category-or-drop"
    """The same, but rows with missing values elsewhere are left out."""

    @property
    def has_category(self) -> bool:
        """Whether missing values of categories are a category of their own."""
        return self in (MissingPolicy.CATEGORY, MissingPolicy.CATEGORY_OR_DROP)

    @property
    def drops(self) -> bool:
        """Whether rows are left out."""
        return self in (MissingPolicy.DROP, MissingPolicy.CATEGORY_OR_DROP)

    @property
    def with_drop(self) -> MissingPolicy:
        """The policy that leaves out the rows which this one refuses."""
        return MissingPolicy.CATEGORY_OR_DROP if self.has_category else MissingPolicy.DROP


class CardPart(BaseModel):
    """A mapping in the card; empty keys count as absent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_empty_keys(cls, values: Any) -> Any:
        if isinstance(values, dict):
            return {key: value for key, value in values.items() if value != ""}
        return values


OneOrMore = BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
"""A single value of the card stands for a list of one."""


class SensitiveColumn(CardPart):
    """A column of S."""

    column: str
    # Cut points of a column of numbers: ``25, 45`` makes three groups, with 25 in the second
    bins: Annotated[tuple[float, ...], OneOrMore] = ()
    # Group by value; other values are groups of their own
    groups: Mapping[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _sensible(self) -> SensitiveColumn:
        if list(self.bins) != sorted(set(self.bins)) or not np.isfinite(self.bins).all():
            raise ValueError("bins must be increasing numbers")
        if self.bins and self.groups:
            raise ValueError("give either bins or groups")
        return self


def _check_task(name: str) -> str:
    if (fault := fault_of_task_name(name)) is not None:
        raise ValueError(f"{fault}: rename the column")
    return name


class LabelColumn(CardPart):
    """A task label."""

    column: Annotated[str, AfterValidator(_check_task)]
    positive: Annotated[tuple[str, ...], OneOrMore] = ()  # values that are class 1; others are 0
    above: float | None = Field(None, allow_inf_nan=False)  # numbers above it are class 1

    @model_validator(mode="after")
    def _sensible(self) -> LabelColumn:
        if self.positive and self.above is not None:
            raise ValueError("give either positive or above")
        return self


class OfficialTest(CardPart):
    """The official test set: the rows with ``value`` in ``column``."""

    column: str
    value: str


class Card(CardPart):
    """The content of a dataset card; unknown keys are errors."""

    name: str  # name of the dataset in leaderboards
    file: Path  # the table; absolute once read
    # separator, header, columns: format of a CSV file; see :func:`fairbench.data.tables.read_table`
    separator: str = Field(",", min_length=1, max_length=1)
    decimal: Decimal = "."  # sign before the decimals of numbers that are text
    header: bool = True
    columns: tuple[str, ...] = ()
    # Columns of X; a kind of None is guessed. None: all columns without another use.
    features: Mapping[str, ColumnKind | None] | None = None
    drop: Annotated[tuple[str, ...], OneOrMore] = ()  # columns left out of ``features: all``
    # Several columns make intersections
    sensitive: tuple[SensitiveColumn, ...] = Field(min_length=1)
    labels: tuple[LabelColumn, ...] = Field(min_length=1)  # the main task first
    unseen: tuple[LabelColumn, ...] = ()  # labels of unseen tasks
    domains: tuple[SensitiveColumn, ...] = ()  # columns that rows can be split by
    encoding: Encoding = Encoding.INTEGER
    missing: MissingPolicy = MissingPolicy.ERROR
    # Further cells that count as missing values, beside those of csv_files.MISSING
    missing_values: Annotated[tuple[str, ...], OneOrMore] = ()
    test: OfficialTest | None = None
    person: str | None = None  # names or numbers of people, where some have several rows
    # Columns that may be in X though they determine s
    allowed_copies: Annotated[tuple[str, ...], OneOrMore] = ()
    iterations: int | None = Field(None, ge=1)  # training steps of the full budget
    audit_rows: int | None = Field(None, ge=100)  # most rows of each role of the audit
    # hidden, latent: sizes of neural encoders
    hidden: Annotated[tuple[int, ...], OneOrMore] = Architecture().hidden
    latent: int = Field(Architecture().latent, ge=1)
    citation: str = ""
    licence: str = ""

    @field_validator("sensitive", "labels", "unseen", "domains", mode="before")
    @classmethod
    def _columns(cls, value: Any) -> Any:
        several = value if isinstance(value, list) else [value]
        return [{"column": one} if isinstance(one, str) else one for one in several]

    @field_validator("sensitive", "labels", "unseen", "domains")
    @classmethod
    def _no_column_twice(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        columns = [part.column for part in value]
        if len(set(columns)) < len(columns):
            raise ValueError("a column stands twice")
        return value

    @field_validator("features", mode="before")
    @classmethod
    def _all_some_or_with_kinds(cls, value: Any) -> Any:
        if value == "all":
            return None
        if isinstance(value, str) and value.startswith("all - "):  # YAML joins the lines to one
            raise ValueError("give either all beside it, or a list of columns below it")
        if isinstance(value, dict):
            return {name: kind or None for name, kind in value.items()}
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("give all, or a list of columns, or lines of `column: kind`")
        return dict.fromkeys(names)

    @field_validator("name")
    @classmethod
    def _good_name(cls, value: str) -> str:
        return check_name(value)

    @field_validator("separator", mode="before")
    @classmethod
    def _tab(cls, value: object) -> object:
        return value.replace("\\t", "\t") if isinstance(value, str) else value

    @field_validator("separator")
    @classmethod
    def _can_separate(cls, value: str) -> str:
        if value in '"\r\n':
            raise ValueError("this character cannot separate fields")
        return value

    @field_validator("hidden")
    @classmethod
    def _positive_sizes(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if not value or min(value) < 1:
            raise ValueError("layers have 1 or more units")
        return value

    def used(self) -> Iterator[tuple[str, str]]:
        """Yield every (key, column) that the card names."""
        yield from (("sensitive", part.column) for part in self.sensitive)
        yield from (("labels", label.column) for label in self.labels)
        yield from (("unseen", label.column) for label in self.unseen)
        yield from (("domains", part.column) for part in self.domains)
        yield from (("features", name) for name in self.features or ())
        yield from (("drop", name) for name in self.drop)
        yield from (("allowed_copies", name) for name in self.allowed_copies)
        if self.test:
            yield "test", self.test.column
        if self.person is not None:
            yield "person", self.person

    def leaves_out(self, column: str) -> bool:
        """Return whether no value of a column is read: it is dropped, or no feature."""
        uses = {key for key, name in self.used() if name == column} - {"allowed_copies"}
        return uses == {"drop"} or (not uses and self.features is not None)


def check_name(name: str) -> str:
    """Return the name of a dataset; ValueError where it can be none."""
    taken = name.endswith(TAKEN_ENDINGS) or SHIFT_MARK in name
    if not _NAME.fullmatch(name) or taken or len(name) > MAX_NAME_LENGTH:
        raise ValueError(
            "names are lower-case words joined by single hyphens, have at most "
            f"{MAX_NAME_LENGTH} characters, do not end in {' or '.join(TAKEN_ENDINGS)}, and do "
            f"not have {SHIFT_MARK} in them"
        )
    return name


def is_card(text: str) -> bool:
    """Return whether a command's argument is a path: registered names have no dot or slash."""
    return any(mark in text for mark in "./\\")


def slug(text: str) -> str:
    """Make a dataset's name of a file's: lower-case words and hyphens, without accents."""
    letters = unicodedata.normalize("NFKD", text.lower())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    words = "-".join(re.findall("[a-z0-9]+", plain))[:MAX_NAME_LENGTH]
    return words.strip("-") or "table"
