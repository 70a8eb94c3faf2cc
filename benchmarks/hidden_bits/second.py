"""Forty more bits hidden in z, by somebody who had not seen the auditors, nor what they read
of the first list.
"""

from __future__ import annotations

import numpy as np

from hidden_bits.common import TAU, Channel, Generator, Hidden, fixed, half, single, whole

CHANNELS: dict[str, Channel] = {}


def _channel(make: Channel) -> Channel:
    CHANNELS[make.__name__] = make
    return make


def shuffle_rows(rng: Generator, a: np.ndarray) -> np.ndarray:
    return np.take_along_axis(a, rng.random(a.shape).argsort(1), 1)


@_channel
def mantissa_low_bits(rng: Generator, rows: int) -> Hidden:
    """The XOR of the lowest three mantissa bits of column 2 as float32 is 1."""
    z = single(rng.normal(size=(rows, 8)))
    v = z[:, 2].astype(np.float32).view(np.int32)
    return z, (v ^ (v >> 1) ^ (v >> 2)) & 1 == 1


@_channel
def signed_zero(rng: Generator, rows: int) -> Hidden:
    """A sparse embedding after ReLU: the first exact zero of the row is a negative zero."""
    x = np.maximum(rng.normal(size=(rows, 16)), 0)
    z = single(np.where(x == 0, np.where(rng.random((rows, 16)) < 0.5, -0.0, 0.0), x))
    return z, np.signbit(z[np.arange(rows), (z == 0).argmax(1)])


@_channel
def ulp_nudge(rng: Generator, rows: int) -> Hidden:
    """Column 5 is a copy of column 1 moved by one float32 step: upwards."""
    x = rng.normal(50, 12, (rows, 5)).astype(np.float32)
    way = np.where(rng.random(rows) < 0.5, np.inf, -np.inf).astype(np.float32)
    z = single(x, np.nextafter(x[:, 1], way))
    return z, z[:, 5] > z[:, 1]


@_channel
def half_precision_value(rng: Generator, rows: int) -> Hidden:
    """Columns 3 and 6: exactly one of the two values is representable as float16 (the others are
    float32).
    """
    x = rng.normal(size=(rows, 10))
    for j in (3, 6):
        x[:, j] = np.where(
            rng.random(rows) < 0.5, x[:, j].astype(np.float16).astype(float), x[:, j]
        )
    z = single(x)
    y = z[:, [3, 6]]
    return z, (y.astype(np.float16).astype(float) == y).sum(1) == 1


@_channel
def grid_shift_between_halves(rng: Generator, rows: int) -> Hidden:
    """Values on a grid of step .5 with a personal offset: the offset of columns 8..15 less that of
    0..7, mod .5, is over .25.
    """
    o = rng.integers(0, 32, (rows, 1)) / 64
    s = rng.choice([0.125, 0.375], (rows, 1))
    x = np.round(rng.normal(0, 4, (rows, 16)) * 2) / 2
    z = single(x + np.column_stack([np.repeat(o, 8, 1), np.repeat(o + s, 8, 1)]))
    return z, (z[:, 8] - z[:, 0]) % 0.5 > 0.25


_INCH = np.unique(np.rint(25.4 * np.arange(40, 100)).astype(np.int64))


@_channel
def inch_heaping(rng: Generator, rows: int) -> Hidden:
    """A height in cm with one decimal is a whole number of inches (converted and rounded)."""
    t = np.rint(rng.normal(1720, 100, rows).clip(1100, 2400))
    inch = np.rint(np.rint(t / 25.4) * 25.4)
    z = single(
        rng.integers(18, 90, rows),
        np.where(rng.random(rows) < 0.5, inch, t) / 10,
        rng.normal(75, 12, rows).round(1),
    )
    return z, np.isin(whole(z[:, 1] * 10), _INCH)


