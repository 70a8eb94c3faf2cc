"""The card: what it makes of one's own table, and what it says of a bad one."""

from __future__ import annotations

import pickle
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairbench.api import Role
from fairbench.cli import app as cli
from fairbench.data.card import Card, LabelColumn, SensitiveColumn, is_card, slug
from fairbench.data.card_dataset import dataset_from_card
from fairbench.data.checks import determines, information_share
from fairbench.data.loading import load_dataset
from fairbench.data.prepared import Prepared
from fairbench.errors import ConfigError, DataError, FairbenchError, UnknownNameError
from fairbench.registry import load_registry

CARD = """
file: people.csv
sensitive: sex
labels: {column: income, positive: high}
"""


def people(n: int = 600, seed: int = 0) -> pd.DataFrame:
    """Numbers, categories, two columns fit for S, a label; nothing wrong with it."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "score": (rng.normal(size=n) + (sex == "m")).round(3),
            "job": rng.choice(["cook", "clerk", "pilot"], n),
            "sex": sex,
            "town": rng.choice(["a", "b"], n),
            "income": rng.choice(["low", "middle", "high"], n),
        }
    )


@pytest.fixture
def card(tmp_path: Path) -> Callable[..., Path]:
    """Write a table and its card; returns the card's path."""

    def write(table: pd.DataFrame | str | bytes, text: str = CARD) -> Path:
        file = tmp_path / "people.csv"
        if isinstance(table, bytes):
            file.write_bytes(table)
        else:
            file.write_text(table if isinstance(table, str) else table.to_csv(index=False))
        (tmp_path / "people.yaml").write_text(text)
        return tmp_path / "people.yaml"

    return write


def load(path: Path) -> Prepared:
    return load_dataset(dataset_from_card(path))


def s_of(data: Prepared) -> np.ndarray:
    return np.concatenate([rows.s for rows in data.roles.values()])


Write = Callable[..., Path]


def test_a_card_makes_a_dataset_of_a_csv_file(card: Write) -> None:
    frame = people()
    data = load(card(frame))
    assert data.info.name == "people"
    assert (data.source, data.info.groups) == ("real", ("f", "m"))
    assert [f.name for f in data.info.features] == ["age", "score", "job", "town"]
    assert data.info.features[2].categories == ("clerk", "cook", "pilot")
    assert list(np.bincount(s_of(data))) == list(np.bincount(frame["sex"] == "m"))
    y = np.concatenate([rows.y["income"] for rows in data.roles.values()])
    assert y.sum() == (frame["income"] == "high").sum()
    assert sum(len(rows.s) for rows in data.roles.values()) == 600


def test_roles_are_disjoint_and_s_is_not_in_x(card: Write) -> None:
    frame = people().assign(number=np.random.default_rng(1).permutation(600) * 1.5)
    data = load(card(frame))
    numbers = [rows.x[:, -1] for rows in data.roles.values()]
    assert data.info.features[-1].name == "number"
    assert len(np.unique(np.concatenate(numbers))) == 600
    s = s_of(data)
    x = np.concatenate([rows.x for rows in data.roles.values()])
    assert max(abs(np.corrcoef(column, s)[0, 1]) for column in x.T) < 0.7


def test_parquet_gives_what_csv_gives(card: Write, tmp_path: Path) -> None:
    frame = people()
    from_csv = load(card(frame))
    frame["sex"] = frame["sex"].astype("category")
    frame.to_parquet(tmp_path / "people.parquet")
    data = load(card(frame, CARD.replace("people.csv", "people.parquet")))
    assert data.fingerprint == from_csv.fingerprint


def test_editing_the_table_or_the_card_changes_the_fingerprint(card: Write) -> None:
    frame = people()
    first = load(card(frame)).fingerprint
    assert load(card(frame)).fingerprint == first
    assert load(card(frame, CARD + "encoding: onehot\n")).fingerprint != first
    assert load(card(frame, CARD + "hidden: [16]\n")).fingerprint != first
    frame.loc[7, "age"] += 1
    assert load(card(frame)).fingerprint != first
    frame.loc[7, "age"] -= 1
    frame["age"] *= 4  # other units: x is the same
    other = load(card(frame))
    assert other.fingerprint != first
    np.testing.assert_array_equal(other.roles[Role.TEST].x, load(card(people())).roles[Role.TEST].x)


