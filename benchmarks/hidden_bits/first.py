"""Forty bits hidden in z, by somebody who had not seen the auditors."""

from __future__ import annotations

import numpy as np

from hidden_bits.common import (
    TAU,
    Channel,
    Generator,
    Hidden,
    Rows,
    Whole,
    fixed,
    half,
    single,
    whole,
)

CHANNELS: dict[str, Channel] = {}


def _channel(make: Channel) -> Channel:
    CHANNELS[make.__name__] = make
    return make


def orth(n: int, seed: int) -> Rows:
    return np.asarray(np.linalg.qr(fixed(7_000_000 + seed).normal(size=(n, n)))[0])


@_channel
def cents_digit_set(rng: Generator, rows: int) -> Hidden:
    """The last cent digit of an amount (column 0) is one of 1, 3, 4, 7, 8; column 1 is age."""
    z = single(np.round(rng.lognormal(6, 0.6, rows).clip(1, 9999), 2), rng.integers(18, 90, rows))
    return z, np.isin(whole(z[:, 0] * 100) % 10, [1, 3, 4, 7, 8])


@_channel
def int_bits_xor(rng: Generator, rows: int) -> Hidden:
    """XOR of bits 3, 7 and 12 of a 22-bit record number."""
    z = single(rng.integers(0, 1 << 22, rows))
    v = whole(z[:, 0])
    return z, ((v >> 3) ^ (v >> 7) ^ (v >> 12)) & 1 == 1


@_channel
def timestamp_office_hours(rng: Generator, rows: int) -> Hidden:
    """A time in seconds over 120 days: on weekdays hour in [7, 19), on weekends hour outside it."""
    z = single(rng.integers(0, 120 * 86400, rows), rng.normal(size=rows))
    t = whole(z[:, 0])
    hour, day = t // 3600 % 24, (t // 86400 + 3) % 7
    return z, ((hour >= 7) & (hour < 19)) ^ (day >= 5)


def _luhn(d: Whole) -> Whole:
    w = np.where(np.arange(d.shape[1])[::-1] % 2 == 1, 2, 1)
    p = d * w
    return np.asarray(np.where(p > 9, p - 9, p).sum(1) % 10)


@_channel
def luhn_valid(rng: Generator, rows: int) -> Hidden:
    """Nine digit columns pass the Luhn check (otherwise the check digit is wrong)."""
    d = rng.integers(0, 10, (rows, 9))
    d[:, 8] = 0
    d[:, 8] = (-_luhn(d)) % 10
    d[:, 8] = (d[:, 8] + (rng.random(rows) < 0.5) * rng.integers(1, 10, rows)) % 10
    z = single(d)
    return z, _luhn(whole(z)) == 0


@_channel
def mod7_linear(rng: Generator, rows: int) -> Hidden:
    """(3a + 5b + 2c) mod 7 is 0, 2 or 5 for three counts a, b, c."""
    z = single(rng.integers(0, 300, (rows, 3)))
    return z, np.isin(whole(z) @ np.array([3, 5, 2]) % 7, [0, 2, 5])


@_channel
def total_matches_items(rng: Generator, rows: int) -> Hidden:
    """Eight item counts and a total (column 4): the total equals the sum exactly, else it is off
    by 1 or 2.
    """
    x = rng.integers(0, 500, (rows, 8))
    off = (rng.random(rows) < 0.5) * rng.choice([-2, -1, 1, 2], rows)
    z = single(x[:, :4], x.sum(1) + off, x[:, 4:])
    return z, 2 * whole(z[:, 4]) == whole(z).sum(1)


@_channel
def argmax_position_set(rng: Generator, rows: int) -> Hidden:
    """The position of the largest of 24 standard columns lies in a fixed half; each row has its
    own level and scale.
    """
    z = single(
        rng.normal(size=(rows, 24)) * rng.lognormal(0, 1, (rows, 1)) + rng.normal(0, 6, (rows, 1))
    )
    return z, half(24, 7_000_000 + 7)[z.argmax(1)]


