"""Measure one encoded representation: audits, downstream classifiers, distortion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from fairbench.api import AUDIT_ROLES, Access, Floats, Ints, Role
from fairbench.api.metric import PointEvaluation, Prediction, TransferAccuracy
from fairbench.auditing.auditors.views import standardised
from fairbench.auditing.axes import image_axes
from fairbench.auditing.certificate import certify
from fairbench.auditing.config import DECODED_COLUMNS, DECODED_DECIMALS, AuditConfig
from fairbench.auditing.decoder import refit_decoder
from fairbench.auditing.ensemble import EnsembleAudit, Reading, audit, paper_audit
from fairbench.auditing.members import sides
from fairbench.auditing.queries import read_queries
from fairbench.auditing.sample_size import extrapolate
from fairbench.auditing.with_y import read_with_y
from fairbench.data.prepare import Prepared, Rows
from fairbench.metrics.transfer import CONSTANT, TEST, VALIDATION
from fairbench.stats.bootstrap import replicated
from fairbench.stats.scores import accuracy, information, log_loss
from fairbench.stats.seeds import derive_seed

_STANDARD_ERRORS = 5.0
"""Between distortions of two sets of rows, beyond which a decoder does not treat them alike."""


@dataclass(frozen=True)
class OwnDecoder:
    """Reconstructions of the audit roles by a method's own decoder."""

    # (n, width), draws as z: the reconstructions for all groups, which auditors see
    shown: Mapping[Role, Floats]
    # (n,): squared error of the reconstruction for a row's own group, summed over columns; mean
    # over draws
    squares: Mapping[Role, Floats]

    def is_consistent(self) -> bool:
        """Whether it treats the auditor training set as it treats the other rows.

        The rows of all roles are equally new to the encoder. One that knows which rows auditors are
        trained on could show them something else.
        """
        train = self.squares[Role.AUDITOR_TRAIN].astype(np.float64)
        others = np.concatenate([self.squares[Role.VALIDATION], self.squares[Role.TEST]])
        error = np.sqrt(train.var() / len(train) + others.var(dtype=np.float64) / len(others))
        return bool(abs(train.mean() - others.mean(dtype=np.float64)) <= _STANDARD_ERRORS * error)


@dataclass(frozen=True)
class EncodedPoint:
    """One representation of the audit roles: all of a trained model that measuring needs."""

    # (n, k): of the three audit roles. n is a multiple of a role's rows where a stochastic encoder
    # was drawn from several times, draw after draw.
    z: Mapping[Role, Floats]
    own: OwnDecoder | None  # the method's own decoder
    # Mean squared error of the own decoder on the test set with z permuted across rows
    permuted_distortion: float | None
    rate: float | None  # the method's own code length on the test set, nats
    # (m n, k): m further draws of the auditor training set
    fresh: Floats | None = None
    # Whether repeated queries and the number of rows are examined: three points of a curve are
    detailed: bool = False
    # (n, 2 k) by role: mean and standard deviation over so many draws; empty for a deterministic
    # encoder
    queries: Mapping[Access, Mapping[Role, Floats]] = field(default_factory=dict)


