"""Files are written whole, and others may read them as far as the user lets them."""

import os
import stat
from pathlib import Path

import pyarrow as pa
import pytest

from fairbench.data.writing import TableWriter
from fairbench.errors import StoreError
from fairbench.files import write_file


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_files_have_the_permissions_that_the_umask_leaves(
    tmp_path: Path, umask: int, mode: int
) -> None:
    before = os.umask(umask)
    try:
        write_file(tmp_path / "new.csv", b"x")
        write_file(tmp_path / "new.csv", b"y")
        with TableWriter(tmp_path / "z.csv") as writer:
            writer.write(pa.table({"z0": [0.5]}))
    finally:
        os.umask(before)
    for name in ("new.csv", "z.csv"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode
    assert (tmp_path / "new.csv").read_bytes() == b"y"
    assert sorted(os.listdir(tmp_path)) == ["new.csv", "z.csv"]


def test_nothing_is_left_behind_where_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        write_file(tmp_path / "taken", b"x")
    assert os.listdir(tmp_path) == ["taken"]


def test_a_pipe_or_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_file(pipe, b"page")
    assert os.read(reader, 10) == b"page"
    os.close(reader)
    assert pipe.is_fifo()
