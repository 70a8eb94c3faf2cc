import importlib
import re
import subprocess
import sys
from importlib.metadata import EntryPoint, PathDistribution, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from fairbench.api import Knob, Track
from fairbench.api.collection import Collection, CollectionTable
from fairbench.api.dataset import Dataset
from fairbench.api.method import Method
from fairbench.api.metric import Metric
from fairbench.api.published import BoardFile
from fairbench.errors import PluginError, StoreError, UnknownNameError, nearest
from fairbench.hookspecs import hookimpl
from fairbench.leaderboard.boards import find_board
from fairbench.leaderboard.collections import find_collection
from fairbench.registry import family, load_registry, plugin_source
from fairbench.runs.plan import code_of, resolve_methods


def plugin(monkeypatch: pytest.MonkeyPatch, name: str, *classes: Any) -> EntryPoint:
    """An entry point to a module made on the spot that registers methods."""
    module = ModuleType(name)
    module.register_methods = hookimpl(lambda: list(classes))  # type: ignore[attr-defined]
    module.register_methods.__name__ = "register_methods"
    monkeypatch.setitem(sys.modules, name, module)
    return EntryPoint(name, name, "fairbench")


def method(name: str, **more: object) -> type[Method]:
    def fit(self: Method, train: object, units: object, context: object) -> list[object]:
        return []

    return type("Made", (Method,), {"name": name, "summary": "made", "fit": fit, **more})


def test_built_ins_come_through_the_same_door() -> None:
    registry = load_registry()
    assert {"sofair", "latfr", "identity", "constant", "drop-features"} <= set(
        registry.methods.classes
    )
    assert registry.methods.resolve("laftr") == "latfr"
    assert registry.datasets.resolve("adults") == "adults-gender"
    assert "aufdc" in registry.metrics.classes
    assert not registry.broken


def test_small_and_large_letters_are_alike_to_the_nearest() -> None:
    assert nearest("PCA", ["latfr", "pca"]) == "Did you mean 'pca'?"


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="sofair"):
        load_registry().methods["sofiar"]


def test_a_broken_plugin_is_reported_and_the_rest_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = load_registry(
        [EntryPoint("gone", "no_such_module", "fairbench"), plugin(monkeypatch, "ok", method("m"))]
    )
    assert list(registry.methods.classes) == ["m"]
    assert "no_such_module" in registry.broken[0].error


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def register_method(): return []", "installed but registers nothing. Is"),
        (
            "def register_metrics(): return []\n@hookimpl\ndef register_methods(): return []",
            "register_metrics is not decorated, so nobody calls it. Write @hookimpl above it.",
        ),
        ("import no_such_package", "Install it in this environment, and list it under"),
        ("@hookimpl\ndef register_methods(): pass", "does it return a list?"),
        ("@hookimpl\ndef register_methods(): return Method", "Return a list: [Method]"),
        ("@hookimpl\ndef register_methods(): return 3", "Return a list: [3]"),
        (
            "@hookimpl\ndef register_method(): return []",
            "There is no hook register_method. Did you mean 'register_methods'",
        ),
        (
            "@hookimpl\ndef register_methods(registry): return []",
            "register_methods has arguments. Write: def register_methods():",
        ),
    ],
)
def test_a_plugin_that_registers_nothing_or_no_list_is_told_and_asked_after(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, says: str
) -> None:
    head = "from fairbench.api import Method\nfrom fairbench.hookspecs import hookimpl\n"
    (tmp_path / "forgetful_plugin.py").write_text(head + text + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "forgetful_plugin", raising=False)
    forgetful = EntryPoint("forgetful", "forgetful_plugin", "fairbench")
    registry = load_registry([forgetful, plugin(monkeypatch, "ok", method("m"))])
    assert list(registry.methods.classes) == ["m"]
    assert says in registry.broken[0].error
    with pytest.raises(UnknownNameError) as said:
        registry.methods.resolve("zzz")
    assert said.value.hint == (
        "It may be of a plugin that was left out: forgetful (forgetful_plugin). "
        "See them all: fairbench list methods."
    )
    with pytest.raises(UnknownNameError, match=r"Did you mean 'm'\? It may be of a plugin"):
        registry.methods.resolve("mm")


