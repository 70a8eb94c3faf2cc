"""The scikit-learn transformer: any registered method, on a table of the user's own."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fairbench.api import (
    Architecture,
    Coding,
    DatasetInfo,
    FitContext,
    Floats,
    Method,
    Shots,
    Track,
    TrainingRows,
    Unit,
)
from fairbench.data.in_memory import codes_of, fit_preprocessing, groups_of
from fairbench.data.preprocessing import Unknown
from fairbench.data.used_columns import UsedColumns
from fairbench.errors import ConfigError, InputError
from fairbench.estimator.encoding import any_knobs, encode, representation_at
from fairbench.estimator.fitting import fit_encoder, kept_on_error
from fairbench.estimator.inputs import (
    check_finite,
    check_order,
    prepare_new_rows,
    read_frame,
    warn_of_columns,
    without_column,
)
from fairbench.estimator.settings import (
    check_knobs,
    choose_device,
    count_iterations,
    knobs_by_name,
    make_noise_seed,
    make_point,
    make_seed,
    model_file,
    parse_choice,
    print_progress,
)
from fairbench.registry import Registry, load_registry
from fairbench.runs.hyperparameters import validate_params
from fairbench.store import encoders
from fairbench.store.encoders import Encoder

if TYPE_CHECKING:
    import pandas as pd


class FairRepresentation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learn a fair representation of a table, and release it: a transformer of scikit-learn.

    It trains the methods of ``fairbench list methods``, by their names, as the benchmark does.
    Categories are coded and all columns scaled first, with statistics of the rows of ``fit``.
    Training and encoding use one thread (see :mod:`fairbench.training.threads`), whatever torch and
    OpenMP are set to; that setting is restored. No file is written.

    Parameters
    ----------
    method : str
        Name or alias of a method.
    params : mapping, optional
        Hyperparameters that differ from the defaults.
    budget : ``"full"``, ``"quick"`` or int
        Training steps of neural methods: 100 epochs, but at least 5,000 and at most 27,000 steps; a
        tenth of that; or this number.
    random_state : int, RandomState or None
        Seed of the training. The same seed, rows and settings give the same codes on one machine.
    device : ``"auto"``, ``"cpu"`` or ``"cuda"``
        Where neural methods train; ``auto`` is CUDA where there is one. Encoding is on the CPU.
    unknown : ``"refuse"`` or ``"common"``
        How ``transform`` treats a category that ``fit`` has not seen, or a missing value: raise
        InputError, or replace it by the commonest category or the mean, with a warning.
    verbose : int
        Whether to print the progress of training.
    **knobs : float
        The method's fairness parameters by their names: ``beta``, ``gamma``, ...; ``lambda_`` for
        lambda. Those of a single-shot method can be changed in ``transform``, or by ``set_params``
        after the fit.

    Attributes
    ----------
    encoder_ : fairbench.store.encoders.Encoder
        The fitted encoder.
    groups_ : ndarray of str
        The groups of s.
    s_column_ : str or None
        Column of X that holds s, where ``fit`` was told its name.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X was a frame with named columns.

    Notes
    -----
    ``s`` is metadata of ``fit`` and, for methods of the aware track, of ``transform``. Both request
    it: with ``sklearn.set_config(enable_metadata_routing=True)`` a pipeline passes on the ``s`` it
    is given; without, name the step: ``Pipeline.fit(X, y, fr__s=s)``.

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
        self._knobs = knobs_by_name(knobs)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the constructor, knobs among them."""
        return {**super().get_params(deep), **self._knobs}

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the constructor; any other name is a knob, which ``fit`` checks."""
        own = self._get_param_names()
        super().set_params(**{k: v for k, v in params.items() if k in own})
        # A new mapping: a shallow copy of this estimator keeps its own.
        self._knobs = self._knobs | knobs_by_name({k: v for k, v in params.items() if k not in own})
        return self

    def fit(self, X: Any, y: Any = None, *, s: Any = None) -> Self:
        """Train the method.

        Parameters
        ----------
        X : DataFrame or array, shape (n, columns)
            Features. Columns of a frame hold numbers, or categories (text or category dtype); an
            array holds numbers. No value may be missing.
        y : ignored
            No method sees task labels.
        s : array, shape (n,), or str
            The sensitive attribute: names or whole numbers, two groups or more; or the name of the
            column of X that holds it, which is then no feature. Required; it has a default only
            because scikit-learn demands one.

        Raises
        ------
        InputError
            X, s or a knob cannot be used; it is a ValueError. The settings of some single-shot
            methods are known only after the training: of these, another is refused then, and the
            encoder stays fitted.
        ConfigError, UnknownNameError
            A parameter cannot be used, or the method does not support such a table.
        FitError
            Training diverged.

        Where it raises, an estimator that was fitted before stays as it was, but for such settings.
        """
        with kept_on_error(self):
            self.encoder_ = self._fitted_encoder(X, s)
        self.groups_ = np.array(self.encoder_.info.groups)
        if self.encoder_.method.shots is Shots.SINGLE and self._knobs:
            representation_at(self.encoder_, self._knobs)
        return self

    def _fitted_encoder(self, X: Any, s: Any) -> Encoder:
        """Check what ``fit`` is given, note the columns, and train."""
        method = self._method()
        unknown = parse_choice(Unknown, self.unknown, "unknown")
        self.s_column_ = s if isinstance(s, str) else None
        if self.s_column_ is not None:
            X, s = without_column(X, self.s_column_)
            if s is None:
                raise InputError(
                    f"X has no column {self.s_column_!r}, which should hold s.",
                    "Give a frame with such a column, or s itself: fit(X, s=labels).",
                )
        frame = read_frame(self, X, fitting=True, gaps=False)
        if s is None:
            raise InputError(
                f"{type(self).__name__}.fit needs the sensitive attribute: fit(X, s=...).",
                "In a pipeline: fit(X, y, STEP__s=...), or fit(X, y, s=...) with "
                "sklearn.set_config(enable_metadata_routing=True).",
            )
        check_order(X, s)
        groups, codes = groups_of(s, len(frame))
        preprocessing = fit_preprocessing(frame)
        warn_of_columns(frame, codes if method.track is Track.BLIND else None)
        x, _ = preprocessing.apply(frame, where="X", unknown=unknown)
        check_finite(x, frame, preprocessing)
        info = DatasetInfo("X", preprocessing.features, groups, Architecture())
        reason = method.supports(info)
        if reason is not None:
            raise ConfigError(f"{method.name} cannot be fitted on this X: {reason}.")
        point = None if method.shots is Shots.SINGLE else make_point(method, self._knobs)
        if point is None:
            check_knobs(method, self._knobs)
        unit = Unit(make_seed(self.random_state), point)
        context = FitContext(
            iterations=count_iterations(self.budget, len(x)),
            device=method.device(choose_device(self.device)),
            progress=print_progress(method.name) if self.verbose else lambda fraction, note: None,
        )
        return fit_encoder(method, TrainingRows(x, codes, info), unit, context, preprocessing)

    def transform(
        self, X: Any, *, s: Any = None, random_state: Any = None, **knobs: float
    ) -> Floats | pd.DataFrame:
        """Encode rows.

        Parameters
        ----------
        X : DataFrame or array, shape (n, columns)
            Columns as in ``fit``; that of s may be left out.
        s : array, shape (n,), optional
            Required by methods of the aware track; ignored by others.
        random_state : int, Generator, RandomState or None
            Seed of the noise of stochastic methods. None: the same noise at each call, from the
            seed of the training, so that equal tables get equal codes; give every table that you
            release a seed of its own.
        **knobs : float
            In place of the constructor's, for single-shot methods.

        Returns
        -------
        ndarray of float32, shape (n, k), or DataFrame
            A frame after ``set_output(transform="pandas")``.

        Raises
        ------
        InputError
            X, s or a knob cannot be used; a multi-shot method has to be fitted again for another
            knob.
        """
        check_is_fitted(self)
        encoder: Encoder = self.encoder_
        method, preprocessing = encoder.method, encoder.preprocessing
        assert preprocessing is not None
        unknown = parse_choice(Unknown, self.unknown, "unknown")
        all_knobs = self._knobs | knobs_by_name(knobs)
        representation = representation_at(encoder, all_knobs)
        X, of_column = without_column(X, self.s_column_)
        s = of_column if s is None or isinstance(s, str) else s
        frame = read_frame(self, X, fitting=False, gaps=unknown is Unknown.COMMON)
        if frame.empty:
            return self._encode_zeros(all_knobs)[:0]
        used = UsedColumns.of(preprocessing, representation.input_columns())
        x = prepare_new_rows(frame, used, unknown)
        codes = None
        if method.track is Track.AWARE:
            if s is None:
                raise InputError(
                    f"{method.name} is of the aware track: its encoder takes s.",
                    "transform(X, s=...)",
                )
            check_order(X, s)
            codes = codes_of(s, len(x), encoder.info.groups)
        generator = None
        if method.coding is Coding.STOCHASTIC:
            drawn = make_noise_seed(random_state, encoder.unit.seed)
            generator = np.random.default_rng(drawn)
        z = encode(method, representation, x, codes, generator)
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

        ``input_features`` is only compared with the columns of ``fit``; InputError if they differ.
        """
        check_is_fitted(self)
        if input_features is not None:
            count, given = self.n_features_in_, list(input_features)
            if len(given) != count:
                raise InputError(f"input_features should have length equal to {count}.")
            if given != list(getattr(self, "feature_names_in_", given)):
                raise InputError("input_features is not equal to feature_names_in_.")
        z = self._encode_zeros(self._knobs or any_knobs(self.encoder_))
        return np.array([f"z{i}" for i in range(z.shape[1])], dtype=object)

    def _encode_zeros(self, knobs: Mapping[str, float]) -> Floats:
        """Encode one row of zeros ``(1, k)``: as wide as all others at a setting."""
        encoder: Encoder = self.encoder_
        method = encoder.method
        zeros = np.zeros((1, len(encoder.info.features)), np.float32)
        s = np.zeros(1, np.int64) if method.track is Track.AWARE else None
        generator = np.random.default_rng(0) if method.coding is Coding.STOCHASTIC else None
        return encode(method, representation_at(encoder, knobs), zeros, s, generator)

    def save(self, path: str | Path) -> None:
        """Write the fitted encoder to a file, weights as safetensors and the rest as JSON.

        Raises StoreError: the method cannot be stored so (pickle can), or the file cannot be
        written. InputError: its name is that of a pickle.
        """
        check_is_fitted(self)
        encoder = self.encoder_
        given = dict(self.params or {})
        kept = {
            "params": encoder.method.params.model_dump(mode="json", include=set(given)) or None,
            "budget": self.budget if isinstance(self.budget, str) else int(self.budget),
            "device": str(self.device),
            "unknown": str(self.unknown),
            "verbose": int(self.verbose or 0),
            "knobs": {name: float(value) for name, value in self._knobs.items()},
            "named": hasattr(self, "feature_names_in_"),
            "s_column": self.s_column_,
        }
        encoders.write(model_file(path), replace(encoder, notes={"estimator": kept}))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file of ``save``, or an encoder that ``fairbench run`` stored.

        Nothing is unpickled: no code runs but the method's own, which must be installed.

        Raises StoreError: there is no such file, it is damaged, or its method is another version.
        InputError: it encodes images, which are no table.
        """
        encoder = encoders.read(Path(path), _registry())
        if encoder.preprocessing is None:
            raise InputError(f"{path} encodes images, which are no table.")
        own = {
            "params": encoder.method.params.model_dump(mode="json", exclude_defaults=True) or None,
            "budget": encoder.notes.get("iterations", "full"),
            "knobs": dict(encoder.unit.point.values) if encoder.unit.point else {},
            "named": True,
        }
        kept = own | encoder.notes.get("estimator", {})
        knobs, has_names = kept.pop("knobs"), kept.pop("named")
        s_column = kept.pop("s_column", None)
        loaded = cls(encoder.method.name, random_state=encoder.unit.seed, **kept, **knobs)
        loaded.encoder_ = encoder
        loaded.s_column_ = s_column
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
        if not isinstance(self.method, str):
            raise InputError(
                f"method={self.method!r} is not the name of a method.",
                "See: fairbench list methods",
            )
        cls = _registry().methods[self.method]
        return cls(validate_params(cls, {} if self.params is None else self.params))

    def _gives_frames(self) -> bool:
        config = getattr(self, "_sklearn_output_config", {})
        return bool(config.get("transform", "default") != "default")


@functools.cache
def _registry() -> Registry:
    return load_registry()