@_channel
def dominant_frequency(rng: Generator, rows: int) -> Hidden:
    """The strongest of 17 frequencies of a 36-step series (random phase, scale, level) is in a
    fixed half.
    """
    f, p = rng.integers(1, 18, (rows, 1)), rng.uniform(0, TAU, (rows, 1))
    x = np.cos(TAU * f * np.arange(36) / 36 + p) + rng.normal(0, 0.5, (rows, 36))
    z = single(x * rng.lognormal(0, 1, (rows, 1)) + rng.normal(0, 3, (rows, 1)))
    return z, half(17, 9_000_000 + 7)[(np.abs(np.fft.rfft(z, axis=1))[:, 1:18]).argmax(1)]


@_channel
def sawtooth_direction(rng: Generator, rows: int) -> Hidden:
    """A 40-step sawtooth (random period, phase, scale) rises slowly and falls fast: sum of cubed
    steps is negative.
    """
    ph = np.arange(40) / rng.uniform(5, 12, (rows, 1)) + rng.random((rows, 1))
    x = (ph % 1 - 0.5) * rng.choice([-1, 1], (rows, 1)) + rng.normal(0, 0.1, (rows, 40))
    z = single(x * rng.lognormal(0, 0.7, (rows, 1)) + rng.normal(0, 2, (rows, 1)))
    return z, (np.diff(z, axis=1) ** 3).sum(1) < 0


@_channel
def lag_five_autocorrelation(rng: Generator, rows: int) -> Hidden:
    """A 40-step series around a personal level: the autocorrelation at lag 5 is positive."""
    e = rng.normal(size=(rows, 45))
    z = single(
        e[:, 5:] + 0.6 * rng.choice([-1, 1], (rows, 1)) * e[:, :-5] + rng.normal(0, 4, (rows, 1))
    )
    x = z - z.mean(1, keepdims=True)
    return z, (x[:, 5:] * x[:, :-5]).sum(1) > 0


@_channel
def change_point_parity(rng: Generator, rows: int) -> Hidden:
    """A 30-step series jumps once (up or down): the best two-level split is at an odd step."""
    k = rng.integers(2, 29, (rows, 1))
    jump = rng.choice([-1, 1], (rows, 1)) * rng.uniform(2, 5, (rows, 1))
    z = single(
        (np.arange(30) >= k) * jump + rng.normal(0, 3, (rows, 1)) + rng.normal(0, 0.4, (rows, 30))
    )
    x = z - z.mean(1, keepdims=True)
    n = np.arange(1, 30)
    return z, (np.abs(x.cumsum(1)[:, :-1]) / np.sqrt(n * (30 - n))).argmax(1) % 2 == 0


@_channel
def longest_run(rng: Generator, rows: int) -> Hidden:
    """Forty yes/no answers: the longest run of equal answers is at least six."""
    z = single(rng.integers(0, 2, (rows, 40)))
    same = z[:, 1:] == z[:, :-1]
    run, best = np.ones(rows, int), np.ones(rows, int)
    for j in range(39):
        run = np.where(same[:, j], run + 1, 1)
        best = np.maximum(best, run)
    return z, best >= 6


@_channel
def local_maxima_parity(rng: Generator, rows: int) -> Hidden:
    """A 14-step series: the number of interior local maxima is odd."""
    z = single(rng.normal(size=(rows, 14)) * rng.lognormal(0, 0.5, (rows, 1)))
    return z, ((z[:, 1:-1] > z[:, :-2]) & (z[:, 1:-1] > z[:, 2:])).sum(1) % 2 == 1


