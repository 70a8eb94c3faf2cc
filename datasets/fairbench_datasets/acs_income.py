"""ACSIncome (Ding et al. 2021): working adults of the US, 2018; S is sex, race, or both.

The task ACSIncome of folktables, on the 2018 one-year microdata of the American Community Survey:
people over 16 with an income above 100 dollars and at least one working hour a week, all states,
1,664,500 people. The file here is a part of it, 332,900 rows, a fifth, drawn at random (its
``index`` column holds the rows' places in the whole). It is at no public address. All rows have all
values, and nothing is filtered: 332,900 rows before and after. The state is not a column. 3,028
rows repeat an earlier one: other people with equal answers.

What the file holds is coded as the Census Bureau's 2018 dictionary of the public use microdata has
it, with two differences: PINCP is 1 where the income is above 50,000 dollars and else 0, and RAC1P
counts from 0, one below the official code.

X are the ten features of the task without those that are S: by sex, race stays in X, and the other
way round. Age, schooling (24 ordered steps) and weekly hours are numbers. The rest are categories,
numbered in the order of the official codes, so that integer codes keep it. Two features
have hundreds of codes, of which a squared error can make nothing, so they are grouped:

- OCCP, 529 occupations here, into the 23 major groups of the Standard Occupational Classification
  of 2018, by the code ranges of the Census list, from management to the military;
- POBP, 223 places of birth here, into the four Census regions of the US, its island areas, and the
  Bureau's six world regions.

S by race has seven groups: the Census Bureau's three codes for American Indians and Alaska Natives
are one race of its own classification, and Alaska Natives alone, 177 people, are too few for four
roles.

Y is ``income``; the second task, ``married``, is a column of X, as on Adults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from fairbench.api import Architecture
from fairbench.api.dataset import DataFile, Dataset, Table
from fairbench.errors import DataError
from fairbench.hookspecs import hookimpl
from fairbench_datasets.acs_codes import (
    BIRTHPLACES,
    MARITAL,
    MARRIED,
    OCCUPATIONS,
    RACES,
    RELATIONSHIPS,
    SEXES,
    WORKERS,
)
from fairbench_datasets.reading import groups_of

Floats64 = npt.NDArray[np.float64]

FEATURES = ("AGEP", "COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "WKHP", "SEX", "RAC1P")
"""The features of the task, in its order; X is these without S."""

NUMBERS = {"AGEP": (17, 99), "SCHL": (1, 24), "WKHP": (1, 99)}
"""Features that are numbers, with the least and the greatest that the dictionary allows."""

CATEGORIES: Mapping[str, Mapping[int, str]] = {
    "COW": WORKERS,
    "MAR": MARITAL,
    "OCCP": OCCUPATIONS,
    "POBP": BIRTHPLACES,
    "RELP": RELATIONSHIPS,
    "SEX": SEXES,
    "RAC1P": RACES,
}

ATTRIBUTES = {"sex": "SEX", "race": "RAC1P"}
"""Columns of S."""

_NAME = "acs_income_2018_part.parquet"
_SIZE = 4_109_137
_HINT = f"Get the original {_NAME} again ({_SIZE:,} bytes)."


class AcsIncomeSex(Dataset):
    """S is sex."""

    name = "acs-income-sex"
    aliases: ClassVar[tuple[str, ...]] = ("acs-income",)
    summary = "ACSIncome 2018, a fifth of it, S = sex (2 groups)"
    citation = (
        "F. Ding, M. Hardt, J. Miller and L. Schmidt. Retiring Adult: New Datasets for Fair "
        "Machine Learning. NeurIPS 2021. doi:10.48550/arXiv.2108.04884; US Census Bureau. "
        "American Community Survey, Public Use Microdata Sample, 2018"
    )
    licence = "US Census Bureau's terms of use for public microdata; folktables itself is MIT"
    url = "https://github.com/socialfoundations/folktables"
    folder = "acs_income"
    files = (
        DataFile(
            _NAME,
            (),  # the whole task can be had through folktables, this part of it at no address
            "050a84d27232b70c14992ce996c9cd04fa1c6eccc8e1394760b6de3e01de9fc5",
            _SIZE,
        ),
    )
    # X is as wide as that of Adults (8 or 9 columns), so the sizes are those of Adults.
    architecture = Architecture(hidden=(128, 128), latent=8)

    rows = 332_900
    sensitive: ClassVar[tuple[str, ...]] = ("sex",)

    def load(self, folder: Path) -> Table:
        import pandas as pd

        path = folder / _NAME
        raw = read_acs(path)
        sources = [ATTRIBUTES[name] for name in self.sensitive]
        s, groups = groups_of(*(decoded(raw, name, path) for name in sources))
        columns: dict[str, npt.NDArray[np.generic]] = {}
        for name in (name for name in FEATURES if name not in sources):
            if name in NUMBERS:
                columns[name] = whole(raw, name, path, *NUMBERS[name])
            else:
                columns[name] = decoded(raw, name, path, numbered=True)
        return Table(
            x=pd.DataFrame(columns),
            s=s,
            groups=groups,
            y={
                "income": whole(raw, "PINCP", path, 0, 1),
                "married": (raw["MAR"] == MARRIED).astype(np.int64),
            },
        )


class AcsIncomeRace(AcsIncomeSex):
    """S is race."""

    name = "acs-income-race"
    aliases = ()
    summary = "ACSIncome 2018, a fifth of it, S = race (7 groups)"
    sensitive = ("race",)


class AcsIncomeSexRace(AcsIncomeSex):
    """S is sex x race."""

    name = "acs-income-sex-race"
    aliases = ()
    summary = "ACSIncome 2018, a fifth of it, S = sex x race (14 groups)"
    sensitive = ("sex", "race")


def read_acs(path: Path) -> dict[str, Floats64]:
    """Read the columns of the task from the Parquet file, ``(n,)`` each; missing values are NaN.

    Raises DataError: it is no Parquet file, is broken, or lacks a column of numbers.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [*FEATURES, "PINCP"]
    try:
        with path.open("rb") as stream:
            file = pq.ParquetFile(stream)
            for name in names:
                types = [field.type for field in file.schema_arrow if field.name == name]
                if len(types) != 1:
                    wrong = "occurs twice" if types else "is missing"
                    raise DataError(f"{path}: the column {name!r} {wrong}.", _HINT)
                if not (pa.types.is_integer(types[0]) or pa.types.is_floating(types[0])):
                    raise DataError(f"{path}: column {name} holds {types[0]}, not numbers.", _HINT)
            table = file.read(columns=names)
    # A broken file shows as any of these, text that is not UTF-8 as a ValueError.
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or ["empty"])[0]
        raise DataError(f"{path} cannot be read as Parquet: {reason}", _HINT) from error
    if not table.num_rows:
        raise DataError(f"{path} has no rows.", _HINT)
    return {name: table.column(name).to_numpy().astype(np.float64) for name in names}


