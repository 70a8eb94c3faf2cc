"""The core's own columns of the CSVs; the metrics' columns stand between them."""

from __future__ import annotations

COLUMNS = {
    "rank": (
        "1 + number of methods that are significantly better within track, budget and audit; rows "
        "that do not differ significantly share a rank; empty unless complete"
    ),
    "ranked_by": (
        "the column that ranks the row's group: aufdc; accuracy_y_at_leakage_10 in the aware track"
    ),
    "interval_over": (
        "variation that 95% confidence intervals and ranks cover: rows and seeds; or rows alone, "
        "the test rows of this one model; empty without replicates: ranked by the value alone"
    ),
    "method": "name of the method",
    "params": "hyperparameters that differ from the defaults; `default` if none does",
    "track": "what the encoder sees: blind or aware; each is ranked separately",
    "tags": "coding, shots, whether it has a decoder, and whether it is a baseline",
    "budget": "full, quick or a number of iterations; each is ranked separately",
    "audit": "strict or quick; each is ranked separately",
    "dataset": "name of the dataset",
    "data_source": (
        "real; rendered: images drawn here; "
        "or simulated: an embedded twin, not comparable with real rows"
    ),
    "complete": "whether all points of all seeds are measured",
    "seeds": "number of seeds with at least one point",
    "seeds_missing": "number of requested seeds without any point",
    "points": "number of points measured, over all seeds",
    "points_missing": "number of points failed, diverged or not done yet, over all seeds",
}
"""Columns every leaderboard starts with; the metrics' own follow, then PROVENANCE."""

PROVENANCE = {
    "mutual_information_max": (
        "I(X;S) of raw x by the strict auditors on the test set, nats; mean over seeds"
    ),
    "distortion_max": "mean squared distance of x from its group's mean, on the test set",
    "device": "device of training: cpu or cuda; their costs are never summed",
    "processor": "processor, or accelerator, of the training machine",
    "iterations": "training steps",
    "protocol": "version of the evaluation protocol",
    "audit_version": "version of the auditors and metrics",
    "plugin": "distribution and version of the method's plugin",
    "fairbench": "version of fairbench in training",
    "python": "version of Python in training",
    "torch": "version of torch",
    "scikit_learn": "version of scikit-learn",
    "fingerprint": "first 12 digits of the SHA-256 of data and split",
}
"""Columns every leaderboard ends with."""

_CONFIGURATION = {
    "method": "name of the method",
    "params": "hyperparameters that differ from the defaults",
    "track": "what the encoder sees",
    "budget": "full, quick or a number of iterations",
    "audit": "strict or quick",
    "dataset": "name of the dataset",
    "data_source": "real or simulated",
}
"""Columns that identify a configuration."""

POINT_COLUMNS = {
    **_CONFIGURATION,
    "seed": "seed of the unit",
    "point_number": "number of the point on its curve, from 0",
    "point": "setting of the method's knobs",
    "status": "DONE, or the reason why there are no figures",
    "auditor": "the strict auditor chosen on the validation set, and its view of z",
    "on_front": "whether the point is on its curve's Pareto front of accuracy_y against accuracy_s",
}
"""Columns every points CSV starts with; the point metrics' own follow, then REFERENCE_COLUMNS."""

REFERENCE_COLUMNS = {
    "mutual_information_max": (
        "I(X;S) of raw x by the strict auditors on the test set, nats, for the row's seed"
    ),
    "distortion_max": "mean squared distance of x from its group's mean, on the test set",
    "mutual_information_max_validation": "I(X;S) on the validation set by the same auditor, nats",
    "distortion_max_validation": "distortion_max on the validation set",
}
"""Columns every points CSV ends with: all that areas need besides the points."""

ATTAINMENT_COLUMNS = {
    **_CONFIGURATION,
    "seeds": COLUMNS["seeds"],
    "level": "percentage of seeds whose curve passes through or below the point; 50 is the median",
    "distortion": "D on the test set",
    "mutual_information": "I on the test set, nats",
}
"""Columns of the attainment CSV."""

RESERVED = frozenset({*COLUMNS, *PROVENANCE, *POINT_COLUMNS, *REFERENCE_COLUMNS})
"""Names that no metric may use."""
