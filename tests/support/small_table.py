"""A small table, in a module that loads little: processes that tests start load it too."""

import numpy as np
import pandas as pd

from fairbench.api.dataset import Table


def make_table(n: int = 2000, *, seed: int = 0, groups: int = 2) -> Table:
    """Two numbers and a category; the first number tells of s."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, groups, n)
    frame = pd.DataFrame(
        {
            "shifted": rng.normal(size=n) + s,
            "noise": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue"], size=n),
        }
    )
    y = (frame["shifted"] + frame["noise"] + rng.normal(size=n) > 0.5).to_numpy().astype(np.int64)
    return Table(frame, s.astype(np.int64), tuple(f"g{i}" for i in range(groups)), {"task": y})