def whole(
    raw: Mapping[str, Floats64], column: str, path: Path, low: int, high: int
) -> npt.NDArray[np.int64]:
    """Return a column as whole numbers from ``low`` to ``high``, ``(n,)``."""
    values = raw[column]
    good = (values >= low) & (values <= high) & (values == np.floor(values))
    if not good.all():
        row = int(np.argmin(good))
        raise _bad_cell(path, row, column, values[row], f"not a whole number from {low} to {high}")
    return values.astype(np.int64)


def decoded(
    raw: Mapping[str, Floats64], column: str, path: Path, *, numbered: bool = False
) -> npt.NDArray[np.str_]:
    """Return the meaning of each code of a column, ``(n,)``; ``numbered``, with its place in front.

    The place, ``01``, ``02`` and so on, makes the sorted names keep the order of the codes.
    """
    values = raw[column]
    meanings = CATEGORIES[column]
    places = {name: i for i, name in enumerate(dict.fromkeys(meanings.values()), start=1)}
    codes, where = np.unique(values, return_inverse=True)
    for i, code in enumerate(codes):
        if code not in meanings:  # fractions and NaN never are
            row = int(np.flatnonzero(where == i)[0])
            raise _bad_cell(path, row, column, values[row], "a code without a meaning")
    names = [meanings[int(code)] for code in codes]
    return np.array([f"{places[n]:02} {n}" if numbered else n for n in names])[where]


def _bad_cell(path: Path, row: int, column: str, value: float, wrong: str) -> DataError:
    fault = "missing" if np.isnan(value) else f"{value:g}, {wrong}"
    return DataError(f"{path}, row {row + 1}: {column} is {fault}.", _HINT)


@hookimpl
def register_datasets() -> Sequence[type[Dataset]]:
    """ACSIncome, by sex, by race and by both."""
    return [AcsIncomeSex, AcsIncomeRace, AcsIncomeSexRace]
