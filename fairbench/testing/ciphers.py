"""Ciphers: ways to write a word, a number of 18 bits, that only their holder can read back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fairbench.api import Ints

_BITS = 18
"""Of a word: enough for the rows of a table of 260,000 people."""
WORDS = 2**_BITS
_SHARES = 3
_SALT = 3
"""Bits of salt that choose one of eight keys."""
_SPREAD = 8
"""Random bits whose parity is one bit of a word."""

Hide = Callable[[Ints, np.random.Generator], npt.NDArray[np.float64]]
"""Maps words ``(n,)`` and a generator to a release ``(n, k)``."""
Reveal = Callable[[npt.NDArray[np.float64]], Ints]
"""Maps a release ``(n, k)`` back to words ``(n,)``."""


@dataclass(frozen=True)
class Cipher:
    """A way to write words that its holder can read back."""

    name: str
    family: str
    hide: Hide
    reveal: Reveal


def _permutation(seed: int) -> tuple[Ints, Ints]:
    forward = np.random.default_rng(seed).permutation(WORDS)
    return forward, np.argsort(forward)


def _column(words: Ints) -> npt.NDArray[np.float64]:
    return np.asarray(words[:, None] / WORDS)


def _integers(column: npt.NDArray[np.float64]) -> Ints:
    return np.asarray(np.round(column * WORDS).astype(np.int64) % WORDS)


def _keyed(seed: int) -> tuple[Hide, Reveal]:
    forward, back = _permutation(seed)
    return lambda words, rng: _column(forward[words]), lambda z: back[_integers(z[:, 0])]


def _plain(words: Ints, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    return _column(words)


def _salted(words: Ints, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    salt = rng.integers(0, WORDS, len(words))
    return np.hstack([_column(salt), _column(words ^ salt)])


def _unsalted(z: npt.NDArray[np.float64]) -> Ints:
    return _integers(z[:, 0]) ^ _integers(z[:, 1])


def _shared(words: Ints, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    shares = rng.integers(0, WORDS, (len(words), _SHARES - 1))
    last = (words - shares.sum(axis=1)) % WORDS
    return np.hstack([shares / WORDS, _column(last)])


def _summed(z: npt.NDArray[np.float64]) -> Ints:
    return np.asarray(sum(_integers(column) for column in z.T) % WORDS)


def _in_mantissa(words: Ints, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Write a word into the last 18 bits of a float32 whose first 5 are noise."""
    noise = 1 + rng.integers(0, 32, len(words)) / 32
    return (noise + words / 2**23)[:, None]


def _from_mantissa(z: npt.NDArray[np.float64]) -> Ints:
    return np.asarray(np.round(z[:, 0] * 2**23).astype(np.int64) % WORDS)


