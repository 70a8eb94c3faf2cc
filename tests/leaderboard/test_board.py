"""Published boards: a small file that gives the same table, and own rows ranked in it."""

import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fairbench
from fairbench.api import BoardFile, DataFile
from fairbench.errors import ConfigError, FairbenchError, StoreError, UnknownNameError
from fairbench.leaderboard import board as board_module
from fairbench.leaderboard.against import compare_with
from fairbench.leaderboard.board import Board, make_board
from fairbench.leaderboard.board_changes import compare_boards
from fairbench.leaderboard.board_file import from_bytes, read_board, to_bytes
from fairbench.leaderboard.boards import find_board
from fairbench.leaderboard.build import build_tables
from fairbench.leaderboard.select import SelectedRecords, read
from fairbench.registry import Registry, load_registry
from fairbench.store.database import Store
from fairbench.store.keys import point_key
from fairbench.store.records import AuditorReading, PointRecord, Record, UnitRecord
from fairbench.store.status import Status
from tests.support.installed_boards import installed
from tests.support.runs import Change, change_units, five_folds, stored

REGISTRY = load_registry()
AXES = ("distortion", "mutual_information")


def on_real_data(records: list[Record]) -> list[Record]:
    return change_units(records, lambda unit: unit.replace(data_source="real"))


def folded(records: list[Record]) -> list[Record]:
    return on_real_data(five_folds(records))


def selected(folder: Path, change: Change = on_real_data) -> SelectedRecords:
    return read(stored(folder, change))


def board_of(folder: Path, change: Change = on_real_data) -> Board:
    """The board of the run, as it is read from its file."""
    records = selected(folder, change)
    board = make_board(records, "adults-gender", REGISTRY, version=5, budget="quick")
    return from_bytes(to_bytes(board))


def mine(change: Callable[[UnitRecord], UnitRecord] = lambda unit: unit) -> Change:
    """The run with sofair as a method of one's own, and the baselines."""

    def of(records: list[Record]) -> list[Record]:
        def rename(unit: UnitRecord) -> UnitRecord:
            return change(unit.replace(method="mine") if unit.method == "sofair" else unit)

        kept = {u.key for u in records if isinstance(u, UnitRecord) and u.method != "latfr"}
        chosen = [one for one in records if not isinstance(one, UnitRecord) or one.key in kept]
        points = [one for one in chosen if not isinstance(one, PointRecord) or one.unit in kept]
        return change_units(points, rename)

    return of


def cells(records: SelectedRecords) -> pd.DataFrame:
    (table,) = build_tables(records, REGISTRY)
    return pd.DataFrame([row.cells() for row in table.leaderboard])


@pytest.mark.parametrize("change", [on_real_data, folded], ids=["one split", "five folds"])
def test_a_board_gives_the_table_that_it_was_made_of(tmp_path: Path, change: Change) -> None:
    content = to_bytes(board_of(tmp_path / "a", change))
    again = from_bytes(content)
    assert to_bytes(again) == content
    before, after = cells(selected(tmp_path / "b", change)), cells(again.records())
    assert set(after.pop("origin")) == {"adults-gender-5"}
    pd.testing.assert_frame_equal(after, before.drop(columns="origin"), rtol=1e-5, atol=1e-6)


