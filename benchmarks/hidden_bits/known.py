"""Bits that the audit without a wide search missed, or nearly: the search was made with these."""

from __future__ import annotations

import numpy as np

from hidden_bits.common import Channel, Generator, Hidden, Rows

CHANNELS: dict[str, Channel] = {}


def _channel(make: Channel) -> Channel:
    CHANNELS[make.__name__] = make
    return make


def _noise(r: Generator, n: int, k: int) -> Rows:
    return r.normal(size=(n, k))


@_channel
def stripes_ratio(r: Generator, n: int) -> Hidden:
    """Stripes of a ratio of two columns."""
    z = np.exp(r.normal(size=(n, 4)) * 0.3)
    return z, np.floor(z[:, 0] / z[:, 1] * 16) % 2 == 1


@_channel
def stripes_product(r: Generator, n: int) -> Hidden:
    """Stripes of a product of two columns."""
    z = r.random((n, 4)) * 4
    return z, np.floor(z[:, 0] * z[:, 1] * 2) % 2 == 1


@_channel
def stripes_sum(r: Generator, n: int) -> Hidden:
    """Stripes of a sum of two columns."""
    z = r.random((n, 4))
    return z, np.floor((z[:, 0] + z[:, 2]) * 20) % 2 == 1


@_channel
def rings16(r: Generator, n: int) -> Hidden:
    """Rings about the middle of two columns."""
    z = _noise(r, n, 4)
    q = np.hypot(z[:, 0], z[:, 1])
    return z, np.floor(q * 5.3) % 2 == 1


@_channel
def digit7(r: Generator, n: int) -> Hidden:
    """Whether a whole number up to 10 million is odd."""
    w = r.integers(0, 10**7, n)
    return np.c_[w, _noise(r, n, 3)], (w % 10) % 2 == 1


@_channel
def digit6_ge5(r: Generator, n: int) -> Hidden:
    """Whether the last digit of a whole number up to a million is 5 or more."""
    w = r.integers(0, 10**6, n)
    return np.c_[w, _noise(r, n, 3)], (w % 10) >= 5


@_channel
def lowbits(r: Generator, n: int) -> Hidden:
    """The lowest bit of a fraction in single precision."""
    w = r.random(n).astype(np.float32)
    b = (w.view(np.uint32) & 1) == 1
    return np.c_[w, _noise(r, n, 3)], b


@_channel
def hour_outliers(r: Generator, n: int) -> Hidden:
    """Day or night, of hours of a year, beside 1% of outliers."""
    w = r.integers(0, 24 * 365, n).astype(float)
    b = (w % 24) < 12
    o = r.random(n) < 0.01
    w = np.where(o, w * 1e5, w)
    return np.c_[w, _noise(r, n, 3)], b


@_channel
def chirp60(r: Generator, n: int) -> Hidden:
    """Stripes that become narrower along a column, 60 in all."""
    w = r.random(n)
    return np.c_[w, _noise(r, n, 3)], np.sin(2 * np.pi * 60 * w**2) > 0


@_channel
def chirp150(r: Generator, n: int) -> Hidden:
    """Stripes that become narrower along a column, 150 in all."""
    w = r.random(n)
    return np.c_[w, _noise(r, n, 3)], np.sin(2 * np.pi * 150 * w**2) > 0


@_channel
def random_stripes300(r: Generator, n: int) -> Hidden:
    """Stripes between 300 random places of a column."""
    w = r.random(n)
    cut = np.sort(r.random(300))
    return np.c_[w, _noise(r, n, 3)], np.searchsorted(cut, w) % 2 == 1


@_channel
def exponent_parity(r: Generator, n: int) -> Hidden:
    """Whether a number's exponent is odd."""
    w = np.exp(r.normal(size=n) * 6)
    return np.c_[w, _noise(r, n, 3)], np.floor(np.log2(w)) % 2 == 1


@_channel
def curved_square(r: Generator, n: int) -> Hidden:
    """A column is another's square, or .01 more."""
    z = _noise(r, n, 2)
    b = r.random(n) < 0.5
    return np.c_[z, z[:, 0] ** 2 + 0.01 * b], b


@_channel
def curved_product(r: Generator, n: int) -> Hidden:
    """A column is the product of two others, or .01 more."""
    z = _noise(r, n, 2)
    b = r.random(n) < 0.5
    return np.c_[z, z[:, 0] * z[:, 1] + 0.01 * b], b


@_channel
def curved_product001(r: Generator, n: int) -> Hidden:
    """A column is the product of two others, or .001 more."""
    z = _noise(r, n, 2)
    b = r.random(n) < 0.5
    return np.c_[z, z[:, 0] * z[:, 1] + 0.001 * b], b


@_channel
def curved_cube(r: Generator, n: int) -> Hidden:
    """A column is another's cube, or .01 more."""
    z = _noise(r, n, 3)
    b = r.random(n) < 0.5
    return np.c_[z, z[:, 0] ** 3 + 0.01 * b], b


@_channel
def curved_sine(r: Generator, n: int) -> Hidden:
    """A column is another's sine, or .005 more."""
    z = _noise(r, n, 3)
    b = r.random(n) < 0.5
    return np.c_[z, np.sin(2 * z[:, 0]) + 0.005 * b], b


@_channel
def sphere(r: Generator, n: int) -> Hidden:
    """The length of a row is 1 or 1.01."""
    z = _noise(r, n, 6)
    b = r.random(n) < 0.5
    z /= np.linalg.norm(z, axis=1)[:, None]
    return z * np.where(b, 1.01, 1)[:, None], b


