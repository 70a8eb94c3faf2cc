"""Configuration: YAML and options in one place, and clear answers to bad ones."""

from pathlib import Path
from typing import Any

import pytest

from fairbench.config import RunConfig, build_config, parse_duration
from fairbench.errors import ConfigError, UnknownNameError

GOOD: dict[str, Any] = {"methods": ("sofair",), "datasets": ("adults",)}


def test_options_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("methods: sofair, latfr\ndatasets: [adults]\nbudget: quick\ntimeout: 30m\n")
    config = build_config(RunConfig, file, budget="500", results=None)
    assert config.methods == ("sofair", "latfr")
    assert config.budget == 500
    assert config.timeout == 1800


def test_repeated_names_count_once() -> None:
    assert build_config(RunConfig, **GOOD, seeds=(1, 0, 1)).seeds == (1, 0)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), (" 45 s", 45), ("30m", 1800), ("1.5h", 5400)]
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"budget": "huge"}, "full, quick or a number"),
        ({"budget": "0"}, "full, quick or a number"),
        ({"budget": "q_uick"}, "full, quick or a number"),
        ({"budget": "1,0,0"}, "full, quick or a number"),
        ({"seeds": (-1,)}, "whole numbers from 0"),
        ({"seeds": (True,)}, "a number is needed, not yes or no"),
        ({"points": 1}, "at least 2 is needed"),
        ({"timeout": "soon"}, "not a duration"),
        ({"workers": 0}, "at least 1 is needed"),
        ({"workers": 10**22}, "at most 100000 is allowed"),
        ({"workers": True}, "a number is needed, not yes or no"),
        ({"timeout": True}, "a number is needed, not yes or no"),
        ({"points": 10**12}, "at most 10000 is allowed"),
        ({"in_process": True, "workers": 2}, "leave --workers out"),
        ({"methods": ()}, "No methods given"),
        ({"methods": None}, "No methods given"),
        ({"datasets": ""}, "--dataset NAME"),
    ],
)
def test_bad_values_are_errors(given: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        build_config(RunConfig, **(GOOD | given))


@pytest.mark.parametrize("written", [12500, "12500", "12,500", "12_500"])
def test_a_budget_may_separate_thousands(written: object) -> None:
    assert build_config(RunConfig, **(GOOD | {"budget": written})).budget == 12_500


def test_an_error_names_the_option_or_the_file_and_its_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--data-root: "):
        build_config(RunConfig, **GOOD, data_root=3)
    file = tmp_path / "run.yaml"
    file.write_text("methods: [sofair]\ndatasets: [adults]\npoints: 1\n")
    with pytest.raises(ConfigError, match=r"^.*run\.yaml: points: "):
        build_config(RunConfig, file)
    assert build_config(RunConfig, file, points=2).points == 2


def test_an_unknown_key_is_answered_with_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("methods: [sofair]\ndatasets: [adults]\nbuget: quick\n")
    with pytest.raises(UnknownNameError, match=r"key in .*run\.yaml: 'buget'(.|\n)*'budget'"):
        build_config(RunConfig, file)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [1", "not YAML .line"),
        ("- a", "'key: value'"),
        (None, "No such"),
        ("seeds: 1\npoints: 2\nseeds: 3", "the key 'seeds' stands twice .lines 1 and 3"),
        ("params:\n  sofair: {beta_max: 1}\n  sofair: {}", "'sofair' stands twice .lines 2 and 3"),
        ('results: "a\\0b"', "a value has a null character .line 1"),
    ],
)
def test_bad_files_are_errors(tmp_path: Path, text: str | None, says: str) -> None:
    file = tmp_path / "run.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigError, match=says):
        build_config(RunConfig, file)


def test_aliases_of_aliases_are_looked_at_once(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    file.write_text("\n".join(["a0: &a0 [x]", *levels]))
    with pytest.raises(UnknownNameError, match="'a0'"):
        build_config(RunConfig, file)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"budget": "abc"}, "--budget: 'abc' is not full, quick or a number of iterations"),
        ({"points": 0}, "--points: at least 2 is needed (got 0)."),
    ],
)
def test_a_wrong_value_is_named_once(given: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_config(RunConfig, methods=["sofair"], datasets=["adults"], **given)
    assert caught.value.message.startswith(told)
    assert caught.value.message.count("abc") <= 1


def test_folders_may_begin_with_the_home_folder() -> None:
    config = RunConfig(methods="sofair", datasets="adults", results="~/out", data_root="~/data")
    assert (config.results, config.data_root) == (Path.home() / "out", Path.home() / "data")