def _spread(words: Ints, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    bits = (words[:, None] >> np.arange(_BITS)) & 1
    shares = rng.integers(0, 2, (len(words), _BITS, _SPREAD - 1))
    last = (bits + shares.sum(axis=2)) & 1
    return np.concatenate([shares, last[:, :, None]], axis=2).reshape(len(words), -1).astype(float)


def _gathered(z: npt.NDArray[np.float64]) -> Ints:
    bits = np.round(z).astype(np.int64).reshape(len(z), _BITS, _SPREAD).sum(axis=2) & 1
    return np.asarray((bits << np.arange(_BITS)).sum(axis=1))


_FACTOR = 100_003
"""Odd, so that multiplying by it modulo 2^18 has an inverse."""


def _striped(words: Ints, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    return _column(words * _FACTOR % WORDS)


def _unstriped(z: npt.NDArray[np.float64]) -> Ints:
    return np.asarray(_integers(z[:, 0]) * pow(_FACTOR, -1, WORDS) % WORDS)


def _by_salt() -> tuple[Hide, Reveal]:
    keys = [_permutation(seed) for seed in range(2**_SALT)]
    forward, back = np.stack([f for f, _ in keys]), np.stack([b for _, b in keys])

    def hide(words: Ints, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        salt = rng.integers(0, 2**_SALT, len(words))
        return np.hstack([salt[:, None].astype(float), _column(forward[salt, words])])

    return hide, lambda z: back[np.round(z[:, 0]).astype(np.int64), _integers(z[:, 1])]


_HALF = _BITS // 2
_MASK = 2**_HALF - 1
_ROUNDS = (0x9E37, 0x79B9, 0x7F4A, 0x7C15)


def _mixed(half: Ints, key: int) -> Ints:
    return np.asarray(((half * key + (half >> 3) * 40_503) >> 4) & _MASK)


def _feistel(words: Ints, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    left, right = words >> _HALF, words & _MASK
    for key in _ROUNDS:
        left, right = right, left ^ _mixed(right, key)
    return np.hstack([left[:, None] / 2**_HALF, right[:, None] / 2**_HALF])


def _unfeistel(z: npt.NDArray[np.float64]) -> Ints:
    left, right = np.round(z * 2**_HALF).astype(np.int64).T
    for key in reversed(_ROUNDS):
        left, right = right ^ _mixed(left, key), left
    return np.asarray((left << _HALF) | right)


def _gray(words: Ints, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """One column for each bit of the word's Gray code, far below the noise in other columns."""
    bits = ((words ^ (words >> 1))[:, None] >> np.arange(_BITS)) & 1
    return np.hstack([1e3 * rng.normal(size=(len(words), 4)), 1e-6 * bits])


def _ungray(z: npt.NDArray[np.float64]) -> Ints:
    word = np.round(z[:, 4:] * 1e6).astype(np.int64) @ (1 << np.arange(_BITS))
    for shift in (1, 2, 4, 8, 16):
        word ^= word >> shift
    return np.asarray(word)


@dataclass
class _Tokens:
    """Random tokens that stand for words; only the holder of the list can look them up."""

    known: dict[bytes, int] = field(default_factory=dict)

    def hide(self, words: Ints, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        tokens = rng.normal(size=(len(words), 4)).astype(np.float32)
        self.known.update(zip(map(bytes, tokens), words.tolist(), strict=True))
        return tokens.astype(np.float64)

    def reveal(self, z: npt.NDArray[np.float64]) -> Ints:
        tokens = z.astype(np.float32)
        return np.array([self.known.get(bytes(token), -1) for token in tokens], np.int64)


HUGE = 1e25
"""Beside which double precision sees no difference among values below 1."""
_FEW = 0.01
"""Share of the rows that have a huge value."""


def _beside_huge(words: Ints, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """A word stands in the first column, but for a few rows, which have it in the second."""
    few = rng.random(len(words)) < _FEW
    column = words / WORDS
    return np.stack([np.where(few, HUGE, column), np.where(few, column, 0.0)], axis=1)


def _from_beside_huge(z: npt.NDArray[np.float64]) -> Ints:
    return _integers(np.where(z[:, :1] > 1, z[:, 1:], z[:, :1])[:, 0])


def ciphers() -> list[Cipher]:
    """Return all ciphers, without what earlier ones remember."""
    tokens = _Tokens()
    return [
        Cipher("numbered", "numbers", _plain, lambda z: _integers(z[:, 0])),
        Cipher("permuted", "cipher with a key", *_keyed(1)),
        Cipher("feistel", "cipher with a key", _feistel, _unfeistel),
        Cipher("salted", "cipher with salt", _salted, _unsalted),
        Cipher("salted-keys", "key chosen by another column", *_by_salt()),
        Cipher("shares", "secret sharing", _shared, _summed),
        Cipher("mantissa", "low bits", _in_mantissa, _from_mantissa),
        Cipher("small-gray", "low bits", _gray, _ungray),
        Cipher("parity", "parity of many bits", _spread, _gathered),
        Cipher("stripes", "modular stripes", _striped, _unstriped),
        Cipher("tokens", "look-up table", tokens.hide, tokens.reveal),
        Cipher("outliers", "huge values in z", _beside_huge, _from_beside_huge),
    ]
