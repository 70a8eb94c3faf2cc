"""The house: which folder may import which. Imports point down, never up and never sideways."""

import ast
import functools
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from fairbench.registry import load_registry

ROOT = Path(__file__).parents[1]

LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "versions"),
    ("files",),
    ("api",),
    ("stats", "hookspecs", "config"),
    ("metrics", "data"),
    ("registry",),
    ("training", "store"),
    ("auditing", "leaderboard"),
    ("runs",),
    ("search", "models", "estimator"),
    ("report", "testing", "scaffold"),
    ("cli",),
    ("__main__",),
)
"""Rooms of ``fairbench/`` from the bottom up: a room may import itself and lower rooms."""

LEVEL = {room: level for level, layer in enumerate(LAYERS) for room in layer}

FLAT = {"__init__", "__main__", "config", "errors", "hookspecs", "versions"}
"""The only modules that lie flat in ``fairbench/``."""

PLUGINS = ("fairbench_plugins", "fairbench_datasets", "fairbench_boards")


def modules() -> dict[str, Path]:
    """Every module of the core by its dotted name."""
    found = {}
    for path in sorted((ROOT / "fairbench").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@functools.cache
def imports_of(path: Path) -> frozenset[str]:
    """Dotted names that a file imports anywhere: functions and TYPE_CHECKING blocks count."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide what is imported"
            assert node.module is not None
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def imported_modules(path: Path, known: dict[str, Path]) -> set[str]:
    """Modules of the core that a file imports."""
    found = set()
    for name in imports_of(path):
        while name.startswith("fairbench.") and name not in known:
            name = name.rpartition(".")[0]
        if name in known:
            found.add(name)
    return found


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "fairbench"


def test_only_the_named_modules_lie_flat() -> None:
    assert {path.stem for path in (ROOT / "fairbench").glob("*.py")} <= FLAT


def test_every_room_has_a_layer() -> None:
    rooms = {room_of(module) for module in modules()} - {"fairbench"}
    assert rooms == set(LEVEL)


def test_imports_point_down() -> None:
    known = modules()
    wrong = []
    for module, path in known.items():
        here = room_of(module)
        for target in imported_modules(path, known) - {"fairbench"}:
            there = room_of(target)
            # The package itself offers what lies deeper; nothing inside may import that offer.
            if here not in ("fairbench", there) and LEVEL[there] >= LEVEL[here]:
                wrong.append(f"{module} imports {target}")
    assert not wrong, "\n".join(sorted(wrong))


def test_nothing_imports_the_package_itself() -> None:
    for module, path in modules().items():
        found = {n for n in imports_of(path) if n.startswith("fairbench.") and n.count(".") == 1}
        names = found - {f"fairbench.{room}" for room in LEVEL}
        assert not names, f"{module} imports {names}"


def test_there_are_no_circles() -> None:
    known = modules()
    arrows = {module: imported_modules(path, known) - {module} for module, path in known.items()}
    arrows.pop("fairbench")  # its lazy offers point into the house, and nothing points back
    state: dict[str, int] = defaultdict(int)

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert state[module] != 1, f"a circle: {' -> '.join([*way, module])}"
        if state[module] == 2:
            return
        state[module] = 1
        for target in sorted(arrows.get(module, ())):
            visit(target, (*way, module))
        state[module] = 2

    for module in arrows:
        visit(module, ())


def test_nothing_imports_the_command_line() -> None:
    for module, path in modules().items():
        if room_of(module) not in ("cli", "__main__"):
            assert not any(n.startswith("fairbench.cli") for n in imports_of(path)), module


def test_the_core_never_imports_a_plugin() -> None:
    for module, path in modules().items():
        assert not any(n.startswith(PLUGINS) for n in imports_of(path)), module


def test_the_core_knows_no_method_and_no_dataset_by_name() -> None:
    registry = load_registry()
    plugins = (*registry.methods.classes.values(), *registry.datasets.classes.values())
    names = {name for one in plugins for name in (one.name, *one.aliases)}
    names -= {"noise", "constant"}  # words that have other uses
    assert {"sofair", "adults-gender", "adults"} <= names
    for module, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value not in names, f"{module} names {node.value}"


def test_no_file_is_too_long_to_hold_one_idea() -> None:
    for folder in ("fairbench", "plugins", "datasets"):
        for path in (ROOT / folder).rglob("*.py"):
            lines = len(path.read_text(encoding="utf-8").splitlines())
            assert lines <= 400, f"{path.relative_to(ROOT)} has {lines} lines: look for the seam"


def test_listing_and_help_load_neither_torch_nor_pandas_nor_ray() -> None:
    code = (
        "import sys, fairbench.cli.app, fairbench.registry; fairbench.registry.load_registry();"
        "fairbench.cli.app.command_tree();"
        "print([m for m in ('torch', 'ray', 'pandas', 'sklearn', 'optuna') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_no_two_public_classes_share_a_name() -> None:
    """A name that means one thing here and another there has to be looked up each time."""
    places = defaultdict(list)
    for name, path in modules().items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