def test_an_empty_list_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not load_registry([plugin(monkeypatch, "empty")]).broken


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (method("Bad Name"), "Bad Name"),
        (method("alias", aliases=("No Good",)), "No Good"),
        (type("NoFit", (Method,), {"name": "no-fit", "summary": "x"}), "fit"),
        (type("NoSummary", (Method,), {"name": "x", "fit": lambda *a: []}), "summary"),
        (object(), "not a subclass"),
        (method("word", track="blind"), "track = 'blind', no Track"),
        (method("one", knobs=Knob("t", 0.0, 1.0)), "knobs = Knob(name='t'"),
        (method("all"), "'all' stands for all methods"),
    ],
)
def test_a_bad_class_keeps_its_whole_plugin_out(
    monkeypatch: pytest.MonkeyPatch, bad: object, says: str
) -> None:
    registry = load_registry([plugin(monkeypatch, "bad", method("good"), bad)])
    assert not registry.methods.classes
    assert says in registry.broken[0].error


@pytest.mark.parametrize(
    ("kind", "values", "says"),
    [
        ("datasets", {"name": "mine-simulated"}, "files of other tables end in"),
        ("datasets", {"name": "mine-shift-age"}, "names of shifts have -shift- in them"),
        ("datasets", {"sensitive": "sex"}, "sensitive = 'sex', no tuple"),
        ("metrics", {"level": "points"}, "level = 'points'"),
        ("metrics", {"direction": "min"}, "direction = 'min'"),
        ("metrics", {"columns": ("a",)}, "columns = ('a',), no Mapping"),
        ("metrics", {"__module__": "odd"}, "The metric Odd cannot be found by its name in odd."),
    ],
)
def test_what_commands_would_fall_over_is_not_registered(
    monkeypatch: pytest.MonkeyPatch, kind: str, values: dict[str, Any], says: str
) -> None:
    base, own = {
        "datasets": (Dataset, {"load": lambda *a: None, "sensitive": ("sex",)}),
        "metrics": (
            Metric,
            {"compute": lambda *a: {}, "level": "point", "direction": "lower", "columns": {}},
        ),
    }[kind]
    cls = type("Odd", (base,), {"name": "odd", "summary": "odd", **own, **values})
    module = ModuleType("odd")
    setattr(module, f"register_{kind}", hookimpl(lambda: [cls]))
    monkeypatch.setitem(sys.modules, "odd", module)
    registry = load_registry([EntryPoint("odd", "odd", "fairbench")])
    assert says in registry.broken[0].error
    assert not getattr(registry, kind).classes


def test_a_name_taken_twice_names_both_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = plugin(monkeypatch, "one", method("m")), plugin(monkeypatch, "two", method("m"))
    registry = load_registry([first, second])
    assert "one" in registry.broken[0].error
    assert "two" in registry.broken[0].error


def test_a_built_in_keeps_its_name_from_a_module_that_is_called_like_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    info = tmp_path / "early-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: early\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[fairbench]\naaa = fairbench_early\n")
    plugin(monkeypatch, "fairbench_early", method("identity"))
    early = PathDistribution(info).entry_points
    registry = load_registry([*early, *entry_points(group="fairbench")])
    assert registry.methods["identity"].__module__.startswith("fairbench_plugins.")
    (broken,) = registry.broken
    assert broken.source == "aaa (early)"
    assert broken.error.endswith("and aaa (early). Uninstall one of them or rename one of the two.")


