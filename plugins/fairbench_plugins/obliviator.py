"""Obliviator: rounds of nonlinear erasure, each of which leaves z less dependent on s.

Akbari, Afshari and Boddeti 2025, "Obliviator Reveals the Cost of Nonlinear Guardedness in Concept
Erasure" (NeurIPS 2025, arXiv:2603.07529), in its unsupervised form. HSIC(A, B) is the squared norm
of the cross-covariance of kernel features of A and B, the features random Fourier features (section
3.2, appendix B.3). From x_0 = x, round i maps x_i to x_i+1 in two steps:

1. A network e is trained on the training set as one batch (equation 8) to minimise

       HSIC(e(x_i), s)  -  t_i HSIC(e(x_i), x_i)  -  t_x HSIC(e(x_i), x)

2. With f the features of e(x_i), centred, C_s, C_i and C_x their cross-covariances with s and with
   the features of x_i and x, and N an orthonormal basis of the null space of C_s, the next code is

       x_i+1 = f N V,   V the top eigenvectors of  N' (C_i' C_i + u_x C_x' C_x) N

   (equations 11 and 12): the functions that tell most of x among those uncorrelated with s.
   Eigenvectors with less than ``threshold`` of the largest eigenvalue are left out.

The knob is the number of rounds; one fit gives them all. Network (one hidden layer of 256, SiLU),
optimizer (AdamW, 5e-4, weight decay .001), its 25 steps, t_i = .1, t_x = .05, u_x = .5, the
threshold and kernel widths by the median heuristic are the paper's (appendix B.3, table 2).

Ours, where the paper leaves it open or tables need it:

* Codes are scaled to unit variance by column before their features are taken. The paper prefers
  rows of unit length, of the two it tried; in a few dimensions that would throw the length away.
* Fewer features, and of x and x_i only their leading principal components (``targets``), which hold
  nearly all of their kernels: a tenth of the time. Frequencies are drawn anew at every step, so the
  network cannot hide s from some of them.
* At most ``dimensions`` columns, and as many outputs of e; at most ``rows`` rows are fitted on.
* The features of s are its indicators. 30 rounds at most; the paper goes on until an auditor fails.
* A budget of fewer steps than rounds times ``steps`` is spread over the rounds.

The authors' published code differs from the paper's text, which is followed here: each term of step
1 is the root of the mean square of the cross-covariance, with batches of the training set; codes
have rows of unit length; x is first reduced in the null space of C_s. Its terms with its weights
gave about the same curve in a short trial on Adults.

There is no decoder; the suite's is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fairbench.api import (
    Curve,
    DatasetInfo,
    FitContext,
    Fitted,
    Floats,
    Ints,
    Knob,
    Method,
    Params,
    Point,
    Representation,
    Shots,
    TrainingRows,
    Unit,
)
from fairbench.hookspecs import hookimpl

Array = npt.NDArray[np.float64]

_MAX_KEPT = 4_000_000
"""Numbers of codes that are kept to go on from."""


class ObliviatorParams(Params):
    """Hyperparameters of Obliviator."""

    rounds: int = Field(30, ge=1)
    """Rounds that are fitted: the end of the curve."""
    steps: int = Field(25, ge=1)
    """Training steps of a round's network."""
    hidden: int = Field(256, ge=1)
    """Units of its hidden layer."""
    dimensions: int = Field(32, ge=1)
    """Outputs of the network, and most columns of a code."""
    features: int = Field(256, ge=8)
    """Random Fourier features of a code; more than groups."""
    targets: int = Field(32, ge=1)
    """Principal components that stand for the features of x and of x_i."""
    keep_last: float = Field(0.1, ge=0, allow_inf_nan=False)
    """t_i: weight of what e(x_i) says of x_i."""
    keep_first: float = Field(0.05, ge=0, allow_inf_nan=False)
    """t_x: weight of what it says of x."""
    align_first: float = Field(0.5, ge=0, allow_inf_nan=False)
    """u_x: weight of x beside x_i in the choice of directions."""
    threshold: float = Field(1e-4, gt=0, lt=1)
    """Least eigenvalue of a direction, as a share of the largest."""
    width: float = Field(1.0, gt=0, allow_inf_nan=False)
    """Of the kernels of codes, in root mean squared distances."""
    learning_rate: float = Field(5e-4, gt=0, allow_inf_nan=False)
    """Of AdamW."""
    rows: int = Field(4096, ge=64)
    """Most training rows."""


