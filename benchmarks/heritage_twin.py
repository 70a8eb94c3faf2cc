"""What the simulated twin of Health Heritage is like: its marginals, and what x tells of s and y.

    python benchmarks/heritage_twin.py

Needs no data. Trees are scikit-learn's histogram gradient boosting with early stopping, trained on
all roles but test and measured on test; minutes on one core. The anchors for accuracies are those
of the paper authors' earlier work with the real data. Exits with 1 if a figure is past its limit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from fairbench.api import Role
from fairbench.api.dataset import Table
from fairbench.data.prepare import prepare
from fairbench.data.prepared import Prepared
from fairbench.stats.scores import entropy
from fairbench_datasets.heritage import Heritage
from fairbench_datasets.heritage.columns import CONDITIONS, PROCEDURES

CLAIMS, MEMBERS = 2_668_990, 113_000
YEARS = CLAIMS / MEMBERS / 12.145347
"""Years a member is there, by the mean number of claims of a member's year."""


@dataclass(frozen=True)
class Figure:
    """A value, what is known of the real data, and how far from it the value may be."""

    name: str
    twin: float
    real: float | None = None
    limit: float = 0.0

    @property
    def fine(self) -> bool:
        return self.real is None or abs(self.twin - self.real) <= self.limit

    def __str__(self) -> str:
        if self.real is None:
            return f"{self.name:42} {self.twin:10.3f}"
        verdict = "PASS" if self.fine else "FAIL"
        known = f"(real {self.real:.3f}, limit {self.limit:.3f})"
        return f"{self.name:42} {self.twin:10.3f} {known} {verdict}"


def marginals(table: Table) -> Iterator[Figure]:
    """Means of columns against what is published of a year, times the years."""
    mean = table.x.mean()
    for name, a_year in (
        ("ClaimsCount", 12.145347),
        ("PayDelay", 530.194753),
        ("LabCount", 6.471827),
        ("DrugCount", 10.387318),
    ):
        real = a_year * YEARS
        yield Figure(f"mean {name}", float(mean[name]), real, 0.03 * real)
    for name, published in (("EM", 8.478598), ("PL", 4.325042), ("SCS", 2.511485)):
        yield Figure(
            f"claims with {name}", mean[name] / mean["ClaimsCount"], published / 23.1, 0.01
        )
    for name, published in (("MSC2a3", 4.096765), ("METAB3", 2.709704), ("HEART2", 0.664039)):
        yield Figure(
            f"claims with {name}", mean[name] / mean["ClaimsCount"], published / 23.1, 0.01
        )
    groups = table.x[[*CONDITIONS, *PROCEDURES]]
    yield Figure("least share of members with a group", float((groups > 0).mean().min()))


def predictions(data: Prepared) -> Iterator[Figure]:
    """What boosted trees read of s and y in raw x."""
    train = [rows for role, rows in data.roles.items() if role is not Role.TEST]
    test = data.roles[Role.TEST]
    x = np.concatenate([rows.x for rows in train])

    s = np.concatenate([rows.s for rows in train])
    trees = HistGradientBoostingClassifier(
        early_stopping=True, random_state=0, max_iter=80, max_leaf_nodes=15, min_samples_leaf=50
    )
    chances = trees.fit(x, s).predict_proba(test.x)
    entropy_of_s = entropy(test.s)
    yield Figure("H(S), nats", entropy_of_s)
    yield Figure("I(X;S), nats", entropy_of_s - log_loss(test.s, chances))
    yield Figure("chance s", np.bincount(test.s).max() / len(test.s), 0.089, 0.01)
    yield Figure("A_s", accuracy_score(test.s, chances.argmax(axis=1)), 0.20, 0.02)

    y = np.concatenate([rows.y["charlson"] for rows in train])
    ill = test.y["charlson"]
    trees = HistGradientBoostingClassifier(early_stopping=True, random_state=0)
    chances = trees.fit(x, y).predict_proba(test.x)
    yield Figure("chance y", 1 - ill.mean(), 0.68, 0.01)
    yield Figure("A_y", accuracy_score(ill, chances.argmax(axis=1)), 0.85, 0.02)
    yield Figure("AUC of y", roc_auc_score(ill, chances[:, 1]))


def main() -> int:
    table = Heritage().simulate()
    figures = list(marginals(table))
    data = prepare(table, Heritage, source="simulated", origin="benchmark")
    figures += predictions(data)
    for figure in figures:
        print(figure)
    return int(not all(figure.fine for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