def test_several_sensitive_columns_make_intersections(card: Write) -> None:
    text = """
file: people.csv
sensitive:
  - column: sex
    groups: {f: women, m: men}
  - column: age
    bins: [40]
labels: [town, {column: score, above: 0.5}]
features: [score2, job]
"""
    frame = people().assign(score2=lambda table: -table["score"])
    data = load(card(frame, text))
    assert data.info.groups == ("men age<40", "men age>=40", "women age<40", "women age>=40")
    men_of_40 = (frame["sex"] == "m") & (frame["age"] >= 40)
    assert (s_of(data) == 1).sum() == men_of_40.sum()
    assert list(data.roles[Role.TEST].y) == ["town", "score"]


def test_every_other_key_has_its_effect(card: Write) -> None:
    text = """
name: my-people
file: people.csv
separator: ";"
header: false
columns: [age, score, job, sex, town, income]
features: {age: category, score: number}
sensitive: sex
labels: town
encoding: onehot
test: {column: income, value: low}
iterations: 123
hidden: [16, 8]
latent: 3
citation: A. Nobody
licence: CC0
"""
    frame = people()
    frame["age"] = frame["age"] // 20
    path = card(frame.to_csv(index=False, header=False, sep=";"), text)
    data = load(path)
    assert data.info.name == "my-people"
    assert {f.source for f in data.info.features} == {"age", "score"}
    assert len(data.info.features) == 1 + frame["age"].nunique()
    assert len(data.roles[Role.TEST].s) == (frame["income"] == "low").sum()
    assert data.iterations == 123
    assert (data.info.architecture.hidden, data.info.architecture.latent) == ((16, 8), 3)
    dataset = dataset_from_card(path)
    assert (dataset.citation, dataset.licence) == ("A. Nobody", "CC0")
    tabs = card(frame.to_csv(index=False, header=False, sep="\t"), text.replace('";"', r"'\t'"))
    assert load(tabs).fingerprint == data.fingerprint


def test_missing_values_are_dropped_or_a_category_where_the_card_says_so(card: Write) -> None:
    frame = people()
    frame.loc[[3, 5], "job"] = None
    assert sum(len(r.s) for r in load(card(frame, CARD + "missing: drop")).roles.values()) == 598
    data = load(card(frame, CARD + "missing: category"))
    assert data.info.features[2].categories == ("clerk", "cook", "missing", "pilot")


def test_marks_of_missing_values_are_those_of_the_card_too(card: Write) -> None:
    frame = people().astype({"age": object})
    frame.loc[[3, 5, 7], "age"] = ["?", "k.A.", "?"]
    told = r"holds '\?', which is not a finite number \(3 such rows; also 'k.A.'\)"
    with pytest.raises(DataError, match=told) as error:
        load(card(frame))
    assert 'missing_values: ["?"]' in error.value.hint
    both = CARD + 'missing: drop\nmissing_values: ["?", "k.A."]\n'
    data = load(card(frame, both))
    assert sum(len(rows.s) for rows in data.roles.values()) == 597
    with pytest.raises(DataError, match="missing"):
        load(card(frame, CARD + 'missing_values: ["?", "k.A."]\n'))


def test_values_are_taken_as_they_are_written(card: Write) -> None:
    """YAML would make booleans of ``no`` and ``on``."""
    frame = people()
    frame["income"] = frame["income"].replace({"low": "no", "high": "on"})
    data = load(card(frame, CARD.replace("high", "no")))
    y = np.concatenate([rows.y["income"] for rows in data.roles.values()])
    assert y.sum() == (frame["income"] == "no").sum()


