"""The core's own columns of the two CSVs; the metrics' columns stand between them."""

from __future__ import annotations

COLUMNS = {
    "rank": (
        "1 + the methods significantly better within track, budget and audit; shared by rows "
        "that are not apart; empty where the row is not complete"
    ),
    "ranked_by": "the column that ranks the row's group: aufdc, or in the aware track a_y_at_i10",
    "interval_over": (
        "what 95% intervals and ranks allow for: rows and seeds; or rows alone, the test rows of "
        "this one model; empty without replicates: such a row ranks by its value alone"
    ),
    "method": "name of the method",
    "params": "parameters that differ from the defaults; `default` where none does",
    "track": "what the encoder sees: blind or aware; each is ranked apart",
    "tags": "coding, shots, whether it has a decoder, and whether it is a baseline",
    "budget": "full, quick or a number of iterations; each is ranked apart",
    "audit": "strict or quick; each is ranked apart",
    "dataset": "name of the dataset",
    "data_source": (
        "real; rendered: images drawn here; "
        "or simulated: an embedded twin, never to be compared with real rows"
    ),
    "complete": "whether all points of all seeds are there",
    "seeds": "seeds with a point at least",
    "seeds_missing": "seeds asked for without a single point",
    "points": "points measured, over all seeds",
    "points_missing": "points failed, diverged or not done yet, over all seeds",
}
"""Columns every leaderboard starts with; the metrics' own follow, then PROVENANCE."""

PROVENANCE = {
    "mutual_information_max": "I(X;S) of raw x by the strict family on test, nats; mean over seeds",
    "distortion_max": "mean squared distance of x from the mean of its group, on test",
    "device": "where it trained; costs of cpu and cuda are never summed",
    "processor": "processor, or accelerator, of the training machine",
    "iterations": "training steps",
    "protocol": "version of the measuring protocol",
    "audit_version": "version of the auditors and metrics that measured it",
    "plugin": "distribution and version the method comes from",
    "fairbench": "version of fairbench that trained it",
    "python": "version of Python it trained with",
    "torch": "version of torch",
    "scikit_learn": "version of scikit-learn",
    "fingerprint": "first 12 digits of the sha256 of data and split",
}
"""Columns every leaderboard ends with."""

POINT_COLUMNS = {
    "method": "name of the method",
    "params": "parameters that differ from the defaults",
    "track": "what the encoder sees",
    "budget": "full, quick or a number of iterations",
    "audit": "strict or quick",
    "dataset": "name of the dataset",
    "data_source": "real or simulated",
    "seed": "seed of the unit",
    "point_number": "number of the point on its curve, from 0",
    "point": "setting of the knobs",
    "status": "DONE, or why there are no figures",
    "auditor": "the strict auditor chosen on validation, and the view it looked at",
    "on_front": "whether the point is on its curve's Pareto front of a_y against a_s",
}
"""Columns every points CSV starts with; the point metrics' own follow, then REFERENCE_COLUMNS."""

REFERENCE_COLUMNS = {
    "mutual_information_max": "I(X;S) of raw x by the strict family on test, nats, for the row's seed",
    "distortion_max": "mean squared distance of x from the mean of its group, on test",
    "mutual_information_max_validation": "I(X;S) on validation by the same auditor",
    "distortion_max_validation": "D_max on validation",
}
"""Columns every points CSV ends with: all that areas take beside the points themselves."""

ATTAINMENT_COLUMNS = {
    "method": "name of the method",
    "params": "parameters that differ from the defaults",
    "track": "what the encoder sees",
    "budget": "full, quick or a number of iterations",
    "audit": "strict or quick",
    "dataset": "name of the dataset",
    "data_source": "real or simulated",
    "seeds": COLUMNS["seeds"],
    "level": "percent of the seeds whose curve passes through or below the point; 50: the median",
    "distortion": "D on test",
    "mutual_information": "I on test, nats",
}
"""Columns of the attainment CSV."""

RESERVED = frozenset({*COLUMNS, *PROVENANCE, *POINT_COLUMNS, *REFERENCE_COLUMNS})
"""Names that no metric may use."""
