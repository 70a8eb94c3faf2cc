"""Methods that break one promise each, when they encode, decode or are kept."""

from __future__ import annotations

import numpy as np

from fairbench.api import Coding, Knob, Point
from tests.support.right_method import Released, Right

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


class GivesObjects(Right):
    class released(Released):
        def encode(self, x, *, s=None, generator=None):
            return super().encode(x).astype(object)


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


class DecodesToNan(Right):
    has_decoder = True

    class released(Decodes):
        def decode(self, z, s):
            return super().decode(z, s) * np.float32(np.nan)


class DecodesToLists(Right):
    """It keeps every promise."""

    has_decoder = True

    class released(Decodes):
        def decode(self, z, s):
            return super().decode(z, s).tolist()


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


class DecodesFromMemory(Right):
    has_decoder = True

    class released(Decodes):
        mean = 0.0

        def encode(self, x, *, s=None, generator=None):
            self.mean = x.mean(axis=0)
            return super().encode(x, s=s, generator=generator)

        def decode(self, z, s):
            return (super().decode(z, s) + self.mean).astype(np.float32)


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


class FlatBits(Right):
    has_bits = True

    class released(Released):
        def bits(self, x):
            return np.zeros((len(x), 2), np.int8)


class CountsInWords(Right):
    class released(Released):
        def multiply_adds(self):
            return "many"


class CountsInNumpy(Right):
    """It keeps every promise."""

    class released(Released):
        def parameters(self):
            return np.int64(3)


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


class LosesItsDecoder(Kept):
    """Decodes by a number that it does not keep."""

    has_decoder = True

    class released(Kept.released):
        middle = 0.0

        def decode(self, z, s):
            return np.hstack([z, z]).astype(np.float32) + np.float32(self.middle)

    def fit(self, train, units, context):
        fitted = super().fit(train, units, context)
        for one in fitted:
            one.middle = 1 + float(train.x.mean())
        return fitted


class RestoresAnother(Kept):
    def restore(self, state, unit, info):
        return None


class KeepsNoArrays(Kept):
    class released(Released):
        def state(self):
            return {"add": object()}
