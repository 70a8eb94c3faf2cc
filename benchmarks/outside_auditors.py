"""Whether classifiers of other packages read more of s than the strict auditors do.

    pip install -c constraints.txt '.[outside-auditors]'
    fairbench run --methods all --dataset adults-gender --points 3 --results DIR
    python benchmarks/outside_auditors.py --results DIR [--auditors lightgbm,catboost,tabm,realmlp]

Takes one point of every method on one dataset of a results folder, its first by name or that of
--dataset: the point whose estimate is nearest to half of I_max. Each classifier has the strict
auditors' rows and roles: it is fitted to hard labels of the auditor training set, a tenth of which
is held out for early stopping; its configuration, the columns it sees (z; where the method's own
decoder is credited, also z beside its reconstructions for all groups) and a temperature are chosen
on the validation set, and I = H(S) - cross-entropy is measured on the test set. Of a stochastic
encoder it learns from the draws that are audited, not from the further ones that some strict
auditors learn from.

Prints a table and exits with 1 if a classifier reads more than .01 nats and more than 5% above the
strict auditors. What is in the CSV file named by --out is not fitted again.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from inputs import open_results
from outside_classifiers import CLASSIFIERS, LabelledTable, OutsideClassifier, Settings

from fairbench.api import AUDIT_ROLES, Floats, Ints, Role, Track
from fairbench.auditing.auditors.samples import prior_of, split_held_out
from fairbench.auditing.auditors.views import standardised
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.auditing.encoded import EncodedPoint
from fairbench.auditing.evaluate import evaluate
from fairbench.auditing.soft_labels import soft_labels
from fairbench.data.prepared import Prepared
from fairbench.errors import FairbenchError
from fairbench.models.results import StoredResults
from fairbench.models.select import resolve_dataset
from fairbench.models.stored_data import load_training_data
from fairbench.runs.audit_rows import AuditRows
from fairbench.runs.audits import audit_seed
from fairbench.runs.point_arrays import PointArrays
from fairbench.stats.scores import entropy, information, log_loss, mix_in_prior
from fairbench.stats.seeds import derive_seed
from fairbench.store import files
from fairbench.store.records import PointRecord, UnitRecord
from fairbench.versions import AUDIT_VERSION

MIN_GAP, LARGEST_SHARE = 0.01, 0.05
"""Nats, and share of the strict auditors' estimate: what a gap may be is the larger of the two."""
TEMPERATURES = np.geomspace(0.5, 3.0, 37)
"""Of which one is chosen on the validation set."""
PUBLISHED = "adults-gender"
"""The dataset of rows in a CSV file that has no column for it: of the command above."""
_RUN_FIRST = "Run something first: fairbench run --methods all --points 3 --results DIR"
NOTHING_LEARNED = ("constant",)
"""Methods of whose representation nothing can be read."""


@dataclass(frozen=True)
class StrictEstimate:
    """What the strict auditors estimate, nats, by which member and view."""

    information: float
    auditor: str
    credited: bool  # whether they see the own decoder's reconstructions


@dataclass(frozen=True)
class AuditedPoint:
    """One point: what auditors see of it, and what the strict ones estimate, nats."""

    dataset: str
    method: str
    point: str
    z: Mapping[Role, Floats]  # (n, k); draw after draw where the encoder is stochastic
    decoded: Mapping[Role, Floats] | None  # (n, width), where the own decoder is credited
    s: Mapping[Role, Ints]  # (n,)
    draws: int
    strict: float
    strict_auditor: str


@dataclass(frozen=True)
class Comparison:
    """One outside classifier against the strict auditors on one point; nats."""

    dataset: str
    method: str
    point: str
    strict: float
    strict_auditor: str  # member and view
    credited: bool  # whether auditors see the own decoder's reconstructions
    auditor: str
    view: str
    configuration: str
    temperature: float
    mutual_information_validation: float
    mutual_information: float
    gap: float  # above the strict auditors; negative where they estimate more
    allowed: float
    within: bool
    seconds: float  # of a core, all configurations

    @property
    def estimate(self) -> StrictEstimate:
        """What the strict auditors estimate."""
        return StrictEstimate(self.strict, self.strict_auditor, self.credited)


# ---- One classifier on one point -----------------------------------------------------------------


