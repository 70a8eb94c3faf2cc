"""A run on images: reconstructions are kept, drawn by explain, and shown on the page."""

import re
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import Call

RUN = ("run", "--methods", "sofair,plain", "--dataset", "toy-bars", "--budget", "60")


@pytest.mark.slow
def test_what_is_left_of_images_can_be_seen(fairbench: Call, tmp_path: Path) -> None:
    none_yet = fairbench(*RUN[:3], "--dataset", "toy", "--budget", "20", "--points", "2")
    assert none_yet.returncode == 0, none_yet.stderr
    refused = fairbench("explain", "--dataset", "toy-bars")
    assert refused.returncode == 2
    assert "There are no results on 'toy-bars'" in refused.stderr

    done = fairbench(*RUN, "--points", "3")
    assert done.returncode == 0, done.stderr
    results = tmp_path / "fairbench-results"
    drawn = fairbench("explain", "--dataset", "toy-bars", "--format", "png")
    assert drawn.returncode == 0, drawn.stderr
    assert (results / "explain" / "toy-bars-reconstructions.png").stat().st_size > 5_000

    one = fairbench("explain", "sofair", "--dataset", "toy-bars", "--format", "png")
    assert one.returncode == 0, one.stderr
    assert (results / "explain" / "toy-bars-sofair-reconstructions.png").exists()
    assert (results / "explain" / "toy-bars-sofair-seed0-bits.csv").exists()
    assert all(path.name in one.stderr for path in (results / "explain").glob("*.csv"))
    assert "pixel" not in one.stdout

    # A bar's direction is plain to see in x, wherever the bar stands: ln 2 nats.
    points = pd.read_csv(results / "leaderboards" / "toy-bars-points.csv").set_index("method")
    assert points.loc["identity", "mutual_information"] > 0.65

    assert fairbench("report").returncode == 0
    page = (results / "report.html").read_text()
    shown = page[page.index('<table class="reconstructions">') :].partition("</table>")[0]
    rows = re.findall(r'<th scope="row" rowspan="2">([^<]+)', shown)
    assert {"sofair", "identity", "constant"} <= set(rows)
    assert "plain" not in rows  # it has no decoder
    assert shown.count("data:image/png;base64,") >= 2 * len(rows)