class Obliviator(Method):
    """Rounds of a network against HSIC and a projection."""

    name = "obliviator"
    summary = "rounds of nonlinear erasure: a network against HSIC with s, then a projection"
    reference = "Akbari et al. 2025, arXiv:2603.07529; unsupervised"
    shots = Shots.SINGLE
    most_features = 1024  # networks and features are of all columns
    uses_gpu = True
    Params: ClassVar[type[Params]] = ObliviatorParams

    def __init__(self, params: ObliviatorParams | None = None) -> None:
        super().__init__(params)
        most = self.params.rounds
        self.knobs = (Knob("rounds", 1, most, "rounds of erasure; more is fairer", whole=True),)

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import FloatDistribution, IntDistribution

        return {
            "keep_last": FloatDistribution(0.01, 1.0, log=True),
            "keep_first": FloatDistribution(0.005, 0.5, log=True),
            "dimensions": IntDistribution(8, 64, log=True),
            "steps": IntDistribution(10, 60),
        }

    def supports(self, info: DatasetInfo) -> str | None:
        if len(info.groups) > self.params.features // 2:
            return f"it has {self.params.features} random features; {info.name} has too many groups"
        return super().supports(info)

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        curves = []
        for done, unit in enumerate(units):
            rounds = []
            for each in _Eraser(train, self.params, unit.seed, context).rounds():
                rounds.append(each)
                share = len(rounds) / self.params.rounds
                context.progress((done + share) / len(units), f"round {len(rounds)}")
            curves.append(ErasureCurve(rounds))
        return curves

    def restore(self, state: Mapping[str, Any], unit: Unit, info: DatasetInfo) -> Curve:
        names = [field.name for field in fields(Round)]
        count = len(state) // len(names)
        return ErasureCurve(
            [Round(**{name: state[f"round{i}_{name}"] for name in names}) for i in range(count)]
        )


@dataclass(frozen=True)
class Round:
    """One round: x -> network -> random Fourier features -> projection. Arrays of float64."""

    mean: Array
    """Of the round's input, by column."""
    scale: Array
    """By which the centred input is divided."""
    weight_in: Array
    bias_in: Array
    weight_out: Array
    """Of the network; its output has mean 0 and variance 1 by column."""
    bias_out: Array
    frequencies: Array
    phases: Array
    projection: Array
    """Of the features to the next code."""
    offset: Array
    """Of the next code, so that its mean is 0."""

    def __call__(self, x: Array) -> Array:
        """Map rows to the next code."""
        features = np.cos(self.embed(x) @ self.frequencies + self.phases)
        code: Array = features @ self.projection + self.offset
        return code

    def embed(self, x: Array) -> Array:
        """Output of the network."""
        hidden = ((x - self.mean) / self.scale) @ self.weight_in + self.bias_in
        # SiLU; far below 0 it is 0, and exp would overflow.
        hidden = hidden / (1 + np.exp(-np.maximum(hidden, -50)))
        out: Array = hidden @ self.weight_out + self.bias_out
        return out


