"""``fairbench check`` and ``fairbench plugin new``, and the page that tells of them."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from fairbench.api import Knob, Shots
from fairbench.cli.check import check_plugin
from fairbench.cli.plugin import new_plugin
from fairbench.data.loading import load_dataset, load_twin
from fairbench.errors import ConfigError, PluginError
from fairbench.hookspecs import hookimpl
from fairbench.registry import Registry, load_registry
from fairbench.scaffold import PluginKind, render
from fairbench.testing import check_dataset, check_method, check_metric, method_checks
from fairbench.training import NeuralMethod
from tests.conftest import TOY
from tests.testing.test_methods import WRONG

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "third_party_plugin"
Run = Callable[..., subprocess.CompletedProcess[str]]

CODE = dict(re.findall(r'```python title="([^"]+)"\n(.*?)```', PAGE, flags=re.DOTALL))
"""The page's modules by file name."""

PLUGINS = {
    "blur-means": (PluginKind.METHOD, False),
    "even-means": (PluginKind.METHOD, True),
    "hiring": (PluginKind.DATASET, False),
    "worst-group": (PluginKind.METRIC, False),
}
"""The page's plugins."""


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """The registry with the toy plugin."""
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("FAIRBENCH_OFFLINE", "1")
    return load_registry()


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def declare(folder: Path, name: str, module: str) -> None:
    """What pip leaves beside an installed package, entry point included."""
    write(
        folder,
        {
            f"{module}-1.0.dist-info/METADATA": f"Name: {name}\nVersion: 1.0\n",
            f"{module}-1.0.dist-info/entry_points.txt": f"[fairbench]\n{name} = {module}\n",
        },
    )