def compare(
    point: AuditedPoint, classifier: OutsideClassifier, *, configurations: int, seed: int
) -> Comparison:
    """Tune a classifier on a point, choose on the validation set, and measure on the test set.

    Configurations are dealt to the views in turn; each view gets the default first.
    """
    start = time.process_time()
    views = views_of(point)
    classes = 1 + max(int(labels.max()) for labels in point.s.values())
    prior = prior_of(point.s[Role.AUDITOR_TRAIN], classes)
    settings = classifier.configurations(-(-configurations // len(views)), seed)
    tries = [(view, one) for one in settings for view in views][:configurations]
    best: tuple[float, str, Settings, float, Floats] | None = None
    for view, given in tries:
        fit, held = split_rows(views[view][Role.AUDITOR_TRAIN], point, seed)
        predict = classifier.fit(fit, held, given, derive_seed(seed, classifier.name))
        known = mix_in_prior(predict(views[view][Role.VALIDATION]), prior)
        temperature = best_temperature(known, point.s[Role.VALIDATION])
        loss = _loss(tempered(known, temperature), point.s[Role.VALIDATION])
        if best is None or loss < best[0]:
            test = mix_in_prior(predict(views[view][Role.TEST]), prior)
            best = (loss, view, given, temperature, tempered(test, temperature))
    assert best is not None
    loss, view, given, temperature, probabilities = best
    estimate = information(probabilities, point.s[Role.TEST])
    gap = estimate - point.strict
    allowed = allowed_gap(point.strict)
    return Comparison(
        dataset=point.dataset,
        method=point.method,
        point=point.point,
        strict=point.strict,
        strict_auditor=point.strict_auditor,
        credited=point.decoded is not None,
        auditor=classifier.name,
        view=view,
        configuration=" ".join(f"{name}={_short(value)}" for name, value in given.items()),
        temperature=temperature,
        mutual_information_validation=entropy(point.s[Role.VALIDATION]) - loss,
        mutual_information=estimate,
        gap=gap,
        allowed=allowed,
        within=gap <= allowed,
        seconds=time.process_time() - start,
    )


def allowed_gap(strict: float) -> float:
    """Return how far above the strict auditors' estimate a classifier may read, nats."""
    return max(MIN_GAP, LARGEST_SHARE * strict)


def views_of(point: AuditedPoint) -> dict[str, Mapping[Role, Floats]]:
    """Return the columns that classifiers see, standardised and without constant ones, by view."""
    views: dict[str, Mapping[Role, Floats]] = {"z": _scaled(point.z)}
    if point.decoded is not None:
        both = {role: np.hstack([point.z[role], point.decoded[role]]) for role in AUDIT_ROLES}
        views["z and decoded"] = _scaled(both)
    return views


def _scaled(rows: Mapping[Role, Floats]) -> dict[Role, Floats]:
    train = rows[Role.AUDITOR_TRAIN]
    varied = train.min(axis=0) < train.max(axis=0)
    varied[0] = True  # a table has a column
    scale = standardised(train[:, varied])
    return {role: scale.apply(rows[role][:, varied]) for role in AUDIT_ROLES}


def split_rows(x: Floats, point: AuditedPoint, seed: int) -> tuple[LabelledTable, LabelledTable]:
    """Split the auditor training set into rows to fit on and held-out rows, with all draws."""
    rows, labels = len(x) // point.draws, point.s[Role.AUDITOR_TRAIN]
    fit_and_held_out = split_held_out(rows, derive_seed(seed, "held-out"))
    numbers = [
        np.concatenate([side + draw * rows for draw in range(point.draws)])
        for side in fit_and_held_out
    ]
    fit, held = (LabelledTable(x[one], labels[one], point.draws) for one in numbers)
    return fit, held


def tempered(probabilities: Floats, temperature: float) -> Floats:
    """Return p^(1/T), normalised, ``(n, classes)``."""
    score = np.log(np.maximum(probabilities, 1e-12)) / temperature
    out = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(out / out.sum(axis=1, keepdims=True), np.float32)


def best_temperature(probabilities: Floats, labels: Ints) -> float:
    """Return the temperature with the lowest log loss."""
    return float(min(TEMPERATURES, key=lambda t: _loss(tempered(probabilities, t), labels)))


def _loss(probabilities: Floats, labels: Ints) -> float:
    return float(log_loss(probabilities, labels).mean())


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


# ---- Points of a results folder ------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """The point of a method that is audited."""

    unit: UnitRecord
    point: PointRecord

    @property
    def dataset(self) -> str:
        """The dataset; a simulated twin has a name of its own."""
        return self.unit.table


def middle_points(results: StoredResults, dataset: str | None = None) -> list[Candidate]:
    """Choose a point of each method, of its first seed: the estimate nearest to half of I_max.

    All are of one dataset, the first by name where none is given. Exits where there is no point.
    """
    fitted = [u for u in results.fitted_units() if not u.of_a_trial and u.artefact]
    datasets = sorted({unit.table for unit in fitted})
    if not datasets:
        raise SystemExit(f"There are no representations in {results.folder}. {_RUN_FIRST}")
    try:
        name = resolve_dataset(fitted, dataset, results.registry) if dataset else datasets[0]
    except FairbenchError as error:
        raise SystemExit(str(error)) from None
    units = [unit for unit in fitted if unit.table == name]
    chosen = []
    for method in dict.fromkeys(unit.method for unit in units):
        mine = [unit for unit in units if unit.method == method]
        first = min(unit.seed for unit in mine)
        by_key = {unit.key: unit for unit in mine if unit.seed == first}
        points = results.measured_points(by_key.values())
        if method not in NOTHING_LEARNED and points:
            point = min(points, key=lambda one: _off_middle(results, by_key[one.unit], one))
            chosen.append(Candidate(by_key[point.unit], point))
    if not chosen:
        raise SystemExit(f"There is no measured point on {name} in {results.folder}. {_RUN_FIRST}")
    return chosen


def _off_middle(results: StoredResults, unit: UnitRecord, point: PointRecord) -> float:
    reference = results.reference_of(unit, point)
    most = math.log(2) if reference is None else reference.figures["mutual_information_max"]
    return abs(float(point.figures["mutual_information"]) - float(most) / 2)


def load_point(
    results: StoredResults, candidate: Candidate, estimate: StrictEstimate | None = None
) -> AuditedPoint:
    """Load a point, and audit it unless its strict estimate is known or in the store."""
    unit, point = candidate.unit, candidate.point
    arrays = files.load(results.folder, str(unit.artefact))
    if arrays is None:
        raise SystemExit(f"The representations of {unit.title} are not in {results.folder}.")
    encoded = PointArrays(arrays, point.number).encoded()
    data = AuditRows.encoded(load_training_data(unit, results), arrays).data
    draws = len(encoded.z[Role.TEST]) // len(data.roles[Role.TEST].s)
    strict = estimate or _stored_estimate(point) or _estimate(encoded, data, unit)
    return AuditedPoint(
        dataset=candidate.dataset,
        method=unit.method,
        point=point.label,
        z=encoded.z,
        decoded=encoded.own.reconstructions
        if strict.credited and encoded.own is not None
        else None,
        s={role: np.tile(data.roles[role].s, draws) for role in AUDIT_ROLES},
        draws=draws,
        strict=strict.information,
        strict_auditor=strict.auditor,
    )


def _stored_estimate(point: PointRecord) -> StrictEstimate | None:
    chosen = point.chosen_auditor
    if point.audit != AuditPreset.STRICT or point.version != AUDIT_VERSION or chosen is None:
        return None
    credited = any(one.view.startswith("decoded-") for one in point.auditors or ())
    auditor = f"{chosen.auditor}, {chosen.view}"
    return StrictEstimate(chosen.mutual_information, auditor, credited)


def _estimate(encoded: EncodedPoint, data: Prepared, unit: UnitRecord) -> StrictEstimate:
    soft = None if unit.track == Track.AWARE else soft_labels(data)
    config, seed = PRESETS[AuditPreset.STRICT], audit_seed(unit.seed)
    released = dataclasses.replace(encoded, detailed=False, queries={})
    _, audited = evaluate(released, data, config=config, seed=seed, soft=soft)
    credited = any(one.view.startswith("decoded-") for one in audited.results)
    auditor = f"{audited.chosen.auditor}, {audited.chosen.view}"
    return StrictEstimate(audited.chosen.test_information, auditor, credited)


# ---- The table -----------------------------------------------------------------------------------


def table(comparisons: Iterable[Comparison]) -> pd.DataFrame:
    """Return one row per point of one dataset: strict estimate, each classifier's, largest gap."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for one in comparisons:
        row = rows.setdefault(
            (one.method, one.point),
            {"method": one.method, "point": one.point, "strict": one.strict},
        )
        row[one.auditor] = one.mutual_information
    frame = pd.DataFrame(rows.values())
    names = [name for name in frame if name not in ("method", "point", "strict")]
    frame["gap"] = frame[names].max(axis=1) - frame["strict"]
    frame["allowed"] = frame["strict"].map(allowed_gap)
    frame["within"] = frame["gap"] <= frame["allowed"]
    return frame


def to_markdown(frame: pd.DataFrame) -> str:
    """Return the table of :func:`table` as Markdown; cells that were not measured are empty."""
    shown = frame.assign(within=np.where(frame["within"], "yes", "**no**")).astype(object)
    shown = shown.where(frame.notna(), None)
    return str(shown.to_markdown(index=False, floatfmt=".3f", missingval=""))


def read_comparisons(path: Path | None) -> list[Comparison]:
    """Read comparisons that :func:`write_comparisons` wrote; none where there is no file.

    Files from before there was a column ``dataset`` are read too.
    """
    if path is None or not path.is_file():
        return []
    rows = pd.read_csv(path, keep_default_na=False).to_dict("records")
    found = []
    for row in rows:
        plain: dict[str, Any] = {"dataset": PUBLISHED}
        plain |= {str(name): value for name, value in row.items()}
        found.append(Comparison(**plain))
    return found


def write_comparisons(path: Path | None, comparisons: Sequence[Comparison]) -> None:
    """Write comparisons as CSV, one row per point and classifier."""
    if path is not None:
        pd.DataFrame([dataclasses.asdict(one) for one in comparisons]).to_csv(path, index=False)


def chosen_classifiers(names: str) -> list[OutsideClassifier]:
    """Return the classifiers of a list of names; exit with a message where one is missing."""
    requested = names.split(",")
    if unknown := [name for name in requested if name not in CLASSIFIERS]:
        known = ", ".join(CLASSIFIERS)
        raise SystemExit(f"No outside auditor is named {', '.join(unknown)}; there are {known}.")
    classifiers = [CLASSIFIERS[name] for name in requested]
    if missing := {one.package for one in classifiers if not one.is_installed}:
        raise SystemExit(
            f"Not installed: {', '.join(sorted(missing))}. Install them with\n"
            "    pip install -c constraints.txt '.[outside-auditors]'\n"
            "or leave them out with --auditors."
        )
    return classifiers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--data-root", type=Path, default=None)
    parser.add_argument("--dataset", default=None, help="One of the results [default: the first].")
    parser.add_argument("--methods", default=None, help="Methods, separated by commas.")
    parser.add_argument("--auditors", default=",".join(CLASSIFIERS))
    parser.add_argument("--configurations", type=int, default=8, help="Of each classifier.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None, help="CSV file; resumed if it is there.")
    given = parser.parse_args()
    classifiers = chosen_classifiers(given.auditors)
    results = open_results(given.results, given.data_root)
    candidates = middle_points(results, given.dataset)
    dataset = candidates[0].dataset
    if given.methods:
        wanted = given.methods.split(",")
        candidates = [one for one in candidates if one.unit.method in wanted]
    if not candidates:
        raise SystemExit(f"There is no point of {given.methods} on {dataset} in {given.results}.")
    known = read_comparisons(given.out)
    for candidate in candidates:
        method, label = candidate.unit.method, candidate.point.label
        place = (dataset, method, label)
        done = {one.auditor: one for one in known if (one.dataset, one.method, one.point) == place}
        missing = [one for one in classifiers if one.name not in done]
        if not missing:
            continue
        earlier = next(iter(done.values()), None)
        point = load_point(results, candidate, None if earlier is None else earlier.estimate)
        print(f"{method} {label}: strict {point.strict:.4f} by {point.strict_auditor}", flush=True)
        for classifier in missing:
            one = compare(point, classifier, configurations=given.configurations, seed=given.seed)
            known.append(one)
            write_comparisons(given.out, known)
            print(
                f"  {one.auditor:9} {one.mutual_information:.4f} on {one.view}, gap {one.gap:+.4f}"
                f" of {one.allowed:.4f}; {one.seconds:.0f} s; {one.configuration}",
                flush=True,
            )
    frame = table(one for one in known if one.dataset == dataset)
    print(to_markdown(frame))
    return int(not frame["within"].all())


if __name__ == "__main__":
    sys.exit(main())
