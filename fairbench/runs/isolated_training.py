"""Training where there are the training rows, and nothing else.

A ``fit`` that took the groups, labels or x of other rows from the memory of the process that called
it, or from the files of the data, finds neither there, and gives another encoder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from fairbench.api import FitContext, TrainingRows, Unit
from fairbench.api.method import Curve, Diverged, Method, Representation
from fairbench.api.types import Progress
from fairbench.runs.forked_calls import tell
from fairbench.runs.isolation import Isolation
from fairbench.runs.plugin_values import (
    ContractError,
    ReportedCosts,
    finite_number,
    one_per_unit,
)
from fairbench.store.encoders import arrays_of
from fairbench.training.freed_memory import keep_freed_memory

State = Mapping[str, np.ndarray]
"""Arrays from which a method restores what it has fitted."""


@dataclass(frozen=True)
class TrainedAlone:
    """What was fitted in the other process.

    Parameters
    ----------
    states : sequence of State or Diverged
        One per unit.
    costs : mapping of str to float
        As the fit reported them.
    """

    states: Sequence[State | Diverged]
    costs: Mapping[str, float]


@dataclass(frozen=True)
class IsolatedTrainingTask:
    """All that the other process is given; ``deadline`` is that of a FitContext."""

    method: type[Method]
    rows: TrainingRows
    units: Sequence[Unit]
    iterations: int
    device: str
    deadline: float | None

    def train(self, isolation: Isolation, progress: Progress) -> TrainedAlone | None:
        """Fit in a process of its own; None where the method cannot be restored from arrays.

        ``progress`` gets what the fit says of it. There are no checkpoints: a file that it finds
        could hold what it may not know. Raises what ``fit`` raises, and ContractError where it
        opens what it may not.
        """
        if self.method.restore is Method.restore:
            return None
        call = partial(IsolatedTrainingTask._train, self, isolation.params)
        try:
            return isolation.call(isolation.rules(trains=True), call, lambda said: progress(*said))
        finally:
            isolation.processes.end()  # what follows in this job needs memory, and no other process

    def _train(self, params: Mapping[str, object]) -> TrainedAlone | None:
        if self.rows.info.architecture.image is not None:
            keep_freed_memory()
        method, reported = self.method(self.method.Params(**params)), ReportedCosts()
        context = FitContext(
            iterations=self.iterations,
            device=self.device,
            progress=lambda fraction, note: tell([_checked(fraction), str(note)]),
            report=reported.report,
            deadline=self.deadline,
        )
        fitted = one_per_unit(method.fit(self.rows, self.units, context), self.units, method)
        states: list[State | Diverged] = []
        for one in fitted:
            if isinstance(one, Diverged):
                states.append(Diverged(str(one.reason)))
                continue
            if not isinstance(one, Representation | Curve):
                raise ContractError(
                    f"{method.name}.fit returned a {type(one).__name__}, "
                    "not a Representation, Curve or Diverged."
                )
            if (state := _state_of(one)) is None:
                return None
            states.append(state)
        return TrainedAlone(states, dict(reported))


def _state_of(fitted: Representation | Curve) -> State | None:
    """Return the arrays of what was fitted; None where there are none that a file can hold."""
    from safetensors.numpy import save

    try:
        state = fitted.state()
        if state is None:
            return None
        arrays = arrays_of(state)
        save(arrays)  # which takes no objects: they could be made where they are read
    # Figures are not worse for a mistake in state().
    except Exception:
        return None
    return arrays


def _checked(fraction: float) -> float:
    return finite_number(fraction, "the fraction given to progress()")
