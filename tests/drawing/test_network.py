import io
import time

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from numpy.typing import NDArray

from qubonn.drawing.network import draw_topology
from qubonn.drawing.palette import ARC, HIDDEN, INPUT, NEGATIVE, OUTPUT, POSITIVE
from qubonn.errors import AlphabetError, RangeError, ShapeError
from qubonn.topology import Topology

NETWORK_2 = Topology.parse("conv(3x3)", inputs=(5, 5), outputs=2)
CYCLIC = Topology.from_arcs(
    [(0, 2), (1, 2), (2, 3), (3, 2), (3, 3), (3, 4), (4, 2)], inputs=2, outputs=1
)
SKIPPING = Topology.from_arcs([(0, 1), (1, 2), (2, 3), (0, 2), (0, 3)], inputs=1, outputs=1)
PARALLEL = Topology.from_arcs([(0, 2), (0, 2), (1, 2)], inputs=2, outputs=1)
LONELY = Topology.from_arcs([], inputs=0, outputs=1)
PICTURES = {
    "network 2": NETWORK_2,
    "network 7": Topology.parse("conv(4x4x2) + fc(4)", inputs=(5, 5), outputs=2),
    "colours": Topology.parse("conv(3x3x9) + conv(2x2)", inputs=(3, 40, 30), outputs=4),
    "dense": Topology.dense(64, 32, 10),
    "cyclic": CYCLIC,
    "skipping": SKIPPING,
    "parallel": PARALLEL,
    "no inputs": Topology.from_arcs([(0, 1), (1, 2), (2, 0)], inputs=0, outputs=1),
    "no arcs": LONELY,
    "levels": Topology.dense(6, 3, 2, weight_levels=[3, 4], threshold_levels=5),
    "levels of a convolution": Topology.parse(
        "conv(3x3x2, levels=3, thresholds=4)", inputs=(5, 5), outputs=2
    ),
    "constant": Topology.from_arcs(
        [(0, 2), (1, 2), (1, 3), (2, 3)], inputs=2, outputs=1, has_constant=True
    ),
    "thinned": NETWORK_2.thin([0, 7, 30]).topology,
}


def blank() -> Axes:
    return Figure(figsize=(8, 5)).subplots()


def saved(axes: Axes) -> bytes:
    assert isinstance(axes.figure, Figure)
    file = io.BytesIO()
    axes.figure.savefig(file, format="png")
    return file.getvalue()


def node_places(axes: Axes) -> NDArray[np.float64]:
    return np.asarray(collection(axes, "nodes").get_offsets(), dtype=np.float64)


def arc_curves(axes: Axes) -> list[NDArray[np.float64]]:
    arcs = collection(axes, "arcs")
    assert isinstance(arcs, LineCollection)
    return [np.asarray(curve) for curve in arcs.get_segments()]


def collection(axes: Axes, name: str) -> Collection:
    return next(found for found in axes.collections if found.get_gid() == name)


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def swerve(curve: NDArray[np.float64]) -> float:
    """Farthest distance of a curve from the straight line between its ends."""
    along = curve[-1] - curve[0]
    across = np.array([-along[1], along[0]]) / np.hypot(*along)
    return float(np.abs((curve - curve[0]) @ across).max())


@pytest.mark.parametrize("topology", PICTURES.values(), ids=PICTURES.keys())
class TestEveryPicture:
    def test_can_be_saved(self, topology: Topology) -> None:
        axes = draw_topology(topology, blank())
        assert saved(axes).startswith(b"\x89PNG")

    def test_has_all_nodes_inside_its_limits_and_in_different_places(
        self, topology: Topology
    ) -> None:
        axes = draw_topology(topology, blank())
        places = node_places(axes)
        assert len(np.unique(places, axis=0)) == len(places)
        assert (places > [axes.get_xlim()[0], axes.get_ylim()[0]]).all()
        assert (places < [axes.get_xlim()[1], axes.get_ylim()[1]]).all()

    @pytest.mark.parametrize("size", [(8, 5), (4, 3)])
    def test_has_captions_that_do_not_overlap(
        self, topology: Topology, size: tuple[float, float]
    ) -> None:
        # old versions of Matplotlib round boxes up to whole pixels, so take small ones
        axes = draw_topology(topology, Figure(figsize=size, dpi=400).subplots())
        axes.apply_aspect()
        boxes = [text.get_window_extent() for text in axes.texts]
        overlaps = [a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i]]
        assert not any(overlaps)

    def test_takes_weight_spins(self, topology: Topology) -> None:
        axes = draw_topology(topology, blank(), weight_spins=np.ones(topology.weight_count))
        colours = np.reshape(collection(axes, "arcs").get_edgecolor(), (-1, 4))
        assert (colours[:, :3] == to_rgba(POSITIVE)[:3]).all()


def test_every_node_and_every_arc_of_a_small_dense_network_is_drawn() -> None:
    axes = Topology.dense(4, 3, 2).draw(blank())
    assert len(node_places(axes)) == 9
    assert len(arc_curves(axes)) == 4 * 3 + 3 * 2


