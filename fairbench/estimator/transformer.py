"""The scikit-learn face: any method of the registry as a transformer of one's own table."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fairbench.api import (
    Architecture,
    Coding,
    DatasetInfo,
    FitContext,
    Floats,
    Ints,
    Shots,
    Track,
    TrainingRows,
    Unit,
)
from fairbench.api.method import Curve, Diverged, Method, Representation
from fairbench.data.checks import determines
from fairbench.data.in_memory import codes_of, fit_preprocessing, groups_of, named
from fairbench.data.preprocessing import Preprocessing, Unknown
from fairbench.errors import ConfigError, DataError, FitError, InputError
from fairbench.estimator.settings import (
    by_name,
    check_knobs,
    device_of,
    iterations_of,
    noise_seed,
    one_of,
    one_thread,
    point_of,
    printer,
    seed_of,
)
from fairbench.registry import Registry, load_registry
from fairbench.runs.contract import ContractError
from fairbench.runs.plan import validated
from fairbench.store import encoders
from fairbench.store.encoders import Encoder

if TYPE_CHECKING:
    import pandas as pd


class FairRepresentation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learn a fair representation of a table, and release it: a transformer of scikit-learn.

    What trains is what the benchmark trains: a method of ``fairbench list methods``, by its name.
    Categories are coded and all columns scaled first, with statistics of the rows of ``fit``. One
    thread trains and encodes (networks this small only wait for a second, and equal settings make
    equal codes), whatever torch and OpenMP are set to; that setting is restored. No file is
    written.

    Parameters
    ----------
    method : str
        Name or alias of a method.
    params : mapping, optional
        Its hyperparameters that are not to be the defaults.
    budget : ``"full"``, ``"quick"`` or int
        Training steps of neural methods: 100 epochs, within 5,000 and 27,000 steps; a tenth of
        that; or as many as are said.
    random_state : int, RandomState or None
        Seed of the training. The same seed, rows and settings give the same codes on one machine.
    device : ``"auto"``, ``"cpu"`` or ``"cuda"``
        Where neural methods train; ``auto`` is CUDA where there is one. Encoding is on the CPU.
    unknown : ``"refuse"`` or ``"common"``
        What ``transform`` does about a category that ``fit`` has not seen, or a missing value:
        raise InputError, or take the commonest category, or the mean, and warn of how many.
    verbose : int
        Whether to print how far the training is.
    **knobs : float
        The method's fairness parameters by their names: ``beta``, ``gamma``, ...; ``lambda_`` for
        lambda. A single-shot method may be given other ones in ``transform``, or by ``set_params``
        after the fit.

    Attributes
    ----------
    encoder_ : fairbench.store.encoders.Encoder
        What was fitted.
    groups_ : ndarray of str
        The groups of s.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X was a frame whose columns have names.

    Notes
    -----
    ``s`` is metadata of ``fit`` and, for methods of the aware track, of ``transform``. Both request
    it: with ``sklearn.set_config(enable_metadata_routing=True)`` a pipeline hands over the ``s``
    it is given, and without ``Pipeline.fit(X, y, fr__s=s)`` names the step.

    Examples
    --------
    >>> fair = FairRepresentation("sofair", beta=0.5).fit(X, s=gender)  # doctest: +SKIP
    >>> z = fair.transform(new, beta=0.3)  # doctest: +SKIP
    """

    __metadata_request__fit = {"s": True}  # noqa: RUF012 - scikit-learn reads a plain dict
    __metadata_request__transform = {"s": True}  # noqa: RUF012

    def __init__(
        self,
        method: str,
        *,
        params: Mapping[str, Any] | None = None,
        budget: str | int = "full",
        random_state: Any = 0,
        device: str = "auto",
        unknown: str = "refuse",
        verbose: int = 0,
        **knobs: float,
    ) -> None:
        self.method = method
        self.params = params
        self.budget = budget
        self.random_state = random_state
        self.device = device
        self.unknown = unknown
        self.verbose = verbose
        self._knobs = by_name(knobs)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the constructor, knobs among them."""
        return {**super().get_params(deep), **self._knobs}

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the constructor; any other name is a knob, which ``fit`` checks."""
        own = self._get_param_names()
        super().set_params(**{k: v for k, v in params.items() if k in own})
        # A new mapping: a shallow copy of this estimator keeps its own.
        self._knobs = self._knobs | by_name({k: v for k, v in params.items() if k not in own})
        return self

    def fit(self, X: Any, y: Any = None, *, s: Any = None) -> Self:
        """Train the method.

        Parameters
        ----------
        X : DataFrame or array, shape (n, columns)
            What is encoded. Columns of a frame hold numbers, or categories (text or category
            dtype); an array holds numbers. Nothing may be missing.
        y : ignored
            No method sees task labels.
        s : array, shape (n,)
            The sensitive attribute: names or whole numbers, two groups or more. It is needed;
            that it has a default is for scikit-learn's sake.

        Raises
        ------
        InputError
            X, s or a knob cannot be used; it is a ValueError.
        ConfigError, UnknownNameError
            A parameter cannot be used, or the method does not take such a table.
        FitError
            Training diverged.
        """
        method = self._method()
        unknown = one_of(Unknown, self.unknown, "unknown")
        frame = self._frame(X, reset=True)
        if s is None:
            raise InputError(
                f"{type(self).__name__}.fit needs the sensitive attribute: fit(X, s=...).",
                "In a pipeline: fit(X, y, STEP__s=...), or fit(X, y, s=...) with "
                "sklearn.set_config(enable_metadata_routing=True).",
            )
        groups, codes = groups_of(s, len(frame))
        preprocessing = fit_preprocessing(frame)
        if method.track is Track.BLIND:
            _warn_of_copies(frame, codes)
        x, _ = preprocessing.apply(frame, where="X", unknown=unknown)
        _check_finite(x, frame, preprocessing)
        info = DatasetInfo("X", preprocessing.features, groups, Architecture())
        reason = method.supports(info)
        if reason is not None:
            raise ConfigError(f"{method.name} cannot be fitted on this X: {reason}.")
        point = None if method.shots is Shots.SINGLE else point_of(method, self._knobs)
        if point is None:
            check_knobs(method, self._knobs)
        unit = Unit(seed_of(self.random_state), point)
        for array in (x, codes):
            array.flags.writeable = False
        context = FitContext(
            iterations=iterations_of(self.budget, len(x)),
            device=device_of(self.device),
            progress=printer(method.name) if self.verbose else lambda fraction, note: None,
        )
        with one_thread():
            (outcome,) = method.fit(TrainingRows(x, codes, info), [unit], context)
        if isinstance(outcome, Diverged):
            where = f" at {point.label}" if point is not None and point.values else ""
            raise FitError(
                f"The training of {method.name}{where} diverged: {outcome.reason}.",
                'Try another random_state, or params={"learning_rate": ...} below its default.',
            )
        self.encoder_ = Encoder(method, unit, info, outcome, preprocessing)
        self.groups_ = np.array(groups)
        return self

    def transform(
        self, X: Any, *, s: Any = None, random_state: Any = None, **knobs: float
    ) -> Floats | pd.DataFrame:
        """Encode rows.

        Parameters
        ----------
        X : DataFrame or array, shape (n, columns)
            Columns as in ``fit``.
        s : array, shape (n,), optional
            For methods of the aware track, which need it; others leave it alone.
        random_state : int, Generator, RandomState or None
            Of the noise of stochastic methods. None: the same noise at each call, by the seed of
            the training, so that equal tables get equal codes; give every table that you release
            one of its own.
        **knobs : float
            Instead of the constructor's, for single-shot methods.

        Returns
        -------
        ndarray of float32, shape (n, k), or DataFrame
            A frame after ``set_output(transform="pandas")``.

        Raises
        ------
        InputError
            X, s or a knob cannot be used, as where a multi-shot method would have to be fitted
            again.
        """
        check_is_fitted(self)
        encoder: Encoder = self.encoder_
        method, preprocessing = encoder.method, encoder.preprocessing
        assert preprocessing is not None
        unknown = one_of(Unknown, self.unknown, "unknown")
        representation = self._at(self._knobs | by_name(knobs))
        frame = self._frame(X, reset=False)
        try:
            x, replaced = preprocessing.apply(frame, where="X", unknown=unknown)
        except DataError as error:
            hint = 'Correct it; unknown="common" replaces unseen categories and missing numbers.'
            raise InputError(error.message, hint) from None
        _check_finite(x, frame, preprocessing)
        if replaced:
            counts = ", ".join(f"{source}: {count:,}" for source, count in replaced.items())
            warnings.warn(
                f"Values unseen in fit became the commonest, or the mean: {counts}.", stacklevel=2
            )
        codes = None
        if method.track is Track.AWARE:
            if s is None:
                raise InputError(
                    f"{method.name} is of the aware track: its encoder takes s.",
                    "transform(X, s=...)",
                )
            codes = codes_of(s, len(x), encoder.info.groups)
        generator = None
        if method.coding is Coding.STOCHASTIC:
            drawn = noise_seed(random_state, encoder.unit.seed)
            generator = np.random.default_rng(drawn)
        z = _encode(method, representation, x, codes, generator)
        if knobs and self._gives_frames() and len(self.get_feature_names_out()) != z.shape[1]:
            raise InputError(
                f"{method.name} releases {z.shape[1]} columns there, and frames have the columns "
                "of the constructor's knobs.",
                "Set them instead: set_params(...).transform(X); it need not be fitted again.",
            )
        return z

    def fit_transform(self, X: Any, y: Any = None, *, s: Any = None) -> Floats | pd.DataFrame:
        """``fit(X, s=s).transform(X, s=s)``."""
        return self.fit(X, y, s=s).transform(X, s=s)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """``z0``, ``z1``, ...: the columns released at the constructor's knobs.

        ``input_features`` is only compared with the columns of ``fit``; InputError: it is others.
        """
        check_is_fitted(self)
        if input_features is not None:
            count, given = self.n_features_in_, list(input_features)
            if len(given) != count:
                raise InputError(f"input_features should have length equal to {count}.")
            if given != list(getattr(self, "feature_names_in_", given)):
                raise InputError("input_features is not equal to feature_names_in_.")
        encoder = self.encoder_
        method = encoder.method
        knobs = self._knobs or _any_setting(encoder)
        zeros = np.zeros((1, len(encoder.info.features)), np.float32)
        s = np.zeros(1, np.int64) if method.track is Track.AWARE else None
        generator = np.random.default_rng(0) if method.coding is Coding.STOCHASTIC else None
        z = _encode(method, self._at(knobs), zeros, s, generator)
        return np.array([f"z{i}" for i in range(z.shape[1])], dtype=object)

    def save(self, path: str | Path) -> None:
        """Write what was fitted to a file, weights as safetensors and the rest as JSON.

        Raises
        ------
        StoreError
            The method has no form that could be kept (pickle does), or the file cannot be written.
        """
        check_is_fitted(self)
        encoder = self.encoder_
        given = dict(self.params or {})
        kept = {
            "params": encoder.method.params.model_dump(mode="json", include=set(given)) or None,
            "budget": self.budget if isinstance(self.budget, str) else int(self.budget),
            "device": str(self.device),
            "unknown": str(self.unknown),
            "verbose": int(self.verbose),
            "knobs": self._knobs,
            "named": hasattr(self, "feature_names_in_"),
        }
        encoders.write(Path(path), replace(encoder, notes={"estimator": kept}))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file of ``save``, or an encoder that ``fairbench run`` kept.

        Nothing is unpickled: no code runs but the method's own, which must be installed.

        Raises
        ------
        StoreError
            There is no such file, it is damaged, or its method is another version.
        """
        encoder = encoders.read(Path(path), _registry())
        if encoder.preprocessing is None:
            raise InputError(f"{path} encodes images, which are no table.")
        own = {
            "params": encoder.method.params.model_dump(mode="json", exclude_defaults=True) or None,
            "knobs": dict(encoder.unit.point.values) if encoder.unit.point else {},
            "named": True,
        }
        kept = own | encoder.notes.get("estimator", {})
        knobs, has_names = kept.pop("knobs"), kept.pop("named")
        loaded = cls(encoder.method.name, random_state=encoder.unit.seed, **kept, **knobs)
        loaded.encoder_ = encoder
        loaded.groups_ = np.array(encoder.info.groups)
        names = encoder.preprocessing.sources
        loaded.n_features_in_ = len(names)
        if has_names:
            loaded.feature_names_in_ = np.array(names, dtype=object)
        return loaded

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "encoder_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _method(self) -> Method:
        cls = _registry().methods[self.method]
        return cls(validated(cls, {} if self.params is None else self.params))

    def _at(self, knobs: Mapping[str, float]) -> Representation:
        """The representation at a setting, if it can be read there."""
        encoder: Encoder = self.encoder_
        unit, wanted = encoder.unit, point_of(encoder.method, knobs)
        if isinstance(encoder.fitted, Curve):
            points = encoder.fitted.points
            if points is not None and wanted not in points:
                raise InputError(
                    f"{encoder.method.name} cannot be read at {wanted.label}.",
                    f"Here it can be read at {'; '.join(point.label for point in points)}.",
                )
        elif unit.point is not None and wanted != unit.point:
            raise InputError(
                f"{encoder.method.name} is multi-shot, a model for each setting, and this one "
                f"was fitted at {unit.point.label}.",
                f"Fit again with {wanted.label}.",
            )
        return encoder.at(wanted)

    def _frame(self, X: Any, *, reset: bool) -> pd.DataFrame:
        """X as raw columns with names, checked as scikit-learn checks it."""
        import pandas as pd

        if hasattr(X, "to_pandas"):  # polars, Arrow
            X = X.to_pandas()
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if len(X) < 1 + reset or not X.shape[1]:
                raise InputError(f"X has {len(X)} sample(s) and {X.shape[1]} feature(s): too few.")
        else:
            coded = not reset and any(f.categories for f in self.encoder_.info.features)
            gaps = not reset and self.unknown == Unknown.COMMON
            X = validate_data(
                self,
                X,
                reset=reset,
                dtype=None if coded else "numeric",
                ensure_all_finite="allow-nan" if gaps and not coded else not coded,
                ensure_min_samples=1 + reset,
            )
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        return named(pd.DataFrame(X), [str(name) for name in names])

    def _gives_frames(self) -> bool:
        config = getattr(self, "_sklearn_output_config", {})
        return bool(config.get("transform", "default") != "default")


@functools.cache
def _registry() -> Registry:
    return load_registry()


def _any_setting(encoder: Encoder) -> dict[str, float]:
    """Knobs at which a curve can be read, for what does not depend on them."""
    if not isinstance(encoder.fitted, Curve):
        return {}
    points = encoder.fitted.points
    return dict(points[0].values) if points else {encoder.fitted.knob.name: encoder.fitted.knob.low}


def _check_finite(x: Floats, frame: pd.DataFrame, preprocessing: Preprocessing) -> None:
    """Raise InputError for the first number that is out of the range of float32 once scaled."""
    bad = np.argwhere(~np.isfinite(x))
    if len(bad):
        row, place = bad[0]
        source = preprocessing.features[place].source
        raise InputError(
            f"X, row {row + 1}: {source} is {frame[source].iloc[row]}, too far from the values "
            "that fit saw to be encoded.",
            "Correct it, or leave the row out.",
        )


def _encode(
    method: Method,
    representation: Representation,
    x: Floats,
    s: Ints | None,
    generator: np.random.Generator | None,
) -> Floats:
    with one_thread():
        z = np.asarray(representation.encode(x, s=s, generator=generator), dtype=np.float32)
    if z.ndim != 2 or len(z) != len(x) or not z.shape[1] or not np.isfinite(z).all():
        raise ContractError(
            f"{method.name}.encode returned {z.shape} for {len(x)} rows, or what is not finite."
        )
    return z


def _warn_of_copies(frame: pd.DataFrame, s: Ints) -> None:
    for name in frame.columns:
        if determines(frame[name], s):
            warnings.warn(
                f"The column {name!r} of X tells s exactly: an encoder that is to be blind of s "
                "sees it. Leave it out of X.",
                stacklevel=3,
            )