def evaluate(
    encoded: EncodedPoint,
    data: Prepared,
    *,
    config: AuditConfig,
    seed: int,
    soft: Floats | None = None,
    progress: Callable[[float, str], None] = lambda share, note: None,
) -> tuple[PointEvaluation, EnsembleAudit]:
    """Run every audit and measure of a point; ``seed`` is the source of all their randomness.

    ``soft``: soft labels of the auditor training set, see :mod:`fairbench.auditing.soft_labels`.
    ``progress`` is told the share that is done, and what comes next.
    """
    progress(0.0, "decoder of x")
    draws = len(encoded.z[Role.TEST]) // len(data.roles[Role.TEST].s)
    roles = {role: data.roles[role] for role in AUDIT_ROLES}
    s = {role: np.tile(rows.s, draws) for role, rows in roles.items()}
    x = {role: rows.x for role, rows in roles.items()}
    groups = len(data.info.groups)
    auditor_seed = derive_seed(seed, "auditors")
    refitted = refit_decoder(
        encoded.z,
        s,
        x,
        sides(len(x[Role.AUDITOR_TRAIN]), auditor_seed),
        groups=groups,
        config=config,
        seed=derive_seed(seed, "decoder"),
        draws=draws,
        image=data.info.architecture.image,
    )
    squares: dict[str, Mapping[Role, Floats]] = {"refitted": refitted.squares}
    if encoded.own is not None and encoded.own.is_consistent():
        squares["own"] = encoded.own.squares
    on_validation = {name: float(by[Role.VALIDATION].mean()) for name, by in squares.items()}
    better = min(on_validation, key=lambda name: on_validation[name])
    distortion = {name: by[Role.TEST] for name, by in squares.items()}
    distortion["strict"] = distortion[better]
    decoded = encoded.own.shown if encoded.own is not None and better == "own" else None
    progress(0.2, "auditors of s")
    strict = audit(
        encoded.z,
        s,
        classes=groups,
        config=config,
        seed=auditor_seed,
        reconstruction=refitted.reconstruction,
        decoded=decoded,
        soft=soft,
        draws=draws,
        fresh=encoded.fresh,
    )
    progress(0.6, "the paper's auditors")
    paper = paper_audit(
        encoded.z,
        s,
        classes=groups,
        config=config,
        seed=derive_seed(seed, "paper-auditors"),
        draws=draws,
    )
    # One draw per row where rows must be independent, or one draw is enough.
    first_draw = {role: encoded.z[role][: len(rows.s)] for role, rows in roles.items()}
    progress(0.7, "tasks")
    downstream = _downstream(encoded, roles, config, derive_seed(seed, "downstream"), draws)
    main = next(iter(downstream.values()), None)
    validation = {
        "information": strict.chosen.validation_information,
        "accuracy": accuracy(strict.validation_prediction),
        "distortion": on_validation[better],
    }
    if main is not None:
        validation["downstream"] = main.chosen.validation_information
        validation["downstream_accuracy"] = accuracy(main.validation_prediction)
    by_access = {
        Access.RELEASE: strict.release.information,
        Access.DECODER: strict.chosen.test_information,
    }
    once = {role: rows.s for role, rows in roles.items()}
    sample_size = None
    progress(0.85, "repeated queries" if encoded.detailed else "certificate")
    if encoded.detailed:
        by_access |= read_queries(
            strict.release,
            encoded.queries,
            once,
            classes=groups,
            config=config,
            seed=derive_seed(seed, "queries"),
            soft=soft,
        )
        sample_size = extrapolate(
            first_draw if decoded is None else _beside(first_draw, decoded),
            once,
            strict.chosen.test_information,
            classes=groups,
            config=config,
            seed=derive_seed(seed, "sample-size"),
            soft=soft,
        )
    with_y = None
    if main is not None:
        with_y = read_with_y(
            Reading(strict.prediction, strict.validation_prediction),
            first_draw,
            once,
            {role: rows.y[next(iter(downstream))] for role, rows in roles.items()},
            groups=groups,
            config=config,
            seed=derive_seed(seed, "with-y"),
        )
    evaluation = PointEvaluation(
        z=encoded.z[Role.TEST],
        s=s[Role.TEST],
        y={task: np.tile(labels, draws) for task, labels in roles[Role.TEST].y.items()},
        x=x[Role.TEST],
        audits=strict.results,
        audit=strict.prediction,
        paper_audits=paper,
        downstream={task: result.prediction for task, result in downstream.items()},
        distortion=distortion,
        validation=validation,
        permuted_distortion=encoded.permuted_distortion,
        rate=encoded.rate,
        draws=draws,
        certificate=certify(
            first_draw[Role.AUDITOR_TRAIN], first_draw[Role.TEST], roles[Role.TEST].s, groups=groups
        ),
        replicates=_replicates(
            strict.prediction,
            distortion["strict"],
            main.prediction if main else None,
            draws,
            roles[Role.TEST].numbers,
        ),
        by_access=by_access,
        with_y=with_y,
        sample_size=sample_size,
        transfer=_transfer(
            encoded.z, data, config=config, seed=derive_seed(seed, "transfer"), draws=draws
        ),
    )
    return evaluation, strict