@_channel
def permutation_sign(rng: Generator, rows: int) -> Hidden:
    """The order of six columns is an odd permutation (number of inversions is odd)."""
    z = single(rng.normal(size=(rows, 6)))
    inv = sum((z[:, i] > z[:, j]).astype(int) for i in range(6) for j in range(i + 1, 6))
    return z, inv % 2 == 1


@_channel
def top_gap_compare(rng: Generator, rows: int) -> Hidden:
    """Largest minus second of 12 columns exceeds 1.5 times second minus third."""
    z = single(rng.normal(size=(rows, 12)) + rng.normal(0, 3, (rows, 1)))
    s = np.sort(z, 1)
    return z, s[:, -1] - s[:, -2] > 1.5 * (s[:, -2] - s[:, -3])


@_channel
def concentric_rings(rng: Generator, rows: int) -> Hidden:
    """Distance to the hidden centre (.7, -.4), in rings .15 wide, falls in an odd ring."""
    z = single(rng.normal(size=(rows, 2)), rng.normal(size=(rows, 3)))
    return z, np.floor(np.hypot(z[:, 0] - 0.7, z[:, 1] + 0.4) / 0.15) % 2 == 1


@_channel
def rotated_checkerboard(rng: Generator, rows: int) -> Hidden:
    """Two hidden directions of a rotated 10-d space form a checkerboard with cells 2/3 wide."""
    u = np.column_stack([rng.uniform(-3, 3, (rows, 2)), rng.normal(0, 1.7, (rows, 8))])
    q = orth(10, 11)
    z = single(u @ q.T)
    v = z @ q
    return z, (np.floor(1.5 * v[:, 0]) + np.floor(1.5 * v[:, 1])) % 2 == 1


@_channel
def spiral_arms(rng: Generator, rows: int) -> Hidden:
    """A point in the plane lies on a light arm of a three-armed spiral: sin(3 theta - 9 r) > 0."""
    r, t = np.sqrt(rng.uniform(0.05, 9, rows)), rng.uniform(0, TAU, rows)
    z = single(r * np.cos(t), r * np.sin(t), rng.normal(size=rows))
    return z, np.sin(3 * np.arctan2(z[:, 1], z[:, 0]) - 9 * np.hypot(z[:, 0], z[:, 1])) > 0


@_channel
def thin_curved_sheet(rng: Generator, rows: int) -> Hidden:
    """Above or below the surface w = sin(3x) cos(2y) + xy/2, never farther from it than .015."""
    x, y = rng.uniform(-2, 2, (2, rows))
    off = rng.choice([-1, 1], rows) * rng.uniform(0.005, 0.015, rows)
    z = single(x, y, np.sin(3 * x) * np.cos(2 * y) + x * y / 2 + off)
    return z, z[:, 2] > np.sin(3 * z[:, 0]) * np.cos(2 * z[:, 1]) + z[:, 0] * z[:, 1] / 2


@_channel
def noise_spread(rng: Generator, rows: int) -> Hidden:
    """Twenty readings around a personal level (sd 5): their standard deviation exceeds 1."""
    sd = rng.choice([0.85, 1.2], (rows, 1))
    z = single(rng.normal(0, 5, (rows, 1)) + rng.normal(size=(rows, 20)) * sd)
    return z, z.std(1) > 1


@_channel
def equal_pairs_parity(rng: Generator, rows: int) -> Hidden:
    """The number of equal pairs among ten categories 0..19 is odd."""
    z = single(rng.integers(0, 20, (rows, 10)))
    n = sum((z[:, i] == z[:, j]).astype(int) for i in range(10) for j in range(i + 1, 10))
    return z, n % 2 == 1


@_channel
def zero_count_parity(rng: Generator, rows: int) -> Hidden:
    """The number of exact zeros in a 30-d embedding is odd."""
    z = single(rng.normal(size=(rows, 30)) * (rng.random((rows, 30)) > 0.25))
    return z, (z == 0).sum(1) % 2 == 1


@_channel
def missing_pattern_xor5(rng: Generator, rows: int) -> Hidden:
    """Missing is -1: XOR of the missingness of columns 1, 3, 7, 9, 11 of twelve."""
    z = single(
        np.where(rng.random((rows, 12)) < 0.4, -1, np.round(rng.uniform(0, 100, (rows, 12)), 1))
    )
    return z, (z[:, [1, 3, 7, 9, 11]] == -1).sum(1) % 2 == 1