@_channel
def xor_digit(r: Generator, n: int) -> Hidden:
    """Whether the last digit is 5 or more, turned round by another column."""
    w = r.integers(0, 1000, n)
    q = r.integers(0, 2, n)
    return np.c_[w, q, _noise(r, n, 3)], ((w % 10 >= 5) ^ (q == 1))


@_channel
def xor_hour(r: Generator, n: int) -> Hidden:
    """Day or night, turned round by another column."""
    w = r.integers(0, 24 * 365, n)
    q = r.integers(0, 2, n)
    return np.c_[w, q, _noise(r, n, 3)], ((w % 24 < 12) ^ (q == 1))


@_channel
def xor_postcode(r: Generator, n: int) -> Hidden:
    """A random half of 300 codes, turned round by another column."""
    t = r.random(300) < 0.5
    w = r.integers(0, 300, n)
    q = r.integers(0, 2, n)
    return np.c_[w, q, _noise(r, n, 3)], t[w] ^ (q == 1)


@_channel
def equal_one_of_eight(r: Generator, n: int) -> Hidden:
    """Whether the first column equals one of eight others."""
    z = r.integers(0, 6, (n, 9))
    return z, (z[:, :1] == z[:, 1:]).any(1)


@_channel
def dead_columns(r: Generator, n: int) -> Hidden:
    """A last digit beside 510 columns of zeros."""
    w = r.integers(0, 1000, n)
    return np.c_[w, _noise(r, n, 3), np.zeros((n, 510))], (w % 10) >= 5


@_channel
def which_column32(r: Generator, n: int) -> Hidden:
    """The bit in one of 32 columns, whose number the first one tells."""
    z = r.integers(0, 2, (n, 33)).astype(float)
    z[:, 0] = r.integers(0, 32, n)
    return z, z[np.arange(n), 1 + z[:, 0].astype(int)] == 1


@_channel
def order_three(r: Generator, n: int) -> Hidden:
    """Whether the order of three of six columns is an even permutation."""
    z = _noise(r, n, 6)
    sw = sum((z[:, i] > z[:, j]).astype(int) for i, j in ((0, 1), (0, 2), (1, 2)))
    return z, sw % 2 == 1


@_channel
def largest(r: Generator, n: int) -> Hidden:
    """Whether the largest of eight columns is the first, third, fifth or seventh."""
    z = _noise(r, n, 8)
    return z, z.argmax(1) % 2 == 0


@_channel
def product4(r: Generator, n: int) -> Hidden:
    """The sign of the product of four of twelve columns."""
    z = _noise(r, n, 12)
    return z, z[:, [1, 4, 7, 10]].prod(1) > 0


@_channel
def rem3(r: Generator, n: int) -> Hidden:
    """Whether the remainder by 3 of a whole number is even."""
    w = r.integers(0, 1428 * 3, n)
    return np.c_[w, _noise(r, n, 3)], w % 3 % 2 == 0


@_channel
def rem7(r: Generator, n: int) -> Hidden:
    """Whether the remainder by 7 of a whole number is even."""
    w = r.integers(0, 1428 * 7, n)
    return np.c_[w, _noise(r, n, 3)], w % 7 % 2 == 0


@_channel
def phase(r: Generator, n: int) -> Hidden:
    """In which of sixteen sectors, turn and turn about, the angle of two columns lies."""
    a = r.random(n) * 2 * np.pi
    q = r.gamma(4, 1, n)
    return np.c_[q * np.cos(a), q * np.sin(a), _noise(r, n, 1)], np.sin(8 * a) > 0


@_channel
def board(r: Generator, n: int) -> Hidden:
    """The colour of a square on a board of 16 x 6, which two columns name."""
    z = r.random((n, 4))
    return z, (np.floor(z[:, 0] * 16) + np.floor(z[:, 1] * 6)) % 2 == 1


@_channel
def gaps(r: Generator, n: int) -> Hidden:
    """Whether the two least of five columns are farther apart than the two largest."""
    z = r.random((n, 5))
    g = np.diff(np.sort(z, 1), axis=1)
    return z, g[:, 0] > g[:, -1]


@_channel
def table24(r: Generator, n: int) -> Hidden:
    """A look-up table of two numbers up to 24."""
    t = r.random((24, 24)) < 0.5
    w = r.integers(0, 24, (n, 2))
    return np.c_[w, _noise(r, n, 1)], t[w[:, 0], w[:, 1]]


@_channel
def table64(r: Generator, n: int) -> Hidden:
    """A look-up table of two numbers up to 64: three training rows a cell."""
    t = r.random((64, 64)) < 0.5
    w = r.integers(0, 64, (n, 2))
    return np.c_[w, _noise(r, n, 1)], t[w[:, 0], w[:, 1]]


@_channel
def digit_double(r: Generator, n: int) -> Hidden:
    """Whether the last digit of a whole number up to 10^10 is 5 or more."""
    w = r.integers(0, 10**10, n).astype(float)
    return np.c_[w, _noise(r, n, 3)], (w % 10) >= 5


@_channel
def ratio_digit(r: Generator, n: int) -> Hidden:
    """The second decimal of a ratio of two columns."""
    z = r.random((n, 3)) + 1
    return z, np.floor(z[:, 0] / z[:, 1] * 100) % 2 == 1
