"""Credit card default (Yeh and Lien 2009): who pays the next bill in Taiwan; S is age.

30,000 holders of credit cards of a bank in Taiwan: six months of bills and payments, April to
September 2005, and whether the holder defaulted in the month after. All rows are used, and no value
is missing.

X are all columns but ``ID``, ``AGE``, of which S is made, and the label. Sex stays in X. Amounts
are in New Taiwan dollars; a bill is negative where more was paid than owed. The status of a payment
is the number of months that it is late, and stays a number.

Y is ``default``, in October 2005, for 22.1%.

In ``credit-default-unseen`` five columns of X are asked for instead: ``graduate_school`` (35.3%),
``limit_above_median`` (49.0%), ``late_in_september`` (22.7%), ``paid_much_in_april`` (49.2%) and
``paid_much_in_september`` (50.0%), with which the bill of August leaves X, since it is often paid
in full. Marriage tells most of S and stays.

What is odd about the file:

- The documentation of education has codes 1 to 4, of marriage 1 to 3. The file also has 0, 5 and 6
  for education (345 rows) and 0 for marriage (54 rows). They are a category of their own here,
  ``undocumented``.
- The documentation of the payment status has -1, paid duly, and 1 to 9, months of delay. The file
  also has -2 and 0: in September in 9% and 49% of the rows. Both are below 1, so here they count as
  no delay, too.
- Delays of one month are rare in all months but the last: 3,688 rows in September, 34 in the five
  months before.
- The status of the last month is called ``PAY_0``, and that of the month before ``PAY_2``.
- 35 rows repeat an earlier one, with another ``ID``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from fairbench.api import Architecture
from fairbench.api.dataset import DataFile, Dataset
from fairbench.hookspecs import hookimpl
from fairbench_datasets.declared import (
    ByCut,
    ByMeaning,
    Category,
    DeclaredTable,
    Label,
    Number,
    fairground,
)
from fairbench_datasets.reading import words

_MONTHS = words("September August July June May April")

STATUS = dict(zip(words("PAY_0 PAY_2 PAY_3 PAY_4 PAY_5 PAY_6"), _MONTHS, strict=True))
"""Months by the column of their payment status."""

COLUMNS: Mapping[str, Number | Category] = {
    "LIMIT_BAL": Number(10_000, 1_000_000, "credit limit, with that of the family"),
    "SEX": Category({1: "male", 2: "female"}, "sex"),
    "EDUCATION": Category(
        {
            1: "graduate school",
            2: "university",
            3: "high school",
            4: "others",
            **dict.fromkeys((5, 6, 0), "undocumented"),
        },
        "education",
    ),
    "MARRIAGE": Category({1: "married", 2: "single", 3: "others", 0: "undocumented"}, "marriage"),
    "AGE": Number(21, 79, "years"),
    **{
        name: Number(-2, 9, f"months that the payment of {month} is late; below 1: not late")
        for name, month in STATUS.items()
    },
    **{
        f"BILL_AMT{i}": Number(-400_000, 2_000_000, f"bill of {month}")
        for i, month in enumerate(_MONTHS, 1)
    },
    **{
        f"PAY_AMT{i}": Number(0, 2_000_000, f"amount paid in {month}")
        for i, month in enumerate(_MONTHS, 1)
    },
    "default payment next month": Category({0: "no", 1: "yes"}, "default in October"),
}
"""All columns of the file but ``ID``, in its order."""


class CreditDefault(DeclaredTable):
    """S is age."""

    name = "credit-default"
    summary = "credit card default in Taiwan, S = below 40 or not (2 groups)"
    citation = (
        "I.-C. Yeh and C.-h. Lien. The comparisons of data mining techniques for the predictive "
        "accuracy of probability of default of credit card clients. Expert Systems with "
        "Applications 36(2), 2009. doi:10.1016/j.eswa.2007.12.020"
    )
    licence = "CC BY 4.0"
    url = "https://archive.ics.uci.edu/dataset/350/default+of+credit+card+clients"
    folder = "credit_default"
    files = (
        DataFile(
            "creditcard.parquet",
            fairground("creditcard.parquet"),
            "f8792a487afbe9606fa754cf22b09ad4dfa0eb767fa954958a956d3126c49e16",
            1_912_407,
        ),
    )
    rows = 30_000
    # X has 22 columns: 8 dimensions leave 21% of their variance behind by PCA, 16 leave 2%.
    architecture = Architecture(hidden=(128, 128), latent=16)

    columns = COLUMNS
    features = tuple(name for name in COLUMNS if name != "default payment next month")
    attributes: ClassVar[Mapping[str, ByMeaning | ByCut]] = {
        "age": ByCut("AGE", 40, "below 40", "40 or more"),
    }
    sensitive: ClassVar[tuple[str, ...]] = ("age",)
    labels = (Label("default", "default payment next month", "defaulted in October", (1,)),)
    unseen = (
        Label("graduate_school", "EDUCATION", "went to graduate school", (1,)),
        Label("limit_above_median", "LIMIT_BAL", "credit limit above 140,000", above=140_000),
        Label("late_in_september", "PAY_0", "the payment of September is late", above=0),
        Label("paid_much_in_april", "PAY_AMT6", "paid more than 1,500 in April", above=1_500),
        Label(
            "paid_much_in_september",
            "PAY_AMT1",
            "paid more than 2,100 in September",
            above=2_100,
            also=("BILL_AMT2",),  # of August, which is often paid in full
        ),
    )


class CreditDefaultUnseen(CreditDefault):
    """S is age; for unseen tasks."""

    name = "credit-default-unseen"
    summary = "credit card default, S = below 40 or not, five columns kept back as unseen tasks"
    is_unseen = True


@hookimpl
def register_datasets() -> Sequence[type[Dataset]]:
    """Credit card default, by age, and for unseen tasks."""
    return [CreditDefault, CreditDefaultUnseen]
