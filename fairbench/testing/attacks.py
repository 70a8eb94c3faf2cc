"""Encoders that hide what they keep: attacks on the benchmark.

Each wraps a plain code of x, the base. It gives every distinct row of the base a number, its word,
and releases the word in a form that only its own decoder can read. Its distortion is that of the
base. So must be the information that auditors read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats, Ints
from fairbench.api.method import Representation

_BITS = 18
"""Of a word: enough for the rows of a table of 260,000 people."""
_WORDS = 2**_BITS
_SHARES = 3
_SALT = 3
"""Bits of salt that choose one of eight keys."""
_SPREAD = 8
"""Random bits whose parity is one bit of a word."""

Hide = Callable[[Ints, np.random.Generator], npt.NDArray[np.float64]]
"""Maps words ``(n,)`` and a generator to a release ``(n, k)``."""
Reveal = Callable[[npt.NDArray[np.float64]], Ints]
"""Maps a release ``(n, k)`` back to words ``(n,)``."""
Base = Callable[[Floats], Floats]
"""Maps x ``(n, d)`` to a plain code that is its own reconstruction, ``(n, d)``."""


@dataclass(frozen=True)
class Cipher:
    """A way to write words that its holder can read back."""

    name: str
    family: str
    hide: Hide
    reveal: Reveal


class Hidden(Representation):
    """A base code, encrypted; it remembers the rows that it has encoded, as a key holder can."""

    def __init__(self, base: Base, cipher: Cipher, seed: int = 0) -> None:
        self._base, self._cipher = base, cipher
        self._rng = np.random.default_rng(seed)
        self._free = self._rng.permutation(_WORDS)
        self._word_of: dict[bytes, int] = {}
        self._rows: dict[int, Floats] = {}

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        """Return the cipher of each row's word, ``(n, k)``."""
        words = np.array([self._word(row) for row in self._base(x)], np.int64)
        return self._cipher.hide(words, self._rng).astype(np.float32)

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        """Return the base code of each row, ``(n, d)``; rows it does not know are 0."""
        unknown = np.zeros_like(next(iter(self._rows.values())))
        words = self._cipher.reveal(z.astype(np.float64))
        return np.stack([self._rows.get(word, unknown) for word in words.tolist()])

    def _word(self, row: Floats) -> int:
        key = row.tobytes()
        if key not in self._word_of:
            word = int(self._free[len(self._word_of)])
            self._word_of[key], self._rows[word] = word, row
        return self._word_of[key]


def _permutation(seed: int) -> tuple[Ints, Ints]:
    forward = np.random.default_rng(seed).permutation(_WORDS)
    return forward, np.argsort(forward)


def _column(words: Ints) -> npt.NDArray[np.float64]:
    return np.asarray(words[:, None] / _WORDS)


def _integers(column: npt.NDArray[np.float64]) -> Ints:
    return np.asarray(np.round(column * _WORDS).astype(np.int64) % _WORDS)


def _keyed(seed: int) -> tuple[Hide, Reveal]:
    forward, back = _permutation(seed)
    return lambda words, rng: _column(forward[words]), lambda z: back[_integers(z[:, 0])]


