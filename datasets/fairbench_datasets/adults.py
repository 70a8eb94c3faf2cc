"""Adults (UCI Adult, Becker and Kohavi 1996): people's jobs and families; S is sex, or with race.

48,842 people of the 1994 US census. X are the nine columns that the SoFaiR paper's authors used, in
their order; categories are integer-coded, or one-hot under the ``-onehot`` names. The official test
file is the test role. Rows with ``?`` stay: it is a category.

Rows can be split by age, which is not in X: 27,444 people are below 40, 21,398 are 40 or older.

In ``adults-gender-unseen`` five tasks are asked of columns that are not in its X. Three of them are
in no X: ``aged_40_or_more`` (43.8%), ``white`` (85.5%) and ``born_abroad`` (8.1%), that is, outside
the US, Puerto Rico and the US islands; the 857 people of an unknown country count as not abroad.
The other columns it leaves out of X: marital status and relationship for ``married`` (45.9%), which
is then no second task, and the work class for ``self_employed`` (11.4%). It has no split by age.

The simulated twin has neither age nor country, so it has no split by age and no unseen tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from fairbench.api import Architecture, Ints
from fairbench.api.dataset import DataFile, Dataset, Table
from fairbench.errors import DataError
from fairbench.hookspecs import hookimpl
from fairbench_datasets.reading import groups_of, words

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = words(
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income"
)
"""The columns of the official files."""

FEATURES = words(
    "education-num hours-per-week relationship occupation capital-gain capital-loss "
    "marital-status workclass education"
)
"""X, in the order of the paper's authors."""

ASKED_OF = ("marital-status", "relationship", "workclass")
"""Columns of X that would tell unseen tasks."""

NUMBERS = ("age", "education-num", "hours-per-week", "capital-gain", "capital-loss")

MARRIED = ("Married-civ-spouse", "Married-AF-spouse")

SELF_EMPLOYED = ("Self-emp-not-inc", "Self-emp-inc")

NOT_ABROAD = ("United-States", "Puerto-Rico", "Outlying-US(Guam-USVI-etc)", "?")

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
_MIRROR = "http://mlr.cs.umass.edu/ml/machine-learning-databases/adult/"


def _file(name: str, sha256: str, size: int) -> DataFile:
    return DataFile(name, (_UCI + name, _MIRROR + name), sha256, size)


class AdultsGender(Dataset):
    """S is sex."""

    name = "adults-gender"
    aliases: ClassVar[tuple[str, ...]] = ("adults",)
    summary = "UCI Adult, S = sex (2 groups)"
    citation = (
        "B. Becker and R. Kohavi. Adult. UCI Machine Learning Repository, 1996. doi:10.24432/C5XW20"
    )
    licence = "CC BY 4.0"
    url = "https://archive.ics.uci.edu/dataset/2/adult"
    folder = "adults"
    files = (
        _file(
            "adult.data",
            "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            3_974_305,
        ),
        _file(
            "adult.test",
            "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            2_003_153,
        ),
    )
    rows = 48_842
    iterations = 27_000  # the paper's Table 3
    architecture = Architecture(hidden=(128, 128), latent=8)  # the paper's Table 2

    sensitive: ClassVar[tuple[str, ...]] = ("sex",)
    tasks: ClassVar[tuple[str, ...]] = ("income", "married")
    onehot: ClassVar[bool] = False
    is_unseen: ClassVar[bool] = False

    def load(self, folder: Path) -> Table:
        import pandas as pd

        parts = [read_adult(folder / file.name) for file in self.files]
        is_test = np.repeat([False, True], [len(part) for part in parts])
        return self._table(pd.concat(parts, ignore_index=True), is_test)

    def simulate(self) -> Table | None:
        from fairbench_datasets.adults_twin import simulate

        frame = simulate()
        # As many as in the official files.
        return self._table(frame, np.arange(len(frame)) >= 32_561)

    def _table(self, frame: pd.DataFrame, is_test: np.ndarray) -> Table:
        s, groups = groups_of(*(frame[column] for column in self.sensitive))
        y = {"income": _ones(frame["income"] == ">50K")}
        # A second task: the paper's RQ3 reasons about one that predicts marital status.
        married = _ones(frame["marital-status"].isin(MARRIED))
        if not self.is_unseen:
            y["married"] = married
        has_age = "age" in frame  # the twin has none
        return Table(
            x=frame[[name for name in FEATURES if not (self.is_unseen and name in ASKED_OF)]],
            s=s,
            groups=groups,
            y=y,
            is_test=is_test,
            onehot=self.onehot,
            transfer={"married": married, **_unseen_tasks(frame)} if self.is_unseen else {},
            # Not where age is an unseen task: it would be the same in all of a domain.
            domains={"age": _age_bands(frame)} if has_age and not self.is_unseen else {},
        )


