"""How much of the time compiled trainings take, and what their start costs, method by method.

    python benchmarks/compiled_training.py --data-root DIR [NAME ...]

Each method that trains by compiled steps (fairbench/training/compiled_steps.py) is built for Adults
with the stack of a run, and trained in turns by plain and by compiled steps, on one thread. A
process of its own compiles it into an empty folder; a second one finds what was made there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from figures import Figures
from inputs import load_real_adults

from fairbench.api import DatasetInfo, Role, Shots, Unit
from fairbench.registry import load_registry
from fairbench.training import NeuralMethod, Streams
from fairbench.training.compiled_steps import CompiledSteps
from fairbench.training.layers import use_fastest_products
from fairbench.training.schedule import Schedule
from fairbench.training.stack_size import LARGEST_COMPILED_STACK
from fairbench.training.steps import Steps
from fairbench.training.threads import use_one_thread

TURNS, STEPS = 6, 50
SOFAIR_LIMIT = 0.55
"""Time of SoFaiR's compiled step, of a plain one."""


def neural_methods() -> list[str]:
    classes = load_registry().methods.classes
    return sorted(name for name, cls in classes.items() if issubclass(cls, NeuralMethod))


def untrained(name: str, x: np.ndarray, s: np.ndarray, info: DatasetInfo) -> tuple[Steps, bool]:
    """Steps of a stack of which none is taken, and whether its products are the fastest."""
    method = load_registry().methods[name]()
    assert isinstance(method, NeuralMethod)
    points = [None] if method.shots is Shots.SINGLE else method.points()
    restarts = method.workload(info).models_per_unit
    most = max(1, LARGEST_COMPILED_STACK // restarts)
    units = [Unit(0, point) for point in points[:most] for _ in range(restarts)]
    streams = Streams(range(len(units)))
    model = method.build(units, info, method.networks(info), streams)
    model.train()
    schedule = Schedule(27_000, method.params.batch_size, method.params.learning_rate)
    steps = Steps(model, x, s, len(info.groups), schedule, streams)
    return steps, method.multiplies_fast(x.shape[1])


def measure(name: str, data_root: Path | None) -> dict[str, float]:
    """Seconds of the start, and of a plain and a compiled step: the least of several turns."""
    use_one_thread()
    data = load_real_adults(data_root)
    rows = data.roles[Role.ENCODER_TRAIN]
    steps, fast = untrained(name, rows.x, rows.s, data.info)
    others, _ = untrained(name, rows.x, rows.s, data.info)
    compiled = CompiledSteps(others)
    with ExitStack() as products:
        if fast:
            products.enter_context(use_fastest_products(steps.model))
            products.enter_context(use_fastest_products(others.model))
        kinds = 2 if steps.model.turns > 1 else 1
        before = time.perf_counter()
        for step in range(kinds):
            compiled.take(step)
        start = time.perf_counter() - before
        if compiled.refused:
            raise SystemExit(f"{name}: {compiled.refused}")
        for step in range(kinds):
            steps.take(step)
        least = dict.fromkeys(("plain", "compiled"), float("inf"))
        for turn in range(TURNS):
            for way, take in (("plain", steps.take), ("compiled", compiled.take)):
                before = time.process_time()
                for step in range(STEPS):
                    take(kinds + turn * STEPS + step)
                least[way] = min(least[way], (time.process_time() - before) / STEPS)
    return {"models": float(len(steps.streams.seeds)), "start": start, **least}


def in_new_process(name: str, data_root: Path | None, cache: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", name]
    command += [] if data_root is None else ["--data-root", str(data_root)]
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache}
    answer = subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    measured: dict[str, float] = json.loads(answer.splitlines()[-1])
    return measured


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="methods; default: all")
    parser.add_argument("--data-root", type=Path, default=None)
    parser.add_argument("--measure", metavar="NAME", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure, given.data_root)))
        return 0
    with Figures("compiled-training") as figures:
        for name in given.names or neural_methods():
            with tempfile.TemporaryDirectory() as cache:
                first, again = (in_new_process(name, given.data_root, cache) for _ in range(2))
            title = f"`{name}` compiled, {first['models']:.0f} in a stack"
            figures.other(
                f"{title}: a step, of a plain one",
                again["compiled"] / again["plain"],
                "ratio",
                limit=SOFAIR_LIMIT if name == "sofair" else None,
                note=f"{1e3 * again['compiled']:.2f} of {1e3 * again['plain']:.2f} ms",
            )
            note = f"{again['start']:.1f} s where it was compiled before"
            figures.seconds(f"{title}: start", first["start"], note=note)
    return figures.failed


if __name__ == "__main__":
    sys.exit(main())
