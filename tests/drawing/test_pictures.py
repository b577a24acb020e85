import html
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import qubonn as qn
from qubonn.drawing.pictures import (
    MOST_CELLS,
    _edges,
    bars_svg,
    coupling_blocks,
    curves_svg,
    heat_svg,
    histogram_svg,
    input_images,
    reliability_svg,
)


def test_an_image_shows_the_weights_of_each_neuron() -> None:
    network = qn.BinaryNetwork.random(qn.paper.topology(10), seed=0)
    images = input_images(network)
    assert images is not None
    assert np.array_equal(images.ravel(), network.weight_spins[:75])
    filters = input_images(qn.BinaryNetwork.random(qn.paper.topology(3), seed=0))
    assert filters is not None
    assert [int(np.abs(image).sum()) for image in filters] == [9, 9]
    assert input_images(qn.BinaryNetwork.random(qn.Topology.dense(4, 2), seed=0)) is None


def test_images_show_the_sums_of_parallel_arcs_without_the_constant() -> None:
    topology = qn.Topology.parse("fc(1, levels=3, thresholds=3)", inputs=(1, 3), outputs=1)
    weights = [1, 1, -1, 1, -1, -1, 1, 1]
    images = input_images(qn.BinaryNetwork(topology, weights, [1, 1]))
    assert images is not None
    assert images.tolist() == [[[2, 0, -2]]]


def test_the_picture_of_a_small_qubo_is_its_matrix() -> None:
    qubo = qn.Qubo.of([0, 0, 1], [0, 1, 2], [5, -2, 3], variable_count=3)
    blocks, step = coupling_blocks(qubo)
    assert step == 1
    assert blocks.tolist() == [[5, -2, 0], [-2, 0, 3], [0, 3, 0]]


def test_the_picture_of_a_large_qubo_stays_small_and_keeps_the_extremes() -> None:
    count = 100 * MOST_CELLS
    qubo = qn.Qubo.of([0, 1, 5], [1, 2, count - 1], [1, -7, 2], variable_count=count)
    blocks, step = coupling_blocks(qubo)
    assert blocks.shape == (MOST_CELLS, MOST_CELLS)
    assert step == 100
    assert blocks[0, 0] == -7
    assert blocks[0, -1] == blocks[-1, 0] == 2


def test_charts_escape_names() -> None:
    hostile = '<img src=x onerror="alert(1)">&'
    charts = [
        curves_svg(hostile, hostile, {hostile: ([0, 1], [0, 1])}),
        bars_svg(hostile, {hostile: 0.5}),
    ]
    for chart in charts:
        assert "<img" not in chart
        assert html.escape(hostile) in chart
        assert chart.startswith('<svg role="img" ')


def test_charts_have_the_colours_of_the_page_and_text_as_text() -> None:
    chart = bars_svg("accuracy", {"one": 0.25, "two": 1.0})
    assert "var(--second)" in chart
    assert ">one</text>" in chart
    assert ">0.250</text>" in chart
    assert re.findall(r'<svg [^>]*(?:width|height)="[^"]*pt"', chart) == []


def test_a_flat_curve_can_be_drawn() -> None:
    assert "var(--second)" in curves_svg("y", "x", {"a": ([0, 0], [1, 1])})


def test_the_same_chart_has_the_same_text() -> None:
    first, second = (bars_svg("accuracy", {"one": 0.25}) for _ in range(2))
    assert first == second


def test_a_reliability_chart_shows_the_number_of_examples_in_each_bin() -> None:
    shares, counts = np.array([0.2, np.nan, 0.9]), np.array([1234, 0, 5])
    chart = reliability_svg("reliability", shares, np.array([0.1, np.nan, 1.0]), counts)
    ElementTree.fromstring(chart)
    assert ">1,234</text>" in chart
    assert ">probability of the predicted class</text>" in chart


@pytest.mark.parametrize("values", [[0.5], [1.0, 1.0 + 1e-15], [3, 3, 3], [0, 1, 500], [-2.5, 7.0]])
def test_a_histogram_holds_every_value(values: list[float]) -> None:
    edges = _edges(np.array(values))
    assert np.histogram(values, edges)[0].sum() == len(values)
    assert 2 <= len(edges) <= 33
    ElementTree.fromstring(histogram_svg("some", "value", {"a": np.array(values)}))


def test_a_heat_map_is_an_image_inside_the_page() -> None:
    chart = heat_svg("heat", np.zeros((3, 4)))
    ElementTree.fromstring(chart)
    assert "data:image/png;base64" in chart
