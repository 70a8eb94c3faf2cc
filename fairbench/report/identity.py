"""One look for each method, in every figure: a shade of its family's colour, and its own mark.

Looks go by what is installed, not by what a figure shows, so a method looks alike on each page.
Rows of one method that differ in hyperparameters differ in their lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fairbench.metrics.rows import Variant
from fairbench.registry import Registry, family
from fairbench.report.style import COLOURS, GREY, LINES, MARKERS, SHADES, Look, shaded


@dataclass(frozen=True)
class Identities:
    """Families by method, in a fixed order, and baselines; ``references``: others are tested
    against them. A method that is not installed has a family of its own.
    """

    families: Mapping[str, str] = field(default_factory=dict)
    baselines: tuple[str, ...] = ()
    references: tuple[str, ...] = ()

    @classmethod
    def of(cls, registry: Registry) -> Identities:
        """The installed methods."""
        known = registry.methods.classes
        return cls(
            {name: family(method) for name, method in known.items() if not method.baseline},
            tuple(name for name, method in known.items() if method.baseline),
            tuple(name for name, method in known.items() if method.tested_against),
        )

    def family(self, method: str) -> str:
        """Family of a method."""
        return self.families.get(method, method)

    def looks(self, variants: Iterable[Variant]) -> dict[Variant, Look]:
        """A look for every row; ``variants`` in the order in which lines are given out."""
        found: dict[Variant, Look] = {}
        rows: dict[str, int] = {}
        for variant in variants:
            if variant not in found:
                rows[variant.method] = rows.get(variant.method, -1) + 1
                found[variant] = self._look(variant.method, rows[variant.method])
        return found

    def _look(self, method: str, row: int) -> Look:
        line = LINES[row % len(LINES)]
        if method in self.baselines:
            place = self.baselines.index(method)
            # All are grey: lines without marks must differ too.
            others = [name for name in self.baselines if name not in self.references]
            other = others.index(method) + 1 if method in others else 0
            line = LINES[(row + other) % len(LINES)]
            colour = shaded(GREY, SHADES[other // len(LINES) % len(SHADES)])
            return Look(colour, MARKERS[::-1][place % len(MARKERS)], line)
        own = self.family(method)
        families = list(dict.fromkeys(self.families.values()))
        members = [name for name, one in self.families.items() if one == own]
        place = families.index(own) if own in families else _number(own)
        member = members.index(method) if method in members else 0
        # Families beyond the last colour begin with another mark.
        mark = place // len(COLOURS) + member
        colour = shaded(COLOURS[place % len(COLOURS)], SHADES[member % len(SHADES)])
        return Look(colour, MARKERS[mark % len(MARKERS)], line)


def _number(name: str) -> int:
    """A number that is always the same for a name."""
    from zlib import crc32

    return crc32(name.encode())
