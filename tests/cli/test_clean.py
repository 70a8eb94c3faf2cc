"""What ``fairbench clean`` deletes, and when it refuses."""

import io
import os
from pathlib import Path

import numpy as np
import pytest

from fairbench.errors import BusyStoreError, StoreError
from fairbench.store import files as artefacts
from fairbench.store.claims import Claims
from fairbench.store.database import Store
from tests.conftest import Call

CLEAN = ("clean", "--results", "out")


def test_clean_refuses_while_a_run_uses_the_files(
    fairbench_here: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.in_folder(tmp_path / "out")
    name = artefacts.save(tmp_path / "out", {"0/z/test": np.zeros((2, 2))})
    with Claims(store, "a run") as claims:
        claims.take(["a" * 64])
        refused = fairbench_here(*CLEAN, "--yes")
        assert refused.returncode == 2
        assert f"process {os.getpid()}" in refused.stderr
        assert artefacts.exists(tmp_path / "out", name)
        assert "are deleted" not in refused.stdout
        assert fairbench_here(*CLEAN, "--dry-run").returncode == 0
    monkeypatch.setattr("sys.stdin", io.StringIO())  # nobody is there
    unasked = fairbench_here(*CLEAN)
    assert unasked.returncode == 2
    assert "add --yes" in unasked.stderr
    assert artefacts.exists(tmp_path / "out", name)
    assert fairbench_here(*CLEAN, "--yes").returncode == 0
    assert not artefacts.exists(tmp_path / "out", name)


def test_clean_asks_the_database_that_runs_use(fairbench_here: Call, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'team.sqlite'}"
    name = artefacts.save(tmp_path / "out", {"0/z/test": np.zeros((2, 2))})
    with Claims(Store.open_or_create(url), "a run") as claims:
        claims.take(["a" * 64])
        refused = fairbench_here(*CLEAN, "--store", url, "--yes")
        assert refused.returncode == 2
        assert artefacts.exists(tmp_path / "out", name)
    assert fairbench_here(*CLEAN, "--store", url, "--yes").returncode == 0
    assert not artefacts.exists(tmp_path / "out", name)


def test_a_file_that_cannot_be_deleted_is_named(
    fairbench_here: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store.in_folder(tmp_path / "out")
    name = artefacts.save(tmp_path / "out", {"0/z/test": np.zeros((2, 2))})

    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    refused = fairbench_here(*CLEAN, "--yes")
    assert refused.returncode == 2
    assert f"{name} cannot be deleted: Permission denied." in refused.stderr
    with pytest.raises(StoreError, match="cannot be deleted"):
        artefacts.drop(tmp_path / "out", name)


def test_clean_deletes_nothing_where_it_cannot_see_who_runs(
    fairbench_here: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store.in_folder(tmp_path / "out")
    name = artefacts.save(tmp_path / "out", {"0/z/test": np.zeros((2, 2))})

    def busy(self: Claims) -> None:
        raise BusyStoreError("The store is locked.")

    monkeypatch.setattr(Claims, "living_holder", busy)
    refused = fairbench_here(*CLEAN, "--yes")
    assert refused.returncode == 2
    assert "locked" in refused.stderr
    assert artefacts.exists(tmp_path / "out", name)


@pytest.mark.parametrize("command", ["status", "clean", "results export out.jsonl"])
def test_a_store_that_is_not_there_is_not_made(
    fairbench_here: Call, tmp_path: Path, command: str
) -> None:
    artefacts.save(tmp_path / "out", {"0/z/test": np.zeros((2, 2))})
    words = [*command.split(), "--results", "out", "--store", f"sqlite:///{tmp_path}/typo.sqlite"]
    told = fairbench_here(*words, *(["--yes"] if command == "clean" else []))
    assert told.returncode == 2
    assert "There is no store sqlite:///" in told.stderr
    assert not (tmp_path / "typo.sqlite").exists()
    assert list((tmp_path / "out" / artefacts.FOLDER).iterdir())


def test_clean_leaves_files_that_are_not_its_own(fairbench_here: Call, tmp_path: Path) -> None:
    out = tmp_path / "out"
    Store.in_folder(out)
    name = artefacts.save(out, {"0/z/test": np.zeros((2, 2))})
    part = out / "encoders" / f"{'a' * 32}.part"
    checkpoint = out / "checkpoints" / f"{'b' * 64}.checkpoint"
    log = out / "logs" / "fit-sofair-0a1b2c3d.log"
    own = [out / artefacts.FOLDER / name, part, checkpoint, log]
    others = [
        out / "checkpoints" / "my-model.pt",
        out / "encoders" / "resnet.safetensors",
        out / "representations" / "notes.txt",
        out / "logs" / "server.log",
    ]
    for path in (*own[1:], *others):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
    assert fairbench_here(*CLEAN, "--yes").returncode == 0
    assert not any(path.exists() for path in own)
    assert all(path.exists() for path in others)
