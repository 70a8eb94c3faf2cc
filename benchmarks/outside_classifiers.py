"""Tabular classifiers of other packages, as auditors: LightGBM, CatBoost, TabM and RealMLP.

Each is tuned on few configurations, the first of which is near its authors' defaults; the others
are drawn from the ranges that its authors search, smaller where a core would need minutes. All stop
early by the log loss of held-out rows. The packages are optional: each is imported where it is
fitted.
"""

from __future__ import annotations

import importlib.util
import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbench.api import Floats, Ints

Settings = Mapping[str, Any]
Predict = Callable[[Floats], Floats]
"""Maps rows ``(n, d)`` to probabilities ``(n, classes)``."""


@dataclass(frozen=True)
class LabelledTable:
    """Rows ``(n, d)`` with hard labels ``(n,)``; ``draws`` draws of each row, draw after draw."""

    x: Floats
    labels: Ints
    draws: int = 1


@dataclass(frozen=True)
class OutsideClassifier:
    """A classifier of another package and how it is tuned."""

    name: str
    package: str  # as pip and import name it
    defaults: Settings
    draw: Callable[[np.random.Generator], Settings]  # one more configuration
    # Fits on the first table, stops early by the second; the seed is the source of all randomness
    fit: Callable[[LabelledTable, LabelledTable, Settings, int], Predict]

    @property
    def is_installed(self) -> bool:
        """Whether its package is there."""
        return importlib.util.find_spec(self.package) is not None

    def configurations(self, count: int, seed: int) -> list[Settings]:
        """Return ``count`` configurations; the first is the default."""
        rng = np.random.default_rng(seed)
        return [self.defaults, *(self.draw(rng) for _ in range(count - 1))][:count]


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _one_of(rng: np.random.Generator, values: Sequence[Any]) -> Any:
    return values[int(rng.integers(len(values)))]


# ---- LightGBM ------------------------------------------------------------------------------------

_ROUNDS, _PATIENCE = 1000, 50
"""Most boosting rounds, and rounds without progress after which boosting stops."""


def _draw_lightgbm(rng: np.random.Generator) -> Settings:
    return {
        "learning_rate": _log_uniform(rng, 0.02, 0.1),
        "num_leaves": int(_log_uniform(rng, 6, 128)),
        "min_child_samples": int(_log_uniform(rng, 3, 100)),
        "subsample": rng.uniform(0.6, 1.0),
        "subsample_freq": 1,
        "colsample_bytree": rng.uniform(0.5, 1.0),
        "reg_lambda": _log_uniform(rng, 1e-3, 30),
        "extra_trees": bool(rng.integers(2)),
    }


def _fit_lightgbm(fit: LabelledTable, held: LabelledTable, given: Settings, seed: int) -> Predict:
    import lightgbm

    model = lightgbm.LGBMClassifier(
        n_estimators=_ROUNDS, n_jobs=1, verbose=-1, random_state=seed % 2**31, **given
    )
    stop = lightgbm.early_stopping(_PATIENCE, verbose=False)
    model.fit(fit.x, fit.labels, eval_X=held.x, eval_y=held.labels, callbacks=[stop])
    return lambda x: np.asarray(model.predict_proba(x), np.float32)


# ---- CatBoost ------------------------------------------------------------------------------------


def _draw_catboost(rng: np.random.Generator) -> Settings:
    return {
        "learning_rate": _log_uniform(rng, 0.03, 0.15),
        "depth": int(rng.integers(4, 9)),
        "l2_leaf_reg": _log_uniform(rng, 0.5, 30),
        "random_strength": _log_uniform(rng, 0.1, 10),
        "bagging_temperature": rng.uniform(0, 1),
        "border_count": _one_of(rng, (64, 128, 254)),
    }


