"""Promises of ``encode`` and ``decode``: their shapes, their inputs and their codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral

import numpy as np

from fairbench.api import Coding, Role, Track
from fairbench.api.method import Representation
from fairbench.runs.packed_bits import pack_bits
from fairbench.runs.plugin_values import ContractError, amount
from fairbench.store.returned_values import short_repr
from fairbench.testing.check_results import BrokenPromise, Unmet
from fairbench.testing.method_trial import MAX_APART, MethodTrial, rows_apart
from fairbench.testing.promises import convert_errors, promise

FEW = 20
"""Rows that are encoded one by one."""

DRAWS = 64
"""Draws per row of stochastic encoders, whose means are compared."""

SIGMAS = 6.0

MAX_VALUES = 1_024
"""Distinct values of a dimension that still count as few."""

_MANY = 4_096


@promise("codes are float32, one row each, and finite")
def shapes(trial: MethodTrial) -> None:
    """Auditors are trained on them, and the store holds them."""
    blind = trial.method.track is Track.BLIND
    todo = "Fix what raised it." + (" encode is given s=None in the blind track." if blind else "")
    for representation in trial.first:
        with convert_errors("encode", todo):
            z = trial.encode(representation, trial.test.x, trial.test.s)
        allowed = (np.float32, np.uint8) if trial.test.x.dtype == np.uint8 else (np.float32,)
        if z.dtype not in allowed:
            raise BrokenPromise(f"encode returned {z.dtype}.", "Return z.astype(numpy.float32).")
        if not np.isfinite(z).all():
            rows = int((~np.isfinite(z).all(axis=1)).sum())
            raise BrokenPromise(
                f"encode returned NaN or infinity in {rows} of {len(z)} rows.",
                "Guard logarithms and divisions; return Diverged(reason) from fit if it blew up.",
            )


@promise("rows it has never seen are encoded, far ones too")
def unseen(trial: MethodTrial) -> None:
    """New rows can have values outside the range of the training set."""
    x = trial.test.x[:100]
    x = 1 - x if x.dtype == np.uint8 else 4 * x
    for representation in trial.everywhere:
        with convert_errors("encode", "Clip x, or extend its range."):
            z = trial.encode(representation, x, trial.test.s[:100])
        if not np.isfinite(z).all():
            raise BrokenPromise(
                "Far from the training rows codes are not finite.", "Clip x in encode."
            )


@promise("one row is encoded as it is among others")
def alone(trial: MethodTrial) -> None:
    """The code of a row must depend on that row alone, not on the rest of the batch."""
    x = _among_strangers(trial.test.x)
    s = trial.test.s
    for representation in trial.everywhere:
        if trial.stochastic:
            _draws_alone(trial, representation, x, s)
            continue
        among = trial.encode(representation, x, s)[:FEW]
        one_by_one = [trial.encode(representation, x[i : i + 1], s[i : i + 1]) for i in range(FEW)]
        apart = rows_apart(among, np.concatenate(one_by_one))
        if apart > MAX_APART:
            raise BrokenPromise(
                f"Encoded one by one, {apart:.0%} of the rows have other codes.",
                "Take means, ranks and scales from the training rows in fit, not from x in encode.",
            )


def _among_strangers(x: np.ndarray) -> np.ndarray:
    """Return the first rows among extreme ones, which shift a batch's statistics; flip pixels."""
    far = 1 - x[FEW:] if x.dtype == np.uint8 else 1 - 3 * x[FEW:]
    return np.concatenate([x[:FEW], far])


def _draws_alone(
    trial: MethodTrial, representation: Representation, x: np.ndarray, s: np.ndarray
) -> None:
    """Check that draws of a row have one distribution, alone or among others."""
    rows = 3
    among = np.stack([trial.encode(representation, x, s, seed=i)[:rows] for i in range(DRAWS)])
    single = np.stack(
        [
            np.concatenate(
                [
                    trial.encode(
                        representation, x[j : j + 1], s[j : j + 1], seed=DRAWS + i * rows + j
                    )
                    for j in range(rows)
                ]
            )
            for i in range(DRAWS)
        ]
    )
    gap = np.abs(among.mean(axis=0) - single.mean(axis=0))
    error = np.sqrt((among.var(axis=0) + single.var(axis=0)) / DRAWS)
    if (gap > SIGMAS * error + 1e-3 * np.maximum(np.abs(among).max(axis=0), 1.0)).any():
        raise BrokenPromise(
            f"The mean of {DRAWS} draws of a row alone differs from that among others.",
            "Take means, ranks and scales from the training rows in fit, not from x in encode.",
        )


@promise("float64 rows are encoded as float32 ones")
def precisions(trial: MethodTrial) -> None:
    """Users of the encoder have tables of float64, as pandas makes them."""
    for representation in trial.encoders:
        z = trial.encode(representation, trial.test.x, trial.test.s)
        with convert_errors("encode", "Begin with x.astype(numpy.float32)."):
            wide = trial.encode(representation, trial.test.x.astype(np.float64), trial.test.s)
        apart = rows_apart(z, wide)
        if apart > MAX_APART:
            raise BrokenPromise(
                f"As float64 {apart:.0%} of the rows have other codes.",
                "Begin with x.astype(numpy.float32).",
            )


