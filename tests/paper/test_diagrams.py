import re

import numpy as np
import pytest
from matplotlib.colors import to_hex

import qubonn as qn
from qubonn.drawing.palette import BAND, FIRST, VARIABLES, style, svg_file
from qubonn.experiments.report import Picture
from qubonn.paper.diagrams import diagrams, draw_data, draw_network_2


@pytest.mark.parametrize("one", diagrams(), ids=lambda one: one.name)
def test_every_diagram_is_drawn_in_colours_of_the_page(one: Picture) -> None:
    with style(one.name):
        text = svg_file(one.draw()).decode()
    assert set(re.findall(r"#[0-9a-f]{6}\b", text)) - {"#ffffff"} <= set(VARIABLES)


def test_the_data_are_drawn_pixel_by_pixel() -> None:
    data = qn.datasets.letters(seed=0)
    for axes, images in zip(draw_data().axes, (data.train_inputs, data.test_inputs), strict=True):
        drawn = {
            to_hex(patch.get_facecolor()): np.asarray(patch.get_path().vertices)
            for patch in axes.patches
        }
        assert len(drawn[FIRST]) == 5 * (images > 0).sum()
        assert len(drawn[BAND]) == 5 * (images < 0).sum()
        corners = {(x, y) for x, y in drawn[FIRST][::5].tolist()}
        assert {(x, -y) for y, x in np.argwhere(images[0].reshape(5, 5) > 0)} <= corners


def test_network_2_shows_two_filters_and_all_arcs_into_the_outputs() -> None:
    (axes,) = draw_network_2().axes
    lines = [line for line in axes.lines if np.size(line.get_xdata()) == 2]
    assert len(lines) == 2 * 9 + 2 * 9
