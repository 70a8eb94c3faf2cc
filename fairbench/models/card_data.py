"""Which results are of the data that a dataset card describes now."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

from fairbench.api.dataset import Dataset
from fairbench.data.loading import load_dataset
from fairbench.data.splits import Split
from fairbench.errors import FairbenchError, StoreError
from fairbench.store.records import UnitRecord


class CardData:
    """The data of the dataset cards that a user names; a card or its table may have changed.

    Parameters
    ----------
    datasets : mapping of str to Dataset
        By the path of the card.
    options : sequence of str
        Options of a command that is to write to the same results.
    """

    def __init__(self, datasets: Mapping[str, type[Dataset]], options: Sequence[str] = ()) -> None:
        self._datasets = datasets
        self._options = options
        self._fingerprints: dict[tuple[str, str], str] = {}
        self.notes: list[str] = []
        """Cards whose data cannot be loaded, a sentence each."""

    def select(self, units: Iterable[UnitRecord]) -> list[UnitRecord]:
        """Leave out units of a card's dataset that were trained on other data.

        Raises
        ------
        StoreError
            All of a dataset's were.
        """
        selected = list(units)
        for card, dataset in self._datasets.items():
            own = [unit for unit in selected if unit.dataset == dataset.name]
            try:
                prints = {split: self._fingerprint(card, split) for split in {u.split for u in own}}
            except FairbenchError as error:
                note = f"{card}: its data cannot be loaded, so these are results of those that "
                note += f"were used last. {error.message}"
                self.notes += [] if note in self.notes else [note]
                continue
            other = {unit.key for unit in own if unit.fingerprint != prints[unit.split]}
            if own and len(other) == len(own):
                raise _other_data(card, own, prints, self._options)
            selected = [unit for unit in selected if unit.key not in other]
        return selected

    def _fingerprint(self, card: str, split: str) -> str:
        if (card, split) not in self._fingerprints:
            data = load_dataset(self._datasets[card], split=Split.parse(split))
            self._fingerprints[card, split] = data.fingerprint
        return self._fingerprints[card, split]


def _other_data(
    card: str,
    units: Sequence[UnitRecord],
    fingerprints: Mapping[str, str],
    options: Sequence[str],
) -> StoreError:
    unit = units[0]
    # A run trains the baselines of its own accord.
    chosen = [each for each in units if "baseline" not in each.tags] or units
    methods = ",".join(dict.fromkeys(each.method for each in chosen))
    command = ["fairbench", "run", "--methods", methods, "--dataset", card]
    if len(budgets := {each.budget for each in units}) == 1:
        command += ["--budget", *budgets]
    if folds := max(Split.parse(each.split).folds or 0 for each in units):
        command += ["--splits", str(folds)]
    command += options
    return StoreError(
        f"The models of {unit.dataset} here were trained on other data than {card} describes "
        f"now (fingerprint {unit.fingerprint[:12]}, now {fingerprints[unit.split][:12]}).",
        f"Train on these: {shlex.join(command)}\n"
        f"Or take the models as they are: --dataset {unit.dataset}",
    )
