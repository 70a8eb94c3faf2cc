"""An interrupted verification goes on with the same points; another one starts anew."""

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest

from fairbench.cli.verify_folder import began_at, verification_folder
from fairbench.errors import ConfigError


def interrupt(folder: Path, sha256: str = "a", points: int = 3, seed: int | None = None) -> int:
    """Begin a verification that is stopped after a model was trained; return its seed."""
    began = verification_folder(folder, sha256=sha256, points=points, seed=seed)
    with suppress(KeyboardInterrupt), began as (draw, _):
        (folder / "model").touch()
        raise KeyboardInterrupt
    return draw


@pytest.mark.parametrize("seed", [None, 5])
def test_an_interrupted_one_goes_on_with_its_draw(tmp_path: Path, seed: int | None) -> None:
    folder = tmp_path / "row.verification"
    before = interrupt(folder, seed=seed)
    with verification_folder(folder, sha256="a", points=3, seed=seed) as (draw, goes_on):
        assert (draw, goes_on) == (before, True)
        assert (folder / "model").exists()
    assert not folder.exists()


@pytest.mark.parametrize(
    "other", [{"sha256": "b"}, {"points": 4}, {"seed": 6}], ids=lambda other: next(iter(other))
)
def test_another_draw_begins_with_an_empty_folder(tmp_path: Path, other: dict[str, object]) -> None:
    folder = tmp_path / "row.verification"
    interrupt(folder, seed=5)
    given = {"sha256": "a", "points": 3, "seed": 5} | other
    with verification_folder(folder, **given) as (_, goes_on):  # type: ignore[arg-type]
        assert not goes_on
        assert not (folder / "model").exists()


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "row.verification"
    folder.mkdir()
    (folder / "mine").touch()
    with (
        pytest.raises(ConfigError, match="is in the way"),
        verification_folder(folder, sha256="a", points=3, seed=None),
    ):
        pass
    assert (folder / "mine").exists()


def test_only_one_command_at_a_time_verifies_a_submission(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    begin = {"sha256": "a", "points": 3, "seed": None}
    with verification_folder(folder, **begin):  # type: ignore[arg-type]
        with (
            pytest.raises(ConfigError, match="Another command is verifying"),
            verification_folder(folder, **begin),  # type: ignore[arg-type]
        ):
            pass
        assert folder.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_refused_one_leaves_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match="other points"),
        verification_folder(tmp_path / "a", sha256="a", points=3, seed=None),
    ):
        raise ConfigError("It has other points.", "Use the same version.")
    assert not (tmp_path / "a").exists()


def test_what_nobody_went_on_with_for_a_month_is_deleted(tmp_path: Path) -> None:
    for name, days in {"old": 31, "new": 29}.items():
        interrupt(tmp_path / name)
        then = time.time() - days * 86_400
        for path in (tmp_path / name).iterdir():
            os.utime(path, (then, then))
    (tmp_path / "mine").mkdir()  # no folder of a verification
    with verification_folder(tmp_path / "a", sha256="a", points=3, seed=None):
        assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"a", "new", "mine"}


def test_another_folder_that_goes_meanwhile_is_no_error(tmp_path: Path) -> None:
    interrupt(tmp_path / "other")
    (tmp_path / "other" / "log").symlink_to(tmp_path / "gone")
    with verification_folder(tmp_path / "a", sha256="a", points=3, seed=None):
        pass


def test_what_a_plugin_writes_while_the_run_is_planned_is_newer_than_the_beginning(
    tmp_path: Path,
) -> None:
    """It is asked then, with the data in memory: a file of these must not pass for an old one."""
    older, written = tmp_path / "source.py", tmp_path / "roles.npy"
    older.touch()
    time.sleep(0.05)
    interrupt(tmp_path / "a")
    time.sleep(0.05)
    written.touch()
    runs = [time.time() + 5, time.time() + 60]
    with verification_folder(tmp_path / "a", sha256="a", points=3, seed=None):
        assert older.stat().st_ctime < began_at(tmp_path / "a", runs) < written.stat().st_ctime


def test_no_later_time_of_the_folder_counts(tmp_path: Path) -> None:
    """A plugin may have touched it."""
    with verification_folder(tmp_path / "a", sha256="a", points=3, seed=None):
        assert began_at(tmp_path / "a", [10.0, 5.0]) == 5.0