@promise("encode leaves its rows as they are")
def keeps_rows(trial: MethodTrial) -> None:
    """The same rows are encoded at every point, and then compared with decoded ones."""
    for representation in trial.first:
        x, s = trial.test.x.copy(), trial.test.s.copy()
        try:
            trial.encode(representation, x, s)
        except (Exception, SystemExit):
            _ = trial.encoders
            raise
        if not np.array_equal(x, trial.test.x) or not np.array_equal(s, trial.test.s):
            raise BrokenPromise("encode writes into its rows.", "Work on a copy: x = x.copy().")


@promise("blind means blind: s changes nothing")
def blind(trial: MethodTrial) -> None:
    """In the blind track the encoder sees x alone; one that sees s is ranked in the aware track."""
    if trial.method.track is not Track.BLIND:
        raise Unmet(f"it is in the {trial.method.track} track")
    x, s = trial.test.x, trial.test.s
    permuted = np.random.default_rng(0).permutation(s)
    todo = "Do not use s in encode, or declare track = Track.AWARE."
    for representation in trial.everywhere:
        codes = []
        for s_input in (None, s, permuted):
            generator = np.random.default_rng(0) if trial.stochastic else None
            with convert_errors(f"encode {'without' if s_input is None else 'with'} s", todo):
                codes.append(np.asarray(representation.encode(x, s=s_input, generator=generator)))
        if not all(np.array_equal(codes[0], other, equal_nan=True) for other in codes[1:]):
            raise BrokenPromise("With s permuted, or left out, its codes differ.", todo)


@promise("it codes as it declares")
def coding(trial: MethodTrial) -> None:
    """Audits use one draw of deterministic codes, and several of stochastic ones."""
    coded = trial.method.coding
    for representation in trial.coders:
        first, again = (trial.codes([representation])[0] for _ in range(2))
        if not np.array_equal(first, again, equal_nan=True):
            drawn = "the generator it is given" if trial.stochastic else "nothing at all"
            raise BrokenPromise(
                "Encoding the same rows twice gave other codes.",
                f"Its coding is {coded}: let encode draw from {drawn}"
                + ("." if trial.stochastic else ", or declare coding = Coding.STOCHASTIC."),
            )
    if trial.stochastic and all(
        np.array_equal(z, other)
        for z, other in zip(
            trial.codes(trial.coders), trial.codes(trial.coders, seed=1), strict=True
        )
    ):
        raise BrokenPromise(
            "It is declared stochastic, and another generator gives the same codes.",
            "Draw from generator in encode, or declare coding = Coding.DETERMINISTIC.",
        )
    if coded is Coding.QUANTISED:
        _check_few_values(trial)


def _check_few_values(trial: MethodTrial) -> None:
    rng = np.random.default_rng(0)
    picked = rng.integers(0, len(trial.test.s), _MANY)
    x = (trial.test.x[picked] + rng.normal(0, 0.3, (_MANY, trial.test.x.shape[1]))).astype("f4")
    for representation in trial.encoders:
        z = trial.encode(representation, x, trial.test.s[picked])
        values = max(len(np.unique(column)) for column in z.T)
        if values > MAX_VALUES:
            raise BrokenPromise(
                f"It is declared quantised; a dimension has {values:,} values on {_MANY:,} rows.",
                "Round in encode, or declare coding = Coding.DETERMINISTIC.",
            )


@promise("codes depend on no columns but the input columns that it names")
def input_columns(trial: MethodTrial) -> None:
    """New rows need no other columns: where they lack them, x is zero there."""
    x, s = trial.test.x, trial.test.s
    for representation in trial.first:
        columns = representation.input_columns()
        if columns is None:
            continue
        is_list = isinstance(columns, Sequence)
        if not is_list or not columns or not set(columns) <= set(range(x.shape[1])):
            raise BrokenPromise(
                f"input_columns returned {short_repr(columns)} of {x.shape[1]} columns.",
                "Return a list of numbers of columns of x, from 0, or None for all.",
            )
        alone = np.zeros_like(x)
        alone[:, columns] = x[:, columns]
        if rows_apart(trial.encode(representation, x, s), trial.encode(representation, alone, s)):
            raise BrokenPromise(
                "Without the columns that input_columns leaves out, codes are others.",
                "Name every column that encode reads, or return None.",
            )


@promise("it decodes if it declares a decoder")
def decodes(trial: MethodTrial) -> None:
    """D is measured by its own and the refitted decoder, or by the latter alone."""
    x, s = trial.test.x, trial.test.s
    for representation in trial.encoders:
        z = trial.encode(representation, x, s)
        x_hat = representation.decode(z.copy(), s.copy())
        if (x_hat is not None) != trial.method.has_decoder:
            has = "returned None" if x_hat is None else "returned rows"
            raise BrokenPromise(
                f"has_decoder is {trial.method.has_decoder}, and decode {has}.",
                f"Declare has_decoder = {x_hat is not None}.",
            )
        if x_hat is not None and (np.shape(x_hat) != x.shape or not np.isfinite(x_hat).all()):
            raise BrokenPromise(
                f"decode returned {np.shape(x_hat)} where x is {x.shape}, or is not finite.",
                "Return one finite row of x per row of z.",
            )


