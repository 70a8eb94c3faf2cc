"""Tests on the real files: where they are, and what must hold of every dataset prepared of them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fairbench.api import Role
from fairbench.api.dataset import Dataset
from fairbench.data.prepared import Prepared


def root_with(dataset: type[Dataset]) -> Path:
    """The folder with a dataset's files; the test is skipped where there is none."""
    root = os.environ.get("FAIRBENCH_DATA")
    if not root or not (Path(root) / dataset.folder / dataset.files[0].name).exists():
        pytest.skip(f"needs FAIRBENCH_DATA with {dataset.files[0].name}")
    return Path(root).resolve()


def whole(dataset: type[Dataset]) -> type[Dataset]:
    """The dataset with all its rows in some role."""
    return type(dataset.__name__, (dataset,), {"audit_rows": None})


def group_counts(data: Prepared) -> dict[str, int]:
    """People by group, over all roles."""
    s = np.concatenate([rows.s for rows in data.roles.values()])
    return dict(zip(data.info.groups, np.bincount(s).tolist(), strict=True))


def share(data: Prepared, task: str) -> float:
    """Share of label 1, over all roles."""
    return float(np.concatenate([rows.y[task] for rows in data.roles.values()]).mean())


def unseen_shares(data: Prepared) -> dict[str, float]:
    """Share of label 1 of each unseen task, over all roles."""
    tables = [rows.transfer for rows in data.roles.values()]
    return {
        task: float(np.concatenate([table[task] for table in tables]).mean()) for task in tables[0]
    }


def check_prepared(data: Prepared) -> None:
    """Every group is in every role, scaling is encoder-train's, and no column of X is s."""
    groups = len(data.info.groups)
    for rows in data.roles.values():
        assert (np.bincount(rows.s, minlength=groups) >= 5).all()
        assert np.isfinite(rows.x).all()
    train = data.roles[Role.ENCODER_TRAIN]
    np.testing.assert_allclose(train.x.mean(axis=0, dtype=np.float64), 0, atol=1e-6)
    np.testing.assert_allclose(train.x.std(axis=0, dtype=np.float64), 1, atol=1e-6)
    for group in range(groups):
        member = train.s == group
        for feature, column in zip(data.info.features, train.x.T, strict=True):
            correlation = np.corrcoef(column, member)[0, 1]
            assert abs(correlation) < 0.7, f"{feature.name} tells {data.info.groups[group]}"


def fingerprint_elsewhere(dataset: type[Dataset], root: Path) -> str:
    """The fingerprint as a process of its own finds it, with other hash randomisation."""
    code = (
        f"from {dataset.__module__} import {dataset.__name__} as d;"
        "from fairbench.data.loading import load_dataset; from pathlib import Path; import sys;"
        "print(load_dataset(d, root=Path(sys.argv[1])).fingerprint)"
    )
    env = os.environ | {"PYTHONHASHSEED": "7"}
    words = [sys.executable, "-c", code, str(root)]
    found = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    return found.stdout.strip()
