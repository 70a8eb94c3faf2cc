"""The core's own columns of the two CSVs; the metrics' columns stand between them."""

from __future__ import annotations

COLUMNS = {
    "rank": "place within track, budget and audit by aufdc; empty where the row is not complete",
    "method": "name of the method",
    "params": "parameters that differ from the defaults; `default` where none does",
    "track": "what the encoder sees: blind, aware or supervised; each is ranked apart",
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
    "points": "points measured, over all seeds",
    "points_missing": "points failed, diverged or not done yet, over all seeds",
}
"""Columns every leaderboard starts with; the metrics' own follow, then PROVENANCE."""

PROVENANCE = {
    "i_max": "I(X;S) of raw x by the strict family on test, nats; mean over seeds",
    "d_max": "E||x - E[x|s]||^2 on test",
    "device": "where it trained; costs of cpu and cuda are never summed",
    "processor": "processor, or accelerator, of the training machine",
    "iterations": "training steps",
    "protocol": "version of the measuring protocol",
    "plugin": "distribution and version the method comes from",
    "torch": "version of torch",
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
    "number": "number of the point on its curve, from 0",
    "point": "setting of the knobs",
    "status": "DONE, or why there are no figures",
    "auditor": "the strict auditor chosen on selection, and the view it looked at",
    "front": "whether the point is on its curve's Pareto front of a_y against a_s",
}
"""Columns every points CSV starts with; the point metrics' own follow."""

RESERVED = frozenset({*COLUMNS, *PROVENANCE, *POINT_COLUMNS})
"""Names that no metric may use."""
