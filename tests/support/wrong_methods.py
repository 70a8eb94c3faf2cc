"""Methods that break one promise each."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import ConfigDict

from fairbench.api import Coding, Knob, Point, Shots
from fairbench.api.dataset import Dataset
from fairbench.api.method import Curve, Diverged, Method, Params, Representation
from fairbench.data.prepared import Prepared
from tests.conftest import make_table


class Released(Representation):
    def __init__(self, add=0.0):
        self.add = add

    def encode(self, x, *, s=None, generator=None):
        return (x[:, :2] + self.add).astype(np.float32)


class Right(Method):
    """Two columns, moved a little by each seed: it keeps every promise."""

    name = "right"
    summary = "releases two columns"
    released: ClassVar = Released

    def fit(self, train, units, context):
        return [self.released(np.random.default_rng(unit.seed).normal()) for unit in units]


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


# Of what encode and decode return.


class WrongShape(Right):
    class released(Released):
        def encode(self, x, *, s=None, generator=None):
            return x[:, 0].astype(np.float32)


class WrongRows(Right):
    class released(Released):
        def encode(self, x, *, s=None, generator=None):
            return super().encode(x)[:-1]


class WrongType(Right):
    class released(Released):
        def encode(self, x, *, s=None, generator=None):
            return super().encode(x).astype(np.float64)


class GivesNan(Right):
    class released(Released):
        def encode(self, x, *, s=None, generator=None):
            with np.errstate(invalid="ignore"):
                return np.log(super().encode(x))


class FarFromHomeNan(Right):
    class released(Released):
        def encode(self, x, *, s=None, generator=None):
            return np.where(np.abs(x) > 4.5, np.nan, x).astype(np.float32)


class ScalesByBatch(Right):
    class released(Released):
        def encode(self, x, *, s=None, generator=None):
            return super().encode(x - x.mean(axis=0))


class ScalesDrawsByBatch(Right):
    coding = Coding.STOCHASTIC

    class released(Released):
        def encode(self, x, *, s=None, generator=None):
            noise = generator.normal(size=(len(x), 2))
            return super().encode(x - x.mean(axis=0)) + noise.astype(np.float32)


class NeedsS(Right):
    class released(Released):
        def encode(self, x, *, s=None, generator=None):
            return super().encode(x - s[:, None])


class UsesSIfThere(Right):
    class released(Released):
        def encode(self, x, *, s=None, generator=None):
            return super().encode(x if s is None else x - s[:, None])


class LosesFloat64(Right):
    class released(Released):
        def encode(self, x, *, s=None, generator=None):
            return np.ascontiguousarray(x).view(np.float32)[: len(x), :2].copy()


class DecodesUndeclared(Right):
    class released(Released):
        def decode(self, z, s):
            return np.zeros((len(z), 4), np.float32)


class HasNoDecoder(Right):
    has_decoder = True


class DecodesToLittle(Right):
    has_decoder = True

    class released(Released):
        def decode(self, z, s):
            return z


class Decodes(Released):
    """To its two columns, twice."""

    def decode(self, z, s):
        return np.hstack([z, z]).astype(np.float32)


class WritesWhenDecoding(Right):
    has_decoder = True

    class released(Decodes):
        def decode(self, z, s):
            z -= 1
            return super().decode(z + 1, s)


class DecodesByBatch(Right):
    has_decoder = True

    class released(Decodes):
        def decode(self, z, s):
            return super().decode(z - z.mean(axis=0), s)


class KnobDoesNothing(Right):
    knobs = (Knob("beta", 0, 1),)

    def points(self):
        return (Point.of(beta=0), Point.of(beta=1))

    def fit(self, train, units, context):
        return [self.released() for _ in units]


class BreaksAsAJob(Right):
    """Its decoder fails for a group that no row of the checks has alone."""

    has_decoder = True

    class released(Decodes):
        def decode(self, z, s):
            if len(s) > 50 and len(np.unique(s)) == 1:
                raise ValueError("all of one group")
            return super().decode(z, s)


class IsNotQuantised(Right):
    coding = Coding.QUANTISED


class DrawsNothing(Right):
    coding = Coding.STOCHASTIC


class BadBits(Right):
    has_bits = True

    class released(Released):
        def bits(self, x):
            return np.full((len(x), 2, 8), 3, np.int8)


# Of what is kept.


class Kept(Right):
    """Its encoders can be kept, and all promises are."""

    class released(Released):
        def state(self):
            return {"add": np.array(self.add)}

    def restore(self, state, unit, info):
        return self.released(float(state["add"]))


class CannotRestore(Right):
    released = Kept.released


class LosesInKeeping(Kept):
    class released(Released):
        def state(self):
            return {"add": np.array(self.add, np.float16)}


class RestoresAnother(Kept):
    def restore(self, state, unit, info):
        return None


class KeepsNoArrays(Kept):
    class released(Released):
        def state(self):
            return {"add": object()}


# Of what is declared.


class BadName(Right):
    name = "My Method"


class NoSummary(Right):
    summary = ""


class OneAlias(Right):
    aliases = "other"


class WordForATrack(Right):
    track = "blind"


class NeedsParams(Right):
    class Params(Params):
        width: int


class TakesAnything(Right):
    class Params(Params):
        model_config = ConfigDict(extra="ignore")


class KnobsUndeclared(Right):
    def points(self):
        return (Point.of(beta=0.1), Point.of(beta=0.2))


class PointsOutside(Right):
    knobs = (Knob("beta", 0.0, 1.0),)

    def points(self):
        return (Point.of(beta=0.5), Point.of(beta=2.0))


class PointsAlike(Right):
    knobs = (Knob("beta", 0.0, 1.0),)

    def points(self):
        return (Point.of(beta=0.5), Point.of(beta=0.5))


class SearchesElsewhere(Right):
    def search_space(self):
        from optuna.distributions import FloatDistribution

        return {"beta": FloatDistribution(0, 1)}


class SearchesTooFar(Right):
    class Params(Params):
        width: int = 3

    def search_space(self):
        from optuna.distributions import CategoricalDistribution

        return {"width": CategoricalDistribution([3, "wide"])}


class SupportsIsABool(Right):
    def supports(self, info):
        return False


def local_method():
    """A class that no other process can import."""

    class Local(Right):
        pass

    return Local
