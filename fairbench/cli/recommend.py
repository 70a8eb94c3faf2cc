"""``fairbench recommend``: which stored point to use, and what is known of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbench.cli.model_card import make_card, write_card
from fairbench.cli.options import DataRoot, OneDataset, Results, StoreUrl
from fairbench.cli.plugins import load_plugins
from fairbench.cli.recommend_text import show_recommendation
from fairbench.models.query import ResultsLocation, dataset_cards
from fairbench.models.recommend import Limits, RecommendQuery, parse_track, recommend


def recommend_command(
    max_leakage: Annotated[
        float, typer.Option(metavar="NATS", help="Largest I(Z;S) on the validation set.")
    ],
    min_accuracy: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Smallest accuracy of the main task on the validation set."
        ),
    ] = None,
    dataset: OneDataset = None,
    track: Annotated[
        str, typer.Option(help="Track of the methods: blind, aware (the encoder takes s too).")
    ] = "blind",
    certified: Annotated[
        bool, typer.Option("--certified", help="Require a certificate of the limit of leakage.")
    ] = False,
    level: Annotated[
        float, typer.Option(help="Probability that any certificate fails, over all candidates.")
    ] = 0.05,
    card: Annotated[
        Path | None, typer.Option(help="File for the model card (Markdown) of the point.")
    ] = None,
    results: Results = None,
    data_root: DataRoot = None,
    store: StoreUrl = None,
) -> None:
    """Recommend a stored point within a leakage limit. Exit code 1 where none fits."""
    limits = Limits(max_leakage, min_accuracy)
    query = RecommendQuery(limits, dataset, parse_track(track), certified, level)
    location = ResultsLocation(results, store, data_root, dataset_cards(dataset))
    recommendation = recommend(query, location, load_plugins())
    show_recommendation(recommendation)
    if recommendation.chosen is None:
        raise typer.Exit(1)
    if card is not None:
        write_card(card, make_card(recommendation.chosen, recommendation.certificate))
