"""Values that the command line would drop without a word are refused."""

from __future__ import annotations

import pytest

from tests.conftest import Call


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("run --methods plain --methods random --dataset toy --dry-run", "--methods"),
        ("run --methods plain --dataset toy --dataset other --dry-run", "--dataset"),
        ("plot curves --format png --format=pdf", "--format"),
        ("data new people.csv --drop a --category b --drop c", "--drop"),
    ],
)
def test_an_option_that_takes_a_list_is_not_given_twice(
    fairbench_here: Call, words: str, option: str
) -> None:
    told = fairbench_here(*words.split())
    assert told.returncode == 2
    first, second = told.stderr.splitlines()
    assert first == f"Error: {option} is given 2 times."
    assert second.startswith("Give it once. Its help: ")


def test_other_options_may_be_repeated_and_the_last_one_counts(
    fairbench_here: Call,
) -> None:
    told = fairbench_here("data", "new", "no.csv", "--label", "a", "--label", "b", "--force")
    assert "There is no file no.csv" in told.stderr
    told = fairbench_here("status", "--results", "one", "--results", "two", "--traceback")
    assert "There are no results in two" in told.stderr


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("status", "--store", ""), "--store"),
        (("run", "--methods", "plain", "--dataset", "toy", "--results="), "--results"),
        (("run", "--methods", "plain", "--dataset", "toy", "--data-root", ""), "--data-root"),
        (("plot", "--methods", ""), "--methods"),
        (("leaderboard", "--compare", "a", ""), "--compare"),
        (
            ("data", "new", "people.csv", "--sensitive", "sex", "--label", "a", "--label="),
            "--label",
        ),
        (("audit", "--z", "", "--s", "s.npy"), "--z"),
        (("results", "export", ""), "file"),
        (("board", "page", ""), "boards"),
        (("data", "new", "people.csv", "--sensitive", ","), "--sensitive"),
        (("data", "new", "people.csv", "--drop", ", ,"), "--drop"),
    ],
)
def test_an_empty_value_is_not_taken_for_none(
    fairbench_here: Call, words: tuple[str, ...], name: str
) -> None:
    told = fairbench_here(*words)
    assert told.returncode == 2
    first, second = told.stderr.splitlines()
    assert first == f"Error: {name} is empty."
    assert second.startswith("Give a value")


def test_a_missing_argument_is_told_in_two_lines(fairbench_here: Call) -> None:
    told = fairbench_here("list")
    assert told.returncode == 2
    first, second = told.stderr.splitlines()
    assert first == "Error: Missing argument 'kind'. Choose from: methods, datasets, metrics"
    assert second == "See: fairbench list --help"


def test_a_missing_value_names_the_help_of_its_command(fairbench_here: Call) -> None:
    told = fairbench_here("leaderboard", "--compare", "pca")
    assert told.returncode == 2
    first, second = told.stderr.splitlines()
    assert first == "Error: Option '--compare' requires 2 arguments."
    assert second == "See: fairbench leaderboard --help"