def _beside(z: Mapping[Role, Floats], decoded: Mapping[Role, Floats]) -> dict[Role, Floats]:
    """Return z, one draw of each row, with the reconstructions of the same draw beside it."""
    return {role: np.hstack([rows, decoded[role][: len(rows)]]) for role, rows in z.items()}


def _replicates(
    sensitive: Prediction,
    distortion: Floats,
    task: Prediction | None,
    draws: int,
    people: Ints,
) -> dict[str, npt.NDArray[np.float64]]:
    """Bootstrap a point's figures; rows are resampled, not their draws."""
    n = len(sensitive.labels) // draws
    losses = log_loss(sensitive.probabilities, sensitive.labels)
    right = None
    if task is not None:
        right = (task.probabilities.argmax(axis=1) == task.labels).reshape(draws, n).mean(axis=0)
    losses = losses.reshape(draws, n).mean(axis=0)
    return replicated(losses, sensitive.labels[:n], distortion, right, people=people)


def _downstream(
    encoded: EncodedPoint, roles: Mapping[Role, Rows], config: AuditConfig, seed: int, draws: int
) -> dict[str, EnsembleAudit]:
    """Fit the downstream classifier of each task."""
    return {
        task: classify_task(
            encoded.z,
            {role: np.tile(roles[role].y[task], draws) for role in AUDIT_ROLES},
            config=config,
            seed=derive_seed(seed, task),
            draws=draws,
        )
        for task in roles[Role.TEST].y
    }


def _transfer(
    z: Mapping[Role, Floats], data: Prepared, *, config: AuditConfig, seed: int, draws: int = 1
) -> dict[str, TransferAccuracy]:
    """Fit the downstream classifiers of each unseen task, if any."""
    found = {}
    for task in data.roles[Role.TEST].transfer:
        result = classify_task(
            z,
            {role: np.tile(data.roles[role].transfer[task], draws) for role in AUDIT_ROLES},
            config=config,
            seed=derive_seed(seed, task),
            draws=draws,
        )
        found[task] = TransferAccuracy(
            accuracy(result.prediction), accuracy(result.validation_prediction)
        )
    return found


def classify_task(
    z: Mapping[Role, Floats],
    labels: Mapping[Role, Ints],
    *,
    config: AuditConfig,
    seed: int,
    draws: int = 1,
) -> EnsembleAudit:
    """Fit the downstream classifiers of a task, and choose one on the validation set.

    ``z``, ``labels``: of the three audit roles; classes are 0, 1, ... ``draws``: draws of each row
    in z and labels, draw after draw.
    """
    return audit(
        z,
        labels,
        classes=1 + max(int(label.max()) for label in labels.values()),
        config=replace(config, members=config.downstream, interactions=False, strict_mlps=1),
        seed=seed,
        views=lambda rows: [standardised(rows)],
        draws=draws,
    )


@dataclass(frozen=True)
class Reference:
    """Figures that curves of a dataset are normalised by, for one seed of the auditors."""

    # By column. ``mutual_information_max``: I of raw x on the test set by the strict auditor, and
    # ``..._validation``, ``..._paper``: on the validation set, and by the paper's MLPs; nats.
    # ``distortion_max``: E||x - E[x|s]||^2 on the test set with the auditor training set's means,
    # and ``..._validation``; squared units of standardised x. ``accuracy_s``: accuracy of the
    # strict auditor of x; ``accuracy_s_constant``, ``accuracy_y_constant``: accuracy on the test
    # set of always predicting the largest group, or class of the main task, if any, of the auditor
    # training set; ``accuracy_s_validation``, ``accuracy_s_constant_validation`` on validation. For
    # each unseen task ``transfer_accuracy_{task}`` of x's downstream classifier and
    # ``transfer_constant_{task}`` of a constant guess; on the validation set
    # ``transfer_validation_{task}`` and ``transfer_constant_validation_{task}``.
    values: dict[str, float]
    # (resamples,): ``mutual_information_max``, ``distortion_max`` and ``accuracy_y_constant`` on
    # the same resamples as every point
    replicates: dict[str, npt.NDArray[np.float64]]


