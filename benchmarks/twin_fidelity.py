"""Measure how close the simulated twin of the UCI Adult table comes to the real table.

    python benchmarks/twin_fidelity.py --data-root DIR

DIR (or its subfolder ``adults``) holds the official ``adult.data`` and ``adult.test``. Every figure
is printed beside its limit with PASS or FAIL; the exit code is 1 if any fails. A check is a
function from the two tables to figures: another one is written below and added to `CHECKS`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import (  # type: ignore[import-untyped, unused-ignore]
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.metrics import log_loss  # type: ignore[import-untyped, unused-ignore]

from fairbench.api import Curve, FitContext, Role, TrainingRows, Unit
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.auditing.evaluate import evaluate
from fairbench.auditing.reference import audit_reference
from fairbench.data.prepare import prepare
from fairbench.metrics.aufdc import strict_area
from fairbench.runs.cost import Meter
from fairbench.runs.declared import declared
from fairbench.runs.encoding import FittedPoint, RowsToEncode, encode_point
from fairbench.runs.point_arrays import PointArrays
from fairbench_datasets.adults import FEATURES, AdultsGender, read_adult
from fairbench_datasets.adults_twin import simulate
from fairbench_plugins.baselines.drop_features import DropFeatures

X = list(FEATURES)
ALL = [*X, "sex", "race", "income"]
CAPITAL = ("capital-gain", "capital-loss")
#: The one is a relabelling of the other: predicting either from the other is trivially exact.
RELABELLED = {"education": "education-num", "education-num": "education"}
#: Columns that tell most of sex, most first: what a greedy removal of features takes away.
DROPPED = ("relationship", "marital-status", "occupation", "hours-per-week", "workclass")
#: Size of adult.data; the rows after it are for testing.
TRAIN_ROWS = 32_561
LEVELS = 8

MAX_TOTAL_VARIATION = 0.05
MAX_RELATIVE = 0.05
MAX_BYTES = 100_000
MAX_AUFDC = 0.03
#: Further draws of the twin that the share of known rows is averaged over.
DRAWS = 5

Codes = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Tables:
    """The real and the twin's table: 48,842 rows each, columns `ALL`, training rows first."""

    real: pd.DataFrame
    twin: pd.DataFrame


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the report: `value` must be at most `limit`; without a limit it only informs."""

    name: str
    value: float
    limit: float | None = None
    real: float | None = None
    twin: float | None = None

    @property
    def verdict(self) -> str:
        """PASS or FAIL, or nothing where there is no limit."""
        if self.limit is None:
            return ""
        return "PASS" if self.value <= self.limit else "FAIL"


Check = Callable[[Tables], list[Figure]]


def read_real(root: Path) -> pd.DataFrame:
    """The official rows, training file first, with income spelled alike in both files."""
    folder = root / "adults" if (root / "adults" / "adult.data").exists() else root
    if not (folder / "adult.data").exists():
        sys.exit(f"no adult.data in {root} or {root / 'adults'}: give its folder as --data-root")
    parts = [read_adult(folder / file.name) for file in AdultsGender.files]
    return pd.concat(parts, ignore_index=True)[ALL]


def levels(real: pd.Series, twin: pd.Series) -> tuple[Codes, Codes]:
    """Bin a column to at most `LEVELS` levels, the same for both tables, chosen on the real one."""
    if real.dtype.kind not in "iu":
        frequent = list(real.value_counts().index[: LEVELS - 1])
        position = {value: code for code, value in enumerate(frequent)}
        rest = len(frequent)
        return (
            real.map(position).fillna(rest).to_numpy(dtype=np.int64),
            twin.map(position).fillna(rest).to_numpy(dtype=np.int64),
        )
    # Zero gain and loss are nine rows in ten: quantiles of the other rows, zero apart.
    apart = real.name in CAPITAL
    body = real[real > 0] if apart else real
    bins = LEVELS - 1 if apart else LEVELS
    edges = np.unique(np.quantile(body, np.arange(1, bins) / bins))
    edges = np.concatenate([[1], edges]) if apart else edges
    return np.searchsorted(edges, real, side="right"), np.searchsorted(edges, twin, side="right")


def pairwise(tables: Tables) -> list[Figure]:
    """Total variation distance between the two tables, over every pair of binned columns."""
    binned = {c: levels(tables.real[c], tables.twin[c]) for c in ALL}
    distances = {}
    for first, second in combinations(ALL, 2):
        shares = [
            np.bincount(binned[first][t] * LEVELS + binned[second][t], minlength=LEVELS**2)
            / len(binned[first][t])
            for t in (0, 1)
        ]
        distances[f"{first} x {second}"] = 0.5 * float(np.abs(shares[0] - shares[1]).sum())
    worst = sorted(distances.items(), key=lambda item: -item[1])
    mean = float(np.mean(list(distances.values())))
    return [
        Figure(name=f"largest of {len(worst)} pairs", value=worst[0][1], limit=MAX_TOTAL_VARIATION),
        Figure(name="mean of the pairs", value=mean),
        *(Figure(name=name, value=value) for name, value in worst[:3]),
    ]


def coded(table: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.float64]:
    """Columns as numbers, shape ``(n, d)``; a category is its place among the sorted categories."""
    parts = [
        table[c] if table[c].dtype.kind in "iu" else pd.factorize(table[c], sort=True)[0]
        for c in columns
    ]
    return np.column_stack(parts).astype(np.float64)


def mutual_information(table: pd.DataFrame, columns: Sequence[str], s: Codes) -> float:
    """A lower bound on I(columns; S) in nats: H(S) less the test log-loss of boosted trees."""
    x = coded(table, columns)
    trees = HistGradientBoostingClassifier(early_stopping=True, random_state=0)
    trees.fit(x[:TRAIN_ROWS], s[:TRAIN_ROWS])
    test = s[TRAIN_ROWS:]
    shares = np.bincount(test) / len(test)
    entropy = -float(np.sum(shares * np.log(shares, where=shares > 0, out=np.zeros(len(shares)))))
    loss = log_loss(test, trees.predict_proba(x[TRAIN_ROWS:]), labels=trees.classes_)
    return entropy - float(loss)


def sensitive(table: pd.DataFrame, columns: Sequence[str]) -> Codes:
    """Classes of S, 0 to k-1, sorted by name; several columns are crossed."""
    joined = table[list(columns)].agg("|".join, axis=1)
    return np.asarray(pd.factorize(joined, sort=True)[0], dtype=np.int64)


def relative(name: str, real: float, twin: float, *, scale: float | None = None) -> Figure:
    """The difference relative to `scale`, by default to the real figure, limited to 5%."""
    value = abs(twin - real) / (real if scale is None else scale)
    return Figure(name=name, real=real, twin=twin, value=value, limit=MAX_RELATIVE)


def information(tables: Tables) -> list[Figure]:
    """I(X;S) in nats of the nine columns, and of what is left as the telling ones are dropped.

    Differences are relative to the real I(X;S) of all nine. Without the telling columns little is
    left, and 5% of little is less than the noise of the estimate (some thousandths of a nat).
    """
    figures = []
    for label, columns in (("sex", ["sex"]), ("sex x race", ["sex", "race"])):
        s_real, s_twin = sensitive(tables.real, columns), sensitive(tables.twin, columns)
        whole = None
        for dropped in range(len(DROPPED) + 1):
            kept = [c for c in X if c not in DROPPED[:dropped]]
            real = mutual_information(tables.real, kept, s_real)
            twin = mutual_information(tables.twin, kept, s_twin)
            whole = real if whole is None else whole
            without = f", also without {DROPPED[dropped - 1]}" if dropped else ", all nine columns"
            figures.append(relative(f"I(X; {label}){without}", real, twin, scale=whole))
    return figures


def squared_error(table: pd.DataFrame, target: str, inputs: Sequence[str]) -> float:
    """Test error of boosted trees that predict one standardised column; 1 is the mean's error."""
    x, y = coded(table, inputs), coded(table, [target])[:, 0]
    # By all rows: a training part that happens on few gains of 99,999 dollars has too small a unit.
    y = (y - y.mean()) / y.std()
    trees = HistGradientBoostingRegressor(early_stopping=True, random_state=0)
    trees.fit(x[:TRAIN_ROWS], y[:TRAIN_ROWS])
    return float(np.mean((y[TRAIN_ROWS:] - trees.predict(x[TRAIN_ROWS:])) ** 2))