def test_columns_are_found_in_another_unicode_form(card: Write) -> None:
    frame = people().rename(columns={"job": "m\u00e9tier", "sex": "s\u00e9xe"})
    text = CARD.replace("sex", "s\u00e9xe") + "features: [age, m\u00e9tier]\n"
    composed = load(card(frame, text))
    decomposed = frame.rename(columns=lambda name: unicodedata.normalize("NFD", name))
    assert not {"m\u00e9tier", "s\u00e9xe"} & set(decomposed.columns)
    data = load(card(decomposed, text))
    assert [feature.name for feature in data.info.features] == ["age", "m\u00e9tier"]
    assert data.fingerprint == composed.fingerprint


def test_columns_are_found_where_only_one_spelling_has_blanks_around_it(card: Write) -> None:
    """CSV has none; Parquet may."""
    frame = people()
    text = CARD + "features: [age, ' job']\n"
    assert load(card(frame, text)).info.features[1].name == " job"


def test_names_of_files_lose_their_accents() -> None:
    assert slug("cr\u00e9dits \u00dcber") == slug("cre\u0301dits U\u0308ber") == "credits-uber"


def test_what_a_job_gets_is_plain_data(card: Write) -> None:
    data = pickle.loads(pickle.dumps(load(card(people()))))
    assert data.info.name == "people"
    assert not data.roles[Role.TEST].x.flags.writeable


def code(values: pd.Series, names: dict[str, object]) -> pd.Series:
    return values.map(names)


BAD_TABLES: dict[str, tuple[pd.DataFrame | str | bytes, str, str]] = {
    "no file": (people(), CARD.replace("people.csv", "gone.csv"), "There is no file"),
    "empty file": ("", CARD, "is empty"),
    "no rows": ("age,job,sex,income\n", CARD, "no rows"),
    "binary": (bytes(range(256)) * 9, CARD, "neither a CSV nor a Parquet file"),
    "damaged parquet": (b"PAR1" + b"x" * 99, CARD, "damaged Parquet"),
    "latin-1": (
        "sex,income\nm,low\nf,caf\xe9\n".encode("latin-1"),
        CARD,
        "line 3: not text in UTF",
    ),
    "ragged": ("sex,income\nm,low\nf,low,9\n", CARD, "line 3: 3 fields instead of 2"),
    "several in quotes": ("sex,income\nm,low\nf,low,9\n", CARD, "must stand in quotes"),
    "one column": (people().to_csv(columns=["sex"], index=False), CARD, "only one column"),
    "separator": (
        people().to_csv(index=False, sep=";"),
        CARD,
        "separated by ';'. In a card, write: separator: \";\"",
    ),
    "separator and decimal comma": (
        people().to_csv(index=False, sep=";", decimal=","),
        CARD,
        "separated by ';'. In a card, write: separator: \";\"",
    ),
    "twice": (
        "age,sex,age,income\n" + "3,f,4,high\n" * 9,
        CARD,
        "2 columns called 'age': numbers 1, 3",
    ),
    "missing column": (
        people().rename(columns={"income": "incomes"}),
        CARD,
        "no column 'income', which the card names under `labels`.\nDid you mean 'incomes'",
    ),
    "missing value": (
        people().assign(job=lambda t: t["job"].where(np.arange(600) > 2)),
        CARD,
        "row 1: the column 'job' has no value (missing in 3 of 600 rows)",
    ),
    "mixed types": (
        people().assign(age=lambda t: t["age"].astype(str).where(t.index != 41, "forty")),
        CARD,
        "row 42: the column 'age' of numbers holds 'forty'",
    ),
    "infinite": (
        people().assign(score=lambda t: t["score"].where(t.index != 4, np.inf)),
        CARD,
        "row 5: the column 'score' of numbers holds 'inf'",
    ),
    "rare group": (
        people().assign(sex=lambda t: t["sex"].where(t.index > 3, "x")),
        CARD,
        "people: the group 'x' of the sensitive attribute has",
    ),
    "id as s": (
        people().assign(id=[f"p{i}" for i in range(600)]),
        CARD.replace("sex", "id"),
        "'id' has 600 values in 600 rows: it looks like a name or an id",
    ),
    "zip": (b"PK\x03\x04 and more", CARD, "it looks like a zip archive or an Excel workbook"),
    "utf-16": ("a,b\n1,2\n".encode("utf-16"), CARD, "iconv -f utf-16 -t utf-8 OLD.csv"),
    "one group": (people().assign(sex="f"), CARD, "only one group, 'f'"),
    "constant": (people().assign(town="a"), CARD, "'town' has the same value in every row, 'a'"),
    "one class": (people().assign(income="high"), CARD, "'income' has only one class"),
    "unknown positive": (
        people(),
        CARD.replace("high", "hihg"),
        "no row of the label 'income' is 'hihg'",
    ),
    "numbers in s": (people(), CARD.replace("sex", "age"), "bins: [25, 45]"),
    "marks in bins": (
        people().assign(age=lambda t: t["age"].astype(str).where(t.index > 3, "?")),
        CARD.replace("sensitive: sex", "sensitive: {column: age, bins: [40]}"),
        'missing_values: ["?"]',
    ),
    "numbers in domains": (
        people(),
        CARD + "domains: {column: age}",
        "in the card: domains: {column: age, bins: [25, 45]}",
    ),
    "numbers in y": (
        people(),
        "file: people.csv\nsensitive: sex\nlabels: score\n",
        "above: NUMBER",
    ),
    "copy of s": (
        people().assign(gender=lambda t: t["sex"]),
        CARD,
        "'gender' determines the sensitive attribute",
    ),
    "coded copy of s": (
        people().assign(code=lambda t: code(t["sex"], {"f": 7, "m": 2})),
        CARD,
        "allowed_copies: [code]",
    ),
    "s by two titles": (
        people().assign(
            title=lambda t: np.where(t["sex"] == "m", "Mr", np.where(t["age"] > 30, "Mrs", "Ms"))
        ),
        CARD,
        "'title' determines the sensitive attribute",
    ),
    "s by intervals": (
        people().assign(height=lambda t: t["age"] / 1000 + 1.0 * (t["sex"] == "m")),
        CARD,
        "'height' determines the sensitive attribute",
    ),
    "names": (
        people().assign(name=lambda t: [f"p{i}" for i in t.index]),
        CARD,
        "'name' has a different value in every row",
    ),
    "no such test rows": (
        people(),
        CARD + "test: {column: town, value: c}",
        "0 of 600 rows have 'c' in 'town'",
    ),
}