def test_a_row_without_an_interval_is_on_the_board_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a small table x may tell nothing of s on some resamples: they have no area."""
    whole = board_module.resample

    def with_gaps(*given: Any) -> dict[str, Any]:
        columns = whole(*given)
        for name in columns.keys() & {"aufdc"}:
            columns[name] = np.where(np.arange(len(columns[name])) < 2, np.nan, columns[name])
        return columns

    monkeypatch.setattr(board_module, "resample", with_gaps)
    board = board_of(tmp_path)
    columns = {name for of_curve in board.curve_replicates.values() for name in of_curve}
    assert columns
    assert "aufdc" not in columns
    assert cells(board.records())["aufdc_low"].isna().all()


def test_a_board_rounds_what_tables_show_and_nothing_that_areas_or_ranks_are_made_of(
    tmp_path: Path,
) -> None:
    board = board_of(tmp_path, lambda records: with_figures(on_real_data(records), 1 / 3))
    (shown,) = {point.values["auc_s"] for point in board.points if point.values}
    assert shown == pytest.approx(1 / 3, rel=2e-5)
    assert shown != np.float32(1 / 3)
    for whole in WHOLE:
        assert {p.values[whole] for p in board.points if p.values} == {float(np.float32(1 / 3))}


def test_a_board_rounds_readings_of_single_auditors_less_than_their_noise(tmp_path: Path) -> None:
    board = board_of(tmp_path, lambda records: on_real_data(list(map(with_reading, records))))
    (reading,) = {reading for point in board.points for reading in point.auditors or ()}
    assert reading.mutual_information == pytest.approx(1 / 3, rel=2.5e-4)
    assert reading.mutual_information != pytest.approx(1 / 3, rel=2e-5)


def with_reading(record: Record) -> Record:
    if not isinstance(record, PointRecord):
        return record
    return record.replace(auditors=(AuditorReading("trees", "z", 1 / 3, 1 / 3, chosen=True),))


WHOLE = (
    *(*AXES, "certified_parity_gap", "distortion_own_decoder"),
    *("accuracy_y", "mutual_information_y_validation"),
)


def with_figures(records: list[Record], value: float) -> list[Record]:
    """The run, some figures of whose points have one value."""
    return [
        one.replace(values=dict(one.values) | dict.fromkeys((*WHOLE, "auc_s"), value))
        if isinstance(one, PointRecord) and one.values
        else one
        for one in records
    ]


def test_a_curve_that_is_not_finished_is_not_on_a_board(tmp_path: Path) -> None:
    def killed(records: list[Record]) -> list[Record]:
        """As a run leaves it that is killed while it reads the last point of one method."""
        records = on_real_data(records)
        unit = next(r.key for r in records if isinstance(r, UnitRecord) and r.method == "latfr")
        last = next(r for r in reversed(records) if isinstance(r, PointRecord) and r.unit == unit)
        waiting = last.replace(status=Status.PENDING, values=None)
        return [waiting if record is last else record for record in records]

    board = board_of(tmp_path, killed)
    assert "latfr" not in {unit.method for unit in board.units}
    assert "sofair" in {unit.method for unit in board.units}


def test_a_board_over_folds_is_smaller_than_a_fifth_of_its_export(tmp_path: Path) -> None:
    import gzip

    store = stored(tmp_path, folded)
    board = make_board(read(store), "adults-gender", REGISTRY, version=5, budget="quick")
    export = gzip.compress("\n".join(store.export()).encode())
    assert len(to_bytes(board)) < len(export) / 5


def test_own_rows_are_ranked_over_the_folds_of_the_board(tmp_path: Path) -> None:
    board = board_of(tmp_path / "board", folded)

    def change(records: list[Record]) -> list[Record]:
        return on_real_data(mine()(five_folds(records)))

    compared = compare_with(selected(tmp_path / "own", change), board, REGISTRY)
    assert [variant.method for variant in compared.own] == ["mine"]
    rows = {row.method: row for row in compared.table.leaderboard}
    assert board.info.folds == 5
    assert rows["mine"].replicated
    assert rows["mine"].rank == rows["sofair"].rank
    assert rows["mine"].figures["aufdc"] == pytest.approx(rows["sofair"].figures["aufdc"], rel=1e-5)
    assert rows["mine"].origin is None
    assert rows["sofair"].origin == "adults-gender-5"
    alone = {row.method: row for row in build_tables(board.records(), REGISTRY)[0].leaderboard}
    assert rows["latfr"].figures == alone["latfr"].figures


def test_own_rows_on_one_split_have_intervals_as_the_boards_have(tmp_path: Path) -> None:
    board = board_of(tmp_path / "board")
    own = selected(tmp_path / "own", lambda records: on_real_data(mine()(records)))
    rows = {row.method: row for row in compare_with(own, board, REGISTRY).table.leaderboard}
    assert rows["mine"].interval("aufdc") == pytest.approx(rows["sofair"].interval("aufdc"))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"budget": "full"}, "its budget is full; the board's is quick"),
        ({"data_source": "simulated"}, "its data is simulated; the board's is real"),
        ({"protocol": 99}, "its version of the protocol is 99"),
        ({"fingerprint": "e" * 64}, r"its rows of data \(official\) are not those of the board"),
    ],
)
def test_a_row_of_another_protocol_is_refused_with_the_reason(
    tmp_path: Path, changes: dict[str, object], why: str
) -> None:
    board = board_of(tmp_path / "board")

    def change(records: list[Record]) -> list[Record]:
        return mine(lambda unit: unit.replace(**changes))(on_real_data(records))

    with pytest.raises(ConfigError, match=why):
        compare_with(selected(tmp_path / "own", change), board, REGISTRY)


def test_points_of_another_audit_are_refused(tmp_path: Path) -> None:
    board = board_of(tmp_path / "board")

    def change(records: list[Record]) -> list[Record]:
        return [
            one.replace(audit_version=99) if isinstance(one, PointRecord) else one
            for one in on_real_data(mine()(records))
        ]

    with pytest.raises(ConfigError, match="its version of the audit is 99"):
        compare_with(selected(tmp_path / "own", change), board, REGISTRY)


def test_a_board_is_found_by_dataset_name_or_file(tmp_path: Path) -> None:
    board = board_of(tmp_path / "store")
    path = tmp_path / "adults-gender-5.board"
    path.write_bytes(to_bytes(board))
    older = BoardFile("adults-gender", 4, tmp_path / "none.board")
    registry = load_registry()
    registry.boards = installed(older, BoardFile("adults-gender", 5, path))
    for text, dataset in (
        (str(path), None),
        ("adults-gender-5", None),
        ("published", "adults"),
        ("published", "adults-gender"),
    ):
        assert find_board(text, registry, dataset).info == board.info
    with pytest.raises(ConfigError, match="There is no published board of compas-race"):
        find_board("published", registry, "compas")
    with pytest.raises(UnknownNameError, match="Unknown board"):
        find_board("adults-gender-6", registry)
    with pytest.raises(StoreError, match="cannot be read"):
        find_board("adults-gender-4", registry)


def test_a_board_to_download_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hashlib

    content = to_bytes(board_of(tmp_path / "store"))
    source = tmp_path / "served.board"
    source.write_bytes(content)
    monkeypatch.setenv("FAIRBENCH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "cache" / "boards"
    registry = Registry()
    file = DataFile("b.board", ("http://127.0.0.1:9/b.board",), hashlib.sha256(content).hexdigest())
    info = board_of(tmp_path / "store").info
    source_of_it = BoardFile(info.dataset, info.version, download=file)
    registry.boards = installed(source_of_it, BoardFile("b", 2, download=file))
    with pytest.raises(StoreError, match="cannot be downloaded"):
        find_board(source_of_it.name, registry)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "b.board").write_bytes(content)
    assert find_board(source_of_it.name, registry).info.dataset == "adults-gender"
    with pytest.raises(StoreError, match="b-2 is in truth the board adults-gender"):
        find_board("b-2", registry)
    (folder / "b.board").write_bytes(content[:-1])
    with pytest.raises(FairbenchError, match="altered"):
        find_board(source_of_it.name, registry)


def with_member(content: bytes, name: str, new: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as archive:
        for member in old.namelist():
            archive.writestr(member, new if member == name else old.read(member))
    return buffer.getvalue()


def table_with(content: bytes, name: str, changes: Mapping[str, object]) -> bytes:
    """The file with some cells of the first row of a table changed; the table is written anew."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        rows = pq.read_table(io.BytesIO(archive.read(f"{name}.parquet"))).to_pylist()
    rows[0] |= changes
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer)
    return with_member(content, f"{name}.parquet", buffer.getvalue())