def test_what_a_plugin_prints_or_raises_at_import_is_apart_and_has_its_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "chatty_plugin.py").write_text("print('hello')\nraise OSError('no licence')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = load_registry([EntryPoint("chatty", "chatty_plugin", "fairbench")])
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "hello\n")
    (broken,) = registry.broken
    assert broken.error == f"OSError: no licence ({tmp_path.name}/chatty_plugin.py:2)"


def test_a_plugin_whose_error_cannot_be_read_is_reported_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "mute_plugin.py").write_text(
        "class Mute(Exception):\n    def __str__(self):\n        raise RuntimeError\nraise Mute\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    (broken,) = load_registry([EntryPoint("mute", "mute_plugin", "fairbench")]).broken
    assert broken.error.startswith("Mute: (an error that raises when its text is asked for)")


def test_two_metrics_cannot_write_one_column(monkeypatch: pytest.MonkeyPatch) -> None:
    def metric(name: str, column: str) -> type[Metric]:
        # As a class of that module, which audits in other processes find by its name.
        members: dict[str, Any] = {"name": name, "summary": "x", "level": "point"}
        members |= {"columns": {column: "x"}, "compute": lambda self, evaluation: {}}
        return type(name.title(), (Metric,), members | {"__module__": "metrics_plugin"})

    for column, owner in (("taken", "metric 'first'"), ("rank", "leaderboard")):
        module = ModuleType("metrics_plugin")
        made = [metric("first", "taken"), metric("second", column)]
        for cls in made:
            setattr(module, cls.__name__, cls)
        module.register_metrics = hookimpl(lambda made=made: made)  # type: ignore[attr-defined]
        module.register_metrics.__name__ = "register_metrics"
        monkeypatch.setitem(sys.modules, "metrics_plugin", module)
        registry = load_registry([EntryPoint("m", "metrics_plugin", "fairbench")])
        assert owner in registry.broken[0].error


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("distortion{task}", "'distortion.task.', which the metric"),
        ("accuracy_y_{task}", "which the metric"),
        ("accuracy_y_age", "which the metric"),  # may be of a task called age
        ("mutual_{task}", "which the metric"),
        ("own{task}", "declares the column 'own.task.'"),
        ("Own", "declares the column 'Own'"),
        ("point_{task}", "which the leaderboard may write"),
        ("spread_{task}", "of curves declares columns by task"),
    ],
)
def test_a_plugin_cannot_declare_columns_that_others_write(
    column: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could write D of its own method."""
    members: dict[str, Any] = {"name": "remark", "summary": "x", "level": "curve"}
    members |= {"columns": {column: "x"}, "compute": lambda self, evaluation: {}}
    made = type("Remark", (Metric,), members)
    module = ModuleType("remark_plugin")
    module.register_metrics = hookimpl(lambda: [made])  # type: ignore[attr-defined]
    module.register_metrics.__name__ = "register_metrics"
    monkeypatch.setitem(sys.modules, "remark_plugin", module)
    installed = entry_points(group="fairbench")
    registry = load_registry([*installed, EntryPoint("m", "remark_plugin", "fairbench")])
    (broken,) = registry.broken
    assert re.search(said, broken.error)


def test_boards_and_collections_of_a_plugin_are_not_the_usual_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever publishes a method cannot choose unseen what it is compared with."""
    module = ModuleType("boards_plugin")
    for hook, given in (
        ("register_boards", [BoardFile("compas-race", 99, tmp_path / "no.board")]),
        ("register_collections", [Collection("tabular-v99", "x", (CollectionTable("german"),))]),
    ):
        function = hookimpl(lambda given=given: given)
        function.__name__ = hook
        setattr(module, hook, function)
    monkeypatch.setitem(sys.modules, "boards_plugin", module)
    installed = entry_points(group="fairbench")
    registry = load_registry([*installed, EntryPoint("b", "boards_plugin", "fairbench")])
    assert not registry.broken
    assert find_board("published", registry, "compas-race").info.version < 99
    assert find_collection(None, registry).name == "tabular-v1"
    with pytest.raises(StoreError):
        find_board("compas-race-99", registry)


def test_a_track_is_no_property(monkeypatch: pytest.MonkeyPatch) -> None:
    made = method("m", track=property(lambda self: Track.BLIND))
    (broken,) = load_registry([plugin(monkeypatch, "ok", made)]).broken
    assert "no Track" in broken.error


def test_the_source_of_a_plugin_is_its_whole_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "somebodys_plugin"
    (package / "deep").mkdir(parents=True)
    for name in ("__init__.py", "main.py", "helper.py", "deep/__init__.py"):
        (package / name).write_text("")
    (package / "main.py").write_text("from somebodys_plugin import helper\nclass M: pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    cls = importlib.import_module("somebodys_plugin.main").M
    before = plugin_source(cls)
    assert len(before) == 4
    (package / "helper.py").write_text("SCALE = 2\n")
    assert plugin_source(cls) == before, "of the source that was imported"
    plugin_source.cache_clear()  # as in the next process
    assert plugin_source(cls) != before
    families = plugin_source(load_registry().methods["latfr"])
    assert set(families) == {"adversarial/__init__.py", "adversarial/model.py"}


def imported(monkeypatch: pytest.MonkeyPatch, folder: Path, module: str, text: str) -> ModuleType:
    """A module of a file written below ``folder``, whose own folders have no ``__init__.py``."""
    path = folder / (module.replace(".", "/") + ".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    importlib.invalidate_caches()
    return importlib.import_module(module)


def test_modules_of_one_name_in_two_packages_are_two_families(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = imported(monkeypatch, tmp_path, "acme_one.model", LINEAR).Linear
    second = imported(monkeypatch, tmp_path, "acme_two.model", LINEAR).Linear
    assert (family(first), family(second)) == ("acme-one.model", "acme-two.model")
    assert family(load_registry().methods["latfr"]) == "adversarial"


def test_the_code_of_a_namespace_package_changes_with_its_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bare = imported(monkeypatch, tmp_path, "acme_bare.fair.plugin", LINEAR).Linear
    (tmp_path / "acme_bare/fair/helper.py").write_text("SCALE = 1\n")
    whole = tmp_path / "acme_whole/fair"
    whole.mkdir(parents=True)
    (whole / "__init__.py").write_text("")
    (whole.parent / "strangers.py").write_text("")
    real = imported(monkeypatch, tmp_path, "acme_whole.fair.plugin", LINEAR).Linear
    assert set(plugin_source(bare)) == {"plugin.py", "helper.py"}
    assert set(plugin_source(real)) == {"__init__.py", "plugin.py"}
    for cls, folder in ((bare, tmp_path / "acme_bare/fair"), (real, whole)):
        before = code_of(cls)
        (folder / "plugin.py").write_text(LINEAR + "SCALE = 2\n")
        plugin_source.cache_clear()  # as in the next process
        assert code_of(cls) != before


def test_the_code_of_a_method_changes_with_the_plugin_it_inherits_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inherits = """
from sklearn.base import BaseEstimator
from fairbench.registry import load_registry
from own_base import Linear

class Mine(Linear, BaseEstimator): ...
class MyLFR(load_registry().methods["lfr"]): ...
"""
    imported(monkeypatch, tmp_path, "own_base", LINEAR)
    module = imported(monkeypatch, tmp_path, "own_method", inherits)
    family = plugin_source(load_registry().methods["lfr"])
    base = {f"fairbench_plugins:{name}": digest for name, digest in family.items()}
    assert plugin_source(module.MyLFR).items() > base.items()
    # A library is no part of it, whatever of it is inherited.
    assert set(plugin_source(module.Mine)) == {"own_method.py", "own_base:own_base.py"}
    before = code_of(module.Mine)
    (tmp_path / "own_base.py").write_text(LINEAR + "SCALE = 2\n")
    plugin_source.cache_clear()
    assert code_of(module.Mine) != before


def test_a_method_without_files_is_refused() -> None:
    typed = method("typed", __module__="a_notebook.cell")
    with pytest.raises(PluginError, match=r"no Python file of a_notebook.cell"):
        code_of(typed)


def test_a_hook_nobody_knows_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def register_method() -> list[object]:
        return []

    entry = plugin(monkeypatch, "typo")
    sys.modules["typo"].register_method = hookimpl(register_method)  # type: ignore[attr-defined]
    assert "register_method" in load_registry([entry]).broken[0].error


def test_what_a_broken_plugin_leaves_behind_is_not_blamed_on_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def register_method() -> list[object]:
        return []

    def register_methods(unknown: object) -> list[object]:
        return []

    broken = plugin(monkeypatch, "aa-broken")
    for hook in (register_method, register_methods):
        setattr(sys.modules["aa-broken"], hook.__name__, hookimpl(hook))
    registry = load_registry([broken, plugin(monkeypatch, "next", method("m"))])
    assert list(registry.methods.classes) == ["m"]
    assert [one.source for one in registry.broken] == ["aa-broken (aa-broken)"]


def write_and_import(
    monkeypatch: pytest.MonkeyPatch, folder: Path, files: dict[str, str]
) -> type[Method]:
    """The method of a package ``somebodys_method`` of the given files, imported anew."""
    package = folder / "somebodys_method"
    package.mkdir(exist_ok=True)
    for name, text in files.items():
        (package / name).write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in [name for name in sys.modules if name.startswith("somebodys_method")]:
        monkeypatch.delitem(sys.modules, name)
    importlib.invalidate_caches()
    found: type[Method] = importlib.import_module("somebodys_method.linear").Linear
    return found


LINEAR = """
from fairbench.api import Method

class Linear(Method):
    name = "linear"
    summary = "made"

    def fit(self, train, units, context):
        return []
"""


@pytest.mark.parametrize("families", [True, False])
def test_a_source_can_name_an_earlier_one_that_gives_the_same_results(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, families: bool
) -> None:
    top = f"__fairbench_families__ = {families}\n"
    read = "import json, pathlib\n" + (
        "__fairbench_same_results__ = json.loads("
        "pathlib.Path(__file__).with_name('same.json').read_text())\n"
    )
    start = top if families else top + read
    files = {"same.json": "{}", "__init__.py": start, "linear.py": LINEAR}
    first = write_and_import(monkeypatch, tmp_path, files)
    earlier = code_of(first)
    files["linear.py"] = LINEAR + "# tidied up\n"
    second = write_and_import(monkeypatch, tmp_path, files)
    present = code_of(second)
    assert present != earlier
    declared = f"{{{present!r}: {earlier!r}}}"
    if families:
        files["__init__.py"] = top + f"__fairbench_same_results__ = {declared}\n"
    else:
        files["same.json"] = declared.replace("'", '"')
    assert code_of(write_and_import(monkeypatch, tmp_path, files)) == earlier
    files["linear.py"] += "SCALE = 2\n"  # another source: the declaration is not about it
    assert code_of(write_and_import(monkeypatch, tmp_path, files)) not in (earlier, present)


def test_listing_names_aliases_and_tags() -> None:
    words = [sys.executable, "-m", "fairbench", "list", "methods"]
    found = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "latfr (laftr)\tblind\tdeterministic multi-shot decoder" in found


def test_another_package_adds_no_baseline_and_no_reference() -> None:
    """It would join every run, or be what all others are tested against."""
    registry = load_registry()
    before = registry.baselines, registry.references
    assert before[1] == ["drop-features"]
    easy = method("easy", baseline=True, tested_against=True)
    registry.methods.add(easy, "easy (some-package)")
    assert (registry.baselines, registry.references) == before
    assert "easy" not in resolve_methods(["pca"], registry)
