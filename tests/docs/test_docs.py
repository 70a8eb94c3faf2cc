"""Every code block of the README and the docs runs, or stands below with the reason why not."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import fairbench as package
from fairbench import __version__, api, hookspecs, training
from fairbench.cli.app import command_tree, main
from fairbench.cli.given import UsageError
from fairbench.config import RunConfig, build_config
from fairbench.data.card import is_card
from fairbench.data.card_dataset import dataset_from_card
from fairbench.leaderboard.collections import find_collection
from fairbench.registry import load_registry
from tests.support.docs_blocks import (
    DATA,
    LANGUAGES,
    OUTPUT,
    PAGES,
    ROOT,
    SHELL,
    Block,
    Command,
    blocks_of,
    commands_of,
    outside_fences,
)

pytestmark = pytest.mark.thorough

NOT_RUN: Mapping[str, str] = {
    r": fairbench explain ": "needs a trained SoFaiR; the slow test of the tutorial executes it",
    r"^audit\.md: python": "tests/auditing/test_arrays.py executes it",
    r": fairbench calibrate": "a minute; tests/auditing/validation/test_calibrate.py has it",
    r"--store postgresql": "needs a PostgreSQL server; tests/store has one",
    r"--require-real-data": "needs the real files",
    r": fairbench audit --results": "needs a store: tests/cli/test_audit_results.py has one",
    r"sofair:distortion_weight=8": "needs another training; tests/leaderboard has two rows",
    r": fairbench data new staff\.csv$": "asks; the form with options is executed",
    r": python3 -m venv": "makes an environment; .ci/run does it with the README's own line",
    r": \. \.venv": "enters an environment",
    r"pip install": "installs; .ci/run does it with the README's own line",
    r": pytest|/pytest$": "would run itself",
    r": ruff |: mypy$|: mkdocs build": ".ci/run does it",
    r": ray start|--ray-address HEAD": "needs several machines; tests/cli/test_survival.py has one",
    r": python datasets/tools/": "minutes, and the real files",
    r"^plugins\.md: ": "tests/cli/test_plugins.py executes the page",
    r"my-table|BoardFile": "needs a board of one's own; tests/cli/test_boards.py has one",
    r"^boards\.md: ": "needs the real files; tests/cli/test_boards.py has a small board",
    r"^sklearn\.md: python": "half a minute; a slow test in tests/estimator has it",
    r"^team\.md: ": "tests/cli/test_team.py executes the page",
    r": fairbench leaderboard --across --collection": "needs a table of one's own; as below",
    r": fairbench plot shift": "needs results of a shift; tests/cli/test_across.py has some",
    r": fairbench .*compas-unseen": "needs the real files",
    r": fairbench plot across": "needs replicated rows; tests/cli/test_across.py has them",
    r": fairbench .* --shift": "the twin of Adults has no ages; tests/cli/test_across.py has some",
    r": fairbench (encode|recommend|model-card) ": "needs kept encoders; as for team.md",
}
"""What is not executed, by a pattern of ``page: command`` (or first line), and why.