@pytest.mark.parametrize("name", ["units", "points"])
def test_a_board_is_read_whoever_wrote_its_tables(tmp_path: Path, name: str) -> None:
    """So what is refused below is refused for the cell that is changed."""
    board = board_of(tmp_path / "store")
    again = from_bytes(table_with(to_bytes(board), name, {}))
    assert (again.units, again.points) == (board.units, board.points)


def test_damaged_and_hostile_files_are_no_boards(tmp_path: Path) -> None:
    good = to_bytes(board_of(tmp_path / "store"))
    bomb = io.BytesIO()
    pq.write_table(pa.table({"unit": np.zeros(10_000_000, np.int64)}), bomb, compression="zstd")

    alike, wide = io.BytesIO(), io.BytesIO()
    pq.write_table(pa.table({"key": ["x" * 20_000] * 4_000}), alike, compression="zstd")
    columns = {f"figure {k}": np.zeros(100_000, np.float32) for k in range(50)}
    pq.write_table(pa.table(columns), wide, compression="zstd")

    def units(**changes: object) -> bytes:
        return table_with(good, "units", changes)

    def points(**changes: object) -> bytes:
        return table_with(good, "points", changes)

    def repeated(name: str) -> bytes:
        with zipfile.ZipFile(io.BytesIO(good)) as archive:
            table = pq.read_table(io.BytesIO(archive.read(f"{name}.parquet")))
        buffer = io.BytesIO()
        pq.write_table(pa.concat_tables([table, table.slice(0, 1)]), buffer)
        return with_member(good, f"{name}.parquet", buffer.getvalue())

    nothing = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(nothing, "w") as archive:
        archive.writestr("board.json", old.read("board.json"))

    bad = {
        "no tables": (nothing.getvalue(), "no models"),
        "a model twice": (repeated("units"), "stands twice"),
        "a point twice": (repeated("points"), "stands twice"),
        "a point of no model": (points(label="beta=99"), "not one of its model: beta=99"),
        "a simulated row": (units(data_source="simulated"), "simulated data"),
        "empty": (b"", "not a zip file"),
        "no archive": (b"PK\x03\x04 and no more", "not a zip file"),
        "half": (good[: len(good) // 2], "not a zip file"),
        "no info": (with_member(good, "board.json", b"{}"), "dataset"),
        "no parquet": (with_member(good, "points.parquet", b"PAR1PAR1"), "[Pp]arquet"),
        "a bomb": (with_member(good, "points.parquet", bomb.getvalue()), "more than 200,000 rows"),
        "rows alike": (with_member(good, "units.parquet", alike.getvalue()), "unpacks to more"),
        "a wide bomb": (with_member(good, "points.parquet", wide.getvalue()), "4,000,000 cells"),
        "a unit that is not there": (points(unit=10**6), "there is no model of number"),
        "a unit of nothing": (points(unit=None), "there is no model of number None"),
        "a unit before the first": (points(unit=-1), "there is no model of number -1"),
        "a figure of words": (units(params="{"), "Expecting property name"),
        "another dataset": (units(dataset="compas-race"), "a row is not of the board"),
        "a path for a name": (units(method="../../evil"), "method: a name has letters"),
        "control characters": (units(plugin="\x1b[2J"), "plugin: the text has control"),
        "a status that is none": (units(status="FINE"), "status: "),
        "no figures": (points(**{"figure mutual_information": None}), "has no mutual_information"),
        "a column that is none": (units(more="x"), "more: "),
    }
    for name, (content, why) in bad.items():
        path = tmp_path / "bad.board"
        path.write_bytes(content)
        with pytest.raises(StoreError, match=f"it is no board: .*{why}"):
            pytest.fail(f"read {name}: {read_board(path).info}")


def packed_again(content: bytes, compression: int) -> bytes:
    """The file with all members compressed in another way."""
    buffer = io.BytesIO()
    old = zipfile.ZipFile(io.BytesIO(content))
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for member in old.namelist():
            archive.writestr(member, old.read(member))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=str
)
def test_a_board_packed_in_another_way_is_read_or_refused_where_it_is_damaged(
    tmp_path: Path, compression: int
) -> None:
    board = board_of(tmp_path)
    content = packed_again(to_bytes(board), compression)
    assert to_bytes(from_bytes(content)) == to_bytes(board)
    start = content.index(b"board.json") + len("board.json")
    # Not all of the first bytes of a packed member are read.
    for place in range(start + 20, start + 36):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        with pytest.raises(StoreError, match="it is no board"):
            pytest.fail(f"read {place}: {from_bytes(bytes(damaged)).info}")


def test_a_board_with_a_password_is_refused(tmp_path: Path) -> None:
    content = bytearray(to_bytes(board_of(tmp_path)))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + place] |= 1
    with pytest.raises(StoreError, match=r"it is no board: .*encrypted"):
        from_bytes(bytes(content))


