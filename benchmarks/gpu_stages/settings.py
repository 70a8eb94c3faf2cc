"""What the command was asked for, and how much of everything a stage does."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from fairbench.api import Role, TrainingRows
from fairbench.data.loading import load_dataset
from fairbench.data.prepared import Prepared
from fairbench_datasets.adults import AdultsGender
from fairbench_datasets.dsprites_unfair import DSpritesUnfair


@dataclass(frozen=True)
class Sizes:
    """How much a stage does."""

    methods: tuple[str, ...]  # of the engine that are measured; empty: all
    image_methods: tuple[str, ...]  # whose convolutions are compared
    loss_steps: int  # steps whose losses are compared
    resume_steps: int  # steps of a training that is cut off in the middle
    audited: tuple[str, ...]  # methods whose representations are audited
    audit_steps: int  # steps that they train for
    points: int  # points of each multi-shot method in stage 1
    timed_seconds: float  # that a speed is measured over, about
    replicates: tuple[int, ...]  # seeds of the stacks of stage 2
    most_points: int  # points of each multi-shot method in stage 2
    shared_jobs: tuple[int, ...]  # that share a device
    shared_steps: int  # of each of them
    board_options: tuple[str, ...]  # of ``fairbench run`` in stage 3
    image_steps: int  # budget of stage 4
    loss_every: int  # steps between two points of the curve of losses


FULL = Sizes(
    methods=(),
    image_methods=("sofair", "beta-vae"),
    loss_steps=50,
    resume_steps=140,
    audited=("sofair", "beta-vae", "latfr"),
    audit_steps=200,
    points=3,
    timed_seconds=1.0,
    replicates=(1, 10),
    most_points=1000,
    shared_jobs=(2, 4, 8),
    shared_steps=4000,
    board_options=("--methods", "all"),
    image_steps=DSpritesUnfair.iterations,
    loss_every=500,
)
"""For a GPU."""

QUICK = Sizes(
    methods=("sofair", "beta-vae"),
    image_methods=("sofair",),
    loss_steps=5,
    resume_steps=60,
    audited=("latfr",),
    audit_steps=20,
    points=2,
    timed_seconds=0.2,
    replicates=(1,),
    most_points=4,
    shared_jobs=(2,),
    shared_steps=40,
    board_options=("--methods", "sofair,beta-vae", "--points", "2", "--budget", "quick"),
    image_steps=200,
    loss_every=10,
)
"""To try all of it within two minutes, on a CPU too."""


@dataclass(frozen=True)
class Settings:
    """What the command was asked for.

    ``deadline`` is the value of ``time.monotonic()`` at which a stage stops.
    """

    data_root: Path
    out: Path
    device: str  # cpu or cuda
    quick: bool
    deadline: float = math.inf

    @property
    def sizes(self) -> Sizes:
        """How much a stage does."""
        return QUICK if self.quick else FULL

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()


@cache
def adults(root: Path) -> Prepared:
    """Adults-Gender; its simulated twin where the folder has no files of it."""
    return load_dataset(AdultsGender, root=root)


def training_rows(data: Prepared) -> TrainingRows:
    """Return the rows that methods are fitted on."""
    rows = data.roles[Role.ENCODER_TRAIN]
    return TrainingRows(rows.x, rows.s, data.info)


def synchronise(device: str) -> None:
    """Wait until the device has done all that it was given: clocks are read afterwards."""
    if device == "cuda":
        torch.cuda.synchronize()


def counted(models: int) -> str:
    """Return ``1 model`` or ``16 models``."""
    return "1 model" if models == 1 else f"{models} models"