def prediction(tables: Tables) -> list[Figure]:
    """Squared error of each column of X from the eight others and sex, and the sum over columns.

    Single columns inform only: a few rows with a gain of 99,999 dollars are most of that column's
    variance, and how many fall into the test rows is chance.
    """
    figures, sums = [], np.zeros(2)
    blind_sums = np.zeros(2)
    for target in X:
        others = [c for c in X if c != target]
        blind = [c for c in others if c != RELABELLED.get(target)]
        pair = [squared_error(t, target, [*others, "sex"]) for t in (tables.real, tables.twin)]
        sums += pair
        if target in RELABELLED:
            pair = [squared_error(t, target, [*blind, "sex"]) for t in (tables.real, tables.twin)]
        blind_sums += pair
        name = f"{target} from the others"
        figures.append(
            Figure(name=name, real=pair[0], twin=pair[1], value=abs(pair[1] / pair[0] - 1))
        )
    return [
        relative("sum over the nine columns, from the eight others", *sums.tolist()),
        relative("the same, education not from its relabelling", *blind_sums.tolist()),
        *figures,
    ]


def removal(tables: Tables) -> list[Figure]:
    """Distortion (sum of squared errors) as the telling columns are dropped one after the other."""
    figures = []
    for count in range(1, len(DROPPED) + 1):
        dropped = DROPPED[:count]
        kept = [*(c for c in X if c not in dropped), "sex"]
        real, twin = (
            sum(squared_error(t, target, kept) for target in dropped)
            for t in (tables.real, tables.twin)
        )
        figures.append(relative(f"D without {' + '.join(dropped)}", real, twin))
    return figures