def test_every_node_and_every_arc_of_a_cyclic_graph_is_drawn() -> None:
    axes = CYCLIC.draw(blank())
    assert len(node_places(axes)) == CYCLIC.node_count
    assert len(arc_curves(axes)) == CYCLIC.arc_count


def test_arcs_lead_from_the_place_of_the_source_to_the_place_of_the_target() -> None:
    axes = SKIPPING.draw(blank())
    ends = np.array([curve[[0, -1]] for curve in arc_curves(axes)])
    np.testing.assert_allclose(ends[:, 0], node_places(axes)[SKIPPING.source_of])
    np.testing.assert_allclose(ends[:, 1], node_places(axes)[SKIPPING.target_of])


def test_inputs_hidden_nodes_and_outputs_have_their_own_colours() -> None:
    axes = Topology.dense(2, 1, 1).draw(blank())
    colours = np.asarray(collection(axes, "nodes").get_facecolor())
    expected = np.array([to_rgba(colour) for colour in (INPUT, INPUT, HIDDEN, OUTPUT)])
    np.testing.assert_allclose(colours, expected)


def test_layers_stand_from_left_to_right() -> None:
    places = node_places(Topology.dense(3, 2, 1).draw(blank()))
    np.testing.assert_array_equal(np.argsort(places[:, 0], kind="stable"), np.arange(6))


def test_captions_say_what_each_layer_is() -> None:
    topology = Topology.parse("conv(4x4x2) + fc(4)", inputs=(5, 5), outputs=1)
    assert texts(topology.draw(blank())) == [
        "input 5x5",
        "conv 4x4, 2 filters\n2 x 2x2 hidden\n(only arcs into\n2 nodes drawn)",
        "4 hidden",
        "1 output",
    ]


def test_a_convolution_shows_the_arcs_into_two_nodes_only() -> None:
    axes = NETWORK_2.draw(blank())
    into_hidden = arc_curves(axes)[: 2 * 9]
    targets = np.unique([curve[-1] for curve in into_hidden], axis=0)
    np.testing.assert_allclose(targets, node_places(axes)[[25, 33]])
    assert len(arc_curves(axes)) == 2 * 9 + 9 * 2


def test_arcs_that_share_a_weight_have_the_same_colour_and_others_do_not() -> None:
    axes = NETWORK_2.draw(blank())
    colours = np.asarray(collection(axes, "arcs").get_edgecolor())[: 2 * 9]
    np.testing.assert_array_equal(colours[:9], colours[9:])
    assert len(np.unique(colours, axis=0)) == 9


def test_a_convolution_of_one_position_shares_nothing_and_is_drawn_in_full() -> None:
    axes = Topology.parse("conv(3x3x2)", inputs=(3, 3), outputs=1).draw(blank())
    assert len(arc_curves(axes)) == 2 * 9 + 2
    assert texts(axes)[1] == "conv 3x3, 2 filters\n2 x 1x1 hidden"


def test_there_is_a_sheet_for_every_channel() -> None:
    axes = Topology.parse("conv(3x3x2) + fc(4)", inputs=(3, 5, 5), outputs=2).draw(blank())
    assert len(collection(axes, "sheets").get_paths()) == 3 + 2


def test_long_columns_are_shortened_to_an_ellipsis_and_a_count() -> None:
    axes = Topology.dense(784, 128, 10).draw(blank())
    assert len(node_places(axes)) == 16 + 16 + 10
    assert texts(axes)[:3] == ["784 inputs", "128 hidden", "10 outputs"]
    assert texts(axes)[3:] == ["768 more", "112 more"]
    assert len(np.asarray(collection(axes, "ellipses").get_offsets())) == 2 * 3


def test_a_large_network_is_drawn_within_three_seconds() -> None:
    topology = Topology.dense(784, 128, 10)
    start = time.perf_counter()
    saved(topology.draw(blank()))
    assert time.perf_counter() - start < 3


def test_most_nodes_sets_where_shortening_starts() -> None:
    assert len(node_places(Topology.dense(40, 1).draw(blank(), most_nodes=40))) == 41
    assert len(node_places(Topology.dense(40, 1).draw(blank(), most_nodes=39))) == 2 * 13 + 1


def test_large_sheets_keep_their_corners_and_many_sheets_the_first_and_last() -> None:
    topology = Topology.parse("conv(5x5x9)", inputs=(60, 60), outputs=2)
    axes = topology.draw(blank())
    assert len(node_places(axes)) == 16 * 16 + 2 * 16 * 16 + 2
    assert "7 more" in texts(axes)


def test_parallel_arcs_do_not_coincide() -> None:
    first, second, single = arc_curves(PARALLEL.draw(blank()))
    assert np.abs(first - second).max() > 0.2
    assert swerve(single) == pytest.approx(0)


def test_parallel_arcs_between_layers_are_one_line_as_wide_as_their_sum() -> None:
    topology = Topology.dense(3, 1, weight_levels=4)
    axes = topology.draw(blank(), weight_spins=[1, 1, 1, -1, -1, 1, -1, -1, -1])
    lines = collection(axes, "arcs")
    first, second, third = np.asarray(lines.get_linewidth()).tolist()
    assert len(arc_curves(axes)) == 3
    assert first == third == pytest.approx(3 * second)
    colours = np.asarray(lines.get_edgecolor())[:, :3]
    signs = (POSITIVE, NEGATIVE, NEGATIVE)
    np.testing.assert_allclose(colours, [to_rgba(colour)[:3] for colour in signs])
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["weight > 0", "weight < 0"]