@promise("decode leaves its codes as they are")
def keeps_codes(trial: MethodTrial) -> None:
    """The same codes are decoded for each group."""
    for representation, z in _decoded(trial):
        given, s = z.copy(), trial.test.s.copy()
        representation.decode(given, s)
        if not np.array_equal(given, z) or not np.array_equal(s, trial.test.s):
            raise BrokenPromise("decode writes into its codes.", "Work on a copy: z = z.copy().")


@promise("one row is decoded as it is among others")
def decodes_alone(trial: MethodTrial) -> None:
    """The reconstruction of a row must depend on its code and s alone, not on the batch."""
    s = trial.test.s
    for representation, z in _decoded(trial):
        # Beside the codes of the other rows, and beside copies of a single one.
        strangers = np.concatenate([z[:FEW], np.repeat(z[:1], len(z) - FEW, axis=0)])
        for among in (z, strangers):
            together = np.asarray(representation.decode(among.copy(), s.copy()))[:FEW]
            alone = [
                np.asarray(representation.decode(z[i : i + 1].copy(), s[i : i + 1].copy()))
                for i in range(FEW)
            ]
            apart = rows_apart(together, np.concatenate(alone))
            if apart > MAX_APART:
                raise BrokenPromise(
                    f"Decoded one by one, {apart:.0%} of the rows are others.",
                    "Take means and scales from the training rows in fit, not from z in decode.",
                )


@promise("decode remembers nothing of the rows that were encoded")
def forgets(trial: MethodTrial) -> None:
    """Otherwise it could be fitted to the very rows that its distortion is measured on."""
    others, s = trial.data.roles[Role.AUDITOR_TRAIN], trial.test.s
    for representation, z in _decoded(trial):
        before = np.asarray(representation.decode(z.copy(), s.copy()))
        trial.encode(representation, others.x, others.s)
        apart = rows_apart(before, np.asarray(representation.decode(z.copy(), s.copy())))
        if apart > MAX_APART:
            raise BrokenPromise(
                f"After other rows were encoded, {apart:.0%} of the rows are decoded otherwise.",
                "Fit the decoder in fit, and keep nothing in encode.",
            )


def _decoded(trial: MethodTrial) -> Iterator[tuple[Representation, np.ndarray]]:
    """Yield each encoder that decodes, and its codes of the test rows."""
    if not trial.method.has_decoder:
        raise Unmet("it declares no decoder")
    for representation, z in zip(trial.encoders, trial.codes(trial.encoders), strict=True):
        try:
            x_hat = representation.decode(z.copy(), trial.test.s.copy())
            finite = x_hat is not None and bool(np.isfinite(x_hat).all())
        except (Exception, SystemExit):  # the promise above says what it raises
            finite = False
        if not finite:
            raise Unmet("decode gives no finite rows; see above")
        yield representation, z


@promise("its knobs change something")
def knobs(trial: MethodTrial) -> None:
    """Points that are all the same are one point, paid for many times."""
    if not trial.instance.knobs:
        raise Unmet("it has no knobs")
    low, high = trial.ends()
    x, s = trial.test.x, trial.test.s
    z, other = (trial.encode(one, x, s) for one in (low, high))
    if not np.array_equal(z, other):
        return
    x_hat, x_hat_of_other = (one.decode(z.copy(), s.copy()) for one in (low, high))
    if x_hat is None or x_hat_of_other is None or np.array_equal(x_hat, x_hat_of_other):
        raise BrokenPromise(
            "Codes and reconstructions are the same at both ends of its curve.",
            "Use the knob: unit.point['name'] in fit, or point['name'] in at(point) of a curve.",
        )


@promise("rate, bits and parameters are of the declared kind, or None")
def extras(trial: MethodTrial) -> None:
    """They become columns of the leaderboard and figures of the report."""
    x = trial.test.x
    for representation in trial.encoders:
        rate, count = representation.rate(x), representation.parameters()
        if rate is not None and not np.isfinite(rate):
            raise BrokenPromise(
                f"rate returned {rate}.", "Return nats, or None where it has no coder."
            )
        if trial.method.has_bits:
            try:
                pack_bits(representation.bits(x), len(x))
            except ContractError as error:
                raise BrokenPromise(
                    str(error),
                    "Return (n, k, bits) of 0, 1, or -1 where masked; has_bits = False without.",
                ) from None
        if count is not None and (not isinstance(count, Integral) or int(count) < 0):
            raise BrokenPromise(f"parameters returned {count!r}.", "Return a count, or None.")
        if (work := representation.multiply_adds()) is not None:
            try:
                amount(work, "multiply_adds()")
            except ContractError as error:
                raise BrokenPromise(str(error), "Return a count, or None.") from None