def audit_reference(
    data: Prepared, *, config: AuditConfig, seed: int, soft: Floats | None = None
) -> Reference:
    """Measure raw x, the ceiling, and a constant representation, the floor."""
    z = {role: data.roles[role].x for role in AUDIT_ROLES}
    s = {role: data.roles[role].s for role in AUDIT_ROLES}
    groups = len(data.info.groups)
    x, auditor_seed = z[Role.AUDITOR_TRAIN], derive_seed(seed, "auditors")
    # As where x is released: x is then what a decoder of its own gives, too.
    decoded = None
    if x.shape[1] <= DECODED_COLUMNS:
        decoded = {role: rows.round(DECODED_DECIMALS) for role, rows in z.items()}
    elif (image := data.info.architecture.image) is not None:
        project = image_axes(x, image).project
        decoded = {role: project(rows).round(DECODED_DECIMALS) for role, rows in z.items()}
    strict = audit(
        z,
        s,
        classes=groups,
        config=config,
        seed=auditor_seed,
        decoded=decoded,
        soft=soft,
    )
    paper_seed = derive_seed(seed, "paper-auditors")
    paper = paper_audit(z, s, classes=groups, config=config, seed=paper_seed)
    train = data.roles[Role.AUDITOR_TRAIN]
    means = np.stack([x[train.s == group].mean(axis=0) for group in range(groups)])

    def squares(role: Role) -> npt.NDArray[np.float64]:
        errors = np.empty(len(s[role]))
        for group in range(groups):
            rows = s[role] == group
            errors[rows] = ((z[role][rows] - means[group]) ** 2).sum(axis=1)
        return errors

    distances = squares(Role.TEST)
    values = {
        "mutual_information_max": strict.chosen.test_information,
        "mutual_information_max_validation": strict.chosen.validation_information,
        "mutual_information_max_paper": float(
            np.mean([information(p.probabilities, p.labels) for p in paper])
        ),
        "distortion_max": float(distances.mean()),
        "distortion_max_validation": float(squares(Role.VALIDATION).mean()),
        "accuracy_s": accuracy(strict.prediction),
        "accuracy_s_validation": accuracy(strict.validation_prediction),
    }
    for name, role in (("", Role.TEST), ("_validation", Role.VALIDATION)):
        guess = s[role] == np.bincount(train.s).argmax()
        values[f"accuracy_s_constant{name}"] = float(guess.mean())
    right = None
    if (task := next(iter(train.y), None)) is not None:
        right = (data.roles[Role.TEST].y[task] == np.bincount(train.y[task]).argmax()).astype(float)
        values["accuracy_y_constant"] = float(right.mean())
    values |= _transfer_reference(z, data, config=config, seed=derive_seed(seed, "transfer"))
    losses = log_loss(strict.prediction.probabilities, s[Role.TEST])
    people = data.roles[Role.TEST].numbers
    replicates = replicated(losses, s[Role.TEST], distances, right, people=people)
    names = {
        "mutual_information": "mutual_information_max",
        "distortion": "distortion_max",
        "accuracy_y": "accuracy_y_constant",
    }
    return Reference(values, {names[name]: array for name, array in replicates.items()})


def _transfer_reference(
    x: Mapping[Role, Floats], data: Prepared, *, config: AuditConfig, seed: int
) -> dict[str, float]:
    """Accuracy on each unseen task from x, and of a constant guess."""
    values = {}
    for task, reached in _transfer(x, data, config=config, seed=seed).items():
        guess = np.bincount(data.roles[Role.AUDITOR_TRAIN].transfer[task]).argmax()
        for of, role, accuracy_of_x in (
            (TEST, Role.TEST, reached.test),
            (VALIDATION, Role.VALIDATION, reached.validation),
        ):
            right = data.roles[role].transfer[task] == guess
            values[f"{of}{task}"] = accuracy_of_x
            values[f"{CONSTANT[of]}{task}"] = float(right.mean())
    return values
