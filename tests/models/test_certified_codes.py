"""Rows whose code a certificate does not count are told from the others."""

from pathlib import Path

import numpy as np
import pytest

from fairbench.api import Point, Role
from fairbench.data.prepared import Prepared
from fairbench.models.certified_codes import CertifiedCodes, read_certified_codes
from fairbench.models.lookup import find_model
from fairbench.models.query import ModelQuery, ResultsLocation
from tests.support.stored_models import REGISTRY, store_model


def test_codes_are_equal_where_what_is_written_has_equal_bytes() -> None:
    codes = CertifiedCodes(np.array([[0.5, -0.0], [1.0, 2.0]]), overflow=0.0, certifying=100)
    z = np.array([[0.5, 0.0], [1.0, 2.0], [1.0, 2.0000002], [0.5, 2.0]], np.float32)
    assert codes.count_others(z) == 2
    # Within what verification takes for rounding, a constant still has one code.
    assert codes.count_others(z[:1] * np.float32(1 + 1e-6)) == 1
    assert codes.count_others(np.zeros((3, 5), np.float32)) == 3


@pytest.mark.parametrize(
    ("overflow", "others", "rows", "too_many"),
    [
        (0.0, 0, 1000, False),
        (0.0, 1, 1000, False),
        (0.0, 5, 1000, True),
        (0.0, 1, 1, True),
        (0.2, 230, 1000, False),
        (0.2, 270, 1000, True),
        (0.2, 0, 1000, False),
        (0.0, 0, 0, False),
    ],
)
def test_a_share_beyond_that_of_the_certifying_rows_is_too_many(
    overflow: float, others: int, rows: int, *, too_many: bool
) -> None:
    codes = CertifiedCodes(np.zeros((1, 1)), overflow, certifying=16_000)
    assert codes.are_too_many(others, rows) is too_many


def test_honest_shares_are_seldom_too_many() -> None:
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(2000):
        overflow = rng.binomial(2000, 0.01) / 2000
        codes = CertifiedCodes(np.zeros((1, 1)), overflow, certifying=2000)
        wrong += codes.are_too_many(rng.binomial(500, 0.01), 500)
    assert wrong <= 6


def test_the_codes_of_a_point_are_those_of_its_auditor_training_set(
    tmp_path: Path, prepared: Prepared
) -> None:
    certified = {"certified_overflow": 0.25, "certified_rows": 600.0}
    store_model(tmp_path, prepared, "identity", {"-": certified}, point=Point())
    location = ResultsLocation(tmp_path)
    model = find_model(ModelQuery("identity"), location, REGISTRY)
    codes = read_certified_codes(model, model.points[0])
    assert codes is not None
    assert (codes.overflow, codes.certifying) == (0.25, 600)
    known, new = (
        prepared.roles[role].x.astype(np.float32) for role in (Role.AUDITOR_TRAIN, Role.TEST)
    )
    assert codes.count_others(known) == 0
    assert codes.count_others(new) == len(new)
    for file in (tmp_path / "representations").iterdir():
        file.unlink()
    assert read_certified_codes(model, model.points[0]) is None


def test_a_point_without_a_certificate_has_none(tmp_path: Path, prepared: Prepared) -> None:
    store_model(tmp_path, prepared, "identity", {"-": {}}, point=Point())
    model = find_model(ModelQuery("identity"), ResultsLocation(tmp_path), REGISTRY)
    assert read_certified_codes(model, model.points[0]) is None


def test_codes_and_share_of_a_stochastic_encoder_are_those_of_its_first_draw(
    tmp_path: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    certified = {"certified_overflow": 0.75, "certified_rows": 4.0}
    store_model(tmp_path, prepared, "identity", {"-": certified}, point=Point())
    model = find_model(ModelQuery("identity"), ResultsLocation(tmp_path), REGISTRY)

    def load(folder: Path, name: str, names: list[str]) -> dict[str, np.ndarray]:
        draws = {"0/z/auditor-train": [1, 2, 3, 4, 5, 6], "0/z/test": [1, 2, 3, 4, 5, 6, 7, 8]}
        return {one: np.array(draws[one], np.float32)[:, None] for one in names}

    monkeypatch.setattr("fairbench.store.files.load_few", load)
    codes = read_certified_codes(model, model.points[0])
    assert codes is not None
    assert sorted(codes.codes.ravel().tolist()) == [1, 2, 3]
    assert codes.overflow == 0.25
