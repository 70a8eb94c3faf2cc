"""A column of texts is read with all that it tells, or refused: its writing could tell s."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairbench.data.array_checks import check_matrix
from fairbench.data.array_files import parse_source, read_sources
from fairbench.errors import DataError

RNG = np.random.default_rng(0)
VALUES = np.concatenate(
    [RNG.normal(size=300), 10.0 ** RNG.integers(-12, 20, 200) * RNG.normal(size=200), [0.0, 5.0]]
)


def r_writes(value: float) -> str:
    """As R's write.csv does: 15 digits, with an exponent where that is shorter."""
    number = Decimal(f"{value:.15g}").normalize()
    fixed, scientific = f"{number:f}", f"{value:.{len(number.as_tuple().digits) - 1}e}"
    return fixed if len(fixed) <= len(scientific) else scientific


WRITERS: dict[str, Callable[[float], str]] = {
    "pandas": repr,
    "numpy": "{:.18e}".format,
    "six digits": "{:.6g}".format,
    "all digits": "{:.17g}".format,
    "fixed": "{:.4f}".format,
    "signs": "{:+.3f}".format,
    "capital": "{:.8E}".format,
    "R": r_writes,
    "without .0": lambda value: repr(value).removesuffix(".0"),
    "without a zero": lambda value: (
        f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"
    ),
    "float32": lambda value: str(np.float32(value)),
    "padded": lambda value: f"{int(abs(value)) % 1000:04d}",
}


@pytest.mark.parametrize("writer", WRITERS)
def test_what_one_program_wrote_is_read(writer: str) -> None:
    texts = pd.Series([WRITERS[writer](value) for value in VALUES.tolist()])
    assert check_matrix(texts.to_frame(), "z")[:, 0].tolist() == [float(text) for text in texts]


ROUND = sorted({round(value, 5) for value in RNG.random(200).tolist()})


def marked(mark: Callable[[str], str]) -> list[str]:
    """Different numbers, every other one written as ``mark`` does."""
    texts = [f"{value:.6f}1" for value in RNG.normal(size=100)]
    return [mark(text) if place % 2 else text for place, text in enumerate(texts)]


@pytest.mark.parametrize(
    "texts",
    [
        ["1.0", "1.00"],
        ["0.5", "5e-1"],
        ["1", "01"],
        marked(lambda text: text + "0"),
        marked(lambda text: f"{float(text):e}"),
        marked(lambda text: f"+{text}" if text[0] != "-" else text),
        marked(lambda text: text.replace("0.", ".")),
        marked(lambda text: text.replace("0.", "00.")),
        marked(lambda text: f"{float(text):.25f}"),
        marked(lambda text: f"{float(text):.17f}0000000000"),
        [f"{value}e3" if value % 2 else f"{value / 10}e4" for value in range(1, 100)],
        [f"{value}.5e{'+' if value % 2 else ''}3" for value in range(1, 10)],
        [f"{value}.5{'eE'[value % 2]}3" for value in range(1, 10)],
        [f"{value}.5e{'+-'[value % 2]}00" for value in range(1, 10)],
        ["0.30000000000000001", "0.3"],
        ["0.30000000000000001", "0.7", "0.10000000000000001", "0.2"],
        [str(10**30 + i) for i in range(50)],
        marked(lambda text: f" {text}"),
        marked(lambda text: f"{float(text):.17f}1"[:20]),
        [f" {value}" if value % 2 else f"{value} " for value in range(100, 200)],
        [f"{value / 7:.{17 + value % 2}f}" for value in range(8, 60)],
        [repr(value) if value * 1e5 % 2 < 1 else f"{value:.17g}" for value in ROUND],
    ],
    ids=range(22),
)
def test_what_tells_more_than_its_value_is_refused(texts: list[Any]) -> None:
    for column in (pd.Series(texts, dtype=object), pd.Series(texts, dtype="category")):
        with pytest.raises(DataError, match=r"column 'a' of z writes numbers in several ways, as"):
            check_matrix(pd.DataFrame({"a": column}), "z")


@pytest.mark.parametrize("large", [10**17, 2**63 + 10, -(10**18)])
def test_large_whole_numbers_keep_their_last_digits(large: int) -> None:
    values = [large, large + 1] * 5
    for column in (
        pd.Series(list(map(str, values))),
        pd.Series(values, dtype=object),
        pd.Series(list(map(Decimal, values))),
        pd.Series(list(map(str, values)), dtype="category"),
    ):
        found = check_matrix(pd.DataFrame({"a": column, "b": 0.5}), "z")
        assert len(np.unique(found[:, 0])) == 2


@pytest.mark.parametrize(
    "values", [[np.float32(0.1), 0.1], [True, 1.5], [np.int64(1), 2], [Decimal(1), 2.0]]
)
def test_objects_of_several_kinds_are_refused(values: list[Any]) -> None:
    with pytest.raises(DataError, match=r"column 'a' of z mixes kinds of numbers \("):
        check_matrix(pd.DataFrame({"a": pd.Series(values, dtype=object)}), "z")


def test_objects_that_are_numbers_are_read() -> None:
    found = check_matrix(pd.DataFrame({"a": pd.Series([0.5, 2.0, 1e-7], dtype=object)}), "z")
    assert found[:, 0].tolist() == [0.5, 2.0, 1e-7]
    found = check_matrix(pd.DataFrame({"a": pd.Series([1, 2.5, 3], dtype=object)}), "z")
    assert found[:, 0].tolist() == [1, 2.5, 3]
    zeros = check_matrix(pd.DataFrame({"a": ["-0.0", "0.0", "1.5"]}), "z")
    assert np.signbit(zeros[:, 0]).tolist() == [True, False, False]


def test_what_stands_beside_the_numbers_of_a_parquet_file_is_audited_or_refused(
    tmp_path: Path,
) -> None:
    def read(frame: pd.DataFrame, part: str = "") -> Any:
        frame.to_parquet(tmp_path / "z.parquet")
        source = parse_source("z", f"{tmp_path / 'z.parquet'}{part}")
        return check_matrix(read_sources({"z": source})["z"], "z")

    numbers = pd.DataFrame({"a": [0.5, 1.5, 2.5]})
    assert read(numbers)[:, 0].tolist() == [0.5, 1.5, 2.5]
    named = numbers.set_axis(["m", "f", "m"])
    with pytest.raises(DataError, match="holds an index of rows beside its columns"):
        read(named)
    assert read(named, ":a")[:, 0].tolist() == [0.5, 1.5, 2.5]
    with pytest.raises(DataError, match="writes numbers in several ways, as '2' and '3 '"):
        read(pd.DataFrame({"a": ["2", "3 ", "4"]}))