def _fit_catboost(fit: LabelledTable, held: LabelledTable, given: Settings, seed: int) -> Predict:
    import catboost

    model = catboost.CatBoostClassifier(
        iterations=_ROUNDS,
        thread_count=1,
        verbose=0,
        allow_writing_files=False,
        random_seed=seed % 2**31,
        **given,
    )
    model.fit(fit.x, fit.labels, eval_set=(held.x, held.labels), early_stopping_rounds=_PATIENCE)
    return lambda x: np.asarray(model.predict_proba(x), np.float32)


# ---- TabM and RealMLP, of pytabkit ---------------------------------------------------------------

_TABM_EPOCHS, _REALMLP_EPOCHS = 12, 32
"""Passes over the rows; a draw of each row counts as a part of one, so steps are as many."""


def _draw_tabm(rng: np.random.Generator) -> Settings:
    return {
        "lr": _log_uniform(rng, 5e-4, 8e-3),
        "weight_decay": _one_of(rng, (0.0, 1e-3, 1e-2, 1e-1)),
        "dropout": _one_of(rng, (0.0, 0.1, 0.3)),
        "num_emb_n_bins": _one_of(rng, (8, 16, 32, 64)),
        "n_blocks": _one_of(rng, (1, 2, 3)),
    }


def _fit_tabm(fit: LabelledTable, held: LabelledTable, given: Settings, seed: int) -> Predict:
    from pytabkit import TabM_D_Classifier

    return _fit_pytabkit(
        TabM_D_Classifier,
        fit,
        held,
        seed,
        arch_type="tabm-mini",
        num_emb_type="pwl",
        tabm_k=8,
        d_block=128,
        d_embedding=12,
        batch_size=256,
        n_epochs=-(-_TABM_EPOCHS // fit.draws),
        patience=3,
        gradient_clipping_norm=1.0,
        **given,
    )


def _draw_realmlp(rng: np.random.Generator) -> Settings:
    return {
        "lr": _log_uniform(rng, 1e-2, 2e-1),
        "p_drop": _one_of(rng, (0.0, 0.15, 0.3)),
        "wd": _one_of(rng, (0.0, 2e-2)),
        "plr_sigma": _log_uniform(rng, 0.05, 1.0),
        "act": _one_of(rng, ("selu", "mish", "relu")),
    }


def _fit_realmlp(fit: LabelledTable, held: LabelledTable, given: Settings, seed: int) -> Predict:
    from pytabkit import RealMLP_TD_Classifier

    return _fit_pytabkit(
        RealMLP_TD_Classifier,
        fit,
        held,
        seed,
        hidden_sizes=[128, 128, 128],
        use_ls=False,
        batch_size=512,
        n_epochs=-(-_REALMLP_EPOCHS // fit.draws),
        **given,
    )


def _fit_pytabkit(
    kind: Any, fit: LabelledTable, held: LabelledTable, seed: int, **settings: Any
) -> Predict:
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Lightning: that loaders have no workers, and the like
        model = kind(
            device="cpu",
            n_threads=1,
            random_state=seed % 2**31,
            val_metric_name="cross_entropy",
            **settings,
        )
        model.fit(fit.x, fit.labels.astype(np.int64), held.x, held.labels.astype(np.int64))

    def predict(x: Floats) -> Floats:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(model.predict_proba(x), np.float32)

    return predict


CLASSIFIERS = {
    one.name: one
    for one in (
        OutsideClassifier(
            "lightgbm", "lightgbm", {"learning_rate": 0.05}, _draw_lightgbm, _fit_lightgbm
        ),
        OutsideClassifier(
            "catboost", "catboost", {"learning_rate": 0.06}, _draw_catboost, _fit_catboost
        ),
        OutsideClassifier(
            "tabm",
            "pytabkit",
            {"lr": 2e-3, "num_emb_n_bins": 32, "n_blocks": 2},
            _draw_tabm,
            _fit_tabm,
        ),
        OutsideClassifier("realmlp", "pytabkit", {}, _draw_realmlp, _fit_realmlp),
    )
}
