"""German credit (Statlog; Hofmann 1994): who repays a loan; S is sex, age, or both.

1,000 borrowers of a bank in southern Germany, 1973 to 1975; 700 repaid. The file is complete and
nothing is filtered: 1,000 rows before and after. It holds 20 attributes and a class a line. The
seven that are numbers stay numbers; the codes of the others (A11, ...) are decoded to
``A11 below 0 DM`` and so on. The official code stands in front so that the integer codes, which
follow the sorted names, keep the order of the code list, which is often an order of the thing
itself (savings, years employed, skill).

S by sex comes from attribute 9, personal status and sex, which is then not in X; S by age is 25 or
younger against older, as since Kamiran and Calders (2009), and age is then not in X. The attribute
that is not S stays in X.

Y is ``good_credit``. The second task, ``homeowner``, is a column of X, as ``married`` is on Adults:
it asks whether z still predicts a label that training did not consider.

What to know of S: Grömping (2019, South German Credit Data: Correcting a Widely Used Data Set,
Beuth University of Applied Sciences Berlin, report 4/2019; the data: doi:10.24432/C5QG88) went back
to the original code list. By it the documentation of attribute 9 is wrong: A92, "female", also
holds the single men, A93, "male single", are the married and widowed men, and A94, "male married",
are the single women. So ``german-sex``, the variant the field has always used, has a label that is
wrong for many people and cannot be corrected from this file; ``german-age`` has a right one. Some
other attributes are mislabelled too. Names here are the documented ones; no figure depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from fairbench.api import Architecture
from fairbench.api.dataset import DataFile, Dataset, Table
from fairbench.hookspecs import hookimpl
from fairbench_datasets.reading import TextTable, groups_of, read_ascii, words

NUMBERS = words(
    "duration_months credit_amount installment_rate residence_since age existing_credits dependents"
)
"""Attributes that are numbers: DM, months, years, counts; the rate and the residence are classes
from 1 to 4."""

CATEGORIES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "checking_account": {
            "A11": "below 0 DM",
            "A12": "0 to 200 DM",
            "A13": "200 DM or more, or salary for a year",
            "A14": "none",
        },
        "credit_history": {
            "A30": "no credits, or all paid back duly",
            "A31": "all credits here paid back duly",
            "A32": "credits paid back duly till now",
            "A33": "delays in the past",
            "A34": "critical, or credits elsewhere",
        },
        "purpose": {
            "A40": "new car",
            "A41": "used car",
            "A42": "furniture",
            "A43": "radio or television",
            "A44": "domestic appliances",
            "A45": "repairs",
            "A46": "education",
            "A47": "vacation",
            "A48": "retraining",
            "A49": "business",
            "A410": "others",
        },
        "savings": {
            "A61": "below 100 DM",
            "A62": "100 to 500 DM",
            "A63": "500 to 1000 DM",
            "A64": "1000 DM or more",
            "A65": "unknown or none",
        },
        "employed_since": {
            "A71": "unemployed",
            "A72": "below 1 year",
            "A73": "1 to 4 years",
            "A74": "4 to 7 years",
            "A75": "7 years or more",
        },
        "personal_status_sex": {
            "A91": "male divorced or separated",
            "A92": "female divorced, separated or married",
            "A93": "male single",
            "A94": "male married or widowed",
            "A95": "female single",
        },
        "other_debtors": {"A101": "none", "A102": "co-applicant", "A103": "guarantor"},
        "property": {
            "A121": "real estate",
            "A122": "savings agreement or life insurance",
            "A123": "car or other",
            "A124": "unknown or none",
        },
        "other_instalments": {"A141": "bank", "A142": "stores", "A143": "none"},
        "housing": {"A151": "rent", "A152": "own", "A153": "for free"},
        "job": {
            "A171": "unskilled, not resident",
            "A172": "unskilled, resident",
            "A173": "skilled",
            "A174": "management or highly qualified",
        },
        "telephone": {"A191": "none", "A192": "yes"},
        "foreign_worker": {"A201": "yes", "A202": "no"},
    }
)
"""Attributes that are categories, and the documented meanings of their codes."""

COLUMNS = words(
    "checking_account duration_months credit_history purpose credit_amount savings employed_since "
    "installment_rate personal_status_sex other_debtors residence_since property age "
    "other_instalments housing existing_credits job dependents telephone foreign_worker credit"
)
"""Attributes 1 to 20 and the class, in the order of the file."""

OWNER = {"A151": 0, "A152": 1, "A153": 0}
"""Who owns a home, by the code of ``housing``."""

YOUNG = 25
"""The last year of age of the younger group."""

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/german/german.data"
_MIRROR = "http://mlr.cs.umass.edu/ml/machine-learning-databases/statlog/german/german.data"
_HINT = f"Get the original file again: {_UCI}"


class GermanSex(Dataset):
    """S is sex, as documented."""

    name = "german-sex"
    aliases: ClassVar[tuple[str, ...]] = ("german",)
    summary = "Statlog German credit, S = sex (2 groups)"
    citation = (
        "H. Hofmann. Statlog (German Credit Data). UCI Machine Learning Repository, 1994. "
        "doi:10.24432/C5NC77"
    )
    licence = "CC BY 4.0"
    url = "https://archive.ics.uci.edu/dataset/144/statlog+german+credit+data"
    folder = "german"
    files = (
        DataFile(
            "german.data",
            (_UCI, _MIRROR),
            "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
            79_793,
        ),
    )
    # X has 19 columns that hardly go together: 8 dimensions leave 38% of their variance behind by
    # PCA, 16 leave 6%, and a plain autoencoder's test distortion falls from 9.9 to 1.1.
    architecture = Architecture(hidden=(128, 128), latent=16)

    rows = 1_000
    demonstration = "1,000 rows are too few to rank by: auditors cannot tell I(X;S) from zero"
    sensitive: ClassVar[tuple[str, ...]] = ("sex",)
    tasks: ClassVar[tuple[str, ...]] = ("good_credit", "homeowner")

    def load(self, folder: Path) -> Table:
        import pandas as pd

        people = read_german(folder / "german.data")
        columns = {name: people.integers(name, least=0) for name in NUMBERS}
        status = people.mapped("personal_status_sex", CATEGORIES["personal_status_sex"])
        attributes = {
            "sex": [value.split()[0].capitalize() for value in status],
            "age": ["up to 25" if age <= YOUNG else "over 25" for age in columns["age"]],
        }
        s, groups = groups_of(*(attributes[name] for name in self.sensitive))
        sources = {"sex": "personal_status_sex", "age": "age"}
        left_out = {"credit", *(sources[name] for name in self.sensitive)}
        coded = {
            name: people.mapped(name, {code: f"{code} {value}" for code, value in values.items()})
            for name, values in CATEGORIES.items()
        }
        return Table(
            x=pd.DataFrame(
                {**columns, **coded}, columns=[name for name in COLUMNS if name not in left_out]
            ),
            s=s,
            groups=groups,
            y={
                "good_credit": np.array(people.mapped("credit", {"1": 1, "2": 0}), np.int64),
                "homeowner": np.array(people.mapped("housing", OWNER), np.int64),
            },
        )


class GermanAge(GermanSex):
    """S is age."""

    name = "german-age"
    aliases = ()
    summary = "Statlog German credit, S = 25 or younger (2 groups)"
    sensitive = ("age",)


class GermanSexAge(GermanSex):
    """S is sex x age."""

    name = "german-sex-age"
    aliases = ()
    summary = "Statlog German credit, S = sex x 25 or younger (4 groups)"
    sensitive = ("sex", "age")


def read_german(path: Path) -> TextTable:
    """Read the file, fields apart by blanks; DataError names the line of a malformed row."""
    lines = enumerate(read_ascii(path, _HINT).split("\n"), 1)
    rows = {number: line.split() for number, line in lines if line.split()}
    return TextTable(path, _HINT, COLUMNS, list(rows.values()), list(rows))


@hookimpl
def register_datasets() -> Sequence[type[Dataset]]:
    """German credit, by sex, by age and by both."""
    return [GermanSex, GermanAge, GermanSexAge]