Commands of fairbench among them are still parsed by the real command line."""

ADDED: Mapping[str, str] = {
    "run": "--dry-run",
    "search": "--dry-run",
    "clean": "--dry-run",
    "results remove": "--yes",
    "audit": "--quick",
    "data new": "--force",
}
"""What is added to commands when they are executed here, so that they are cheap."""

HOOKS = [name for name in vars(hookspecs) if name.startswith("register_")]
BLOCKS = [block for page in PAGES for block in blocks_of(page)]
COMMANDS = [c for block in BLOCKS if block.language in SHELL for c in commands_of(block)]
OWN = [command for command in COMMANDS if command.is_fairbench]
PYTHON_PAGES = list(dict.fromkeys(b.page for b in BLOCKS if b.language == "python"))


def reason(unit: Block | Command) -> str | None:
    """Why a block or command is not executed here; None: it is."""
    return next((why for what, why in NOT_RUN.items() if re.search(what, str(unit))), None)


EXECUTED = {c.words[1:]: c.page for c in OWN if not reason(c)}


def marks(words: tuple[str, ...]) -> list[pytest.MarkDecorator]:
    """Marks of commands that take a second: plans without a file of their own, figures, boards."""
    planned = words[0] in ("run", "search") and not {"--config", "--params", "--tune"} & {*words}
    if planned or words == ("plot",) or words[:2] == ("data", "describe"):
        return [pytest.mark.slow]
    drawn = words[0] in ("plot", "board", "audit") or "--across" in words
    return [pytest.mark.thorough] * drawn


def test_every_block_says_what_it_is() -> None:
    for block in BLOCKS:
        where = f"{block.page}, line {block.line}"
        assert block.language in LANGUAGES, f"{where}: {block.language!r} is none of {LANGUAGES}"
        assert block.text.strip(), f"{where}: empty"
        if block.language == OUTPUT:
            assert not re.search(r"^\$ |^fairbench ", block.text, re.M), f"{where}: use sh"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_code_hides_in_an_indented_block(page: Path) -> None:
    hidden = [x for x in outside_fences(page) if re.match(r"    +(\$|fairbench|pip|python3?) ", x)]
    assert not hidden, "put it between ``` fences, with its language"


def test_what_is_not_run_has_a_reason_that_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    units = [b for b in BLOCKS if b.language not in (*SHELL, OUTPUT)] + COMMANDS
    left = {str(unit): why for unit in units if (why := reason(unit)) is not None}
    with capsys.disabled():
        print("\nNot executed, of the docs' blocks:")
        for unit, why in left.items():
            print(f"  {unit[:90]}\n      {why}")
    for command in COMMANDS:
        assert command.is_fairbench or str(command) in left, f"neither run nor excused: {command}"
    for pattern in NOT_RUN:
        assert any(re.search(pattern, unit) for unit in left), f"excuses nothing: {pattern}"


def test_the_tests_that_excuses_name_are_there() -> None:
    named = re.findall(r"tests/[\w/.]*\w", " ".join(NOT_RUN.values()))
    assert [] != named == [path for path in named if (ROOT / path).exists()]


def test_scripts_and_extras_that_are_named_are_there() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for command in COMMANDS:
        for word in command.words:
            if word.endswith((".py", "constraints.txt")):
                assert (ROOT / word).exists(), command
            for extra in re.findall(r"^\.\[([\w,]+)\]$", word):
                assert set(extra.split(",")) <= set(extras), command


def parse(words: tuple[str, ...]) -> dict[str, Any]:
    """What the real command line makes of words, without doing it; its errors are raised."""
    root, seen = command_tree(), {}

    def disarm(command: Any) -> None:
        for below in getattr(command, "commands", {}).values():
            disarm(below)
        if not hasattr(command, "commands"):
            command.callback = lambda **given: seen.update(given)

    disarm(root)
    root.main(list(words), prog_name="fairbench", standalone_mode=False)
    return seen


@pytest.mark.parametrize("command", list({c.words: c for c in OWN}.values()), ids=str)
def test_the_command_line_takes_every_command(command: Command) -> None:
    given, registry = parse(command.words[1:]), load_registry()
    page = next(page for page in PAGES if page.name == command.page).read_text(encoding="utf-8")
    of_the_page = set(re.findall(r'^ +name = "(.+)"', page, re.MULTILINE))
    of_the_page |= set(re.findall(r"([\w-]+)\.yaml", page))  # a card's table is called as its file
    for key, known in (
        ("methods", registry.methods.resolve),
        ("method", registry.methods.resolve),
        ("dataset", registry.dataset),
    ):
        for name in (given.get(key) or "all").split(","):
            assert name == "all" or is_card(name) or name in of_the_page or known(name)


def test_a_command_with_a_wrong_option_is_found() -> None:
    with pytest.raises(UsageError, match="--budgt"):
        parse(("run", "--budgt", "quick"))
    with pytest.raises(UsageError, match="charts"):
        parse(("list", "charts"))


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the pages take for granted: small tables, arrays, some results."""
    folder = tmp_path_factory.mktemp("docs")
    rng, n = np.random.default_rng(0), 900
    frame = pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "name": [f"Name {i}" for i in range(n)],
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 66, n),
            "experience": rng.gamma(3, 3, n).round(2),
            "school": rng.choice(["state", "private"], n),
            "zip": rng.choice([1010, 1020, 1030], n),
            "salary": rng.normal(50_000, 9_000, n).round(),
            "hired": rng.choice(["yes", "no"], n),
            "part": rng.choice(["train", "holdout"], n, p=[0.7, 0.3]),
        }
    )
    frame.to_csv(folder / "hiring.csv", index=False)
    card = {"file": "hiring.csv", "sensitive": "sex", "labels": "hired", "drop": ["id", "name"]}
    (folder / "hiring.yaml").write_text(yaml.safe_dump(card))
    frame.to_csv(folder / "staff.csv", index=False)
    (folder / "staff.yaml").write_text(yaml.safe_dump(card | {"file": "staff.csv"}))
    z = rng.normal(size=(n, 3))
    np.save(folder / "z.npy", z)
    np.save(folder / "gender.npy", frame["sex"].to_numpy(dtype=str))
    frame[["age", "school"]].to_parquet(folder / "raw.parquet")
    customers = pd.DataFrame(z, columns=["z0", "z1", "z2"])
    customers["gender"], customers["churn"] = frame["sex"], frame["hired"]
    customers.to_csv(folder / "customers.csv", index=False)
    for shown in ("leaderboards", "examples/params"):
        # Without what is large: the folder is copied for every command.
        large = shutil.ignore_patterns("*.png", "*.html", "*.gz")
        shutil.copytree(ROOT / shown, folder / shown, ignore=large)
    small = ROOT / "tests" / "support" / "adults-quick.jsonl"
    call("board", "show", "adults-gender-5", "--output", str(folder / "boards"))
    shutil.copy(small, folder / "results.jsonl")
    shutil.copy(small, folder / "adults.jsonl")
    results = folder / "fairbench-results"
    importing = ("results", "import", str(small), "--origin", "their-paper")
    for words in (importing, ("leaderboard",)):
        call(*words, "--results", str(results))
    tables = results / "leaderboards"
    shutil.copy(tables / "adults-gender-points.csv", tables / "hiring-points.csv")
    best = results / "search" / "latfr-adults-gender" / "best.yaml"
    best.parent.mkdir(parents=True)
    best.write_text("latfr: {learning_rate: 0.002}")
    for other in ("DIR", "elsewhere"):
        shutil.copytree(results, folder / other)
    return folder


