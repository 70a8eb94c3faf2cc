"""Passwords in URLs: hidden in whatever is stored, shown or logged."""

import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from fairbench.errors import StoreError, UnstorableError
from fairbench.models.query import ResultsLocation
from fairbench.store.database import Store
from fairbench.store.records import ReferenceRecord, RunRecord, to_row
from fairbench.store.redaction import redact_store
from fairbench.store.schema import RUNS
from fairbench.store.secrets import HIDDEN as HIDDEN_VALUE
from fairbench.store.secrets import redact_command, redact_text, redact_url, redact_words
from fairbench.store.status import Status
from fairbench.store.text import clean, clean_line
from tests.store.test_database import reference

SENTINEL = "S3NTINEL"
URL = f"postgresql+psycopg://ann:{SENTINEL}@localhost:1/x?password={SENTINEL}&sslmode=require"
HIDDEN = "postgresql+psycopg://ann:***@localhost:1/x?password=***&sslmode=require"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (URL, HIDDEN),
        (f"postgresql://ann:a@b/c d?{SENTINEL}@host/x", "postgresql://ann:***@host/x"),
        (f"postgresql://ann:{SENTINEL}:5432/x", "postgresql://ann:***/x"),
        (
            f"postgresql:///x?host=/run/pg&sslpassword={SENTINEL}",
            "postgresql:///x?host=/run/pg&sslpassword=***",
        ),
        (f"https://x.org/a?id=3&api_key={SENTINEL}", "https://x.org/a?id=3&api_key=***"),
        ("postgresql://ann@[::1]:5432/x", "postgresql://ann@[::1]:5432/x"),
        ("postgresql://host:5432/x", "postgresql://host:5432/x"),
        ("sqlite:////tmp/results.sqlite", "sqlite:////tmp/results.sqlite"),
        ("no url: at all@", "no url: at all@"),
    ],
)
def test_only_what_is_secret_is_hidden(url: str, shown: str) -> None:
    assert redact_url(url) == shown
    assert redact_words(["--store", url, f"--store={url}"]) == [
        "--store",
        shown,
        f"--store={shown}",
    ]


@given(st.text(alphabet="=&a_?/: \n", max_size=12))
def test_options_are_told_apart_at_ampersands_and_the_first_equals_sign(options: str) -> None:
    hidden = []
    for option in options.split("&"):
        name, equals, _ = option.partition("=")
        hidden.append(f"{name}={HIDDEN_VALUE}" if equals else option)
    assert redact_url(f"sqlite:///x?{options}") == "sqlite:///x?" + "&".join(hidden)


def test_an_url_of_any_length_is_redacted_at_once() -> None:
    """Of plugins' texts too: one of 40,000 characters took 13 s of the driver's time."""
    rest = "x" * 250_000
    assert redact_text(f"see https://x.org/?{rest} now") == f"see https://x.org/?{rest} now"
    assert redact_url(f"https://x.org/?{rest}&key=1") == f"https://x.org/?{rest}&key=***"


@pytest.mark.parametrize("password", ["pa'ss", 'a"b', "a>b", "a:b@c'd"])
def test_a_password_with_quotes_in_a_text_is_hidden_whole(password: str) -> None:
    text = f"cannot open 'postgresql://me:{password}@db/x', nor 'postgresql://me:{password}@db/y'"
    assert (
        redact_text(text)
        == "cannot open 'postgresql://me:***@db/x', nor 'postgresql://me:***@db/y'"
    )
    several = f"['https://x.org/a','postgresql://me:{password}@db/x']"
    assert redact_text(several) == "['https://x.org/a','postgresql://me:***@db/x']"


def test_texts_and_commands_are_redacted_too() -> None:
    assert redact_text(f"cannot open '{URL}' now") == f"cannot open '{HIDDEN}' now"
    command = f"fairbench run --store 'postgresql://ann:{SENTINEL} 2@h/x' --points 3"
    assert redact_command(command) == "fairbench run --store 'postgresql://ann:***@h/x' --points 3"
    assert SENTINEL not in redact_command(f"fairbench 'run --store {URL}")  # a quote without end


def test_a_store_neither_keeps_nor_shows_a_password(tmp_path: Path) -> None:
    store = Store.in_folder(tmp_path)
    command = f"fairbench run --store {URL}"
    store.add_run(RunRecord("a", "2026", command, {"store": URL, "deep": [{"x": URL}]}, {}))
    assert SENTINEL.encode() not in content_of(tmp_path)
    (run,) = store.runs()
    assert run.config == {"store": HIDDEN, "deep": [{"x": HIDDEN}]}


def test_passwords_of_older_stores_are_hidden_and_can_be_taken_out(tmp_path: Path) -> None:
    store = Store.in_folder(tmp_path)
    command = f"fairbench run --store {URL}"
    old = RunRecord("a", "2026", command, {"store": URL}, {})
    with store.engine.begin() as connection:
        connection.execute(RUNS.insert().values(**to_row(old)))
    broken = reference("a", Status.FAILED).replace(error=f"no {URL}", traceback=f"no\n{URL}")
    store.put([broken, reference("b")])
    assert SENTINEL.encode() in content_of(tmp_path)
    assert SENTINEL not in str(store.runs())
    assert redact_store(store) == 2
    assert SENTINEL.encode() not in content_of(tmp_path)
    assert redact_store(store) == 0
    assert store.find(ReferenceRecord, ["a"])["a"].error == f"no {HIDDEN}"


def content_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ann:{SENTINEL}:5432/x",
        f"mysql://ann:{SENTINEL}@h/x",
        f"nonsense://ann:{SENTINEL}@h/x?y={SENTINEL}",
        URL,
    ],
)
def test_errors_of_opening_have_no_password(url: str) -> None:
    with pytest.raises(StoreError, match="cannot be opened") as raised:
        Store.open_or_create(url)
    assert SENTINEL not in str(raised.value)


def test_commands_to_type_again_have_no_password() -> None:
    assert SENTINEL not in str(ResultsLocation(store=URL).options)


def test_a_row_that_a_database_does_not_take_is_told_from_a_bad_store(store_url: str) -> None:
    store = Store(store_url)
    for bad in (
        reference("bad").replace(values={"x": float("nan")}),
        reference("bad").replace(error="\udcff"),
        reference("bad").replace(dataset=None),
    ):
        with pytest.raises(UnstorableError, match="does not take a row"):
            store.put([reference("good"), bad])
        assert not store.records(ReferenceRecord)
    store.put([reference("good")])
    assert len(store.records(ReferenceRecord)) == 1


def test_a_damaged_store_is_not_told_as_a_bad_row(tmp_path: Path) -> None:
    store = Store.in_folder(tmp_path)
    with sqlite3.connect(tmp_path / "fairbench.sqlite") as connection:
        connection.execute('DROP TABLE "references"')
    with pytest.raises(StoreError) as raised:
        store.put([reference("a")])
    assert not isinstance(raised.value, UnstorableError)
    assert isinstance(raised.value.__cause__, sa.exc.OperationalError)


def test_texts_are_short_printable_and_without_passwords() -> None:
    assert clean_line("red \x1b[31m\udcff\x00\rline\nmore") == "red \\x1b[31m\\udcff\\x00\\x0dline"
    assert clean("two\r\nlines\tof \u202etext") == "two\nlines\tof \\u202etext"
    assert clean(f"see {URL}") == f"see {HIDDEN}"
    for text in ("x" * 50_000_000, "\x00" * 20_000, "é" * 9_000):
        short = clean(text)
        assert len(short.encode()) <= 10_000
        assert "left out" in short
        assert len(clean_line(text).encode()) <= 1_000
