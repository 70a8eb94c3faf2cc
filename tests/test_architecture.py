"""The house rules that a reader of the code relies on."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def imports_of(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def test_the_core_never_imports_a_plugin() -> None:
    for path in (ROOT / "fairbench").rglob("*.py"):
        found = {n for n in imports_of(path) if n.startswith(("fairbench_plugins", "fairbench_da"))}
        assert not found, f"{path} imports {found}"


def test_the_core_knows_no_method_by_name() -> None:
    for path in (ROOT / "fairbench").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value not in {"sofair", "latfr", "identity", "drop-features"}, path


def test_listing_and_help_load_neither_torch_nor_pandas_nor_ray() -> None:
    code = (
        "import sys, fairbench.cli, fairbench.registry; fairbench.registry.load_registry();"
        "print([m for m in ('torch', 'ray', 'pandas', 'sklearn', 'optuna') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
