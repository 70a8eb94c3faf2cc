"""Methods that break one promise each, when they are fitted."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import numpy as np

from fairbench.api import Knob, Shots
from fairbench.api.dataset import Dataset
from fairbench.api.method import Curve, Diverged, Representation
from fairbench.data.prepared import Prepared
from tests.support.right_method import Released, Right
from tests.support.small_table import make_table

# Of what fit may know, and may touch.


class PeeksThroughFrames(Right):
    """Finds the job that called it, and the labels in it."""

    def fit(self, train, units, context):
        frame, mean = sys._getframe(1), 0.0
        while frame is not None:
            data = getattr(frame.f_locals.get("self"), "data", None)
            if isinstance(data, Prepared):
                y = data.roles["encoder-train"].y["task"]
                mean = float((train.x[:, 0] * y).mean())
            frame = frame.f_back
        return [Released(mean) for _ in units]


class PeeksAtFiles(Right):
    def fit(self, train, units, context):
        labels = Path(os.environ["FAIRBENCH_DATA"]) / "labels.csv"
        return [Released(float(labels.read_text())) for _ in units]


class Simple(Dataset):
    name = "simple"
    summary = "somebody's dataset"

    def load(self, folder):
        return make_table(50)


class PeeksAtDatasets(Right):
    def fit(self, train, units, context):
        y = Simple().load(Path()).y["task"]
        return [Released(y.mean()) for _ in units]


class WritesIntoX(Right):
    def fit(self, train, units, context):
        train.x[:, 0] -= train.x[:, 0].mean()
        return super().fit(train, units, context)


class WritesIntoS(Right):
    def fit(self, train, units, context):
        train.s[0] = 1 - train.s[0]
        return super().fit(train, units, context)


class WritesWhenEncoding(Right):
    class released(Released):
        def encode(self, x, *, s=None, generator=None):
            if x.flags.writeable:
                x *= 2
            return super().encode(x)


class MovesAway(Right):
    def fit(self, train, units, context):
        os.chdir("/")
        return super().fit(train, units, context)


class SeedsEverybody(Right):
    def fit(self, train, units, context):
        np.random.seed(units[0].seed)  # noqa: NPY002
        return super().fit(train, units, context)


class DrawsFromEverybody(Right):
    def fit(self, train, units, context):
        random.random()
        return super().fit(train, units, context)


class SetsTheEnvironment(Right):
    def fit(self, train, units, context):
        os.environ["RIGHT_WAS_HERE"] = "1"
        return super().fit(train, units, context)


class IgnoresEverybodysErrors(Right):
    def fit(self, train, units, context):
        np.seterr(all="ignore")
        return super().fit(train, units, context)


class ComputesInDoublePrecision(Right):
    def fit(self, train, units, context):
        import torch

        torch.set_default_dtype(torch.float64)
        return super().fit(train, units, context)


# Of seeds and stacks.


class Unseeded(Right):
    def fit(self, train, units, context):
        return [Released(np.random.default_rng().normal()) for _ in units]


class GloballyUnseeded(Right):
    def fit(self, train, units, context):
        return [Released(np.random.normal()) for _ in units]  # noqa: NPY002


class UnseededEncoder(Right):
    class released(Released):
        def encode(self, x, *, s=None, generator=None):
            return super().encode(x) + np.random.default_rng().normal(size=1).astype("f4")


class ReadsMoreThanItSays(Right):
    class released(Released):
        def input_columns(self):
            return [0]


class ReadsWhatIsNotThere(Right):
    class released(Released):
        def input_columns(self):
            return [0, 99]


class NamesColumnsInAnArray(Right):
    class released(Released):
        def input_columns(self):
            return np.arange(4)


class DrawsForAllAtOnce(Right):
    """What the second unit gets depends on who is first."""

    def fit(self, train, units, context):
        rng = np.random.default_rng(units[0].seed)
        return [Released(rng.normal()) for _ in units]


class GoesByTheDevice(Right):
    uses_gpu = True

    def fit(self, train, units, context):
        return [Released(float(context.device == "cuda")) for _ in units]


class OnlyTwoGroups(Right):
    def fit(self, train, units, context):
        if train.s.max() > 1:
            raise ValueError("s must be binary")
        return super().fit(train, units, context)


# Of what fit returns.


class TooFew(Right):
    def fit(self, train, units, context):
        return []


class NotAList(Right):
    def fit(self, train, units, context):
        return Released()


class NoCurve(Right):
    shots = Shots.SINGLE
    knobs = (Knob("beta", 0.0, 1.0),)


class ACurveForAPoint(Right):
    def fit(self, train, units, context):
        return [BreaksAtTheEnd.Line() for _ in units]


class SeesSAtTheEnd(Right):
    shots = Shots.SINGLE
    knobs = (Knob("k", 0.0, 1.0),)

    class Line(Curve):
        knob = Knob("k", 0.0, 1.0)

        def at(self, point):
            return UsesSThere() if point["k"] == 0 else Released(point["k"])

    def fit(self, train, units, context):
        return [self.Line() for _ in units]


class UsesSThere(Representation):
    def encode(self, x, *, s=None, generator=None):
        return (x[:, :2] + (0 if s is None else s[:, None])).astype(np.float32)


class NamedAll(Right):
    name = "all"


class BreaksAtTheEnd(Right):
    shots = Shots.SINGLE
    knobs = (Knob("beta", 0.0, 1.0),)

    class Line(Curve):
        knob = Knob("beta", 0.0, 1.0)

        def at(self, point):
            return Released(1 / (1 - point["beta"]))

    def fit(self, train, units, context):
        return [self.Line() for _ in units]


class AlwaysDiverges(Right):
    def fit(self, train, units, context):
        return [Diverged("loss nan at step 1") for _ in units]


class Raises(Right):
    def fit(self, train, units, context):
        raise KeyError("weights")


class Exits(Right):
    def fit(self, train, units, context):
        sys.exit("enough")
