"""Encoders that hide what they keep: attacks on the benchmark.

Each wraps a plain code of x, the base. It gives every distinct row of the base a number, its word,
and releases the word in a form that only its own decoder can read. Its distortion is that of the
base. So must be the information that auditors read.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairbench.api import Floats, Ints
from fairbench.api.method import Representation
from fairbench.testing.ciphers import HUGE, WORDS, Cipher

Base = Callable[[Floats], Floats]
"""Maps x ``(n, d)`` to a plain code that is its own reconstruction, ``(n, d)``."""


class EncryptedCode(Representation):
    """A base code, encrypted; it remembers the rows that it has encoded, as a key holder can."""

    def __init__(self, base: Base, cipher: Cipher) -> None:
        self._base, self._cipher = base, cipher
        self._rng = np.random.default_rng(0)
        self._free = self._rng.permutation(WORDS)
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


class Shy(EncryptedCode):
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


class FirstHalf(EncryptedCode):
    """A cipher that shows the mean row for the first half of the rows it is called with."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        """Encrypt the mean row instead of a row of the first half."""
        shown = x.copy()
        shown[: len(x) // 2] = x.mean(axis=0)
        return super().encode(shown)


class Drowned(EncryptedCode):
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
        return np.where(drowned[:, None], HUGE, rows).astype(np.float32)


class Decoys(EncryptedCode):
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