class ErasureCurve(Curve):
    """All rounds of one fit; a point is the code after so many of them."""

    def __init__(self, rounds: Sequence[Round]) -> None:
        self.rounds = tuple(rounds)
        self.knob = Knob("rounds", 1, len(rounds))
        self.points = tuple(Point.of(rounds=count) for count in _spread(len(rounds)))
        self._kept: dict[bytes, tuple[int, Array]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Codes that are kept are of people: they are in no copy and no pickle."""
        return self.__dict__ | {"_kept": {}}

    def at(self, point: Point) -> Representation:
        count = round(point["rounds"])
        return _Erased(self, min(max(count, 1), len(self.rounds)))

    def code(self, x: Floats, count: int) -> Array:
        """Code after ``count`` rounds; goes on from the last one asked for of the same rows."""
        key = hashlib.sha256(np.ascontiguousarray(x).tobytes()).digest()
        start, z = self._kept.get(key, (0, None))
        if z is None or start > count:
            start, z = 0, x.astype(np.float64)
        for each in self.rounds[start:count]:
            z = each(z)
        if sum(kept.size for _, kept in self._kept.values()) + z.size > _MAX_KEPT:
            self._kept.clear()
        self._kept[key] = (count, z)
        return z

    def state(self) -> Mapping[str, Any]:
        return {
            f"round{i}_{field.name}": getattr(each, field.name)
            for i, each in enumerate(self.rounds)
            for field in fields(each)
        }


class _Erased(Representation):
    def __init__(self, curve: ErasureCurve, count: int) -> None:
        self.curve, self.count = curve, count

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        return self.curve.code(x, self.count).astype(np.float32)

    def parameters(self) -> int:
        """Of all rounds, which one fit trains; the last bias is set and not trained."""
        return sum(
            each.weight_in.size + each.bias_in.size + each.weight_out.size
            for each in self.curve.rounds
        )


def _spread(rounds: int) -> list[int]:
    """About ten numbers of rounds: one by one at first, then in longer steps."""
    return sorted({round(count) for count in np.geomspace(1, rounds, 12)})


class _Eraser:
    """Fits the rounds of one unit."""

    def __init__(self, train: TrainingRows, params: Any, seed: int, context: FitContext) -> None:
        import torch

        self.params, self.device = params, context.device
        self.rng = np.random.default_rng(seed)
        self.draws = torch.Generator().manual_seed(seed)
        chosen = np.sort(self.rng.permutation(len(train.x))[: params.rows])
        self.x: Array = train.x[chosen].astype(np.float64)
        indicators = np.eye(len(train.info.groups))[train.s[chosen]]
        self.s: Array = indicators - indicators.mean(axis=0)
        self.steps = max(1, min(params.steps, context.iterations // params.rounds))

    def rounds(self) -> Iterator[Round]:
        """Fit them one after the other."""
        first = self._targets(self.x)
        x = self.x
        for _ in range(self.params.rounds):
            last = self._targets(x)
            each = self._project(self._embedding(x, first, last), x, first, last)
            yield each
            x = each(x)

    def _embedding(self, x: Array, first: Array, last: Array) -> dict[str, Array]:
        """Train a round's network (equation 8)."""
        import torch

        def tensor(array: Array) -> torch.Tensor:
            return torch.tensor(array, dtype=torch.float32, device=self.device)

        def uniform(rows: int, columns: int, fan_in: int) -> torch.Tensor:
            drawn = torch.rand(rows, columns, generator=self.draws) * 2 - 1
            weight: torch.Tensor = (drawn / fan_in**0.5).to(self.device).requires_grad_()
            return weight

        mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-6
        inputs, wanted = tensor((x - mean) / scale), self.params.dimensions
        hidden = self.params.hidden
        weights = [
            uniform(x.shape[1], hidden, x.shape[1]),
            uniform(1, hidden, x.shape[1]),
            uniform(hidden, wanted, hidden),
        ]
        told = [
            (1.0, tensor(self.s)),
            (-self.params.keep_last, tensor(last)),
            (-self.params.keep_first, tensor(first)),
        ]
        optimizer = torch.optim.AdamW(weights, lr=self.params.learning_rate, weight_decay=1e-3)
        for _ in range(self.steps):
            z = torch.nn.functional.silu(inputs @ weights[0] + weights[1]) @ weights[2]
            z = (z - z.mean(0)) / (z.var(0, correction=0) + 1e-6).sqrt()
            frequencies, phases = self._frequencies(wanted)
            features = torch.cos(z @ tensor(frequencies) + tensor(phases))
            features = (2 / self.params.features) ** 0.5 * (features - features.mean(0))
            terms = [weight * (features.T @ one / len(z)).square().sum() for weight, one in told]
            loss = torch.stack(terms).sum()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        weight_in, bias_in, weight_out = (
            weight.detach().cpu().numpy().astype(np.float64) for weight in weights
        )
        return {
            "mean": mean,
            "scale": scale,
            "weight_in": weight_in,
            "bias_in": bias_in[0],
            "weight_out": weight_out,
        }

    def _project(self, network: dict[str, Array], x: Array, first: Array, last: Array) -> Round:
        """Choose the directions of the network's features (equations 11 and 12)."""
        frequencies, phases = self._frequencies(self.params.dimensions)
        nothing = np.zeros(self.params.features)
        plain = Round(
            **network,
            bias_out=np.zeros(self.params.dimensions),
            frequencies=frequencies,
            phases=phases,
            projection=np.eye(self.params.features),
            offset=nothing,
        )
        out = plain.embed(x)
        spread = out.std(axis=0) + 1e-6
        fixed = replace(
            plain, weight_out=plain.weight_out / spread, bias_out=-out.mean(axis=0) / spread
        )
        features = fixed(x)
        mean = features.mean(axis=0)
        features -= mean
        _, sizes, rows = np.linalg.svd(self.s.T @ features)
        told = int((sizes > 1e-9 * max(sizes.max(), 1e-300)).sum())
        null = rows[told:].T
        of_last, of_first = (target.T @ (features @ null) for target in (last, first))
        alignment = of_last.T @ of_last + self.params.align_first * of_first.T @ of_first
        values, vectors = np.linalg.eigh(alignment)
        chosen = np.flatnonzero(values >= self.params.threshold * values[-1])[::-1]
        projection = null @ vectors[:, chosen[: self.params.dimensions]]
        size = (features @ projection).std(axis=0).max() + 1e-12
        return replace(fixed, projection=projection / size, offset=-mean @ projection / size)

    def _targets(self, x: Array) -> Array:
        """Features of x that stand for its kernel: leading principal components, centred."""
        frequencies, phases = self._frequencies(x.shape[1])
        features = (2 / self.params.features) ** 0.5 * np.cos(
            _standardised(x) @ frequencies + phases
        )
        features -= features.mean(axis=0)
        _, vectors = np.linalg.eigh(features.T @ features)
        leading: Array = features @ vectors[:, ::-1][:, : self.params.targets]
        return leading

    def _frequencies(self, columns: int) -> tuple[Array, Array]:
        """Of the Gaussian kernel exp(-|a - b|^2 / (2 w^2)) of standardised columns.

        w is their root mean squared distance, which is known, times ``width``.
        """
        count, width = self.params.features, self.params.width * (2 * columns) ** 0.5
        return (
            self.rng.standard_normal((columns, count)) / width,
            self.rng.uniform(0, 2 * np.pi, count),
        )


def _standardised(x: Array) -> Array:
    scaled: Array = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)
    return scaled


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """Obliviator."""
    return [Obliviator]