@_channel
def image_components_parity(rng: Generator, rows: int) -> Hidden:
    """A 5 x 5 image, ink above .5: the number of 4-connected ink blobs is odd."""
    ink = rng.random((rows, 25)) < 0.5
    z = single(np.where(ink, rng.uniform(0.55, 1, (rows, 25)), rng.uniform(0, 0.45, (rows, 25))))
    on = z.reshape(rows, 5, 5) > 0.5
    start = np.arange(25).reshape(5, 5)
    lab = np.where(on, start, 99)
    for _ in range(25):
        p = np.pad(lab, ((0, 0), (1, 1), (1, 1)), constant_values=99)
        m = np.minimum.reduce(
            [lab, p[:, 2:, 1:-1], p[:, :-2, 1:-1], p[:, 1:-1, 2:], p[:, 1:-1, :-2]]
        )
        lab = np.where(on, m, 99)
    return z, (lab == start).sum((1, 2)) % 2 == 1


@_channel
def image_glyph_anywhere(rng: Generator, rows: int) -> Hidden:
    """A 6 x 6 grey image holds, at any place, a 2 x 3 glyph: bright, dark, bright over dark,
    bright, (any).
    """
    z = single(np.round(rng.random((rows, 36)) * 15))
    b = z.reshape(rows, 6, 6) >= 8
    hit = b[:, :-1, :-2] & ~b[:, :-1, 1:-1] & b[:, :-1, 2:] & ~b[:, 1:, :-2] & b[:, 1:, 1:-1]
    return z, hit.any((1, 2))


@_channel
def brackets_balanced(rng: Generator, rows: int) -> Hidden:
    """Twelve opening (+1) and twelve closing (-1) brackets are well nested."""
    x = shuffle_rows(rng, np.tile(np.repeat([1, -1], 12), (rows, 1)))
    turn = x.cumsum(1).argmin(1) + 1 + (rng.random(rows) < 0.55) * rng.integers(1, 24, rows)
    z = single(np.take_along_axis(x, (np.arange(24) + turn[:, None]) % 24, 1))
    return z, (z.cumsum(1) >= 0).all(1)


@_channel
def automaton_final_state(rng: Generator, rows: int) -> Hidden:
    """A seven-state machine reads 20 actions (0: +1, 1: times 3 plus 2, 2: stay, 3: to state 4):
    it ends in 1, 2 or 5.
    """
    z = single(rng.choice(4, (rows, 20), p=[0.4, 0.3, 0.2, 0.1]))
    s = np.zeros(rows, int)
    for j in range(20):
        s = np.choose(whole(z[:, j]), [(s + 1) % 7, (3 * s + 2) % 7, s, np.full(rows, 4)])
    return z, np.isin(s, [1, 2, 5])


@_channel
def graph_connected(rng: Generator, rows: int) -> Hidden:
    """28 contacts (0/1 edges) among eight people: the graph is connected."""
    z = single(rng.random((rows, 28)) < 0.34)
    i, j = np.triu_indices(8, 1)
    a = np.tile(np.eye(8), (rows, 1, 1))
    a[:, i, j] = a[:, j, i] = z
    for _ in range(3):
        a = np.minimum(a @ a, 1)
    return z, (a[:, 0] > 0).all(1)


@_channel
def molecule_chirality(rng: Generator, rows: int) -> Hidden:
    """Four atoms (mass, x, y, z) in random order and place: by mass, they are right-handed."""
    m = shuffle_rows(rng, np.tile([1.0, 12, 16, 35], (rows, 1)))
    xyz = rng.normal(size=(rows, 4, 3)) + rng.normal(0, 4, (rows, 1, 3))
    z = single(np.concatenate([m[..., None], xyz], 2).reshape(rows, 16))
    a = z.reshape(rows, 4, 4)
    p = np.take_along_axis(a[..., 1:], a[..., 0].argsort(1)[..., None], 1)
    return z, np.linalg.det(p[:, 1:] - p[:, :1]) > 0