@pytest.mark.parametrize(
    ("table", "field"), [("units", "params"), ("units", "read_points"), ("points", "audit_config")]
)
def test_a_field_nested_without_end_is_refused(tmp_path: Path, table: str, field: str) -> None:
    content = table_with(to_bytes(board_of(tmp_path)), table, {field: "[" * 200_000})
    with pytest.raises(StoreError, match="it is no board"):
        from_bytes(content)


def test_a_board_can_be_continued_where_it_is_imported(tmp_path: Path) -> None:
    store = stored(tmp_path / "here", on_real_data)
    before = board_of(tmp_path / "board")
    there = Store.in_folder(tmp_path / "there")
    taken = there.merge(before.all_records())
    assert taken["points"] == len(before.points)
    assert there.origins() == {}
    by_place = {(p.unit, p.label): p for p in store.records(PointRecord)}
    for point in there.records(PointRecord):
        own = by_place[point.unit, point.label]
        config = point.audit_config
        assert dict(config) == dict(own.audit_config)
        assert point.key == point_key(own.unit, own.label, own.audit_config, own.version)
    again = make_board(
        read(there), "adults-gender", REGISTRY, version=5, budget="quick", earlier=before
    )
    assert to_bytes(again) == to_bytes(before)


def test_two_editions_say_how_rows_moved(tmp_path: Path) -> None:
    before = board_of(tmp_path / "before")

    def change(records: list[Record]) -> list[Record]:
        """Without latfr; sofair has another name; constant loses nothing and tells nothing."""
        best = {f"{name}{of}": 0.0 for name in AXES for of in ("", "_validation")}
        constant = {u.key for u in records if isinstance(u, UnitRecord) and u.method == "constant"}
        return on_real_data(
            [
                one.replace(values={**one.figures, **best})
                if isinstance(one, PointRecord) and one.unit in constant
                else one
                for one in mine()(records)
            ]
        )

    now = board_of(tmp_path / "now", change)
    changes = {one.variant.method: one for one in compare_boards(before, now, REGISTRY)}
    places = {name: one.place_before for name, one in changes.items() if one.before}
    assert sorted(places.values()) == [1, 2, 3, 4, 5, 6, 7]
    assert places["constant"] > 1
    assert changes["mine"].before is None
    assert changes["latfr"].now is None
    kept = changes["drop-features"]
    assert kept.now.figures["aufdc"] == kept.before.figures["aufdc"]
    assert kept.name == "drop-features"
    assert replace(kept, now=replace(kept.now, label="tuned")).name == "drop-features (tuned)"
    order = [name.replace("sofair", "mine") for name in sorted(places, key=places.__getitem__)]
    order = ["constant", *(name for name in order if name not in ("constant", "latfr"))]
    assert {name: one.place_now for name, one in changes.items() if one.now} == {
        name: place for place, name in enumerate(order, start=1)
    }
    full = replace(now, info=now.info.model_copy(update={"budget": "full"}))
    with pytest.raises(ConfigError, match="of different things"):
        list(compare_boards(before, full, REGISTRY))


