import statistics

import numpy as np
import pytest

from experiments.tiny import row, some_records
from qubonn.drawing.palette import svg_file
from qubonn.paper.comparison import StudySummary
from qubonn.paper.figures import mean_by_value, pictures
from qubonn.paper.studies import study_of


def test_the_band_is_the_standard_error_of_each_value() -> None:
    x, y = np.array([2.0, 4, 2, 2, 6]), np.array([0.5, 0.8, 0.6, 0.7, 0.9])
    places, mean, half = mean_by_value(x, y)
    assert places.tolist() == [2, 4, 6]
    assert mean == pytest.approx([0.6, 0.8, 0.9])
    assert half[0] == pytest.approx(1.96 * statistics.stdev([0.5, 0.6, 0.7]) / 3**0.5)
    assert np.isnan(half[1:]).all()


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("architectures", ["boxes", "histograms", "draws"]),
        ("margins", ["boxes", "feasibility", "committees", "s-plain", "s"]),
        ("dropout", ["boxes"]),
    ],
)
@pytest.mark.parametrize("count", [1, None])
def test_every_figure_can_be_drawn_of_one_setting_or_all(
    name: str, kinds: list[str], count: int | None
) -> None:
    study = study_of(name, "native")
    rows = [
        row(given, number, found)
        for given in study.settings[-1 if count else None :]
        for number, found in enumerate(some_records(3))
    ]
    found = pictures(StudySummary(study, rows, {}))
    assert [one.name for one in found] == [f"{name}-native-{kind}" for kind in kinds]
    for one in found:
        assert one.title.endswith("(native)")
        assert svg_file(one.draw()).startswith(b"<?xml")
