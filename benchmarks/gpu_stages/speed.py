"""Stage 2: steps per second of each method's stack, and its share of the device's peak.

Steps are recorded and replayed, as they are in a training. For comparison, they are also launched
one by one, and those of one model are taken on one core of the CPU.

The peak is measured: the matrix products of one step, forwards and backwards, one after the other
with nothing between them; and, for comparison, a batched product of large matrices. All are in
float32, as the engine trains.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from fairbench.api import TrainingRows
from fairbench.training import NeuralMethod
from fairbench.training.divergence import CHECK_EVERY
from gpu_stages.products import content_of, draw_seconds, large_product_rate, peak_of
from gpu_stages.records import Outcome, Part, Row, of_unit
from gpu_stages.settings import Settings, adults, counted, training_rows
from gpu_stages.stacks import Stack, build_stack, neural_methods, units_of

_MAX_STEPS = 20_000

NOTE = (
    "One stack of all points and seeds on Adults-Gender. Operations are those of the step's matrix "
    "products, backwards included (2 per pair of numbers); element-wise work counts as none. Peak: "
    "the same products, one after the other, nothing between them; where they are launched as a "
    "graph, launching them costs nothing either. Draws: random numbers of a step on one thread of "
    "the CPU."
)


@dataclass(frozen=True)
class StackSpeed(Row):
    """How fast one stack trains."""

    method: str
    replicates: int = of_unit("seeds")
    models: int = of_unit("models")
    steps: int = of_unit("steps")
    steps_per_second: float = of_unit("steps/s")
    one_by_one: float = of_unit("steps/s, launched one by one")
    on_a_core: float = of_unit("steps/s of one model, on one core of the CPU")
    model_steps_per_second: float = of_unit("model-steps/s")
    rate: float = of_unit("GFLOP/s")
    peak_of_same_sizes: float = of_unit("GFLOP/s")
    peak_of_large: float = of_unit("GFLOP/s")
    share_of_same_sizes: float = of_unit("share")
    share_of_large: float = of_unit("share")
    step_milliseconds: float = of_unit("ms")
    products_milliseconds: float = of_unit("ms")
    draws_milliseconds: float = of_unit("ms")
    products_launched: str = ""


def parts(settings: Settings) -> list[Part]:
    """Return one part per method and number of replicates."""
    return [
        Part(f"speed of {method.name}, {_replicates(seeds)}", _of(method, seeds))
        for seeds in settings.sizes.replicates
        for method in neural_methods(settings)
    ]


def _replicates(seeds: int) -> str:
    return "one replicate" if seeds == 1 else f"{seeds} replicates"


def _of(method: type[NeuralMethod], seeds: int) -> Callable[[Settings], Outcome]:
    def run(settings: Settings) -> Outcome:
        one = measure(method(), seeds, settings)
        text = (
            f"{counted(one.models)}, {one.steps_per_second:,.0f} steps/s (one by one "
            f"{one.one_by_one:,.0f}; one model on a core {one.on_a_core:,.0f}) "
            f"({one.model_steps_per_second:,.0f} model-steps/s), {one.rate:,.0f} GFLOP/s: "
            f"{one.share_of_same_sizes:.1%} of products of the same sizes, "
            f"{one.share_of_large:.2%} of large ones"
        )
        return Outcome([one], text, NOTE)

    return run


def measure(method: NeuralMethod, seeds: int, settings: Settings) -> StackSpeed:
    """Time the stack of a method, and the matrix products of its steps alone."""
    rows, device = training_rows(adults(settings.data_root)), settings.device
    units = units_of(method, seeds=seeds, points=settings.sizes.most_points)
    content = content_of(method, units, rows)
    steps, seconds = _timed(build_stack(method, units, rows, device), rows, settings)
    stack = build_stack(method, units, rows, device)
    stack.model.recordable = False
    _, launched = _timed(stack, rows, settings)
    _, on_a_core = _timed(build_stack(method, units[:1], rows, "cpu"), rows, settings)
    peak = peak_of(content.products, device, settings.sizes.timed_seconds / 3)
    large = large_product_rate(device)
    rate = content.flops / seconds
    return StackSpeed(
        method=method.name,
        replicates=seeds,
        models=len(units),
        steps=steps,
        steps_per_second=1 / seconds,
        one_by_one=1 / launched,
        on_a_core=1 / on_a_core,
        model_steps_per_second=len(units) / seconds,
        rate=rate / 1e9,
        peak_of_same_sizes=content.flops / peak.seconds / 1e9,
        peak_of_large=large / 1e9,
        share_of_same_sizes=peak.seconds / seconds,
        share_of_large=rate / large,
        step_milliseconds=1e3 * seconds,
        products_milliseconds=1e3 * peak.seconds,
        draws_milliseconds=1e3 * draw_seconds(content, stack.streams.seeds),
        products_launched=peak.launched,
    )


def _timed(stack: Stack, rows: TrainingRows, settings: Settings) -> tuple[int, float]:
    """Steps that were timed, and seconds of each, once warmed up.

    The clock is read where progress is reported: the device has caught up then.
    """
    least = 2 * CHECK_EVERY + 1  # of which the second half is timed
    device = stack.streams.device.type

    def seconds(steps: int) -> float:
        clock: list[float] = []
        reasons = stack.train(rows, steps, progress=lambda *_: clock.append(time.perf_counter()))
        if all(reasons):
            raise RuntimeError(f"all models diverged: {reasons[0]}")
        # After the steps 0, 50, 100, ..., the last one, and once more at the end.
        timed = clock[1 : 1 + (steps - 1) // CHECK_EVERY]
        return (timed[-1] - timed[0]) / (CHECK_EVERY * (len(timed) - 1))

    each = seconds(least)
    steps = min(_MAX_STEPS, round(settings.sizes.timed_seconds / each))
    if device == "cpu" or steps <= least:
        return CHECK_EVERY, each
    return steps, seconds(steps)