@pytest.fixture
def page_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path with the four plugins of the page, as they stand there."""
    folder = tmp_path / "site"
    write(folder, {name: text for name, text in CODE.items() if not name.startswith("tests/")})
    for name in PLUGINS:
        declare(folder, name, name.replace("-", "_"))
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    own = {name.replace("-", "_") for name in PLUGINS}
    for module in [m for m in sys.modules if m.split(".")[0] in own]:
        del sys.modules[module]


def test_a_kept_contract_is_a_line_a_promise_and_code_0(fairbench: Run) -> None:
    done = fairbench("check", "plain")
    assert done.returncode == 0, done.stdout + done.stderr
    heading, *lines, summary = done.stdout.splitlines()
    assert heading == "method plain, from toy (toy-plugin), on a small table of the checks' own"
    assert all(line.startswith(("ok       ", "skipped  ")) for line in lines)
    assert "ok       blind means blind: s changes nothing" in lines
    assert summary.startswith(f"{len(lines)} promises: ")
    assert ", 0 broken" in summary


def test_a_broken_promise_says_what_why_and_what_to_do_with_code_1(fairbench: Run) -> None:
    done = fairbench("check", "vandal", "--dataset", "toy")
    assert done.returncode == 1
    assert "on rows of toy" in done.stdout
    assert (
        "FAILED   fit leaves its rows as they are: fit writes into train.x.\n"
        "         why: All methods of a run share the rows: one that writes into them changes "
        "the others'\n         figures.\n"
        "         to do: Work on a copy: train.x.copy().\n"
    ) in done.stdout
    assert "changes the working directory" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_datasets_and_metrics_are_checked_by_the_same_command(
    toys: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check_plugin(toys, "toy", None, None) == 1
    assert "FAILED   its name and texts are there: it has no citation." in capsys.readouterr().out
    assert check_plugin(toys, "widest", None, None) == 0
    with pytest.raises(ConfigError, match="no method"):
        check_plugin(toys, "widest", "toy", None)


def test_a_package_is_checked_by_its_name_and_not_for_another_that_has_a_name_of_its_own(
    toys: Registry, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("small", "late"):
        module = ModuleType(name)
        monkeypatch.setattr(
            module, "register_metrics", hookimpl(lambda: [toys.metrics["widest"]]), raising=False
        )
        monkeypatch.setitem(sys.modules, name, module)
    small = EntryPoint("small", "small", "fairbench")
    assert check_plugin(load_registry([small]), "small", None, None) == 0
    assert "metric widest, from small (small)" in capsys.readouterr().out
    late = EntryPoint("late", "late", "fairbench")
    with pytest.raises(PluginError, match=r"small \(small\) could not be loaded: .*'widest'"):
        check_plugin(load_registry([late, small]), "widest", None, None)


def test_an_unknown_name_is_code_2_and_a_broken_plugin_is_told(fairbench: Run) -> None:
    done = fairbench("check", "plian")
    assert done.returncode == 2
    assert "Unknown plugin 'plian'" in done.stderr
    assert "Did you mean 'plain'" in done.stderr
    # The toy distribution brings a module that raises when it is imported.
    assert "broken (toy-plugin) was left out: RuntimeError: this plugin is broken" in done.stderr
    done = fairbench("check", "broken")
    assert done.returncode == 2
    assert "broken could not be loaded: RuntimeError: this plugin is broken" in done.stderr
    assert "Did you mean" not in done.stderr


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("Bad Name", "method", "is no name for a plugin"),
        ("2fast", "method", "begin with a letter"),
        ("plain", "method", "There is a method 'plain' already, from toy (toy-plugin)"),
        ("aufdc", "metric", "There is a metric 'aufdc' already"),
        ("numpy", "method", "the module 'numpy', which there is already"),
        ("lambda", "method", "the module 'lambda', which there is already"),
        ("taken", "method", "taken is there already"),
        ("mine", "dataset", "--neural works only with --kind method"),
        ("encoder", "method", "the class 'Encoder', but the module already uses that name"),
        ("point", "method", "the class 'Point'"),
        ("none", "method", "the class 'None'"),
        ("table", "dataset", "the class 'Table'"),
        ("class-var", "metric", "the class 'ClassVar'"),
        ("rank", "metric", "the column 'rank', which belongs to the leaderboard"),
        ("my-points", "dataset", "files of other tables end in -simulated or -points"),
        ("hiring-simulated", "dataset", "files of other tables end in"),
        ("night-shift-work", "dataset", "names of shifts have -shift- in them"),
        ("all", "method", "'all' stands for all methods"),
        ("accuracy-y", "metric", "the column 'accuracy_y', which belongs to the metric"),
    ],
)
def test_what_cannot_be_a_new_plugin_is_refused(
    toys: Registry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    kind: str,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    with pytest.raises(ConfigError) as caught:
        new_plugin(toys, name, PluginKind(kind), neural=name == "mine", output=None)
    assert says in str(caught.value)
    assert not list(tmp_path.rglob("pyproject.toml"))


def test_a_package_is_written_whole_or_not_at_all(
    toys: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Path.write_text

    def full(path: Path, text: str, **more: str) -> int:
        if path.name.startswith("test_"):
            raise OSError(28, "No space left on device")
        return whole(path, text, **more)

    monkeypatch.setattr(Path, "write_text", full)
    folder = tmp_path / "new" / "mine"
    with pytest.raises(ConfigError, match="cannot be written: No space left"):
        new_plugin(toys, "mine", PluginKind.METHOD, neural=False, output=folder)
    assert not list(folder.parent.iterdir())
    monkeypatch.undo()
    new_plugin(toys, "mine", PluginKind.METHOD, neural=False, output=folder)
    assert (folder / "mine" / "__init__.py").is_file()
    assert list(folder.parent.iterdir()) == [folder]


def test_every_message_of_the_page_is_one_that_is_given() -> None:
    """Some are put together when they are told: those are taken from wrong methods."""
    table = PAGE.split("| a message |")[1].split("\n\n")[0]
    phrases = re.findall(r"^\| `([^`]+)` \|", table, flags=re.MULTILINE)
    assert len(phrases) > 20
    sources = "".join(path.read_text() for path in (ROOT / "fairbench").rglob("*.py"))
    told = [o.what + o.todo for m, *_ in WRONG for o in (c.outcome() for c in method_checks(m))]
    missing = [phrase for phrase in phrases if phrase not in sources + "".join(told)]
    assert not missing


@pytest.mark.parametrize("name", PLUGINS)
def test_the_page_shows_what_the_command_writes(name: str) -> None:
    kind, neural = PLUGINS[name]
    files = render(name, kind, neural=neural)
    module = name.replace("-", "_")
    for path in (f"{module}/__init__.py", f"{module}/model.py"):
        assert files.get(path) == CODE.get(path)
    assert (
        CODE["tests/test_blur_means.py"]
        == render("blur-means", PluginKind.METHOD)["tests/test_blur_means.py"]
    )
    project = tomllib.loads(files["pyproject.toml"])
    assert project["project"]["entry-points"]["fairbench"] == {name: module}
    assert f'{name} = "{module}"' in PAGE or name != "blur-means"


def test_the_page_keeps_its_methods_short() -> None:
    assert CODE["blur_means/__init__.py"].count("\n") < 45
    assert (CODE["even_means/__init__.py"] + CODE["even_means/model.py"]).count("\n") < 60
    assert "torch" not in CODE["blur_means/__init__.py"]


def test_the_plugins_of_the_page_keep_their_promises(page_plugins: Path) -> None:
    registry = load_registry()
    assert not registry.broken
    check_method(registry.methods["blur-means"])
    check_method(registry.methods["even-means"])
    check_metric(registry.metrics["worst-group"])
    data = check_dataset(registry.datasets["hiring"])
    assert data.source == "simulated"


class EvenMeansCurve(NeuralMethod):
    """The page's model of a whole curve, as a method."""

    name = "even-means-curve"
    summary = "the page's single-shot method"
    shots = Shots.SINGLE
    knobs = (Knob("gamma", 0.01, 1000.0, "more is fairer", logarithmic=True),)

    def build(self, units: Any, info: Any, networks: Any, streams: Any) -> Any:
        curve = importlib.import_module("even_means.curve")
        return curve.CurveModel(len(info.groups), networks, streams)


