"""Axes of images: what auditors see does not depend on where an object stands."""

import numpy as np
import pytest

from fairbench.auditing.axes import image_axes, principal_axes

SIDE = 24
IMAGE = (1, SIDE, SIDE)


def bars(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Bars of 2 x 8 pixels anywhere in dark images, ``(count, SIDE^2)``; 1: upright."""
    upright = rng.integers(0, 2, count)
    images = np.zeros((count, SIDE, SIDE), np.uint8)
    for image, is_upright in zip(images, upright, strict=True):
        height, width = (8, 2) if is_upright else (2, 8)
        row, column = rng.integers(0, SIDE - height + 1), rng.integers(0, SIDE - width + 1)
        image[row : row + height, column : column + width] = 1
    return images.reshape(count, -1), upright


def test_an_image_that_moves_changes_its_centre_alone() -> None:
    rng = np.random.default_rng(0)
    axes = image_axes(bars(rng, 300)[0], IMAGE)
    two = np.zeros((2, SIDE, SIDE), np.float32)
    two[0, 5:13, 9:11] = 1
    two[1, 9:17, 14:16] = 1  # 4 down, 5 to the right
    first, second = axes.project(two.reshape(2, -1))
    count = (len(first) - 2) // 2
    assert not np.allclose(first[:count], second[:count], atol=0.1)
    np.testing.assert_allclose(first[count:-2], second[count:-2], atol=1e-5)
    np.testing.assert_allclose(second[-2:] - first[-2:], np.array([4, 5]) / SIDE, atol=1e-6)


def test_a_line_reads_off_centred_images_what_it_cannot_read_off_pixels() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(1)
    (train, known), (test, asked) = bars(rng, 600), bars(rng, 600)
    reached = {}
    for name, axes in (("pixels", principal_axes(train)), ("images", image_axes(train, IMAGE))):
        line = LogisticRegression(max_iter=2000).fit(axes.project(train), known)
        reached[name] = float((line.predict(axes.project(test)) == asked).mean())
    assert reached["images"] == 1.0
    assert reached["pixels"] < 0.75


def test_images_side_by_side_are_moved_together() -> None:
    rng = np.random.default_rng(2)
    images = bars(rng, 200)[0].astype(np.float32)
    faint = 0.3 * images
    axes = image_axes(np.hstack([images, faint]), IMAGE)
    swapped = axes.project(np.hstack([faint, images]))
    straight = axes.project(np.hstack([images, faint]))
    np.testing.assert_allclose(swapped[:, -2:], straight[:, -2:], atol=1e-6)
    assert not np.allclose(swapped, straight, atol=0.1)


@pytest.mark.parametrize("value", [0.0, -1.0, 1.0])
def test_images_without_an_object_have_their_centre_in_the_middle(value: float) -> None:
    axes = image_axes(bars(np.random.default_rng(3), 100)[0], IMAGE)
    seen = axes.project(np.full((2, SIDE * SIDE), value, np.float32))
    assert np.isfinite(seen).all()
    np.testing.assert_allclose(seen[:, -2:], (SIDE - 1) / 2 / SIDE, atol=1e-6)


def test_images_of_several_channels_count_all_of_them() -> None:
    rng = np.random.default_rng(4)
    grey = bars(rng, 100)[0].astype(np.float32)
    coloured = np.hstack([grey, np.zeros_like(grey), grey])
    axes = image_axes(coloured, (3, SIDE, SIDE))
    of_grey = image_axes(grey, IMAGE).project(grey)
    np.testing.assert_allclose(axes.project(coloured)[:, -2:], of_grey[:, -2:], atol=1e-6)
