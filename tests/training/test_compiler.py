"""What jobs on one machine share of the compiler's work."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from fairbench.training import compiler


@pytest.fixture(autouse=True)
def in_own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


class Slow:
    """Stands for PyTorch's compiler: notes how many compile at once, and what was compiled."""

    def __init__(self) -> None:
        self.now = self.most = self.calls = 0
        self.expected = 1  # at once: the first waits for as many, on a busy machine for long
        self.fails = False

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            self.now += 1
            self.calls += 1
            self.most = max(self.most, self.now)
            time.sleep(0.2)
            for _ in range(1000):
                if self.most < self.expected:
                    time.sleep(0.01)
            self.now -= 1
            if self.fails:
                raise RuntimeError("no luck")
            return function(*values)

        return call


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    made = Slow()
    monkeypatch.setattr(compiler, "_compile", made)
    return made


def traced(columns: int) -> Any:
    def double(x: Tensor) -> Tensor:
        return 2 * x

    return make_fx(double)(torch.ones(3, columns))


def call_at_once(*columns: int) -> None:
    calls = [compiler.compile_for_cpu(traced(count)) for count in columns]
    threads = [
        threading.Thread(target=call, args=(torch.ones(3, count),))
        for call, count in zip(calls, columns, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_what_is_the_same_is_compiled_by_one_job_after_the_other(slow: Slow) -> None:
    call_at_once(4, 4)
    assert (slow.calls, slow.most) == (2, 1)


def test_what_differs_is_compiled_at_once(slow: Slow) -> None:
    slow.expected = 2
    call_at_once(4, 5)
    assert (slow.calls, slow.most) == (2, 2)


def test_only_the_first_call_waits(slow: Slow) -> None:
    call = compiler.compile_for_cpu(traced(4))
    call(torch.ones(3, 4))
    with compiler._one_at_a_time(compiler._name(traced(4))):
        torch.testing.assert_close(call(torch.ones(3, 4)), torch.full((3, 4), 2.0))


def test_a_job_waits_for_another_only_so_long(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_LONGEST_WAIT", 0.01)
    slow.expected = 2
    call_at_once(4, 4)
    assert slow.most == 2


def test_where_nothing_can_be_written_all_compile(
    slow: Slow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    call_at_once(4, 4)
    assert slow.calls == 2


def test_it_is_known_whether_the_header_was_compiled(
    slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not compiler.header_is_compiled()
    slow.fails = True
    with pytest.raises(RuntimeError, match="no luck"):
        compiler.compile_header()
    assert not compiler.header_is_compiled()
    slow.fails = False
    compiler.compile_header()
    assert compiler.header_is_compiled()
    monkeypatch.setenv("CXX", "another")
    assert not compiler.header_is_compiled()


def test_where_nothing_can_be_written_no_header_is_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    assert compiler.header_is_compiled()


@pytest.mark.thorough
@pytest.mark.skipif(not compiler.compiler_is_there(), reason="there is no C++ compiler")
def test_a_process_of_its_own_compiles_the_header(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Whether or not this machine has the header already: what it makes here is small.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    process = compiler.start_compiling_header()
    assert process.wait() == 0