@pytest.mark.usefixtures("page_plugins")
def test_the_single_shot_model_of_the_page_keeps_its_promises() -> None:
    check_method(EvenMeansCurve)


def test_the_dataset_of_the_page_reads_its_file(page_plugins: Path, tmp_path: Path) -> None:
    hiring = importlib.import_module("hiring").Hiring
    drawn = hiring().simulate()
    rows = drawn.x.assign(sex=pd.Series(drawn.s).map({0: "f", 1: "m"}), hired=drawn.y["hired"])
    (tmp_path / "hiring").mkdir()
    rows.to_csv(tmp_path / "hiring" / "hiring.csv", index=False)
    data = load_dataset(hiring, root=tmp_path)
    assert data.source == "real"
    assert data.fingerprint == load_twin(hiring).fingerprint


@pytest.mark.parametrize("name", PLUGINS)
def test_a_new_package_is_clean(name: str, tmp_path: Path) -> None:
    beside = str(Path(sys.executable).parent)
    ruff = shutil.which("ruff", path=os.pathsep.join([beside, os.environ["PATH"]]))
    if ruff is None:
        pytest.skip("needs ruff")
    kind, neural = PLUGINS[name]
    write(tmp_path, render(name, kind, neural=neural))
    for words in (["check"], ["format", "--check"]):
        done = subprocess.run([ruff, *words, "."], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


@pytest.fixture
def fresh(tmp_path: Path) -> Run:
    """Run a command in a fresh environment, in an empty folder, without network or data.

    The environment has what this one has, fairbench included, and is written to by pip.
    """
    pytest.importorskip("setuptools")
    home = tmp_path / "fresh"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    (site,) = home.glob("lib/python*/site-packages")
    here = [
        str(ROOT),
        str(TOY),
        *(p for p in sys.path if p.endswith(("site-packages", "plugins", "datasets"))),
    ]
    lines = [f"import site; site.addsitedir({folder!r})" for folder in dict.fromkeys(here)]
    (site / "here.pth").write_text("\n".join(lines) + "\n")
    command = home / "bin" / "fairbench"
    # As pip writes it: jobs' processes import the main module, and must not run it.
    command.write_text(
        f"#!{home}/bin/python\nfrom fairbench.cli.app import main\n"
        'if __name__ == "__main__":\n    main()\n'
    )
    command.chmod(0o755)

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("FAIRBENCH_")}
        if words[0] == "pip":
            install = ["--no-deps", "--no-build-isolation", "--no-index", *words[2:]]
            words = (str(home / "bin" / "python"), "-m", "pip", "install", *install)
        return subprocess.run(
            words,
            cwd=tmp_path,
            env=clean
            | {
                "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}",
                "FAIRBENCH_OFFLINE": "1",
                "FAIRBENCH_CACHE": str(tmp_path / "cache"),
            },
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )

    return call