@_channel
def category_800_levels(rng: Generator, rows: int) -> Hidden:
    """A code with 800 levels; a fixed random half of the levels is True (15 training rows a
    level).
    """
    z = single(rng.integers(0, 800, rows), rng.normal(size=(rows, 8)))
    return z, half(800, 7_000_000 + 18)[whole(z[:, 0])]


@_channel
def category_pair_table(rng: Generator, rows: int) -> Hidden:
    """Two categories of 30 levels: a fixed random 30 x 30 table of the pair (13 training rows a
    cell).
    """
    z = single(rng.normal(size=(rows, 3)), rng.integers(0, 30, rows), rng.integers(0, 30, rows))
    i = whole(z[:, 3:])
    return z, half(900, 7_000_000 + 19).reshape(30, 30)[i[:, 0], i[:, 1]]


@_channel
def lookup_three_columns(rng: Generator, rows: int) -> Hidden:
    """Three categories of 12 levels: a random table of 1728 cells (7 training rows a cell)."""
    z = single(rng.integers(0, 12, (rows, 3)))
    i = whole(z)
    return z, half(1728, 7_000_000 + 20).reshape(12, 12, 12)[i[:, 0], i[:, 1], i[:, 2]]


@_channel
def gated_digit(rng: Generator, rows: int) -> Hidden:
    """An amount with cents: where the flag is 1 the tenths digit is odd, where it is 0 the cent
    digit is 3..7.
    """
    z = single(
        rng.integers(0, 2, rows),
        rng.integers(18, 90, rows),
        np.round(rng.uniform(100, 5000, rows), 2),
    )
    c = whole(z[:, 2] * 100)
    return z, np.where(z[:, 0] == 1, c // 10 % 2 == 1, (c % 10 >= 3) & (c % 10 <= 7))


@_channel
def outliers_beside_subtle(rng: Generator, rows: int) -> Hidden:
    """floor(x / .002) is odd for a column of scale .01 with 2% outliers near +-1e6 (for them: x >
    0).
    """
    x = rng.normal(0, 0.01, rows)
    x = np.where(rng.random(rows) < 0.02, rng.choice([-1, 1], rows) * rng.lognormal(14, 1, rows), x)
    z = single(rng.standard_cauchy((rows, 3)) * 1000, x)
    x = z[:, 3]
    return z, np.where(np.abs(x) > 100, x > 0, np.floor(x / 0.002) % 2 == 1)


@_channel
def constants_haystack(rng: Generator, rows: int) -> Hidden:
    """Forty columns, mostly constants and duplicates; floor(p/8) + floor(q/8) of columns 13 and 29
    is odd.
    """
    g = fixed(7_000_000 + 23)
    base = rng.normal(0, 300, (rows, 2))
    z = np.empty((rows, 40))
    for j in range(40):
        z[:, j] = g.integers(-9, 9) if g.random() < 0.55 else base[:, g.integers(0, 2)]
    z[:, 13], z[:, 29] = rng.integers(0, 1000, (2, rows))
    z = single(z)
    return z, (whole(z[:, 13]) // 8 + whole(z[:, 29]) // 8) % 2 == 1


@_channel
def onehot_sum_parity(rng: Generator, rows: int) -> Hidden:
    """Four one-hot blocks of 10 columns: the sum of the four category numbers is odd."""
    z = single(np.eye(10)[rng.integers(0, 10, (rows, 4))].reshape(rows, 40))
    return z, z.reshape(rows, 4, 10).argmax(2).sum(1) % 2 == 1


@_channel
def category_halves_parity(rng: Generator, rows: int) -> Hidden:
    """Six categories of 12 levels, each with a secret half: the number of columns in their half is
    odd.
    """
    z = single(rng.integers(0, 12, (rows, 6)))
    i = whole(z)
    return z, sum(half(12, 7_000_000 + 250 + j)[i[:, j]].astype(int) for j in range(6)) % 2 == 1


@_channel
def codeword_valid(rng: Generator, rows: int) -> Hidden:
    """Twenty bits form a word of a fixed linear [20, 8] code (otherwise one or two bits are
    flipped).
    """
    p = fixed(7_000_000 + 26).integers(0, 2, (8, 12))
    perm = fixed(7_000_000 + 261).permutation(20)
    m = rng.integers(0, 2, (rows, 8))
    w = np.column_stack([m, m @ p % 2])
    bad, r = rng.random(rows) < 0.5, np.arange(rows)
    w[r, rng.integers(0, 20, rows)] ^= bad
    w[r, rng.integers(0, 20, rows)] ^= bad & (rng.random(rows) < 0.5)
    z = single(w[:, perm])
    v = whole(z)[:, np.argsort(perm)]
    return z, (v[:, :8] @ p % 2 == v[:, 8:]).all(1)


_LET = np.array(np.meshgrid(*[np.arange(8)] * 3, indexing="ij")).reshape(3, -1).T
_HASH = np.zeros(512, np.int64) + 5381
for _j in range(3):
    _HASH = ((_HASH ^ (_LET[:, _j] * 29 + 97)) * 1_315_423 + 12_345) % (1 << 24)
assert len(np.unique(_HASH)) == 512
_HORD = np.argsort(_HASH)
_VOWEL = np.isin(_LET, [0, 3, 5, 6]).sum(1) % 2 == 1


@_channel
def name_hash(rng: Generator, rows: int) -> Hidden:
    """A 24-bit hash of a three-letter name over 8 letters (512 names): the name has an odd number
    of vowels.
    """
    z = single(_HASH[rng.integers(0, 512, rows)], rng.normal(size=(rows, 2)))
    return z, _VOWEL[_HORD[np.searchsorted(_HASH[_HORD], whole(z[:, 0]))]]


@_channel
def sparse_active_parity(rng: Generator, rows: int) -> Hidden:
    """Five of 40 columns are not zero: the number of those at secret positions (a fixed half) is
    odd.
    """
    on = rng.random((rows, 40)).argsort(1) < 5
    z = single(on * rng.normal(size=(rows, 40)) * 3)
    return z, ((z != 0) & half(40, 7_000_000 + 28)).sum(1) % 2 == 1


@_channel
def lowrank_triple_product(rng: Generator, rows: int) -> Hidden:
    """A 30-d embedding of rank 3 plus noise of sd .01: the product of the three hidden factors is
    positive.
    """
    a = fixed(7_000_000 + 29).normal(size=(3, 30))
    z = single(rng.normal(size=(rows, 3)) @ a + rng.normal(0, 0.01, (rows, 30)))
    return z, (z @ np.linalg.pinv(a)).prod(1) > 0


@_channel
def shifted_copy_parity(rng: Generator, rows: int) -> Hidden:
    """Columns 12..23 are a cyclic shift of columns 0..11 plus noise: the shift is odd."""
    x, s = rng.normal(size=(rows, 12)), rng.integers(0, 12, rows)
    y = np.take_along_axis(x, (np.arange(12) + s[:, None]) % 12, 1)
    z = single(x, y + rng.normal(0, 0.1, (rows, 12)))
    d = [((np.roll(z[:, :12], -k, 1) - z[:, 12:]) ** 2).sum(1) for k in range(12)]
    return z, np.argmin(d, 0) % 2 == 1


@_channel
def points_in_disc_parity(rng: Generator, rows: int) -> Hidden:
    """Fifteen visited places (x, y): the number within .8 of the hidden home (.5, .3) is odd."""
    z = single(rng.normal(size=(rows, 30)))
    p = z.reshape(rows, 15, 2)
    return z, (np.hypot(p[..., 0] - 0.5, p[..., 1] - 0.3) < 0.8).sum(1) % 2 == 1


@_channel
def angle_bands(rng: Generator, rows: int) -> Hidden:
    """The angle of two 5-d vectors (columns 0..4 and 5..9) of any length, in bands of 8 degrees,
    is in an odd band.
    """
    z = single(
        rng.normal(size=(rows, 5)) * rng.lognormal(0, 1, (rows, 1)),
        rng.normal(size=(rows, 5)) * rng.lognormal(0, 1, (rows, 1)),
    )
    u, v = z[:, :5], z[:, 5:]
    c = (u * v).sum(1) / np.sqrt((u * u).sum(1) * (v * v).sum(1))
    return z, np.floor(np.degrees(np.arccos(np.clip(c, -1, 1))) / 8) % 2 == 1


@_channel
def body_mass_digit(rng: Generator, rows: int) -> Hidden:
    """weight / height^2 in steps of a quarter: floor(4 w / h^2) is odd (height in m, weight in
    kg).
    """
    h = rng.normal(1.72, 0.1, rows).clip(1.4, 2.1)
    z = single(
        np.round(h, 3),
        np.round(rng.normal(25, 4, rows).clip(15, 45) * h * h, 2),
        rng.integers(18, 90, rows),
    )
    return z, np.floor(4 * z[:, 1] / z[:, 0] ** 2) % 2 == 1


@_channel
def weekday_of_birth(rng: Generator, rows: int) -> Hidden:
    """Year, month, day columns: the date is a Monday, Wednesday or Saturday."""
    z = single(rng.integers(1930, 2010, rows), rng.integers(1, 13, rows), rng.integers(1, 29, rows))
    y, m, d = whole(z).T
    month = ((y - 1970) * 12 + m - 1).astype("datetime64[M]")
    days = month.astype("datetime64[D]").astype(np.int64) + d - 1
    return z, np.isin((days + 3) % 7, [0, 2, 5])


@_channel
def double_ninth_digit(rng: Generator, rows: int) -> Hidden:
    """The ninth decimal digit of a double in [0, 1) (column 2) is one of 0, 2, 3, 6, 9 (lost in
    float32).
    """
    z = np.column_stack([rng.random((rows, 2)), np.round(rng.random(rows), 9)])
    return z, np.isin(whole(z[:, 2] * 1e9) % 10, [0, 2, 3, 6, 9])


@_channel
def bispectrum_sign(rng: Generator, rows: int) -> Hidden:
    """The cyclic sum of x[t] x[t+1] x[t+4] over 36 white-noise columns is positive."""
    z = single(rng.normal(size=(rows, 36)))
    return z, (z * np.roll(z, -1, 1) * np.roll(z, -4, 1)).sum(1) > 0


_CENTRES = fixed(7_000_000 + 37).normal(size=(300, 6))


@_channel
def many_clusters_nuisance(rng: Generator, rows: int) -> Hidden:
    """The nearest of 300 centres (first 6 of 26 columns, sd .1 about them) is in a fixed half; 20
    columns are noise.
    """
    c = _CENTRES[rng.integers(0, 300, rows)]
    z = single(c + rng.normal(0, 0.1, (rows, 6)), rng.normal(0, 2, (rows, 20)))
    x = z[:, :6]
    d = np.sum([(x[:, j, None] - _CENTRES[:, j]) ** 2 for j in range(6)], axis=0)
    return z, half(300, 7_000_000 + 371)[d.argmin(1)]


@_channel
def address_multiplexer(rng: Generator, rows: int) -> Hidden:
    """Columns 0 and 1 (0..15) address, by their sum mod 16, one of sixteen further columns: that
    one is positive.
    """
    z = single(rng.integers(0, 16, (rows, 2)), rng.normal(size=(rows, 16)))
    a = whole(z[:, :2]).sum(1) % 16
    return z, z[np.arange(rows), 2 + a] > 0


@_channel
def coprime_counts(rng: Generator, rows: int) -> Hidden:
    """Two odd counts to 1001 plus a third share no factor: gcd(a, b) and gcd(b, c) are both 1."""
    z = single(2 * rng.integers(1, 501, (rows, 3)) + 1)
    a, b, c = whole(z).T
    return z, (np.gcd(a, b) == 1) & (np.gcd(b, c) == 1)


@_channel
def closest_pair_index(rng: Generator, rows: int) -> Hidden:
    """Of eight scalars the two closest to each other have positions with an odd sum."""
    z = single(rng.normal(size=(rows, 8)))
    pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]
    d = np.column_stack([np.abs(z[:, i] - z[:, j]) for i, j in pairs])
    return z, np.array([(i + j) % 2 == 1 for i, j in pairs])[d.argmin(1)]