def test_a_sum_of_zero_is_grey() -> None:
    topology = Topology.dense(1, 1, weight_levels=3)
    axes = topology.draw(blank(), weight_spins=[1, -1])
    (colour,) = np.asarray(collection(axes, "arcs").get_edgecolor())
    np.testing.assert_allclose(colour[:3], to_rgba(ARC)[:3])
    legend = axes.get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["weight > 0", "weight 0", "weight < 0"]


@pytest.mark.parametrize("name", ["levels", "levels of a convolution", "constant"])
def test_the_constant_and_its_arcs_are_not_drawn(name: str) -> None:
    topology = PICTURES[name]
    axes = topology.draw(blank(), node_numbers=True)
    assert len(node_places(axes)) == topology.node_count - 1
    assert str(topology.column_count) not in texts(axes)


def test_a_convolution_with_levels_still_shows_its_patches() -> None:
    axes = PICTURES["levels of a convolution"].draw(blank())
    assert texts(axes)[1].startswith("conv 3x3, 2 filters")
    assert len(collection(axes, "fields").get_paths()) == 2
    assert len(arc_curves(axes)) == 2 * 9 + 18 * 2


def test_arcs_there_and_back_do_not_coincide() -> None:
    topology = Topology.from_arcs([(0, 1), (1, 2), (2, 1)], inputs=1, outputs=1)
    _, there, back = arc_curves(topology.draw(blank()))
    assert np.abs(there - back[::-1]).max() > 0.2


def test_back_arcs_are_curved() -> None:
    back = arc_curves(CYCLIC.draw(blank()))[-1]
    assert swerve(back) > 0.2


def test_skipping_arcs_go_around_the_nodes_between() -> None:
    axes = SKIPPING.draw(blank())
    nodes = node_places(axes)
    past_one, past_two = arc_curves(axes)[3:]
    assert np.linalg.norm(past_one - nodes[1], axis=1).min() > 0.4
    assert np.linalg.norm(past_two[:, None] - nodes[1:3], axis=2).min() > 0.4


def test_a_self_loop_leaves_its_node_and_returns() -> None:
    loop = arc_curves(CYCLIC.draw(blank()))[4]
    np.testing.assert_allclose(loop[0], loop[-1], atol=1e-12)
    assert np.ptp(loop, axis=0).min() > 0.3


def test_graphs_without_layers_have_arrowheads_and_node_numbers() -> None:
    axes = CYCLIC.draw(blank())
    assert len(collection(axes, "arrowheads").get_paths()) == CYCLIC.arc_count
    assert texts(axes)[-5:] == ["0", "1", "2", "3", "4"]


def test_node_numbers_can_be_switched_on_and_off() -> None:
    assert texts(CYCLIC.draw(blank(), node_numbers=False))[-1] == "1 output"
    assert texts(Topology.dense(2, 1).draw(blank(), node_numbers=True))[-1] == "2"


def test_outputs_of_a_graph_stand_in_the_last_column() -> None:
    topology = Topology.from_arcs([(0, 1), (1, 2), (0, 3), (2, 4)], inputs=1, outputs=2)
    x = node_places(topology.draw(blank()))[:, 0]
    assert x[3] == x[4] == x.max()


def test_weight_spins_colour_the_arcs_by_sign() -> None:
    axes = Topology.dense(2, 1).draw(blank(), weight_spins=[+1, -1])
    colours = np.asarray(collection(axes, "arcs").get_edgecolor())
    np.testing.assert_allclose(colours[:, :3], [to_rgba(c)[:3] for c in (POSITIVE, NEGATIVE)])
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["weight +1", "weight -1"]


def test_weight_spins_of_the_wrong_length_are_refused() -> None:
    with pytest.raises(ShapeError, match="weight_spins must have 27 values, one per weight"):
        NETWORK_2.draw(blank(), weight_spins=[1, -1])


def test_weight_spins_other_than_minus_and_plus_one_are_refused() -> None:
    with pytest.raises(AlphabetError, match="weight_spins must be -1 or"):
        Topology.dense(2, 1).draw(blank(), weight_spins=[0, 1])


def test_fewer_than_two_nodes_a_column_are_refused() -> None:
    with pytest.raises(RangeError, match="most_nodes must be at least 2"):
        Topology.dense(2, 1).draw(blank(), most_nodes=1)


def test_without_axes_a_new_figure_of_fitting_shape_is_made() -> None:
    mpl.use("Agg")
    from matplotlib import pyplot

    axes = NETWORK_2.draw()
    figure = pyplot.gcf()
    pyplot.close(figure)
    assert axes.figure is figure
    assert axes.get_aspect() == 1
    width, height = figure.get_size_inches()
    assert width / height == pytest.approx(np.ptp(axes.get_xlim()) / np.ptp(axes.get_ylim()))
