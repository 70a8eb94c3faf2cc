"""The limit on open files is raised where it may be, and else told before a job starts."""

import resource
from collections.abc import Iterator

import pytest

from fairbench.errors import ConfigError
from fairbench.runs.executors.descriptors import ensure_descriptors


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before, set_back = resource.getrlimit(resource.RLIMIT_NOFILE), resource.setrlimit
    yield
    set_back(resource.RLIMIT_NOFILE, before)


def test_a_low_limit_is_raised() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (60, hard))
    ensure_descriptors(4)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 60
    ensure_descriptors(16)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 16 * 8


def test_one_that_may_not_be_raised_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (20, 20))

    def refused(*_: object) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "setrlimit", refused)
    with pytest.raises(
        ConfigError, match="2 workers need to open 40 files at once, and at most 20"
    ):
        ensure_descriptors(2)


def test_more_than_the_system_counts_to_is_told_too() -> None:
    """As by `verify --workers`, which no configuration has checked."""
    with pytest.raises(ConfigError, match=f"open 8{24:022} files at once"):
        ensure_descriptors(10**22)