def _plain(words: Ints, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    return _column(words)


def _salted(words: Ints, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    salt = rng.integers(0, _WORDS, len(words))
    return np.hstack([_column(salt), _column(words ^ salt)])


def _unsalted(z: npt.NDArray[np.float64]) -> Ints:
    return _integers(z[:, 0]) ^ _integers(z[:, 1])


def _shared(words: Ints, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    shares = rng.integers(0, _WORDS, (len(words), _SHARES - 1))
    last = (words - shares.sum(axis=1)) % _WORDS
    return np.hstack([shares / _WORDS, _column(last)])


def _summed(z: npt.NDArray[np.float64]) -> Ints:
    return np.asarray(sum(_integers(column) for column in z.T) % _WORDS)


def _in_mantissa(words: Ints, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Write a word into the last 18 bits of a float32 whose first 5 are noise."""
    noise = 1 + rng.integers(0, 32, len(words)) / 32
    return (noise + words / 2**23)[:, None]


def _from_mantissa(z: npt.NDArray[np.float64]) -> Ints:
    return np.asarray(np.round(z[:, 0] * 2**23).astype(np.int64) % _WORDS)


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
    return _column(words * _FACTOR % _WORDS)


def _unstriped(z: npt.NDArray[np.float64]) -> Ints:
    return np.asarray(_integers(z[:, 0]) * pow(_FACTOR, -1, _WORDS) % _WORDS)


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


_HUGE = 1e25
"""Beside which double precision sees no difference among values below 1."""
_FEW = 0.01
"""Share of the rows that have a huge value."""


def _beside_huge(words: Ints, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """A word stands in the first column, but for a few rows, which have it in the second."""
    few = rng.random(len(words)) < _FEW
    column = words / _WORDS
    return np.stack([np.where(few, _HUGE, column), np.where(few, column, 0.0)], axis=1)


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
        Cipher("tokens", "look-up", tokens.hide, tokens.reveal),
        Cipher("outliers", "huge values", _beside_huge, _from_beside_huge),
    ]


class Plain(Representation):
    """A base code as it is."""

    def __init__(self, base: Base) -> None:
        self._base = base

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        """Return the base code, ``(n, d)``."""
        return self._base(x)

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        """Return z, which is its own reconstruction."""
        return z


class Waves(Plain):
    """A warp that can be undone: columns take turns in adding fast waves of one another."""

    _FREQUENCY = 40.0
    _HEIGHT = 5.0

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        """Return the warped base code, ``(n, d)``."""
        return self._turn(self._base(x), 1.0)

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        """Undo the warp."""
        return self._turn(z, -1.0)

    def _turn(self, rows: Floats, sign: float) -> Floats:
        out = rows.astype(np.float64)
        half = rows.shape[1] // 2
        steps = [(slice(half), slice(half, None)), (slice(half, None), slice(half))]
        for seen, moved in steps if sign > 0 else reversed(steps):
            mixing = np.sin(np.arange(1, 1 + out[:, seen].shape[1]))[:, None]
            phase = (
                self._FREQUENCY
                * out[:, seen]
                @ np.broadcast_to(mixing, (mixing.shape[0], out[:, moved].shape[1]))
            )
            out[:, moved] += sign * self._HEIGHT * np.sin(phase)
        return out.astype(np.float32)


class Shy(Hidden):
    """A cipher that is honest with no row auditors train on: it knows those rows by heart."""

    def __init__(self, base: Base, cipher: Cipher, watched: Floats) -> None:
        super().__init__(base, cipher)
        self._watched = {row.tobytes() for row in watched}
        self._mean = watched.mean(axis=0)

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        """Encrypt the mean row instead of a row that is watched."""
        seen = np.array([row.tobytes() in self._watched for row in x])
        return super().encode(np.where(seen[:, None], self._mean, x).astype(np.float32))


class Marks(Plain):
    """A base code in which rows that auditors learn from bear a mark that tells s.

    It has read the data files. Auditors learn the mark, which is random on all other rows.
    """

    _SIZE = 0.01

    def __init__(self, base: Base, watched: Floats, s: Ints) -> None:
        super().__init__(base)
        self._s = dict(zip(map(bytes, watched), s.tolist(), strict=True))

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        """Return the base code, each column rounded to a grid and shifted by the mark."""
        known = [self._s.get(bytes(row)) for row in x]
        chance = np.random.default_rng(0).integers(0, 2, len(x)).tolist()
        marks = np.array([c if k is None else k for k, c in zip(known, chance, strict=True)])
        grid = 2 * self._SIZE * (1 + max(self._s.values()))
        rounded = np.round(self._base(x) / grid) * grid
        return np.asarray(rounded + 2 * self._SIZE * marks[:, None], np.float32)


class FirstHalf(Hidden):
    """A cipher that shows the mean row for the first half of the rows it is called with."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        """Encrypt the mean row instead of a row of the first half."""
        shown = x.copy()
        shown[: len(x) // 2] = x.mean(axis=0)
        return super().encode(shown)


class Drowned(Hidden):
    """A cipher whose decoder gives huge values where they cost no distortion.

    For each group there is a common code that nobody of that group has in training. For that group
    it is decoded to huge values, beside which all others look the same.
    """

    def __init__(self, base: Base, cipher: Cipher, x: Floats, s: Ints) -> None:
        super().__init__(base, cipher)
        codes, number = np.unique(base(x), axis=0, return_inverse=True)
        count = np.stack([np.bincount(number[s == k], minlength=len(codes)) for k in np.unique(s)])
        alone = np.where(count == 0, count.sum(axis=0), 0)
        self._codes = [codes[own.argmax()] if own.any() else None for own in alone]

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        """Return the base code, or huge values, ``(n, d)``."""
        rows = super().decode(z, s)
        assert rows is not None
        drowned = np.zeros(len(rows), bool)
        for group, code in enumerate(self._codes):
            if code is not None:
                drowned |= (s == group) & (rows == code).all(axis=1)
        return np.where(drowned[:, None], _HUGE, rows).astype(np.float32)


class Decoys(Hidden):
    """A cipher whose decoder gives a row of group k where P(s = k | x) is small.

    For its own group a row is decoded as it is, but for rare errors; for another group it is some
    row of that group.
    """

    _SMALL = 0.05

    def __init__(
        self, base: Base, cipher: Cipher, x: Floats, s: Ints, posterior: Callable[[Floats], Floats]
    ) -> None:
        super().__init__(base, cipher)
        self._people = [base(x[s == group]) for group in range(int(s.max()) + 1)]
        self._posterior = posterior

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        """Return the base code, or a decoy, ``(n, d)``."""
        rows = super().decode(z, s)
        assert rows is not None
        chance = self._posterior(rows)[np.arange(len(rows)), s]
        words = self._cipher.reveal(z.astype(np.float64))
        decoys = np.stack(
            [
                self._people[k][word % len(self._people[k])]
                for k, word in zip(s.tolist(), words.tolist(), strict=True)
            ]
        )
        return np.where((chance < self._SMALL)[:, None], decoys, rows).astype(np.float32)