@pytest.mark.slow
def test_the_example_installs_keeps_its_promises_and_is_ranked(fresh: Run, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "theirs")
    installed = fresh("pip", "install", "./theirs")
    assert installed.returncode == 0, installed.stderr
    own = fresh("python", "-m", "pytest", "-q", "theirs/tests")
    assert own.returncode == 0, own.stdout
    checked = fresh("fairbench", "check", "nullspace")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    words = ["--methods", "nullspace,sofair", "--dataset", "toy", "--budget", "quick"]
    done = fresh("fairbench", "run", *words)
    assert done.returncode == 0, done.stderr
    board = pd.read_csv(
        tmp_path / "fairbench-results" / "leaderboards" / "toy-simulated.csv",
        index_col="method",
    )
    theirs = board.loc["nullspace"]
    assert theirs["plugin"] == "frl-nullspace 0.1.0"
    assert theirs["complete"]
    # Linear directions are not all there is to s, so no miracle; and better than nothing.
    assert 0.05 < theirs["aufdc"] < 0.5
    assert board.loc["sofair", "complete"]


@pytest.mark.slow
def test_the_commands_of_the_page_run_in_their_order(fresh: Run, tmp_path: Path) -> None:
    """Whoever follows the page, in a folder of their own, gets what it says."""
    shell = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    lines = [line for block in shell for line in block.splitlines()]
    for line in lines:
        if "--dataset adults" in line:
            continue  # its real files are fetched from the network
        done = fresh(*line.split())
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    folder = tmp_path / "fairbench-results" / "leaderboards"
    board = pd.read_csv(folder / "hiring-simulated.csv", index_col="method")
    assert board.loc["blur-means", "plugin"] == "blur-means 0.1.0"
    assert board.loc[["blur-means", "even-means"], "complete"].all()
    assert "worst_group" in pd.read_csv(folder / "hiring-simulated-points.csv").columns


UNREADY = """
from fairbench.api import Method, Params
from fairbench.hookspecs import hookimpl


class Needs(Params):
    rank: int


class Unready(Method):
    name, summary, Params = "unready", "has a hyperparameter without a default", Needs

    def fit(self, train, units, context):
        return []


class Stuck(Method):
    name, summary = "stuck", "raises when it is planned"

    def supports(self, info):
        raise SystemExit(0)

    def fit(self, train, units, context):
        return []


@hookimpl
def register_methods():
    return [Unready, Stuck]
"""


def test_methods_that_cannot_be_made_or_planned_leave_the_others_alone(
    fairbench_here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "site", {"unready_plugin.py": UNREADY})
    declare(tmp_path / "site", "unready", "unready_plugin")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    listed = fairbench_here("list", "methods")
    assert listed.returncode == 0
    assert "Warning: unready cannot be made: A hyperparameter has no usable default: rank of" in (
        listed.stderr
    )
    assert "unready\tblind\t-\thas a hyperparameter without a default" in listed.stdout
    assert "\nplain\t" in listed.stdout
    words = ("run", "--methods", "unready,stuck,plain", "--dataset", "toy", "--budget", "quick")
    planned = fairbench_here(*words, "--dry-run")
    assert planned.returncode == 1
    assert "FAILED: unready: A hyperparameter has no usable default: rank of" in planned.stderr
    assert "FAILED: stuck on toy: stuck raised SystemExit: 0 (site/unready_pl" in planned.stderr
    assert "fit plain on toy" in planned.stdout
