"""Who may look: z once, many draws of it, and what nothing is known of."""

import numpy as np
import pytest

from fairbench.api import AUDIT_ROLES, Access, Floats, Role
from fairbench.auditing.config import AuditConfig
from fairbench.auditing.encoded import EncodedPoint
from fairbench.auditing.evaluate import evaluate
from fairbench.data.prepared import Prepared
from fairbench.metrics.access import InformationByAccess
from fairbench.runs.point_arrays import PointArrays
from fairbench.stats.scores import entropy

CONFIG = AuditConfig(mlps=1, epochs=4)
NOISE = 3.0


def measured(data: Prepared, point: EncodedPoint) -> dict[str, float | None]:
    evaluation, _ = evaluate(point, data, config=CONFIG, seed=0)
    return dict(InformationByAccess().compute(evaluation))


def draws(data: Prepared, count: int, rng: np.random.Generator) -> dict[Role, list[Floats]]:
    """Draws of z = s + noise."""
    return {
        role: [
            (data.roles[role].s + NOISE * rng.normal(size=len(data.roles[role].s)))
            .astype(np.float32)
            .reshape(-1, 1)
            for _ in range(count)
        ]
        for role in AUDIT_ROLES
    }


def spread(drawn: list[Floats]) -> Floats:
    return np.hstack([np.mean(drawn, axis=0), np.std(drawn, axis=0)]).astype(np.float32)


@pytest.mark.thorough
def test_averaging_many_draws_reveals_what_one_hides(prepared: Prepared) -> None:
    drawn = draws(prepared, 256, np.random.default_rng(0))
    queries = {
        Access.QUERIES_16: {role: spread(z[:16]) for role, z in drawn.items()},
        Access.QUERIES_256: {role: spread(z) for role, z in drawn.items()},
    }
    one = {role: z[0] for role, z in drawn.items()}
    found = measured(prepared, EncodedPoint(one, None, None, None, detailed=True, queries=queries))
    h = entropy(prepared.roles[Role.TEST].s)
    # The noise of a mean over m draws is NOISE / sqrt(m), and a Gaussian channel's information
    # is at most half the squared distance of the two means, in units of the noise, times p(1 - p).
    share = prepared.roles[Role.TEST].s.mean()
    assert found["mutual_information_release"] == pytest.approx(
        share * (1 - share) / (2 * NOISE**2), abs=0.03
    )
    few, many = (found[f"mutual_information_queries_{m}"] for m in (16, 256))
    assert few is not None
    assert many is not None
    assert 0.1 < few < share * (1 - share) * 16 / (2 * NOISE**2)
    assert many > 0.9 * h


def test_repeated_queries_of_a_deterministic_encoder_read_the_release(prepared: Prepared) -> None:
    z = {role: prepared.roles[role].x for role in AUDIT_ROLES}
    found = measured(prepared, EncodedPoint(z, None, None, None, detailed=True))
    assert len(set(found.values())) == 1
    assert found["mutual_information_release"] is not None


def test_points_stored_without_queries_leave_these_columns_empty(prepared: Prepared) -> None:
    arrays = {f"0/z/{role}": prepared.roles[role].x for role in AUDIT_ROLES}
    found = measured(prepared, PointArrays(arrays, 0).encoded())
    assert found["mutual_information_release"] is not None
    assert found["mutual_information_queries_16"] is None
    assert found["mutual_information_queries_256"] is None
    closely = PointArrays(arrays | {"0/detailed": np.array(True)}, 0).encoded()
    assert closely.detailed
    assert not closely.queries
