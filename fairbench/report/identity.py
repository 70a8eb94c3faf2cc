"""One look for each method, in every figure: a shade of its family's colour, and its own mark.

Looks go by what is installed, not by what a figure shows, so a method looks alike on each page.
Rows of one method that differ in hyperparameters differ in their lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
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
        known, baselines = registry.methods.classes, registry.baselines
        return cls(
            {name: family(method) for name, method in known.items() if name not in baselines},
            tuple(baselines),
            tuple(registry.references),
        )

    def family(self, method: str) -> str:
        """Family of a method."""
        return self.families.get(method, method)

    def looks(self, variants: Iterable[Variant]) -> dict[Variant, Look]:
        """A look for every row; ``variants`` in the order in which lines are given out."""
        shown = list(dict.fromkeys(variants))
        places = self._places_of_others({variant.method for variant in shown})
        found: dict[Variant, Look] = {}
        rows: dict[str, int] = {}
        for variant in shown:
            rows[variant.method] = rows.get(variant.method, -1) + 1
            found[variant] = self._look(variant.method, rows[variant.method], places)
        return found

    def _places_of_others(self, methods: Set[str]) -> dict[str, int]:
        """Places of methods that are not installed: by their names, unless a look is taken."""
        installed = (self._look(name, 0, {}) for name in self.families)
        taken = {(look.colour, look.marker) for look in installed}
        places = {}
        for method in sorted(methods - self.families.keys() - set(self.baselines)):
            first = _number(method)
            every = range(first, first + len(COLOURS) * len(MARKERS))
            places[method] = next((p for p in every if _mark(p, 0) not in taken), first)
            taken.add(_mark(places[method], 0))
        return places

    def _look(self, method: str, row: int, places: Mapping[str, int]) -> Look:
        line = LINES[row % len(LINES)]
        if method in self.baselines:
            place = self.baselines.index(method)
            # All are grey: lines without marks must differ too.
            others = [name for name in self.baselines if name not in self.references]
            other = others.index(method) + 1 if method in others else 0
            line = LINES[(row + other) % len(LINES)]
            colour = shaded(GREY, SHADES[other // len(LINES) % len(SHADES)])
            return Look(colour, MARKERS[::-1][place % len(MARKERS)], line)
        if method in places:
            return Look(*_mark(places[method], 0), line)
        own = self.family(method)
        place = list(dict.fromkeys(self.families.values())).index(own)
        members = [name for name, one in self.families.items() if one == own]
        return Look(*_mark(place, members.index(method)), line)


def _mark(place: int, member: int) -> tuple[str, str]:
    """Colour and marker of a member of the family at a place."""
    # Families beyond the last colour begin with another mark.
    mark = place // len(COLOURS) + member
    colour = shaded(COLOURS[place % len(COLOURS)], SHADES[member % len(SHADES)])
    return colour, MARKERS[mark % len(MARKERS)]


def _number(name: str) -> int:
    """A number that is always the same for a name."""
    from zlib import crc32

    return crc32(name.encode())