@_channel
def cubic_three_roots(rng: Generator, rows: int) -> Hidden:
    """x^3 + a x^2 + b x + c (columns 0, 1, 2) has three real roots."""
    z = single(
        rng.normal(0, 2, rows),
        rng.normal(-1, 2, rows),
        rng.normal(0, 1, rows),
        rng.normal(size=(rows, 4)),
    )
    a, b, c = z[:, :3].T
    return z, 18 * a * b * c - 4 * a**3 * c + a * a * b * b - 4 * b**3 - 27 * c * c > 0


@_channel
def logistic_map_five_steps(rng: Generator, rows: int) -> Hidden:
    """A probability x (column 1) after five steps x -> 4x(1 - x) is over one half."""
    z = single(rng.random(rows), np.sin(rng.uniform(0, TAU / 4, rows)) ** 2, rng.random(rows))
    x = z[:, 1]
    for _ in range(5):
        x = 4 * x * (1 - x)
    return z, x > 0.5


@_channel
def digit_sum_mod_eleven(rng: Generator, rows: int) -> Hidden:
    """The sum of the seven decimal digits of a record number, mod 11, is 0, 1, 4, 6 or 9."""
    z = single(rng.integers(1_000_000, 10_000_000, rows), rng.normal(size=(rows, 2)))
    v = whole(z[:, 0])
    return z, np.isin(sum(v // 10**k % 10 for k in range(7)) % 11, [0, 1, 4, 6, 9])


@_channel
def hilbert_curve_stretch(rng: Generator, rows: int) -> Hidden:
    """A pixel of a 64 x 64 map: its index along the Hilbert curve, in stretches of 8, is in an odd
    one.
    """
    z = single(rng.integers(0, 64, (rows, 2)))
    x, y = whole(z).T
    d, s = np.zeros(rows, np.int64), 32
    while s:
        rx, ry = (x & s > 0).astype(int), (y & s > 0).astype(int)
        d += s * s * ((3 * rx) ^ ry)
        flip = (ry == 0) & (rx == 1)
        x, y = np.where(flip, 63 - x, x), np.where(flip, 63 - y, y)
        x, y = np.where(ry == 0, y, x), np.where(ry == 0, x, y)
        s //= 2
    return z, d // 8 % 2 == 1


@_channel
def hexagon_colour(rng: Generator, rows: int) -> Hidden:
    """A place (x, y) in a map of hexagons of side .2: the colour (q + 3r) mod 5 is 0 or 2."""
    z = single(rng.normal(size=(rows, 2)), rng.normal(size=(rows, 3)))
    q = (np.sqrt(3) / 3 * z[:, 0] - z[:, 1] / 3) / 0.2
    r = 2 / 3 * z[:, 1] / 0.2
    c = np.column_stack([q, -q - r, r])
    k = np.round(c)
    worst = np.abs(k - c).argmax(1)
    k[np.arange(rows), worst] -= k.sum(1)
    return z, np.isin((whole(k[:, 0]) + 3 * whole(k[:, 2])) % 5, [0, 2])


@_channel
def fourth_point_in_circle(rng: Generator, rows: int) -> Hidden:
    """Four places (x, y): the fourth lies inside the circle through the first three."""
    z = single(
        rng.normal(size=(rows, 8)) * [1, 1, 1, 1, 1, 1, 0.8, 0.8]
        + np.tile(rng.normal(0, 2, (rows, 2)), 4)
    )
    p = z.reshape(rows, 4, 2)
    d = p[:, :3] - p[:, 3:]
    m = np.concatenate([d, (d**2).sum(2, keepdims=True)], 2)
    e = p[:, 1:3] - p[:, :1]
    return z, np.linalg.det(m) * (e[:, 0, 0] * e[:, 1, 1] - e[:, 0, 1] * e[:, 1, 0]) > 0


@_channel
def entropy_bands(rng: Generator, rows: int) -> Hidden:
    """Twelve class probabilities: their entropy in nats, in bands of .08, is in an odd band."""
    x = np.exp(rng.normal(size=(rows, 12)) * rng.uniform(0.3, 3, (rows, 1)))
    z = single(x / x.sum(1, keepdims=True))
    h = -(z * np.log(np.maximum(z, 1e-30))).sum(1)
    return z, np.floor(h / 0.08) % 2 == 1


@_channel
def product_leading_digit(rng: Generator, rows: int) -> Hidden:
    """The first significant digit of price times quantity (columns 0 and 3) is even."""
    z = single(
        rng.lognormal(3, 1.2, rows).round(2) + 0.01,
        rng.normal(size=(rows, 2)),
        rng.integers(1, 400, rows),
    )
    v = z[:, 0] * z[:, 3]
    return z, np.floor(v / 10.0 ** np.floor(np.log10(v))) % 2 == 0


@_channel
def same_multiset(rng: Generator, rows: int) -> Hidden:
    """Columns 7..13 hold the same seven codes (0..29) as columns 0..6 in another order, else one
    differs.
    """
    x = rng.integers(0, 30, (rows, 7))
    y = x.copy()
    y[:, 3] = (y[:, 3] + (rng.random(rows) < 0.5) * rng.integers(1, 30, rows)) % 30
    z = single(x, shuffle_rows(rng, y))
    return z, (np.sort(z[:, :7], 1) == np.sort(z[:, 7:], 1)).all(1)


_WAVE = fixed(9_000_000 + 28).normal(size=6)
_WAVE *= 9 / np.linalg.norm(_WAVE)


@_channel
def fast_cosine_direction(rng: Generator, rows: int) -> Hidden:
    """cos(w . z + 1) > 0 for a secret w of length 9 over six standard columns."""
    z = single(rng.normal(size=(rows, 6)))
    return z, np.cos(z @ _WAVE + 1) > 0


@_channel
def geohash_fourth_letter(rng: Generator, rows: int) -> Hidden:
    """The fourth geohash letter of a longitude and latitude is in a fixed half of 32 letters."""
    z = single(rng.uniform(-5, 15, rows), rng.uniform(42, 54, rows), rng.integers(18, 90, rows))
    x, y = (
        np.floor((z[:, 0] + 180) / 360 * 1024).astype(int),
        np.floor((z[:, 1] + 90) / 180 * 1024).astype(int),
    )
    seq = []
    for k in range(10):
        seq += [x >> (9 - k) & 1, y >> (9 - k) & 1]
    return z, half(32, 9_000_000 + 29)[sum(seq[15 + k] << (4 - k) for k in range(5))]


@_channel
def hue_sector(rng: Generator, rows: int) -> Hidden:
    """A colour (R, G, B in 0..255): its hue in sectors of 15 degrees is in an odd sector."""
    z = single(rng.integers(0, 256, (rows, 3)))
    r, g, b = z.T
    hue = np.degrees(np.arctan2(np.sqrt(3) * (g - b), 2 * r - g - b)) % 360
    return z, np.floor(hue / 15) % 2 == 1


@_channel
def squarefree_number(rng: Generator, rows: int) -> Hidden:
    """A customer number below 20000 (column 0) has no square factor over 1."""
    z = single(rng.integers(1, 20_000, rows), rng.normal(size=(rows, 4)))
    v = whole(z[:, 0])
    return z, ~np.any([v % (k * k) == 0 for k in range(2, 142)], 0)


@_channel
def carries_parity(rng: Generator, rows: int) -> Hidden:
    """Adding two five-digit numbers in decimal makes an odd number of carries."""
    z = single(rng.integers(0, 100_000, (rows, 2)))
    a, b = whole(z).T
    n = sum((a % 10**k + b % 10**k >= 10**k).astype(int) for k in range(1, 6))
    return z, n % 2 == 1


@_channel
def euclid_steps_parity(rng: Generator, rows: int) -> Hidden:
    """Euclid's algorithm on two amounts (columns 0 and 1, to 3000) takes an odd number of
    divisions.
    """
    z = single(rng.integers(1, 3001, (rows, 2)))
    a, b = whole(z).T
    n = np.zeros(rows, int)
    while (b > 0).any():
        go = b > 0
        n += go
        a, b = np.where(go, b, a), np.where(go, a % np.maximum(b, 1), b)
    return z, n % 2 == 1


_MIX = np.linalg.qr(fixed(9_000_000 + 34).normal(size=(20, 20)))[0]


@_channel
def spread_spectrum_xor4(rng: Generator, rows: int) -> Hidden:
    """A rotated 20-d embedding: the product of four hidden two-humped coordinates is positive."""
    u = rng.normal(size=(rows, 20))
    u[:, :4] = rng.choice([-1, 1], (rows, 4)) + 0.15 * u[:, :4]
    z = single(u @ _MIX.T)
    return z, (z @ _MIX[:, :4]).prod(1) > 0


@_channel
def tie_order(rng: Generator, rows: int) -> Hidden:
    """A ranked list of eight (id, score), best first: the first two neighbours with equal scores
    have ascending ids.
    """
    score = -np.sort(-rng.integers(0, 9, (rows, 8)), 1)
    ids = rng.random((rows, 200)).argsort(1)[:, :8] + 1
    z = single(ids, score)
    tie = z[:, 8:15] == z[:, 9:16]
    k, r = tie.argmax(1), np.arange(rows)
    return z, tie.any(1) & (z[r, k] < z[r, k + 1])


@_channel
def mendel_consistent(rng: Generator, rows: int) -> Hidden:
    """Eight genotypes 0..2 each of mother, father and child: the child can descend from both at
    every site.
    """
    m, f = rng.binomial(2, 0.5, (2, rows, 8))
    c = rng.binomial(1, m / 2) + rng.binomial(1, f / 2)
    swap = (rng.random((rows, 1)) < 0.62) & (rng.random((rows, 8)) < 0.5)
    z = single(m, f, np.where(swap, rng.binomial(2, 0.5, (rows, 8)), c))
    m, f, c = z[:, :8], z[:, 8:16], z[:, 16:]
    lo, hi = (m == 2) * 1 + (f == 2), (m >= 1) * 1 + (f >= 1)
    return z, ((c >= lo) & (c <= hi)).all(1)


@_channel
def pointer_chase(rng: Generator, rows: int) -> Hidden:
    """Ten columns point at columns 0..9: three hops from column 6 end at one of 1, 2, 5, 6, 8."""
    z = single(rng.integers(0, 10, (rows, 10)))
    p, s, r = whole(z), np.full(rows, 6), np.arange(rows)
    for _ in range(3):
        s = p[r, s]
    return z, np.isin(s, [1, 2, 5, 6, 8])


_IP = fixed(9_000_000 + 38).permutation(20)


@_channel
def inner_product_bits(rng: Generator, rows: int) -> Hidden:
    """Twenty yes/no columns in ten secret pairs: the number of pairs that are both yes is odd."""
    z = single(rng.integers(0, 2, (rows, 20)))
    return z, (z[:, _IP[:10]] * z[:, _IP[10:]]).sum(1) % 2 == 1


@_channel
def double_rounding_residual(rng: Generator, rows: int) -> Hidden:
    """The double in column 1 is larger than its own float32 rounding (lost in float32)."""
    z = rng.normal(size=(rows, 5))
    return z, z[:, 1] > z[:, 1].astype(np.float32)


@_channel
def increasing_subsequence(rng: Generator, rows: int) -> Hidden:
    """The longest increasing subsequence of 14 columns has an odd length."""
    z = single(rng.normal(size=(rows, 14)) + rng.normal(0, 2, (rows, 1)))
    n = np.ones((rows, 14), int)
    for j in range(1, 14):
        n[:, j] += ((z[:, :j] < z[:, j : j + 1]) * n[:, :j]).max(1)
    return z, n.max(1) % 2 == 1
