"""Draws of Gaussian codes: the networks run once for the same rows, and draws stay as they were."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
import torch

from fairbench.api import FitContext, Point, Role, TrainingRows, Unit
from fairbench.api.method import Curve
from fairbench.data.prepared import Prepared
from fairbench.registry import load_registry
from fairbench.training.representation import NeuralRepresentation

GAUSSIAN = ("beta-vae", "cvib", "vfae", "fcrl", "fair-disco", "l-mifr", "beta-vae-ss", "l-mifr-ss")


def fitted(name: str, prepared: Prepared) -> list[NeuralRepresentation]:
    """A short training; of a single-shot method, at both ends of its knob."""
    method = load_registry().methods[name]()
    rows = prepared.roles[Role.ENCODER_TRAIN]
    knob = method.knobs[0]
    single = name.endswith("-ss")
    unit = Unit(0, None if single else method.points()[0])
    (one,) = method.fit(TrainingRows(rows.x, rows.s, prepared.info), [unit], FitContext(3))
    ends = [Point(((knob.name, end),)) for end in (knob.low, knob.high)]
    found = [one.at(end) for end in ends] if isinstance(one, Curve) else [one]
    kept = [each for each in found if isinstance(each, NeuralRepresentation)]
    assert len(kept) == len(found)
    return kept


def drawn_by_the_model(one: NeuralRepresentation, x: np.ndarray, seed: int) -> np.ndarray:
    """What ``encode`` of the model gives, all rows at once."""
    shape = (1, len(x), one.model.noise_dimensions)
    noise = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    knob = None if one.knob is None else torch.full((1, len(x), 1), one.knob)
    with torch.no_grad():
        z: np.ndarray = one.model.encode(torch.tensor(x)[None], knob, torch.tensor(noise))[
            0
        ].numpy()
    return z


@pytest.mark.parametrize("name", GAUSSIAN)
def test_draws_are_those_of_the_model_and_run_its_networks_once(
    name: str, prepared: Prepared
) -> None:
    x = prepared.roles[Role.TEST].x[:300]
    for one in fitted(name, prepared):
        expected = [drawn_by_the_model(one, x, draw) for draw in range(3)]
        with mock.patch.object(one.model, "gaussian_code", wraps=one.model.gaussian_code) as asked:
            # The same people, in another array.
            drawn = [one.encode(x.copy(), generator=np.random.default_rng(k)) for k in range(3)]
        assert asked.call_count == 1
        np.testing.assert_array_equal(drawn, expected)


def test_other_rows_have_other_codes(prepared: Prepared) -> None:
    (one,) = fitted("beta-vae", prepared)
    x = prepared.roles[Role.TEST].x[:20]
    first = one.encode(x, generator=np.random.default_rng(0))
    second = one.encode(x[::-1].copy(), generator=np.random.default_rng(0))
    np.testing.assert_array_equal(second, drawn_by_the_model(one, x[::-1].copy(), 0))
    assert not np.array_equal(first, second)
