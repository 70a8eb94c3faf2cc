"""What ``fairbench recommend`` prints where no stored point is within the limits."""

from __future__ import annotations

import shlex

from fairbench.api.metric import Certificate
from fairbench.cli.console import out, print_folded
from fairbench.models.lookup import StoredPoint
from fairbench.models.recommend import Recommendation, find_nearest_misses, rank_by_usefulness
from fairbench.registry import Registry
from fairbench.search.space import declared_space


def show_misses(answer: Recommendation, registry: Registry) -> None:
    """Print how near the best candidates came, and what else to try."""
    out.print("\nNothing fits.", markup=False, style="bold")
    lowest = _least_certified(answer) if answer.within_limits else None
    options = _certified_misses(answer, lowest) if answer.within_limits else _misses(answer)
    out.print("What to try:", markup=False)
    if lowest is not None and lowest[1].cells == 1:
        out.print("  a --max-leakage well above that bound", markup=False)
        return
    if options:
        out.print(f"  {' or '.join(options)}", markup=False)
    untried = [
        name for name in answer.untried if answer.certificates is None or name in answer.certifiable
    ]
    if untried:
        model = answer.candidates.points[0].model
        words = ["fairbench", "run", *model.data_options, "--methods", ",".join(untried)]
        command = shlex.join([*words, *model.results.location.options])
        out.print(f"  other methods: {command}", markup=False)
    ranked = rank_by_usefulness(answer.candidates.points)
    unit = next((point.unit for point in ranked if "baseline" not in point.unit.tags), None)
    if unit is None:
        return
    method = unit.method
    if "single-shot" in unit.tags:
        out.print(f"  more points: fairbench run --methods {method} ... --points 32", markup=False)
    if method in registry.methods and declared_space(registry.methods[method], {}):
        out.print(
            f"  other hyperparameters: fairbench run --methods {method} ... --tune 20",
            markup=False,
        )


def _misses(answer: Recommendation) -> list[str]:
    """Print how near the best came; return options that would let them in."""
    limits = answer.query.limits
    nearest = find_nearest_misses(answer.candidates, limits)
    options = []
    if nearest.tight is not None and limits.accuracy is not None:
        accuracy = nearest.tight.figures.get("accuracy_y_validation") or 0.0
        print_folded(
            f"Within {limits.leakage:g} nats the most accurate is {nearest.tight.title}: A_y = "
            f"{accuracy:.3f} on the validation set."
        )
        options.append(f"--min-accuracy {int(accuracy * 1000) / 1000:g}")
    if nearest.accurate is not None:
        leakage = nearest.accurate.figure("mutual_information_validation")
        among = "" if limits.accuracy is None else f"Of those with A_y >= {limits.accuracy:g} "
        print_folded(
            f"{among}{nearest.accurate.title} leaks least: I = {leakage:.4f} nats on the "
            "validation set."
        )
        options.append(f"--max-leakage {int(leakage * 1000 + 1) / 1000:g}")
    elif limits.accuracy is not None:
        print_folded(f"No point has A_y >= {limits.accuracy:g} on the validation set.")
    return options


def _least_certified(answer: Recommendation) -> tuple[StoredPoint, Certificate] | None:
    """Return the point with the lowest certified bound, of those that are accurate enough."""
    bounds = answer.certificates.by_point if answer.certificates else {}
    accurate = filter(answer.query.limits.allows_accuracy, answer.candidates.points)
    certified = [(point, bounds[point.key]) for point in accurate if point.key in bounds]
    return min(certified, key=lambda pair: pair[1].information, default=None)


def _certified_misses(
    answer: Recommendation, lowest: tuple[StoredPoint, Certificate] | None
) -> list[str]:
    """Print the lowest certified bound; return options that would let it in."""
    options = []
    if lowest is not None:
        least, certified = lowest
        bound = certified.information
        print_folded(
            f"The lowest certified bound is that of {least.title}: I(Z;S) <= {bound:.4f} nats."
        )
        if certified.cells == 1:
            print_folded(
                "Its z says nothing, so no method can be certified much lower here: only more "
                "test rows, larger groups or fewer candidates make bounds tighter."
            )
        if not least.is_baseline:
            options.append(f"--max-leakage {int(bound * 1000 + 1) / 1000:g}")
    print_folded(
        "A certificate needs a z that many people share. Quantised methods have one "
        f"({', '.join(answer.certifiable) or 'none is registered'}), and so may others where z "
        "takes few values. Fewer codes, or more test rows, make it tighter. So do fewer "
        "candidates, but only where they are decided before the test rows are looked at: to leave "
        "some out now that these bounds are known would make the statement untrue. Without "
        "--certified there is what auditors found: a lower bound."
    )
    return options
