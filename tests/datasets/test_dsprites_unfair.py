"""DSprites-Unfair as a whole: rendered, dealt to roles, and the original file where it is given."""

from pathlib import Path

import numpy as np
import pytest

from fairbench.api import Role
from fairbench.data.loading import load_dataset
from fairbench.errors import DataError
from fairbench.stats.scores import entropy
from fairbench_datasets.dsprites_unfair import ORIGINAL, DSpritesUnfair
from fairbench_datasets.dsprites_unfair.render import render
from fairbench_datasets.dsprites_unfair.sampling import all_latents, image_ids


@pytest.mark.slow
def test_the_roles_are_drawn_as_the_protocol_says_and_share_no_pixels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)
    data = load_dataset(DSpritesUnfair)
    assert data.source == "rendered"
    assert data.info.groups == ("quadrant 1", "quadrant 2", "quadrant 3", "quadrant 4")
    counts = [len(data.roles[role].s) for role in Role]
    assert counts == [600_000, 60_000, 20_000, 20_000]
    ids = image_ids(np.concatenate([data.roles[role].stored for role in Role]))
    seen = [set(part.tolist()) for part in np.split(ids, np.cumsum(counts)[:-1])]
    for i, one in enumerate(seen):
        assert all(one.isdisjoint(other) for other in seen[i + 1 :])
    for role in Role:
        rows = data.roles[role]
        assert entropy(rows.s) == pytest.approx(1.386, abs=2e-3)
        shares = np.bincount(rows.y["shape"]) / len(rows.s)
        assert shares.max() == pytest.approx(0.518, abs=0.01)
    assert load_dataset(DSpritesUnfair).fingerprint == data.fingerprint


def test_an_image_is_what_its_labels_say() -> None:
    latents = all_latents()[[0, 737_279]]
    square, heart = render(latents)
    assert square.sum() == 100  # side 10 at scale .5
    assert heart.any()
    assert not np.array_equal(square, heart)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04garbage", b"\x00" * 1000])
def test_another_file_under_the_originals_name_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ORIGINAL).write_bytes(content)
    with pytest.raises(DataError, match="is not the original file: its git blob id is"):
        load_dataset(DSpritesUnfair, root=tmp_path)
