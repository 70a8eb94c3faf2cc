"""``fairbench model-card``: what is known of one stored point, as Markdown."""

from __future__ import annotations

from pathlib import Path

from fairbench.api.dataset import Dataset
from fairbench.cli.console import err
from fairbench.cli.results import existing_store
from fairbench.cli.stored_data import data_of
from fairbench.data.prepare import Prepared
from fairbench.errors import ConfigError, FairbenchError, StoreError
from fairbench.files import write_atomically
from fairbench.leaderboard.select import read
from fairbench.models.certify import Certificates
from fairbench.models.lookup import (
    Place,
    Wanted,
    audited,
    card_of,
    encode_words,
    find_unit,
    listed_points,
    parse_point,
    read_encoder,
    run_words,
)
from fairbench.models.recommend import Candidate
from fairbench.registry import Registry
from fairbench.report.model_card import Certified, Facts, model_card
from fairbench.store.database import Row, Store
from fairbench.store.encoders import Encoder


def model_card_command(
    registry: Registry,
    wanted: Wanted,
    place: Place,
    output: Path | None,
) -> None:
    """Write the card of one model and point, or print it."""
    store = existing_store(place.results, place.store)
    unit = find_unit(store, registry, wanted)
    point = _point(unit, wanted.point, audited(store, [unit]))
    facts = facts_of(Candidate(unit, point), store, registry, place)
    if output is None:
        print(model_card(facts), end="")
        return
    _write(output, model_card(facts))


def _point(unit: Row, text: str | None, measured: list[Row]) -> Row:
    """The measured point that is meant; without a name the only one."""
    title = f"{unit['method']} on {unit['dataset']}, seed {unit['seed']}"
    if not measured:
        raise StoreError(
            f"No point of {title} was audited.", "fairbench run audits what it trains."
        )
    label = None if text is None else parse_point(text).label
    found = [row for row in measured if label is None or row["label"] == label]
    if len(found) == 1:
        return found[0]
    problem = f"{label} was not audited" if label else "--point is missing"
    raise ConfigError(f"{title}: {problem}. Audited:\n{listed_points(measured)}")


def write_card(
    candidate: Candidate,
    store: Store,
    registry: Registry,
    place: Place,
    output: Path,
    *,
    bounds: Certificates | None,
) -> None:
    """Write the card of what was recommended, with the certificate that it was chosen by."""
    certified = None
    if bounds is not None:
        certified = Certified(bounds.of[candidate.key], bounds.level, len(bounds.of))
    facts = facts_of(candidate, store, registry, place, certified)
    _write(output, model_card(facts))


def _write(output: Path, text: str) -> None:
    try:
        write_atomically(output, text.encode())
    except OSError as error:
        raise StoreError(f"{output} cannot be written: {error.strerror}.") from None
    err.print(str(output), markup=False)


def facts_of(
    candidate: Candidate,
    store: Store,
    registry: Registry,
    place: Place,
    certified: Certified | None = None,
) -> Facts:
    """What store, files and plugins tell of a point; what is not to be had is left out."""
    unit, point = candidate.unit, candidate.point
    name = unit["method"]
    return Facts(
        unit=unit,
        point=point,
        method=registry.methods.classes.get(name),
        dataset=_dataset(unit, store, registry, place),
        reference=_reference(unit, point, store),
        encoder=_encoder(unit, store, registry, place),
        data=_data(unit, store, registry, place),
        certified=certified,
        run=run_words(unit, store, registry, place),
        encode=encode_words(unit, point, store, registry, place),
    )


def _dataset(unit: Row, store: Store, registry: Registry, place: Place) -> type[Dataset] | None:
    try:
        return registry.dataset(card_of(unit, store, registry, place.asked) or unit["dataset"])
    except FairbenchError:
        return None


def _reference(unit: Row, point: Row, store: Store) -> dict[str, float]:
    place = (unit["fingerprint"], unit["protocol"], unit["seed"], point["audit"])
    row = read(store).references.get(place)
    return dict(row["values"]) if row is not None else {}


def _encoder(unit: Row, store: Store, registry: Registry, place: Place) -> Encoder | None:
    try:
        return read_encoder(unit, store, registry, place)
    except FairbenchError:
        return None


def _data(unit: Row, store: Store, registry: Registry, place: Place) -> Prepared | None:
    try:
        return data_of(unit, store, registry, asked=place.asked, root=place.data_root)
    except FairbenchError as error:
        err.print(f"Rows of roles are left out of the card: {error.message}", markup=False)
        return None
