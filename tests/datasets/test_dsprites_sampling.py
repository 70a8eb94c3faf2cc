"""How DSprites-Unfair is drawn: the protocol's facts, and roles that share no image."""

import numpy as np
import pytest

from fairbench.api import Role
from fairbench_datasets.dsprites_unfair import sampling
from fairbench_datasets.dsprites_unfair.sampling import (
    CLASSES,
    all_latents,
    draw,
    image_ids,
    shape_given_orientation,
)


def test_all_latents_are_in_the_originals_order() -> None:
    latents = all_latents()
    assert latents.shape == (737_280, 6)
    assert latents[0].tolist() == [0] * 6
    assert latents[1].tolist() == [0, 0, 0, 0, 0, 1]
    assert latents[-1].tolist() == [c - 1 for c in CLASSES]


def test_the_papers_facts() -> None:
    """H(S) = 1.386 nats, I(S; shape) = .0144 nats, the most frequent shape has .518."""
    joint = shape_given_orientation() / 40
    by_quadrant = joint.reshape(4, 10, 3).sum(axis=1)
    s, shape = by_quadrant.sum(axis=1), by_quadrant.sum(axis=0)
    assert -(s * np.log(s)).sum() == pytest.approx(1.386, abs=5e-4)
    told = (by_quadrant * np.log(by_quadrant / np.outer(s, shape))).sum()
    assert told == pytest.approx(0.0144, abs=5e-5)
    assert shape.max() == pytest.approx(0.518, abs=5e-4)


def test_equal_images_get_one_number_and_others_their_own() -> None:
    packed = np.random.default_rng(0).integers(0, 256, (500, 512), np.uint8)
    packed[400] = packed[3]
    ids = image_ids(packed)
    assert ids[400] == ids[3]
    assert len(np.unique(ids)) == 499


def test_roles_share_no_image_and_follow_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "DRAWS", dict.fromkeys(Role, 40000))
    latents = all_latents()
    same_angle = latents.copy()
    same_angle[:, 3] %= 39  # orientation classes 0 and 39 show the same image
    ids = np.unique(same_angle @ np.cumprod([1, 1, 3, 6, 40, 32]), return_inverse=True)[1]
    drawn = draw(ids, latents)
    seen = [set(ids[rows].tolist()) for rows in drawn.values()]
    for i, one in enumerate(seen):
        assert all(one.isdisjoint(other) for other in seen[i + 1 :])
    for rows in drawn.values():
        assert len(rows) == 40_000
        expected = (shape_given_orientation() / 40).sum(axis=0)
        shares = np.bincount(latents[rows, 1], minlength=3) / len(rows)
        np.testing.assert_allclose(shares, expected, atol=0.01)
        assert set((latents[rows, 3] // 10).tolist()) == {0, 1, 2, 3}
