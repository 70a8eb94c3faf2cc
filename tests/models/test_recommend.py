"""A recommended point is chosen on the validation set, and certified among all candidates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fairbench.api import Point, Role
from fairbench.api.types import Track
from fairbench.auditing.certificate import certify
from fairbench.auditing.config import AuditPreset
from fairbench.cli.app import app
from fairbench.data.prepared import Prepared
from fairbench.errors import FairbenchError
from fairbench.models.certify import certify_candidates
from fairbench.models.query import ResultsLocation
from fairbench.models.recommend import (
    CandidateSet,
    Limits,
    RecommendQuery,
    find_nearest_misses,
    gather_candidates,
    list_untried,
    parse_track,
    rank_by_usefulness,
    recommend,
    select_within_limits,
)
from fairbench.models.results import StoredResults
from fairbench.store.database import Store
from fairbench.store.records import ReferenceRecord
from fairbench.store.status import Status
from fairbench.versions import AUDIT_VERSION, PROTOCOL_VERSION
from tests.support.stored_models import REGISTRY, store_model


def results_in(folder: Path) -> StoredResults:
    return StoredResults.open(ResultsLocation(folder), REGISTRY)


def candidates_in(folder: Path) -> CandidateSet:
    return gather_candidates(results_in(folder))


def chosen(folder: Path, limits: Limits) -> list[str]:
    within = select_within_limits(candidates_in(folder), limits)
    return [candidate.point.label for candidate in within]


def test_validation_chooses_and_test_does_not(tmp_path: Path, prepared: Prepared) -> None:
    points = {
        # On test each of these is the opposite of what it is on validation.
        "beta=0.1": {
            "mutual_information_validation": 0.06,
            "mutual_information": 0.0,
            "mutual_information_y_validation": 0.9,
        },
        "beta=0.2": {
            "mutual_information_validation": 0.05,
            "mutual_information": 0.4,
            "mutual_information_y_validation": 0.3,
            "accuracy_y": 0.1,
        },
        "beta=0.3": {
            "mutual_information_validation": 0.01,
            "mutual_information": 0.0,
            "mutual_information_y_validation": 0.2,
            "accuracy_y": 0.9,
        },
    }
    store_model(tmp_path, prepared, "sofair", points)
    assert chosen(tmp_path, Limits(0.05)) == ["beta=0.2", "beta=0.3"]
    assert chosen(tmp_path, Limits(0.04)) == ["beta=0.3"]
    assert chosen(tmp_path, Limits(0.001)) == []


def test_accuracy_counts_on_validation(tmp_path: Path, prepared: Prepared) -> None:
    points = {
        "beta=0.1": {"accuracy_y_validation": 0.79, "mutual_information_validation": 0.02},
        "beta=0.2": {
            "accuracy_y_validation": 0.85,
            "mutual_information_validation": 0.2,
            "accuracy_y": 0.1,
        },
        "beta=0.3": {"accuracy_y_validation": None},  # measured before it was kept
    }
    store_model(tmp_path, prepared, "sofair", points)
    assert chosen(tmp_path, Limits(0.5, 0.8)) == ["beta=0.2"]
    assert chosen(tmp_path, Limits(0.1, 0.8)) == []
    near = find_nearest_misses(candidates_in(tmp_path), Limits(0.1, 0.8))
    assert near.accurate is not None
    assert near.accurate.point.label == "beta=0.2"
    assert near.tight is not None
    assert near.tight.point.label == "beta=0.1"


def test_without_a_task_the_least_distortion_counts(tmp_path: Path, prepared: Prepared) -> None:
    none = {
        "accuracy_y": None,
        "accuracy_y_validation": None,
        "mutual_information_y_validation": None,
    }
    points = {
        f"beta={beta}": {**none, "distortion_validation": d, "distortion": -d}
        for beta, d in ((0.1, 3.0), (0.2, 1.0), (0.3, 2.0))
    }
    store_model(tmp_path, prepared, "sofair", points)
    assert chosen(tmp_path, Limits(0.05)) == ["beta=0.2", "beta=0.3", "beta=0.1"]
    with pytest.raises(FairbenchError, match=r"no task|before accuracies"):
        chosen(tmp_path, Limits(0.05, 0.5))


def test_seeds_and_methods_stand_side_by_side_and_audits_do_not(
    tmp_path: Path, prepared: Prepared
) -> None:
    strict = AuditPreset.STRICT
    for seed, useful in ((0, 0.1), (1, 0.3)):
        figures = {"beta=0.1": {"mutual_information_y_validation": useful}}
        store_model(tmp_path, prepared, "sofair", figures, seed=seed, audit=strict)
    figures = {"-": {"mutual_information_y_validation": 0.2}}
    store_model(tmp_path, prepared, "identity", figures, point=Point(), audit=strict)
    weak = {"dropped=1": {"mutual_information_y_validation": 9.0}}
    quick = {"search_rows": 300, "search_trees": 2, "trees": 2}
    store_model(tmp_path, prepared, "drop-features", weak, params=quick)
    found = candidates_in(tmp_path)
    best = select_within_limits(found, Limits(0.05))
    assert [(c.unit.method, c.unit.seed, c.is_baseline) for c in best] == [
        ("sofair", 1, False),
        ("identity", 0, True),
        ("sofair", 0, False),
    ]
    assert found.audit == "strict"
    assert "1 points with a quick audit only" in " ".join(found.notes)
    assert "drop-features" in list_untried(found, REGISTRY, Track.BLIND)
    assert "sofair" not in list_untried(found, REGISTRY, Track.BLIND)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Limits(-0.1), "0 or more"),
        (lambda: Limits(float("nan")), "0 or more"),
        (lambda: Limits(0.1, 80), "a share"),
        (lambda: parse_track("blnd"), "Did you mean 'blind'"),
        (lambda: RecommendQuery(Limits(0.1), level=1.0), "it is a probability"),
    ],
)
def test_a_limit_out_of_range_is_refused(make: object, says: str) -> None:
    assert callable(make)
    with pytest.raises(FairbenchError, match=says):
        make()


def test_a_store_without_points_says_so(tmp_path: Path, prepared: Prepared) -> None:
    Store.in_folder(tmp_path)
    with pytest.raises(FairbenchError, match="no measured point"):
        candidates_in(tmp_path)
    store_model(tmp_path, prepared, "sofair", {"beta=0.1": {}})
    with pytest.raises(FairbenchError, match="is of the aware track"):
        gather_candidates(results_in(tmp_path), track=Track.AWARE)


def test_a_recommendation_holds_the_best_and_the_others_in_order(
    tmp_path: Path, prepared: Prepared
) -> None:
    useful = {"beta=0.1": 0.1, "beta=0.2": 0.3, "beta=0.3": 0.2}
    points = {label: {"mutual_information_y_validation": y} for label, y in useful.items()}
    store_model(tmp_path, prepared, "sofair", points)
    location = ResultsLocation(tmp_path)
    found = recommend(RecommendQuery(Limits(0.05)), location, REGISTRY)
    assert found.chosen is not None
    assert found.chosen.point.label == "beta=0.2"
    assert [point.point.label for point in found.accepted[1:]] == ["beta=0.3", "beta=0.1"]
    assert found.certificate is None
    assert "latfr" in found.untried
    assert found.chosen.model.encoder.method.name == "sofair"
    none = recommend(RecommendQuery(Limits(0.001)), location, REGISTRY)
    assert none.chosen is None
    assert rank_by_usefulness(none.candidates.points)[0].point.label == "beta=0.2"


@pytest.mark.parametrize(("limit", "within"), [(0.3, False), (0.4, True), (5.0, True)])
def test_x_itself_may_keep_the_limit(
    tmp_path: Path, prepared: Prepared, limit: float, within: bool
) -> None:
    store_model(tmp_path, prepared, "identity", {"-": {}}, point=Point())
    figures = {"mutual_information_max": 0.2, "mutual_information_max_validation": 0.4}
    reference = ReferenceRecord(
        key="reference",
        status=Status.DONE,
        dataset="adults-gender",
        fingerprint=prepared.fingerprint,
        protocol=PROTOCOL_VERSION,
        seed=0,
        audit="quick",
        values=figures,
        audit_version=AUDIT_VERSION,
    )
    Store.in_folder(tmp_path).put([reference])
    location = ResultsLocation(tmp_path)
    found = recommend(RecommendQuery(Limits(limit)), location, REGISTRY)
    assert found.leakage_of_x == (0.4 if within else None)
    assert CliRunner().invoke(
        app, ["recommend", "--max-leakage", str(limit), "--results", str(tmp_path)]
    ).stdout.count("x itself is within the limit: the auditors find 0.400 nats") == int(within)


def test_certificates_allow_for_every_candidate_that_could_have_one(
    tmp_path: Path, prepared: Prepared
) -> None:
    gammas = (0.0, 0.5, 0.99)
    for gamma in gammas:
        point = Point.of(gamma=gamma)
        store_model(tmp_path, prepared, "fare-tree", {point.label: {}}, point=point)
    store_model(tmp_path, prepared, "identity", {"-": {}}, point=Point())
    store_model(tmp_path, prepared, "constant", {"-": {}}, point=Point())
    candidates = candidates_in(tmp_path).points
    found = certify_candidates(candidates, prepared, level=0.1)
    # Raw numbers have too many values, which is seen without looking at test.
    assert (len(found.by_point), found.too_many_codes, found.not_on_disk) == (4, 1, 0)
    for bound in found.by_point.values():
        assert bound.confidence == pytest.approx(1 - 0.1 / 4)
    constant = next(c for c in candidates if c.unit.method == "constant")
    s = prepared.roles[Role.TEST].s
    alike = np.zeros((len(s), 1), np.float32)
    alone = certify(alike[:100], alike, s, groups=2, confidence=0.9)
    assert alone is not None
    assert alone.information < found.by_point[constant.key].information < 0.05
    # Another level, and what is on disk no more.
    tighter = certify_candidates(candidates, prepared, level=0.5)
    assert tighter.by_point[constant.key].information < found.by_point[constant.key].information
    for path in (tmp_path / "representations").iterdir():
        path.unlink()
    assert certify_candidates(candidates, prepared, level=0.1).not_on_disk == 5
