"""Images: packed rows, pixels that stay pixels, and a whole fit and audit on them."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairbench.api import Architecture, Role, Unit
from fairbench.api.dataset import Dataset, Images
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.data.loading import load_dataset
from fairbench.data.prepared import Prepared, Rows
from fairbench.errors import DataError
from fairbench.metrics.points import Distortion, Information
from fairbench.registry import load_registry
from fairbench.runs.audit_job import AuditJob, ReferenceJob
from fairbench.runs.declared import declared
from fairbench.runs.fit_job import FitJob
from fairbench.runs.plan import bytes_of_rows, make_budget
from fairbench.runs.shared_labels import SharedLabels

COUNTS = {
    Role.ENCODER_TRAIN: 300,
    Role.AUDITOR_TRAIN: 400,
    Role.VALIDATION: 150,
    Role.TEST: 200,
}


def images(role: Role, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise, with a bright left half where s is 1."""
    rng = np.random.default_rng(list(Role).index(role))
    s = rng.integers(0, 2, n)
    bright = np.where(np.arange(256) % 16 < 8, 0.6, 0.1) * s[:, None] + 0.1
    return (rng.random((n, 256)) < bright).astype(np.uint8), s


class Tiny(Dataset):
    name = "tiny-images"
    summary = "16 x 16 images"
    architecture = Architecture(hidden=(16,), latent=4, image=(1, 16, 16), channels=(4, 8))

    def load(self, folder: Path) -> Images:
        made = {role: images(role, n) for role, n in COUNTS.items()}
        return Images(
            pixels={role: np.packbits(x, axis=1) for role, (x, _) in made.items()},
            s={role: s for role, (_, s) in made.items()},
            groups=("dark", "bright"),
            y={role: {"corner": x[:, 255].astype(np.int64)} for role, (x, _) in made.items()},
            source="rendered",
        )


@pytest.fixture(scope="module")
def tiny() -> Prepared:
    return load_dataset(Tiny)


def test_pixels_come_back_as_they_were(tiny: Prepared) -> None:
    for role, n in COUNTS.items():
        rows = tiny.roles[role]
        assert rows.stored.shape == (n, 32)
        np.testing.assert_array_equal(rows.x, images(role, n)[0])
        assert rows.x.dtype == np.uint8
    assert tiny.source == "rendered"
    assert len(tiny.info.features) == 256


def test_rows_travel_packed_and_read_only(tiny: Prepared) -> None:
    rows: Rows = pickle.loads(pickle.dumps(tiny.roles[Role.TEST]))
    np.testing.assert_array_equal(rows.x, tiny.roles[Role.TEST].x)
    with pytest.raises(ValueError, match="read-only"):
        rows.x[0, 0] = 1
    assert Role.ENCODER_TRAIN not in tiny.audited().roles


def test_the_size_of_pixels_is_known_without_unpacking_them(
    tiny: Prepared, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plans ask for it once per stack, and the pixels may be gigabytes."""
    table = prepared.roles[Role.ENCODER_TRAIN]
    assert table.x_bytes == table.x.nbytes
    rows = tiny.roles[Role.ENCODER_TRAIN]
    size = rows.x.nbytes
    monkeypatch.setattr(np, "unpackbits", None)
    assert rows.x_bytes == size == COUNTS[Role.ENCODER_TRAIN] * 256
    assert bytes_of_rows(tiny) == size


def test_a_quick_budget_of_images_is_2000_steps(tiny: Prepared) -> None:
    assert make_budget("quick", tiny).iterations == 2_000


def test_images_need_an_image_architecture() -> None:
    class Flat(Tiny):
        name = "flat-images"
        architecture = Architecture()

    with pytest.raises(DataError, match="architecture has none"):
        load_dataset(Flat)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["sofair", "beta-vae", "identity", "constant", "pca", "leace"])
def test_a_fit_and_its_audit(name: str, tiny: Prepared) -> None:
    config = replace(PRESETS[AuditPreset.QUICK], epochs=6, strict_epochs=6, trees=20)
    x_itself = ReferenceJob("1", "", 1.0, tiny, "k", 0, config, SharedLabels(tiny))
    (reference,) = x_itself.run(lambda fraction, note: None)
    method = load_registry().methods[name]
    point = method().points()[0] if method.shots.value == "multi-shot" else None
    fit = FitJob(
        id="1",
        title="",
        estimate=1.0,
        point_estimate=1.0,
        method=method,
        declared=declared(method),
        params=method.Params(),
        data=tiny,
        keys=("k",),
        units=(Unit(0, point),),
        iterations=60,
        device="cpu",
        curve_points=2,
    )
    (result,) = fit.run(lambda fraction, note: None)
    assert result.error is None
    audit = AuditJob(
        "1", "", 1.0, tiny.audited(), ("p",), 0, (0,), result.arrays, config,
        (Distortion, Information),
    )  # fmt: skip
    (measured,) = audit.run(lambda fraction, note: None)
    i, d = measured.values["mutual_information"], measured.values["distortion"]
    assert i is not None
    assert d is not None
    if name == "identity":
        assert result.arrays["0/z/test"].dtype == np.uint8
        assert d == 0
        assert i == pytest.approx(reference.values["mutual_information_max"], abs=0.1)
        assert i > 0.4  # the halves differ plainly
    if name == "constant":
        assert abs(i) < 0.03
        assert d == pytest.approx(reference.values["distortion_max"], rel=0.1)