class AdultsGenderRace(AdultsGender):
    """S is sex x race."""

    name = "adults-gender-race"
    aliases = ()
    summary = "UCI Adult, S = sex x race (10 groups)"
    sensitive = ("sex", "race")


class AdultsGenderOnehot(AdultsGender):
    """S is sex; categories of X are one-hot."""

    name = "adults-gender-onehot"
    aliases = ()
    summary = "UCI Adult, S = sex (2 groups), one-hot categories"
    onehot = True


class AdultsGenderRaceOnehot(AdultsGenderRace):
    """S is sex x race; categories of X are one-hot."""

    name = "adults-gender-race-onehot"
    summary = "UCI Adult, S = sex x race (10 groups), one-hot categories"
    onehot = True


class AdultsGenderUnseen(AdultsGender):
    """S is sex; for unseen tasks."""

    name = "adults-gender-unseen"
    aliases = ()
    summary = "UCI Adult, S = sex, five unseen tasks"
    is_unseen = True
    tasks = ("income",)
    unseen_tasks = ("married", "aged_40_or_more", "white", "born_abroad", "self_employed")

    simulate = Dataset.simulate  # none: the twin lacks columns of the tasks


def read_adult(path: Path) -> pd.DataFrame:
    """Read one official file: 15 comma-separated fields per row, ``|`` starts a comment line.

    Raises DataError: a row has another number of fields, or a number cannot be read; the line is
    named.
    """
    import pandas as pd

    hint = f"Get the original file again: {_UCI}{path.name}"
    rows: list[list[str]] = []
    for line, text in enumerate(path.read_text(encoding="ascii").splitlines(), start=1):
        if not text.strip() or text.startswith("|"):
            continue
        fields = [field.strip() for field in text.split(",")]
        if len(fields) != len(COLUMNS):
            raise DataError(
                f"{path}, line {line}: {len(fields)} fields instead of {len(COLUMNS)}.", hint
            )
        rows.append(fields)
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    frame["income"] = frame["income"].str.rstrip(".")  # the test file ends its labels with a dot
    for column in NUMBERS:
        numbers = pd.to_numeric(frame[column], errors="coerce")
        if numbers.isna().any():
            bad = int(np.flatnonzero(numbers.isna())[0])
            raise DataError(
                f"{path}, row {bad + 1}: {column} is {frame[column][bad]!r}, not a number.", hint
            )
        frame[column] = numbers.astype(np.int64)
    return frame


def _unseen_tasks(frame: pd.DataFrame) -> dict[str, Ints]:
    """Return the labels of the unseen tasks, without ``married``."""
    return {
        "aged_40_or_more": _ones(frame["age"] >= 40),
        "white": _ones(frame["race"] == "White"),
        "born_abroad": _ones(~frame["native-country"].isin(NOT_ABROAD)),
        "self_employed": _ones(frame["workclass"].isin(SELF_EMPLOYED)),
    }


def _age_bands(frame: pd.DataFrame) -> npt.NDArray[np.str_]:
    return np.where(frame["age"] < 40, "below 40", "40 or more")


def _ones(chosen: pd.Series[bool]) -> Ints:
    return np.asarray(chosen, dtype=np.int64)


@hookimpl
def register_datasets() -> Sequence[type[Dataset]]:
    """Adults, by sex and by sex x race, integer-coded and one-hot, and for unseen tasks."""
    return [
        AdultsGender,
        AdultsGenderRace,
        AdultsGenderOnehot,
        AdultsGenderRaceOnehot,
        AdultsGenderUnseen,
    ]
