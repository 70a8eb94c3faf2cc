"""The engine on a GPU: is it right, how fast is it, and what does a whole board take.

    python benchmarks/gpu.py --data-root DIR [--out FOLDER] [--stage N] [--device cuda]

Four stages of eight minutes each, 25 minutes in all. A part of a stage is not cut off, but is only
begun where as much time is left as the longest of the stage took so far:

1. correctness: losses, checkpoints and audited representations of the device against the CPU's;
2. speed: some jobs on one device under Ray; steps per second and share of the measured peak of
   every neural method's stack;
3. board: all methods on Adults-Gender, one replicate, by ``fairbench run``;
4. images: SoFaiR on DSprites-Unfair for the time that is left.

What is measured is in FOLDER at once: the same command goes on where an earlier one ended, or was
ended. FOLDER/gpu.json has the rows of all stages with their units, beside it are the figures. The
exit code is 1 if a limit is exceeded or a part failed. ``--quick`` does little of everything, also
with ``--device cpu``, within two minutes: to try the script, for its figures mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NoReturn

from fairbench.config import Device
from fairbench.data.files import data_root
from fairbench.errors import DataError, DeviceError
from fairbench.files import write_atomically
from fairbench.runs.cost import hardware, versions
from fairbench.training.device import resolve_device
from fairbench.training.threads import use_one_thread
from gpu_stages import audits, board, drawings, images, losses, recording, resume, sharing, speed
from gpu_stages.records import Stage, StageRecord, run_stage
from gpu_stages.settings import Settings, adults

STAGES = (
    Stage(
        1,
        "correctness",
        lambda settings: [
            *losses.parts(settings),
            *recording.parts(settings),
            *resume.parts(settings),
            *audits.parts(settings),
        ],
    ),
    Stage(2, "speed", lambda settings: [*sharing.parts(settings), *speed.parts(settings)]),
    Stage(3, "board", board.parts),
    Stage(4, "images", images.parts),
)

STAGE_SECONDS = 8 * 60.0
"""Time of a stage in one call; only a part that takes longer than all before it may exceed it."""
ALL_SECONDS = 25 * 60.0
"""The same of a call."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""
DEFAULT_OUT = Path("gpu-results")


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(words: Sequence[str] | None = None, stages: Sequence[Stage] = STAGES) -> int:
    """Run the requested stages; return the exit code."""
    start = time.monotonic()
    parser = _Parser(prog="gpu.py", description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", type=Path, default=None, help="folder with data files")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="folder for what is measured")
    parser.add_argument("--stage", default=None, help="number of the one stage to run")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--quick", action="store_true", help="little of everything, to try it")
    given = parser.parse_args(words)
    settings = _settings(given, parser)
    chosen = _chosen(given.stage, stages, parser)
    _check_earlier(settings, stages, parser)
    use_one_thread()  # as jobs do
    machine = _machine(settings.device) | {"adults_gender": adults(settings.data_root).source}
    print(", ".join(f"{name} {value}" for name, value in machine.items()), flush=True)
    interrupted = False
    try:
        for stage in chosen:
            now = time.monotonic()
            deadline = min(now + STAGE_SECONDS, start + ALL_SECONDS)
            run_stage(stage, replace(settings, deadline=deadline), machine)
            if settings.device == "cuda":
                import torch

                torch.cuda.empty_cache()  # the next stage may be another process
    except KeyboardInterrupt:
        interrupted = True
        print("\nInterrupted. The same command goes on.", flush=True)
    records = [stage.stored(settings) for stage in stages]
    for path in [merge(records, settings), *drawings.draw(records, settings)]:
        print(path, flush=True)
    if interrupted:
        return INTERRUPTED
    return int(any(part.over or part.error for record in records for part in record.parts))


def _settings(given: argparse.Namespace, parser: argparse.ArgumentParser) -> Settings:
    try:
        device = resolve_device(Device(given.device))
        root = data_root(given.data_root)
        if root is not None:
            adults(root.resolve())  # its files are checked now, not in the middle of a stage
    except DeviceError:
        parser.error(
            "no CUDA device was found: check the driver and that torch is a CUDA build, or try the "
            "script on the CPU with --device cpu --quick"
        )
    except DataError as error:
        parser.error(f"{error.message}: {error.hint}")
    if root is None:
        parser.error(
            "give the folder that holds the data files: --data-root DIR, or FAIRBENCH_DATA"
        )
    if given.out.exists() and not given.out.is_dir():
        parser.error(f"--out {given.out} is not a folder: name one, it is made where it is missing")
    return Settings(root.resolve(), given.out.resolve(), device, given.quick)


def _chosen(
    number: str | None, stages: Sequence[Stage], parser: argparse.ArgumentParser
) -> Sequence[Stage]:
    if number is None:
        return stages
    chosen = [stage for stage in stages if str(stage.number) == number]
    if not chosen:
        known = ", ".join(f"{stage.number} ({stage.name})" for stage in stages)
        parser.error(f"there is no stage {number}: --stage takes {known}")
    return chosen


def _check_earlier(
    settings: Settings, stages: Sequence[Stage], parser: argparse.ArgumentParser
) -> None:
    """Refuse a folder with results of other settings: they would be taken for these."""
    for stage in stages:
        record = stage.stored(settings)
        if (record.device, record.quick) != (settings.device, settings.quick):
            made = f"--device {record.device}{' --quick' if record.quick else ''}"
            parser.error(
                f"{settings.out} has results of {made}: name another folder with --out, "
                "or delete it"
            )


def _machine(device: str) -> dict[str, Any]:
    """Describe what is measured on: processor, GPU, versions, precision of products."""
    import torch

    facts: dict[str, Any] = {**hardware(device), **versions()}
    if device == "cuda":
        card = torch.cuda.get_device_properties(torch.cuda.current_device())
        facts |= {
            "cuda": torch.version.cuda,
            "accelerator_memory_gb": round(card.total_memory / 1e9, 1),
            "tf32_products": torch.backends.cuda.matmul.allow_tf32,
            "tf32_convolutions": torch.backends.cudnn.allow_tf32,
        }
    return facts


def merge(records: Sequence[StageRecord], settings: Settings) -> Path:
    """Write what is known of all stages to ``gpu.json``; return its path."""
    merged: Mapping[str, Any] = {
        "benchmark": "gpu",
        "date": time.strftime("%Y-%m-%d"),
        "device": settings.device,
        "quick": settings.quick,
        "finished": all(record.finished for record in records),
        "stages": [asdict(record) for record in records],
    }
    settings.out.mkdir(parents=True, exist_ok=True)
    path = settings.out / "gpu.json"
    write_atomically(path, (json.dumps(merged, indent=1) + "\n").encode())
    return path


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
