"""Reconstructions by a method's own decoder: their distortion, and what auditors see of them.

The decoder is called once for each group, with that group for all rows: it never learns the group
of a row, and its reconstruction is the one for its own group. Whoever has the reconstructions for
all groups, and s, has that distortion. So auditors see all of them: what they cannot find there,
nobody needs to reveal for the distortion that a method is credited with, however z itself is
encrypted.

What a decoder gives is moved into the range of x, widened by its span on both sides, so that no
value can drown all others. This cannot raise the distortion, as x lies inside. Of all rows, those
with the same code are decoded once, so that a decoder knows no more of a row than its code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairbench.api import Floats, Ints
from fairbench.api.method import Representation
from fairbench.auditing.auditors.samples import index_equal_rows
from fairbench.auditing.axes import image_axes, principal_axes
from fairbench.auditing.config import DECODED_DECIMALS, MAX_COLUMNS
from fairbench.runs.plugin_values import ContractError

_ROUNDING = 1.5 * 10.0**-DECODED_DECIMALS
"""Most difference of a value that is decoded twice: one step of rounding."""


@dataclass(frozen=True)
class Decoded:
    """Reconstructions of n rows."""

    # (n, groups * d): for all groups, side by side; (n, d) where they do not depend on the group;
    # see fairbench.auditing.axes where they are wider than 512 columns
    reconstructions: Floats
    squared_errors: Floats  # (n,): squared errors for each row's own group, summed over columns


@dataclass(frozen=True)
class ReconstructionRange:
    """The least and the largest value ``(d,)`` that a reconstruction may have, by column."""

    low: Floats
    high: Floats

    @classmethod
    def around(cls, features: Iterable[Floats]) -> ReconstructionRange:
        """The range of each column of x, of arrays ``(n, d)``, widened by its span on both sides.

        An honest decoder overshoots a little.
        """
        parts = list(features)
        low = np.min([x.min(axis=0) for x in parts], axis=0).astype(np.float64)
        high = np.max([x.max(axis=0) for x in parts], axis=0).astype(np.float64)
        span = high - low
        return cls((low - span).astype(np.float32), (high + span).astype(np.float32))


@dataclass(frozen=True)
class GroupDecoder:
    """A method's own decoder, as it is called for any rows of a dataset.

    Parameters
    ----------
    representation : Representation
    groups : int
        Number of groups.
    name : str
        The method's, for errors.
    limits : ReconstructionRange
        Values beyond them are moved there.
    image : tuple of int, optional
        Channels, height and width, where x is an image.
    """

    representation: Representation
    groups: int
    name: str
    limits: ReconstructionRange
    image: tuple[int, int, int] | None = None

    def decode(
        self,
        draws: Sequence[Floats],
        s: Ints,
        features: Callable[[Ints], Floats],
        parts: Sequence[Ints],
        sample: Ints,
    ) -> list[Decoded] | None:
        """Decode draws of the codes of rows, a part at a time; None: there is no decoder.

        Wide reconstructions are shown by axes, which are fitted to those of a sample of rows, a
        part of it from each draw. All rows are decoded for that, and once more to be shown: a
        decoder cannot know which rows are in the sample, nor give it others than it is credited
        for.

        Parameters
        ----------
        draws : sequence of ndarray, shape (n, k)
        s : ndarray, shape (n,)
            Sensitive attribute.
        features : callable
            Returns x of rows, by their numbers.
        parts : sequence of arrays
            Numbers of all rows, in the parts that are decoded at once.
        sample : ndarray of int
            Numbers of rows, drawn by chance.

        Raises
        ------
        ContractError
            The decoder returned another shape than that of x, values that are not finite, or other
            reconstructions of the same codes when it was called again.
        """
        width = features(parts[0][:1]).shape[1]
        if self.groups * width <= MAX_COLUMNS:
            shown = self._decode_all(draws, s, features, parts, lambda _, each: np.hstack(each))
            return shown and _without_copies(shown, width)
        samples = [sample[i :: len(draws)] for i in range(len(draws))]
        passes = [
            self._first_pass(z, width, parts, rows) for z, rows in zip(draws, samples, strict=True)
        ]
        first = [one for one in passes if one is not None]
        if len(first) < len(draws):
            return None
        show = self._axes(first, s)
        shown = []
        for z, before in zip(draws, first, strict=True):

            def show_again(
                rows: Ints, by_group: list[Floats], before: _FirstPass = before
            ) -> Floats:
                before.compare(rows, by_group, self.name)
                return show(by_group)

            shown += self._decode_all([z], s, features, parts, show_again) or []
        return shown

    def squared_errors(
        self, z: Floats, s: Ints, features: Callable[[Ints], Floats], parts: Sequence[Ints]
    ) -> Floats | None:
        """Squared errors of rows alone, ``(n,)``, for what a method is not credited with.

        Parameters and errors are those of :meth:`decode`, of one draw.
        """
        decoded = self._decode(z, s, features, parts, lambda _, by_group: by_group[0][:, :0])
        return None if decoded is None else decoded.squared_errors

    def squared_errors_by_group(
        self, z: Floats, features: Callable[[Ints], Floats], parts: Sequence[Ints]
    ) -> Floats | None:
        """Squared errors ``(n, groups)`` of the reconstructions for each group.

        Parameters and errors are those of :meth:`decode`, of one draw.
        """
        errors = np.empty((len(z), self.groups), np.float32)
        width = features(parts[0][:1]).shape[1]
        for rows, by_group in self._reconstruct(z, width, parts):
            if by_group is None:
                return None
            x = features(rows)
            for group, reconstructed in enumerate(by_group):
                errors[rows, group] = ((reconstructed - x) ** 2).sum(axis=1)
        return errors

    def _decode_all(
        self,
        draws: Sequence[Floats],
        s: Ints,
        features: Callable[[Ints], Floats],
        parts: Sequence[Ints],
        show: Callable[[Ints, list[Floats]], Floats],
    ) -> list[Decoded] | None:
        decoded = [self._decode(z, s, features, parts, show) for z in draws]
        known = [one for one in decoded if one is not None]
        return known if len(known) == len(decoded) else None

    def _first_pass(
        self, z: Floats, width: int, parts: Sequence[Ints], sample: Ints
    ) -> _FirstPass | None:
        """Decode all rows, and keep the reconstructions of the sample."""
        places = np.full(len(z), -1)
        places[sample] = np.arange(len(sample))
        kept = [np.empty((len(sample), width), np.float32) for _ in range(self.groups)]
        alike = True
        for rows, by_group in self._reconstruct(z, width, parts):
            if by_group is None:
                return None
            alike = alike and _are_alike(by_group)
            mine = places[rows] >= 0
            for one, reconstructed in zip(kept, by_group, strict=True):
                one[places[rows[mine]]] = reconstructed[mine]
        return _FirstPass(places, kept, alike and self.image is not None)

    def _decode(
        self,
        z: Floats,
        s: Ints,
        features: Callable[[Ints], Floats],
        parts: Sequence[Ints],
        show: Callable[[Ints, list[Floats]], Floats],
    ) -> Decoded | None:
        """Decode rows; ``show`` makes what auditors see of the reconstructions for all groups."""
        errors = np.empty(len(z), np.float32)
        reconstructions: list[Floats] = []
        numbers: list[Ints] = []
        width = features(parts[0][:1]).shape[1]
        for rows, by_group in self._reconstruct(z, width, parts):
            if by_group is None:
                return None
            x = features(rows)
            for group, reconstructed in enumerate(by_group):
                own = s[rows] == group
                errors[rows[own]] = ((reconstructed[own] - x[own]) ** 2).sum(axis=1)
            reconstructions.append(show(rows, by_group))
            numbers.append(rows)
        order = np.empty(len(z), np.int64)
        order[np.concatenate(numbers)] = np.arange(len(z))
        return Decoded(np.concatenate(reconstructions)[order], errors)

    def _reconstruct(
        self, z: Floats, width: int, parts: Sequence[Ints]
    ) -> Iterator[tuple[Ints, list[Floats] | None]]:
        """Yield numbers of rows, and their reconstructions for each group; None: no decoder.

        Every code is decoded once, in whichever part its rows are: else a decoder could tell parts
        apart by counting its calls, and rows with the same code by their part.
        """
        if len(parts) == 1:
            yield parts[0], self.for_all_groups(z[parts[0]], width)
            return
        first, code = index_equal_rows(z)
        if len(first) == len(z):
            for rows in parts:
                yield rows, self._for_each_group(z[rows], width)
            return
        rows_by_code = np.argsort(code, kind="stable")
        ends = np.bincount(code).cumsum()
        size, done = len(parts[0]), 0
        for start in range(0, len(first), size):
            stop = min(start + size, len(first))
            decoded = self._for_each_group(z[first[start:stop]], width)
            if decoded is None:
                yield parts[0], None
                return
            rows = rows_by_code[done : ends[stop - 1]]
            done = ends[stop - 1]
            for part in np.array_split(rows, -(-len(rows) // size)):
                yield part, [one[code[part] - start] for one in decoded]

    def for_all_groups(self, z: Floats, width: int) -> list[Floats] | None:
        """Return the reconstructions of z for each group, rounded; ContractError as above."""
        first, code = index_equal_rows(z)
        if len(first) == len(z):
            return self._for_each_group(z, width)
        decoded = self._for_each_group(z[first], width)
        return None if decoded is None else [one[code] for one in decoded]

    def _for_each_group(self, z: Floats, width: int) -> list[Floats] | None:
        """The same of codes that all differ."""
        reconstructions = []
        for group in range(self.groups):
            rounded = self._for_groups(z, np.full(len(z), group, np.int64), width)
            if rounded is None:
                return None
            reconstructions.append(rounded)
        return reconstructions

    def _for_groups(self, z: Floats, s: Ints, width: int) -> Floats | None:
        # A copy: z is decoded for other groups too, whatever a decoder writes into it.
        x_hat = self.representation.decode(z.copy(), s)
        if x_hat is None:
            return None
        if np.shape(x_hat) != (len(z), width):
            raise ContractError(
                f"{self.name}.decode returned shape {np.shape(x_hat)}; x has {(len(z), width)}."
            )
        rounded = np.asarray(x_hat, np.float32).round(DECODED_DECIMALS)
        if not np.isfinite(rounded).all():
            raise ContractError(f"{self.name}.decode returned values that are not finite.")
        return np.clip(rounded, self.limits.low, self.limits.high, out=rounded)

    def _axes(self, first: Sequence[_FirstPass], s: Ints) -> Callable[[list[Floats]], Floats]:
        """Fit axes to the samples of all draws."""
        by_group = [np.concatenate(each) for each in zip(*(f.by_group for f in first), strict=True)]
        if all(one.alike for one in first):
            return self._axes_of_one(by_group[0])
        return self._axes_of_all(by_group, s)

    def _project(self, sample: Floats) -> Callable[[Floats], Floats]:
        axes = principal_axes(sample) if self.image is None else image_axes(sample, self.image)
        return lambda rows: axes.project(rows).round(DECODED_DECIMALS)

    def _axes_of_one(self, sample: Floats) -> Callable[[list[Floats]], Floats]:
        """Return axes of the reconstruction for one group, where it is that for all of them.

        Of images, that takes a fourth of the time of four groups.
        """
        axes = self._project(sample)

        def show(by_group: list[Floats]) -> Floats:
            if not _are_alike(by_group):
                raise _other_reconstructions(self.name)
            return axes(by_group[0])

        return show

    def _axes_of_all(self, sample: list[Floats], s: Ints) -> Callable[[list[Floats]], Floats]:
        side_by_side = np.hstack(sample)
        axes = self._project(side_by_side)
        shares = (np.bincount(s, minlength=self.groups) / len(s)).astype(np.float32)

        def mean(by_group: list[Floats]) -> Floats:
            total = sum(share * one for share, one in zip(shares, by_group, strict=True))
            return np.asarray(total, np.float32).round(DECODED_DECIMALS)

        # Axes lie where reconstructions vary most, be it for a group that few rows are of: so
        # auditors see the mean over the groups too, or axes of it where it is wide itself.
        columns = axes(side_by_side[:1]).shape[1] + sample[0].shape[1]
        if columns <= MAX_COLUMNS:
            return lambda by_group: np.hstack([axes(np.hstack(by_group)), mean(by_group)])
        if self.image is not None:
            return lambda by_group: axes(np.hstack(by_group))
        of_mean = self._project(mean(sample))
        return lambda by_group: np.hstack([axes(np.hstack(by_group)), of_mean(mean(by_group))])


@dataclass(frozen=True)
class _FirstPass:
    """What a first decoding of all rows gave for a sample of them."""

    places: Ints  # (n,): of each row in the sample; -1 where it is not in it
    by_group: list[Floats]  # (sample, d) each
    alike: bool  # whether all rows are images whose reconstructions do not depend on the group

    def compare(self, rows: Ints, by_group: list[Floats], name: str) -> None:
        """Raise ContractError where rows of the sample are decoded otherwise than before."""
        mine = self.places[rows] >= 0
        before = self.places[rows[mine]]
        for one, again in zip(self.by_group, by_group, strict=True):
            if (np.abs(one[before] - again[mine]) > _ROUNDING).any():
                raise _other_reconstructions(name)


def _other_reconstructions(name: str) -> ContractError:
    return ContractError(f"{name}.decode gave other reconstructions of the same codes, again.")


def _are_alike(by_group: Sequence[Floats]) -> bool:
    return all(np.array_equal(one, by_group[0]) for one in by_group[1:])


def _without_copies(draws: list[Decoded], width: int) -> list[Decoded]:
    """Keep one of the reconstructions where those for all groups are the same."""
    copies = [one.reconstructions.reshape(len(one.reconstructions), -1, width) for one in draws]
    if not all((each == each[:, :1]).all() for each in copies):
        return draws
    return [replace(one, reconstructions=one.reconstructions[:, :width].copy()) for one in draws]
