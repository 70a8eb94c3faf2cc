"""Training where there are the training rows, and nothing else.

A ``fit`` that took the groups, labels or x of other rows from the memory of the process that called
it, or from the files of the data, finds neither there, and gives another encoder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fairbench.api import FitContext, TrainingRows, Unit
from fairbench.api.method import Diverged, Method, Params
from fairbench.runs.isolation import Isolation
from fairbench.runs.plugin_values import ReportedCosts, finite_number, one_per_unit

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
    costs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class IsolatedTrainingTask:
    """All that the other process is given; ``deadline`` is that of a FitContext."""

    method: type[Method]
    params: Params
    rows: TrainingRows
    units: Sequence[Unit]
    iterations: int
    device: str
    deadline: float | None

    def train(self, isolation: Isolation) -> TrainedAlone | None:
        """Fit in a process of its own; None where the method cannot be restored from arrays.

        There are no checkpoints: a file that it finds could hold what it may not know. Raises what
        ``fit`` raises, and ContractError where it opens what it may not.
        """
        rules = isolation.rules(trains=True)
        return isolation.call(self.method.name, rules, IsolatedTrainingTask._train, self)

    def _train(self) -> TrainedAlone | None:
        method, reported = self.method(self.params), ReportedCosts()
        context = FitContext(
            iterations=self.iterations,
            device=self.device,
            progress=lambda fraction, note: _check_progress(fraction),
            report=reported.report,
            deadline=self.deadline,
        )
        states: list[State | Diverged] = []
        for fitted in one_per_unit(method.fit(self.rows, self.units, context), self.units, method):
            if isinstance(fitted, Diverged):
                states.append(fitted)
                continue
            state = fitted.state()
            if state is None:
                return None
            # Contiguous, as files of encoders need them.
            states.append({name: np.array(array, order="C") for name, array in state.items()})
        return TrainedAlone(states, dict(reported))


def _check_progress(fraction: float) -> None:
    finite_number(fraction, "the fraction given to progress()")
