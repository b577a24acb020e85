"""The paper's schematic figures and its data, drawn from the code.

Nothing but the letters and topologies -> matplotlib figures.  Paper, fig:example-network,
fig:example-neuron, fig:conv-network-example and fig:dataset.
"""

from typing import TYPE_CHECKING

import numpy as np

from qubonn.checks import SpinMatrix
from qubonn.datasets import letters
from qubonn.drawing.palette import BAND, FIRST, INK, MUTED, SECOND, THIRD
from qubonn.experiments.report import Picture
from qubonn.paper.published import topology
from qubonn.topology import Topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP = 3.2  # between layers
SLANT = 0.55, 0.35  # of a sheet of nodes, to the right and upwards for each column
SQUARE = 0.92 * np.array([[0, 0], [1, 0], [1, 1], [0, 1]])  # a pixel
Places = dict[int, tuple[float, float]]


def diagrams() -> list[Picture]:
    """Return the figures that need no runs, not drawn yet."""
    return [
        Picture(
            "diagram-neurons",
            "Left: a neuron 3 with two predecessors and a bias, the paper's example of an "
            "activation. Right: a layered network with six nodes; the inputs are blue, the hidden "
            "neurons orange and the output is green",
            draw_small_networks,
        ),
        Picture(
            "diagram-network-2",
            "Network 2: 5 x 5 inputs, a convolution with one shared 3 x 3 filter, and two outputs. "
            "Only the arcs into two hidden neurons are drawn, and those into the outputs",
            draw_network_2,
        ),
        Picture(
            "dataset",
            "The data: on the left the four letters to train on, on the right the 40 test images "
            "of seed 0, each of them a letter with two pixels inverted",
            draw_data,
        ),
    ]


def draw_small_networks() -> "Figure":
    """A single neuron, and a network of three layers."""
    figure, axes = _new_figure(2, (6.4, 2.4))
    places: Places = {1: (0, 1), 2: (0, -1), 3: (GAP, 0)}
    _draw(axes[0], Topology.dense(2, 1), dict(enumerate(places.values())), names="123")
    axes[0].annotate(
        "bias",
        (GAP, 0.35),
        (GAP, 1.3),
        ha="center",
        arrowprops={"arrowstyle": "->", "color": MUTED},
    )
    six = Topology.dense(2, 3, 1)
    sheet = {0: (0, 1), 1: (0, -1), 2: (GAP, 1.5), 3: (GAP, 0), 4: (GAP, -1.5), 5: (2 * GAP, 0)}
    _draw(axes[1], six, sheet, names="123456")
    return figure


def draw_network_2() -> "Figure":
    """The convolution of network 2 as slanted sheets of nodes."""
    figure, (axes,) = _new_figure(1, (6.4, 2.8))
    network, places = topology(2), {}
    for layer, (first, side) in enumerate([(0, 5), (25, 3)]):
        for number in range(side**2):
            row, column = divmod(number, side)
            x, y = layer * 2 * GAP + SLANT[0] * column, SLANT[1] * column - row
            places[first + number] = (x, y + (side - 1) / 2)
    for number in (34, 35):
        places[number] = (4 * GAP, 1.0 if number == 34 else -0.5)
    _draw(axes, network, places, shown={25, 33, 34, 35})
    return figure


def draw_data() -> "Figure":
    """The training images, and the test images of one draw."""
    figure, axes = _new_figure(2, (7.2, 2.4), width_ratios=[1, 4])
    data = letters(seed=0)
    _draw_images(axes[0], data.train_inputs, 1)
    _draw_images(axes[1], data.test_inputs, 10)
    return figure


def _new_figure(
    count: int, size: tuple[float, float], width_ratios: list[float] | None = None
) -> "tuple[Figure, list[Axes]]":
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    figure.subplots(1, count, width_ratios=width_ratios)
    for axes in figure.axes:
        axes.set_axis_off()
        axes.set_aspect("equal")
    return figure, figure.axes


def _draw(
    axes: "Axes", network: Topology, places: Places, names: str = "", shown: set[int] | None = None
) -> None:
    """Draw the nodes at their places, with a name if there are names, and arcs into `shown`."""
    for source, target in zip(network.source_of, network.target_of, strict=True):
        if shown is None or target in shown:
            ends = np.array([places[int(source)], places[int(target)]])
            axes.plot(*ends.T, color=MUTED, linewidth=0.7, zorder=1)
    for node, (x, y) in places.items():
        is_hidden = node < network.outputs.start
        colour = FIRST if node < network.input_count else SECOND if is_hidden else THIRD
        axes.plot(x, y, "o", color=colour, markersize=16 if names else 7, alpha=0.9, zorder=2)
        if names:
            axes.text(x, y, names[node], ha="center", va="center", color=INK, zorder=3)
    axes.margins(0.08)


def _draw_images(axes: "Axes", images: SpinMatrix, across: int) -> None:
    """Draw images of 5 x 5 pixels, a row of `across` for each letter."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    numbers, pixels = np.indices(images.shape)
    rows, columns = np.divmod(numbers, across)
    corners = np.stack([6 * columns + pixels % 5, -6 * rows - pixels // 5], axis=-1)
    for colour, is_meant in ((FIRST, images > 0), (BAND, images < 0)):
        squares = corners[is_meant][:, np.newaxis] + SQUARE
        path = Path.make_compound_path_from_polys(squares)
        axes.add_patch(PathPatch(path, color=colour, linewidth=0))
    axes.autoscale_view()
