"""Methods that break one promise each, in what they declare."""

from __future__ import annotations

from pydantic import ConfigDict

from fairbench.api import Knob, Point
from fairbench.api.method import Params
from tests.support.right_method import Right


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


class SearchesBetweenWholeNumbers(SearchesTooFar):
    def search_space(self):
        from optuna.distributions import FloatDistribution

        return {"width": FloatDistribution(1, 3)}


class SearchesAList(Right):
    def search_space(self):
        return ["width"]


class SupportsIsABool(Right):
    def supports(self, info):
        return False


def local_method():
    """A class that no other process can import."""

    class Local(Right):
        pass

    return Local


class NeverClips(Right):
    class Params(Params):
        clip: float = float("inf")


class SizesInWords(Right):
    def workload(self, info):
        return "small"
