"""The named lists of tables that verdicts across datasets are made of.

A list that has been published never changes: a later one gets the next number.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairbench.api import Collection, CollectionTable
from fairbench.hookspecs import hookimpl

TABULAR_V1 = Collection(
    "tabular-v1",
    "ten tables with at least 5,000 rows and .045 nats of I(X;S); four of them are of one survey",
    (
        CollectionTable("adults-gender", unseen="adults-gender-unseen"),
        CollectionTable("compas-race", unseen="compas-unseen"),
        # Four tasks of one survey of the same people: half a weight each.
        CollectionTable("acs-income-sex", 0.5, "acs-income-unseen", "acs"),
        CollectionTable("acs-public-coverage", 0.5, "acs-public-coverage-unseen", "acs"),
        CollectionTable("acs-travel-time", 0.5, "acs-travel-time-unseen", "acs"),
        CollectionTable("acs-mobility", 0.5, "acs-mobility-unseen", "acs"),
        CollectionTable("credit-default", unseen="credit-default-unseen"),
        # Two choices of S in one table: half a weight each.
        CollectionTable("bank-marketing", 0.5, "bank-marketing-unseen", "bank-marketing"),
        CollectionTable("bank-marketing-age", 0.5, source="bank-marketing"),
        CollectionTable("law-school", unseen="law-school-unseen"),
        CollectionTable("diabetes130", unseen="diabetes130-unseen"),
    ),
)


@hookimpl
def register_collections() -> Sequence[Collection]:
    """The ranked tables."""
    return [TABULAR_V1]