def memorisation(tables: Tables) -> list[Figure]:
    """The share of rows found in adult.data: twin rows no more than the rows of adult.test.

    The rows of adult.test are an independent sample of the same size. Rows that stand only once in
    adult.data are the ones a model would have to memorise; the common ones any good model finds.
    """
    train, test = tables.real[:TRAIN_ROWS], tables.real[TRAIN_ROWS:]
    counts = Counter(train.itertuples(index=False, name=None))
    unique = {row for row, count in counts.items() if count == 1}

    def share(table: pd.DataFrame, known: Collection[tuple[object, ...]]) -> float:
        return float(np.mean([row in known for row in table.itertuples(index=False, name=None)]))

    # Fresh draws beside the one at hand: the share of one sample is known to no more than .004.
    draws = [simulate(rows=len(test), seed=seed)[ALL] for seed in range(1001, 1001 + DRAWS)]
    figures = []
    for name, known in (("a row of adult.data", counts), ("a row unique in adult.data", unique)):
        limit = share(test, known)
        samples = {
            f"equal to {name}, this twin (real: adult.test)": [tables.twin[TRAIN_ROWS:]],
            f"equal to {name}, mean of {DRAWS} other draws": draws,
        }
        for label, sample in samples.items():
            twin = float(np.mean([share(table, known) for table in sample]))
            figures.append(Figure(name=label, real=limit, twin=twin, value=twin, limit=limit))
    return figures