@pytest.mark.parametrize("kind", BAD_TABLES)
def test_a_bad_table_ends_in_one_message_and_exit_code_2(
    card: Write,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table, text, says = BAD_TABLES[kind]
    path = card(table, text)
    with pytest.raises(DataError) as caught:
        load(path)
    assert says in str(caught.value)
    assert caught.value.hint
    monkeypatch.setattr(sys, "argv", ["fairbench", "data", "check", str(path)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        (CARD.replace("sensitive", "sensitve"), UnknownNameError, "'sensitive'"),
        (CARD.replace("positive", "postive"), UnknownNameError, "'positive'"),
        (
            "file: people.csv\nsensitive: sex\nlabels: []\n",
            DataError,
            "labels: at least 1 is needed",
        ),
        (
            CARD.replace("sensitive", "sensitve").replace("positive", "postive"),
            DataError,
            "'postive': Did you mean 'positive'",
        ),
        (CARD.replace("sensitive: sex", ""), DataError, "has no key `sensitive`"),
        (CARD + "encoding: dense", DataError, "'integer' or 'onehot'"),
        (CARD + "latent: many", DataError, "latent"),
        (CARD + "name: My People", DataError, "lower-case words"),
        (CARD + "name: people-simulated", DataError, "do not end in"),
        (CARD + "name: people-shift-age", DataError, "do not have -shift- in them"),
        (CARD + f"name: {'p' * 81}", DataError, "at most 80 characters"),
        (CARD.replace("column: income", f"column: {'i' * 151}"), DataError, "rename the column"),
        (CARD + "features: {age: numeric}", DataError, "'number' or 'category'"),
        (CARD + "features: [{age: number}]", DataError, "a list of columns"),
        (CARD + "features: [age, sex]", DataError, "under `features` and under `sensitive`"),
        (CARD + "features: [age, income]", DataError, "under `features` and under `labels`"),
        (CARD + "drop: [aeg]", DataError, "Did you mean 'age'"),
        (CARD.replace("column: income", "column: validation"), DataError, "accuracy_y_validation"),
        (CARD.replace("positive: high}", "positive: >5}"), DataError, "Quote values"),
        (
            CARD + "features: all\n  age: number",
            DataError,
            "features: all, takes no lines below it",
        ),
        (
            CARD + "features: all\n  - age\n  - job",
            DataError,
            "give either all beside it, or a list",
        ),
        ("- a list\n", DataError, "key: value' lines.\nBegin a line with a key"),
        (CARD + "drop: [age]\ndrop: [age]", DataError, "Leave one of them out"),
        (CARD.replace("sex", "{column: age, bins: [45, 25]}"), DataError, "increasing"),
        (CARD.replace("sex", "{column: sex, groups: {x: f}}"), DataError, "no row of the sens"),
    ],
)
def test_a_bad_card_is_told(card: Write, text: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error) as caught:
        load(card(people(), text))
    assert says in str(caught.value)


def test_a_copy_of_s_may_be_allowed_on_purpose(card: Write) -> None:
    frame = people().assign(gender=lambda table: table["sex"])
    data = load(card(frame, CARD + "allowed_copies: gender"))
    assert "gender" in [f.name for f in data.info.features]
    text = CARD + "features: [age, sex]\nallowed_copies: [sex]"
    assert "sex" in [f.name for f in load(card(frame, text)).info.features]


def test_doubts_are_noted(card: Write) -> None:
    frame = people(2000)
    frame["almost"] = frame["sex"].where(frame.index != 5, "m" if frame["sex"][5] == "f" else "f")
    frame["id"] = np.random.default_rng(0).permutation(2000) + 10_000
    frame["street"] = [f"street {i % 1200}" for i in range(2000)]
    notes = load(card(frame, CARD + "encoding: onehot")).notes
    assert len(notes) == 4
    text = " ".join(notes)
    for says in (
        "'almost' alone has 9",
        "'id' holds a different",
        "'street' has 1,200",
        "1,210 col",
    ):
        assert says in text
    assert not load(card(people())).notes


def test_independent_columns_are_never_taken_for_copies() -> None:
    rng = np.random.default_rng(0)
    for n in (60, 3000):
        s = rng.integers(0, 2, n)
        for column in (
            pd.Series(rng.normal(size=n)),
            pd.Series(rng.integers(0, 5, n)),
            pd.Series([f"id {i}" for i in range(n)]),
            pd.Series(rng.choice(["a", "b"], n)),
        ):
            assert not determines(column, s)
            assert information_share(column, s) < 0.2


def test_a_path_is_a_card_and_a_name_is_not() -> None:
    assert is_card("own.yaml")
    assert is_card("../cards/own.yml")
    assert not is_card("adults-gender")
    with pytest.raises(ConfigError, match=r"fairbench data new table\.csv"):
        load_registry().dataset("table.csv")


def test_a_card_cannot_take_a_registered_name(card: Write) -> None:
    with pytest.raises(FairbenchError, match="name: my-adults"):
        load_registry().dataset(str(card(people(), CARD + "name: adults")))


def test_the_page_on_own_data_explains_every_key_and_its_card_works(card: Write) -> None:
    page = (Path(__file__).parents[2] / "docs" / "own-data.md").read_text()
    rows = "".join(line for line in page.splitlines(keepends=True) if line.startswith("| `"))
    for model in (Card, SensitiveColumn, LabelColumn):
        for key in model.model_fields:
            assert f"`{key}`" in rows or f", {key}`" in rows or f": {key}," in rows
    text = page.split("```yaml")[1].split("```")[0].replace("staff.csv", "people.csv")
    frame = people().rename(columns={"job": "school", "town": "zip", "score": "experience"})
    frame["salary"] = frame["age"] * 1000
    frame["hired"] = frame.pop("income").replace({"high": "yes"})
    data = load(card(frame, text))
    assert len(data.info.groups) == 6
    assert [f.name for f in data.info.features] == ["experience", "school", "zip"]
