import io

import pytest
from rich.console import Console

from experiments.tiny import native, paper
from qubonn.experiments.progress import Pace, watching
from qubonn.experiments.runner import Status


def test_the_pace_is_that_of_the_last_minute() -> None:
    now = [0.0]
    pace = Pace(lambda: now[0])
    assert pace.seconds_left(10) is None
    for second, done in ((0, 500), (10, 510), (100, 600), (110, 630)):  # 500 were there before
        now[0] = second
        pace.add(done)
    assert pace.runs_a_second == pytest.approx(3.0)
    assert pace.seconds_left(30) == pytest.approx(10)


def said(*, is_terminal: bool) -> str:
    output = io.StringIO()
    console = Console(file=output, force_terminal=is_terminal, width=140, color_system=None)
    totals = {"tiny-native": 20, "tiny-paper": 10}
    with watching(console, totals, {"tiny-native": 5, "tiny-paper": 10}) as report:
        report(Status(native(), 5, 20, None, None, untuned=3))
        report(Status(native(), 12, 20, 0.75, 0.5))
        report(Status(native(), 20, 20, 0.9, 0.625))
        report(Status(paper(), 10, 10, 0.8, 0.7))
    return output.getvalue()


def test_bars_show_every_study_the_whole_and_what_came_out() -> None:
    text = said(is_terminal=True)
    last = text[text.rindex("all ") :]
    assert "30/30" in last
    assert "20/20" in last
    assert "best 0.900, mean 0.625" in last
    assert "runs/s" in text or "done" in last


def test_where_there_is_no_terminal_lines_are_few_and_whole() -> None:
    lines = said(is_terminal=False).splitlines()
    assert lines == [
        "tiny-native: 5 of 20 runs; all: 15 of 30, no pace yet; temperatures of 3 settings to tune",
        "tiny-native: 20 of 20 runs; all: 30 of 30, done; test accuracy: best 0.900, mean 0.625",
        "tiny-paper: 10 of 10 runs; all: 30 of 30, done; test accuracy: best 0.800, mean 0.700",
    ]