def size(_: Tables) -> list[Figure]:
    """Bytes of the committed parameters."""
    path = files("fairbench_datasets.adults_twin").joinpath("parameters.npz")
    return [Figure(name="parameters.npz", value=len(path.read_bytes()), limit=MAX_BYTES)]


def drop_features(tables: Tables) -> list[Figure]:
    """Strict AUFDC of the suite's own drop-features baseline, on the real table and on the twin.

    The quick audit serves: what leaks from columns is found by its boosted trees.
    """
    real, twin = (_drop_features_aufdc(table) for table in (tables.real, tables.twin))
    name = "strict AUFDC of drop-features (quick audit; difference)"
    return [Figure(name=name, value=abs(real - twin), limit=MAX_AUFDC, real=real, twin=twin)]


def _drop_features_aufdc(frame: pd.DataFrame) -> float:
    table = AdultsGender()._table(frame, np.arange(len(frame)) >= TRAIN_ROWS)
    data = prepare(table, AdultsGender, source="benchmark", origin="benchmark")
    config = PRESETS[AuditPreset.QUICK]
    rows = data.roles[Role.ENCODER_TRAIN]
    train = TrainingRows(rows.x, rows.s, data.info)
    method = DropFeatures()
    (curve,) = method.fit(train, [Unit(0, None)], FitContext(iterations=1))
    assert isinstance(curve, Curve)
    test, validation = [], []
    encoded_rows, meter = RowsToEncode.of(data), Meter("cpu")
    for number, point in enumerate(curve.points or ()):
        fitted = FittedPoint(number, curve.at(point), declared(type(method)), 0)
        arrays = encode_point(fitted, encoded_rows, meter)
        encoded = PointArrays(arrays, number).encoded()
        evaluation, audited = evaluate(encoded, data, config=config, seed=0)
        chosen = audited.chosen
        test.append((float(evaluation.distortion.strict.mean()), chosen.test_information))
        validation.append((evaluation.validation.distortion, chosen.validation_information))
    reference = audit_reference(data, config=config, seed=0).values
    return strict_area(
        test,
        validation,
        i_max=reference["mutual_information_max"],
        d_max=reference["distortion_max"],
        i_max_validation=reference["mutual_information_max_validation"],
        d_max_validation=reference["distortion_max_validation"],
    )


CHECKS: tuple[tuple[str, Check], ...] = (
    ("total variation", pairwise),
    ("mutual information (nats; difference relative to all nine columns')", information),
    ("squared error of boosted trees (standardised; relative difference)", prediction),
    ("distortion of dropped columns (standardised; relative difference)", removal),
    ("area under the unfairness-distortion curve", drop_features),
    ("share of rows that equal a real one", memorisation),
    ("bytes", size),
)


def line(figure: Figure) -> str:
    """One line of the table."""

    def cell(number: float | None) -> str:
        if number is None:
            return " " * 9
        return f"{number:9,.0f}" if number >= 1000 else f"{number:9.4f}"

    cells = " ".join(cell(n) for n in (figure.real, figure.twin, figure.value, figure.limit))
    return f"  {figure.name:72s} {cells}  {figure.verdict}".rstrip()


def main() -> int:
    """Run every check and print its figures; 1 if any figure is past its limit."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data-root", type=Path, required=True, help="folder of the real table")
    parser.add_argument("--seed", type=int, default=0, help="seed of the twin (%(default)s)")
    arguments = parser.parse_args()
    real = read_real(arguments.data_root)
    tables = Tables(real=real, twin=simulate(rows=len(real), seed=arguments.seed)[ALL])
    print(f"  {'':72s} {'real':>9s} {'twin':>9s} {'value':>9s} {'limit':>9s}")
    failed = 0
    for title, check in CHECKS:
        print(title)
        for figure in check(tables):
            failed += figure.verdict == "FAIL"
            print(line(figure), flush=True)
    print(f"{failed} figures past their limit" if failed else "every figure within its limit")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
