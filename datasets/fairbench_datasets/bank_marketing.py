"""Bank Marketing (Moro, Cortez and Rita 2014): whom a bank called; S is marriage, or age.

45,211 calls of a Portuguese bank to its customers, from 2008 to 2010, and whether the customer
subscribed to a term deposit. The full file with 17 columns; nothing is filtered, no value is
missing, and ``unknown`` is a category.

X are all columns but two. What S is made of is left out, and so is ``duration``, the seconds of the
call: it is known only when the answer is, too.

Months are numbered from January; the file has no year. ``pdays`` is -1 for customers who were never
called before.
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
    plain,
)
from fairbench_datasets.reading import words

COLUMNS: Mapping[str, Number | Category] = {
    "age": Number(18, 95, "years"),
    "job": Category(
        plain(
            "management technician entrepreneur blue-collar unknown retired admin. services "
            "self-employed unemployed housemaid student"
        ),
        "kind of job",
    ),
    "marital": Category(plain("married single divorced"), "divorced includes widowed"),
    "education": Category(plain("primary secondary tertiary unknown"), "education"),
    "default": Category(plain("no yes"), "has credit in default"),
    "balance": Number(-8_019, 102_127, "average yearly balance, euros"),
    "housing": Category(plain("no yes"), "has a housing loan"),
    "loan": Category(plain("no yes"), "has a personal loan"),
    "contact": Category(plain("cellular telephone unknown"), "how the customer was reached"),
    "day": Number(1, 31, "day of the month of the last call"),
    "month": Category(
        plain("jan feb mar apr may jun jul aug sep oct nov dec"), "month of the last call"
    ),
    "duration": Number(0, 4_918, "seconds of the last call"),
    "campaign": Number(1, 63, "calls in this campaign"),
    "pdays": Number(-1, 871, "days since a call of an earlier campaign; -1: none"),
    "previous": Number(0, 275, "calls before this campaign"),
    "poutcome": Category(plain("failure other success unknown"), "outcome of the earlier campaign"),
    "y": Category(plain("no yes"), "subscribed to a term deposit"),
}
"""All 17 columns of the file, in its order."""


class BankMarketing(DeclaredTable):
    """S is whether a customer is married."""

    name = "bank-marketing"
    summary = "bank marketing, S = married or not (2 groups)"
    citation = (
        "S. Moro, P. Cortez and P. Rita. A data-driven approach to predict the success of bank "
        "telemarketing. Decision Support Systems 62, 2014. doi:10.1016/j.dss.2014.03.001"
    )
    licence = "CC BY 4.0"
    url = "https://archive.ics.uci.edu/dataset/222/bank+marketing"
    folder = "bank_marketing"
    files = (
        DataFile(
            "bank_full.parquet",
            fairground("bank_full.parquet"),
            "52b51dbecc822aaac79befe24bb365e573d7d3b8ef9d7505e5f69c2d9e2203a2",
            987_706,
        ),
    )
    rows = 45_211
    architecture = Architecture(hidden=(128, 128), latent=8)

    columns = COLUMNS
    features = words(
        "age job marital education default balance housing loan contact day month campaign pdays "
        "previous poutcome"
    )
    attributes: ClassVar[Mapping[str, ByMeaning | ByCut]] = {
        "married": ByMeaning(
            "marital", {"married": "married", "single": "not married", "divorced": "not married"}
        ),
        "age": ByCut("age", 40, "below 40", "40 or more"),
    }
    sensitive: ClassVar[tuple[str, ...]] = ("married",)
    labels = (Label("subscribed", "y", "subscribed to a term deposit", ("yes",)),)
    unseen = (
        Label("housing_loan", "housing", "has a housing loan", ("yes",)),
        Label("personal_loan", "loan", "has a personal loan", ("yes",)),
        Label("tertiary", "education", "has a tertiary education", ("tertiary",)),
        Label("balance_above_median", "balance", "balance above 448 euros", above=448),
        Label("long_call", "duration", "the call took more than three minutes", above=180),
    )


class BankMarketingAge(BankMarketing):
    """S is age."""

    name = "bank-marketing-age"
    summary = "bank marketing, S = below 40 or not (2 groups)"
    sensitive = ("age",)


class BankMarketingUnseen(BankMarketing):
    """S is whether a customer is married; for unseen tasks."""

    name = "bank-marketing-unseen"
    summary = "bank marketing, S = married or not, five columns kept back as unseen tasks"
    is_unseen = True


@hookimpl
def register_datasets() -> Sequence[type[Dataset]]:
    """Bank marketing, by marriage, by age, and for unseen tasks."""
    return [BankMarketing, BankMarketingAge, BankMarketingUnseen]