@pytest.fixture
def workplace(furnished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the furnished folder to work in, without network or real data."""
    folder = tmp_path / "work"
    shutil.copytree(furnished, folder)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)
    monkeypatch.setenv("FAIRBENCH_OFFLINE", "1")
    monkeypatch.setenv("FAIRBENCH_CACHE", str(tmp_path / "cache"))
    return folder


def call(*words: str) -> None:
    """Give a command to the real command line, in this process; it must end with 0."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["fairbench", *words])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 0, words


def cheap(words: tuple[str, ...]) -> tuple[str, ...]:
    """A command with what makes it cheap."""
    more = [more for start, more in ADDED.items() if " ".join(words).startswith(start)]
    return (*words, *(option for option in more if option not in words))


@pytest.mark.parametrize("page", PYTHON_PAGES)
def test_python_blocks_run_in_the_order_of_the_page(
    page: str, workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in BLOCKS:
        if block.page == page and block.language == "python" and not reason(block):
            code = "\n" * (block.line - 1) + block.text
            exec(compile(code, page, "exec"), namespace)


@pytest.mark.parametrize(
    "words",
    [pytest.param(w, marks=marks(w)) for w in sorted(EXECUTED)],
    ids=" ".join,
)
def test_commands_end_well(words: tuple[str, ...], workplace: Path) -> None:
    for block in BLOCKS:
        named = re.match(r"# (\S+\.yaml)\n", block.text)
        if named and block.page == EXECUTED[words]:
            (workplace / named[1]).write_text(block.text)
    call(*cheap(words))


@pytest.mark.parametrize(
    "block", [b for b in BLOCKS if b.language in DATA], ids=lambda b: f"{b.page}:{b.line}"
)
def test_data_blocks_are_what_the_real_validators_take(block: Block, workplace: Path) -> None:
    if reason(block):
        return
    if block.language == "toml":
        tomllib.loads(block.text)
        return
    if block.language == "json":
        json.loads(block.text)
        return
    values, file = yaml.safe_load(block.text), workplace / "block.yaml"
    file.write_text(block.text)
    registry = load_registry()
    if "file" in values:
        dataset_from_card(file)().load(workplace)
    elif "collection" in values:
        find_collection(str(file), registry)
    elif "methods" in values:
        config = build_config(RunConfig, file)
        _check_params(config.params)
        assert all(registry.dataset(name) for name in config.datasets)
    else:
        _check_params(values)


def _check_params(params: Mapping[str, Mapping[str, Any]]) -> None:
    methods = load_registry().methods
    assert params
    for name, values in params.items():
        methods.classes[methods.resolve(name)].Params(**values)


def test_the_readme_is_short_and_shows_what_its_first_command_prints() -> None:
    readme = ROOT / "README.md"
    assert len(readme.read_text(encoding="utf-8").splitlines()) <= 100
    (output,) = (block for block in blocks_of(readme) if block.language == OUTPUT)
    rows = re.findall(r"^([\w-]+) +\S+ \[.*\]", output.text, re.MULTILINE)
    (first,) = (c for c in COMMANDS if c.page == "README.md" and "run" in c.words)
    named = first.words[first.words.index("--methods") + 1].split(",")
    classes = load_registry().methods.classes
    assert {*named} <= {*rows}
    assert all(classes[row].baseline for row in rows if row not in named)


def test_the_citation_is_of_this_version_and_names_the_paper() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(cited)
    assert cited["version"] == __version__
    (paper,) = cited["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Gitiaux", "Rangwala"]


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<script src="https://cdn.example/a.js"></script>', True),
        ('<link rel="stylesheet" href="//fonts.example/a.css">', True),
        ("<style>@import url(https://fonts.example/b.css)</style>", True),
        ('<img alt="x" src="http://example.org/a.png">', True),
        ('<a href="https://example.org">a link is not loaded</a>', False),
        ('<link href="assets/a.css" rel="stylesheet"><script src="b.js"></script>', False),
    ],
)
def test_the_site_refuses_pages_that_load_from_elsewhere(html: str, found: bool) -> None:
    pytest.importorskip("mkdocs")
    spec = importlib.util.spec_from_file_location("offline", ROOT / "docs" / "hooks" / "offline.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    assert bool(hook.loaded_from_elsewhere(html)) is found


@pytest.mark.slow
def test_the_tutorial_runs_from_start_to_end(
    fairbench: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in (b for b in BLOCKS if b.page == "tutorial.md"):
        if block.language == "python":
            exec(compile(block.text, block.page, "exec"), {"__name__": "__main__"})
        for command in commands_of(block) if block.language in SHELL else ():
            if command.is_fairbench and "--seeds" not in command.words:
                done = fairbench(*command.words[1:], timeout=3600)
                assert done.returncode == 0, f"{command}\n{done.stderr}"
    assert (tmp_path / "fairbench-results" / "report.html").stat().st_size > 1_000_000
    assert (tmp_path / "fairbench-results" / "explain").is_dir()


def test_the_reference_has_everything_that_plugins_and_scripts_import() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    entries = re.findall(r"^::: (fairbench\S*)$", page, re.MULTILINE)
    for module in (api, training):
        missing = {f"{module.__name__}.{name}" for name in module.__all__} - {*entries}
        assert not missing
    offered = [name for name in dir(package) if not name.startswith("_")]
    assert {*offered} <= {entry.rpartition(".")[2] for entry in entries}
    assert {"fairbench.hookspecs", "fairbench.testing", "fairbench.errors"} <= {*entries}


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "python.html").read_text()
    for name in (*api.__all__, *training.__all__, *HOOKS):
        assert re.search(rf'id="fairbench[.\w]+\.{name}"', page), name
    board = (tmp_path / "boards" / "adults-gender-5.html").read_text()
    for name in ("merged-cells", "adults-gender-5-ranks.svg", "adults-gender-5-page.html"):
        assert name in board
        assert not name.startswith("adults") or (tmp_path / "boards" / name).exists()
    commands = (tmp_path / "cli.html").read_text()
    for name in {c.words[1] for c in OWN if not c.words[1].startswith("-")}:
        assert f"fairbench {name}" in commands