def test_python_gives_the_same_table(tmp_path: Path) -> None:
    path = tmp_path / "adults-gender-5.board"
    path.write_bytes(to_bytes(board_of(tmp_path / "board", folded)))
    stored(tmp_path / "own", lambda records: on_real_data(mine()(five_folds(records))))
    table = fairbench.compare(tmp_path / "own", against=str(path))
    assert table.loc[table["own"], "method"].to_list() == ["mine"]
    assert table["rank_low"].dtype == "Int64"
    with pytest.raises(StoreError, match="There are no results"):
        fairbench.compare(tmp_path / "nothing", against=str(path))


def test_where_there_are_rows_of_another_budget_the_error_names_it(tmp_path: Path) -> None:
    records = selected(tmp_path)
    with pytest.raises(ConfigError, match="There are rows for --budget quick"):
        make_board(records, "adults-gender", REGISTRY, version=1)
    with pytest.raises(ConfigError, match="See them: fairbench leaderboard"):
        make_board(records, "heritage", REGISTRY, version=1)


def test_a_curve_of_more_points_than_any_of_the_board_is_refused(tmp_path: Path) -> None:
    def with_one_point(records: list[Record]) -> list[Record]:
        records = on_real_data(records)
        kept = {u.key for u in records if isinstance(u, UnitRecord) and u.method == "identity"}
        return [
            one
            for one in records
            if (one.unit if isinstance(one, PointRecord) else one.key) in kept
            or not isinstance(one, PointRecord | UnitRecord)
        ]

    board = board_of(tmp_path / "board", with_one_point)
    assert board.most_points == 1
    own = selected(tmp_path / "own", lambda records: on_real_data(mine()(records)))
    compared = compare_with(own, board, REGISTRY)
    assert "mine" not in {variant.method for variant in compared.own}
    assert any("mine: its curve has" in line and "at most 1" in line for line in compared.refused)
