"""Claims: one run a job, whatever the other does, and none lost with a run that dies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa

from fairbench.errors import StoreError
from fairbench.store.claims import FORGOTTEN, STALE, Claims
from fairbench.store.database import Store


def test_all_keys_or_none(store_url: str) -> None:
    one, other = Claims(Store(store_url), "one"), Claims(Store(store_url), "other")
    assert one.take(["b", "c"])
    assert not other.take(["a", "b"])
    assert one.take(["a"])  # what was refused is nobody's
    assert other.holder(["a"]) == f"process {os.getpid()} on {os.uname().nodename}"
    assert one.holder(["a"]) is None
    one.release(["b"])
    assert other.take(["b"])
    one.release()
    assert other.take(["a", "c"])


def test_of_many_that_try_at_once_one_gets_a_key(store_url: str) -> None:
    keys = [f"{i:03}" for i in range(20)]
    claims = [Claims(Store(store_url), f"run {i}") for i in range(6)]
    # In opposite orders, where two that wait for each other would never end.
    orders = [keys if i % 2 else keys[::-1] for i in range(6)]
    with ThreadPoolExecutor(6) as pool:
        for _ in range(5):
            taken = list(pool.map(lambda c, k: c.take(k), claims, orders))
            assert sum(taken) == 1
            claims[taken.index(True)].release()


def test_a_claim_lives_while_its_run_does(store_url: str) -> None:
    """Of another machine, and long silent: only its next heartbeat can hold it."""
    store = Store(store_url)
    other = Claims(store, "other")
    with Claims(Store(store_url), "one", heartbeat=0.05) as one:
        assert one.take(["a"])
        with store.engine.begin() as connection:
            silent = f"UPDATE claims SET host = 'far', heartbeat = heartbeat - {2 * STALE}"
            connection.execute(sa.text(silent))
        until = time.monotonic() + 30
        while not other.held() and time.monotonic() < until:
            time.sleep(0.05)
        assert other.held() == {"a"}
        assert not other.take(["a"])
    assert other.take(["a"])  # given up at the end


def test_who_is_silent_loses_its_claims_unless_it_is_seen_to_be_there(store_url: str) -> None:
    """One of this machine that is stopped (Ctrl-Z) is there; one of another cannot be seen."""
    store = Store(store_url)
    silent, other = Claims(store, "silent"), Claims(store, "other", stale=0.6)
    assert silent.take(["b"])
    time.sleep(0.8)
    assert not other.take(["b"])
    assert other.held() == {"b"}
    with store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE claims SET host = 'far'"))
    assert not other.held()
    assert other.take(["b"])


def test_a_sign_of_life_from_the_future_is_none(store_url: str) -> None:
    """Of a clock that was wrong: it would hold the claim until then."""
    store = Store(store_url)
    assert Claims(store, "ahead").take(["a", "b"])
    with store.engine.begin() as connection:
        ahead = f"UPDATE claims SET host = 'far', heartbeat = heartbeat + {2 * STALE}"
        connection.execute(sa.text(ahead))
    other = Claims(store, "other")
    assert not other.held()
    assert other.take(["a"])
    with store.engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE claims SET heartbeat = heartbeat - {1.5 * STALE}"))
    assert not Claims(store, "next").take(["b"])  # half a limit ahead: clocks differ a little


def test_claims_in_a_copied_folder_are_those_of_a_stranger(tmp_path: Path) -> None:
    """The run that holds them is there and works elsewhere: nobody will renew them here."""
    store = Store.in_folder(tmp_path / "first")
    assert Claims(store, "first").take(["a"])
    with store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE claims SET heartbeat = heartbeat - 2"))
    store.engine.dispose()
    shutil.copytree(tmp_path / "first", tmp_path / "copy")
    assert not Claims(Store.in_folder(tmp_path / "first"), "second", stale=1).take(["a"])
    copy = Claims(Store.in_folder(tmp_path / "copy"), "second", stale=1)
    assert not copy.held()
    assert copy.take(["a"])


def test_a_claim_that_an_earlier_version_wrote_is_of_this_machine(store_url: str) -> None:
    """It names no database."""
    store = Store(store_url)
    assert Claims(store, "earlier").take(["a"])
    with store.engine.begin() as connection:
        (host,) = connection.execute(sa.text("SELECT host FROM claims")).scalars()
        earlier = "/".join(host.split("/")[:3])
        silent = f"UPDATE claims SET host = '{earlier}', heartbeat = heartbeat - 2"
        connection.execute(sa.text(silent))
    other = Claims(store, "other", stale=1)
    assert other.held() == {"a"}
    assert not other.take(["a"])


def test_claims_of_a_killed_run_are_free_at_once(store_url: str) -> None:
    code = (
        "import os, sys; from fairbench.store.database import Store;"
        "from fairbench.store.claims import FORGOTTEN, Claims;"
        "assert Claims(Store(sys.argv[1]), 'dead').take(['a']); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, store_url], check=False)
    assert done.returncode == -9
    following = Claims(Store(store_url), "next")
    assert not following.held()
    assert following.take(["a"])
    assert following.held() == {"a"}


def test_a_killed_run_that_nobody_has_waited_for_holds_nothing(store_url: str) -> None:
    """Its number is still there (a zombie), as where what started it goes on."""
    code = (
        "import os, sys; from fairbench.store.database import Store;"
        "from fairbench.store.claims import Claims;"
        "assert Claims(Store(sys.argv[1]), 'dead').take(['a']); print(flush=True); input()"
    )
    words = [sys.executable, "-c", code, store_url]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.readline()
        following = Claims(Store(store_url), "next")
        assert following.held() == {"a"}
        run.kill()
        os.waitid(os.P_PID, run.pid, os.WEXITED | os.WNOWAIT)
        assert not following.held()
        assert following.take(["a"])


def test_claims_of_a_run_long_dead_are_deleted_though_nobody_wants_them(store_url: str) -> None:
    store = Store(store_url)
    for key, silent in (("a", 2 * FORGOTTEN), ("b", 0.5 * FORGOTTEN), ("c", 0.0)):
        assert Claims(store, f"run {key}").take([key])
        with store.engine.begin() as connection:
            text = f"UPDATE claims SET heartbeat = heartbeat - {silent} WHERE key = '{key}'"
            connection.execute(sa.text(text))
    assert Claims(store, "next").take(["d"])
    with store.engine.connect() as connection:
        left = connection.execute(sa.text("SELECT key FROM claims ORDER BY key")).scalars()
        assert list(left) == ["b", "c", "d"]


def test_a_run_that_was_stopped_for_days_keeps_its_claims_whatever_others_want(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = psutil.Process.create_time
    earlier = 3 * FORGOTTEN
    monkeypatch.setattr(psutil.Process, "create_time", lambda process: began(process) - earlier)
    store = Store(store_url)
    stopped = Claims(store, "stopped")
    assert stopped.take(["a"])
    with store.engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE claims SET heartbeat = heartbeat - {2 * FORGOTTEN}"))
    other = Claims(store, "other")
    assert other.take(["b"])
    assert not other.take(["a"])
    assert stopped.take(["c"])  # it goes on
    assert other.held_by_others() == {"a", "c"}


def test_another_machines_process_number_says_nothing(store_url: str) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    store = Store(store_url)
    assert Claims(store, "far").take(["a"])
    with store.engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE claims SET host = 'far', pid = {dead.pid}"))
    assert not Claims(store, "near").take(["a"])


def test_an_older_store_gets_the_table(store_url: str) -> None:
    store = Store(store_url)
    assert not sa.inspect(store.engine).has_table("claims")
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda i: Claims(Store(store_url), str(i)), range(4)))
    assert made[0].take(["a"])


def test_a_store_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/s.sqlite")
    claims = Claims(store, "one")
    with store.engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE claims"))
    with pytest.raises(StoreError, match="Claims on jobs cannot be written"):
        claims.take(["a"])


def test_a_process_that_got_the_number_of_a_dead_one_holds_nothing(store_url: str) -> None:
    """As in a container that was started again: it is younger than the last sign of the run."""
    store = Store(store_url)
    assert Claims(store, "dead").take(["a"])
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as young:
        with store.engine.begin() as connection:
            there = sa.text(f"UPDATE claims SET pid = {young.pid}")
            connection.execute(there)
        following = Claims(store, "next")
        assert following.held() == {"a"}
        with store.engine.begin() as connection:
            connection.execute(sa.text("UPDATE claims SET heartbeat = heartbeat - 60"))
        assert not following.held()
        assert following.take(["a"])
        young.kill()
