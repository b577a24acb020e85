"""Pictures of networks and QUBOs as files.

BinaryNetwork, Qubo -> .png, .svg or .pdf, written whole.
"""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import qubonn as qn
from qubonn.storage import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CELLS = 1000  # of a picture's side; larger QUBOs are drawn in blocks
MOST_IMAGES, IMAGES_ACROSS = 48, 12
INK, NEGATIVE, NOTHING, POSITIVE = "#222222", "#d95f02", "#f0f0f0", "#0072b2"


def draw_network(network: "qn.BinaryNetwork", out: Path) -> None:
    """Draw the graph, arcs coloured by their weight; below, what looks at images, as images."""
    from matplotlib.figure import Figure

    images = input_images(network)
    rows = 0 if images is None else -(-len(images) // IMAGES_ACROSS)
    figure = Figure(figsize=(11, 6 + 1.1 * rows), layout="constrained")
    heights = [6, 1.1 * rows] if rows else [6]
    panels: Any = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    network.topology.draw(panels[0].subplots(), weight_spins=network.weight_spins)
    if images is not None:
        _draw_images(panels[1], images, rows)
    save_figure(figure, out)


def draw_couplings(qubo: "qn.Qubo", out: Path) -> None:
    """Draw the matrix of couplings with the linear terms on its diagonal; lines part the kinds."""
    from matplotlib.colors import SymLogNorm
    from matplotlib.figure import Figure

    values, step = coupling_blocks(qubo)
    figure = Figure(figsize=(8, 7.2), layout="constrained")
    axes = figure.subplots()
    sizes = np.abs(values[values != 0])
    limit = float(sizes.max(initial=0)) or 1.0
    # small couplings are to be seen beside large linear terms
    norm = SymLogNorm(max(float(sizes.min(initial=limit)), limit / 1e4), vmin=-limit, vmax=limit)
    count = qubo.variable_count
    picture = axes.imshow(
        values, cmap="RdBu", norm=norm, interpolation="nearest",
        extent=(0, max(count, 1), max(count, 1), 0),
    )  # fmt: skip
    _part_kinds(axes, qubo)
    block = f", blocks of {step} x {step}: the largest of each" if step > 1 else ""
    axes.set_title(f"{count:,} variables, {qubo.coupling_count:,} couplings{block}", fontsize=10)
    axes.set(xlabel="variable", ylabel="variable")
    figure.colorbar(picture, ax=axes, shrink=0.8, label="coefficient")
    save_figure(figure, out)


def save_figure(figure: "Figure", out: Path) -> None:
    """Write a figure in the format that its suffix names, whole or not at all."""
    buffer = io.BytesIO()
    undated: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    suffix = out.suffix.lower()
    figure.savefig(buffer, format=suffix[1:], dpi=130, metadata=undated.get(suffix))
    write_whole(out, buffer.getvalue())


def coupling_blocks(qubo: "qn.Qubo") -> tuple[NDArray[np.float64], int]:
    """Return both triangles as at most 1,000 x 1,000 blocks: the entry of largest size in each.

    Memory follows the couplings and the picture, not the square of the variables.
    """
    step = max(1, -(-qubo.variable_count // MOST_CELLS))
    side = max(1, -(-qubo.variable_count // step))
    places = np.arange(qubo.variable_count)
    rows = np.concatenate([qubo.rows, qubo.columns, places]) // step
    columns = np.concatenate([qubo.columns, qubo.rows, places]) // step
    values = np.concatenate([qubo.couplings, qubo.couplings, qubo.linear]).astype(np.float64)
    order = np.argsort(np.abs(values), kind="stable")  # of several in a block the last one stays
    blocks = np.zeros((side, side))
    blocks[rows[order], columns[order]] = values[order]
    return blocks, step


def input_images(network: "qn.BinaryNetwork") -> NDArray[np.int8] | None:
    """Return the weights of neurons that look at an image: neurons x rows x columns, or None.

    0 where a neuron does not look. Neurons that share their weights, as those of a convolution
    do, are shown once.
    """
    topology = network.topology
    shapes = topology.layer_shapes
    if shapes is None or len(shapes[0]) != 3 or shapes[0][0] != 1:
        return None
    images: dict[tuple[int, ...], NDArray[np.int8]] = {}
    for node in range(topology.input_count, topology.node_count):
        arcs = topology.arcs_into(node)
        sources, weights = topology.source_of[arcs], topology.weight_of[arcs]
        if not len(arcs) or sources.max() >= topology.input_count or len(images) == MOST_IMAGES:
            break
        image = np.zeros(topology.input_count, dtype=np.int8)
        image[sources] = network.weight_spins[weights]
        images.setdefault(tuple(weights.tolist()), image.reshape(shapes[0][1:]))
    return np.stack(list(images.values())) if images else None


def _draw_images(panel: Any, images: NDArray[np.int8], rows: int) -> None:
    from matplotlib.colors import ListedColormap

    panel.suptitle("weights of neurons that look at the image (orange -1, blue +1)", fontsize=10)
    colours = ListedColormap([NEGATIVE, NOTHING, POSITIVE])
    across = min(IMAGES_ACROSS, len(images))
    for number, axes in enumerate(np.ravel(panel.subplots(rows, across))):
        axes.set_axis_off()
        if number < len(images):
            axes.imshow(images[number], cmap=colours, vmin=-1, vmax=1)


def _part_kinds(axes: "Axes", qubo: "qn.Qubo") -> None:
    """Draw a line between weights, biases, activations, counts and products, and name them."""
    kinds = [label[0] if isinstance(label, tuple) and label else None for label in qubo.labels]
    starts = [n for n, kind in enumerate(kinds) if kind is not None and kind != kinds[n - 1]]
    if not starts or starts[0] != 0 or len(starts) > 8:
        return
    for start, end in zip(starts, [*starts[1:], len(kinds)], strict=True):
        if start:
            axes.axhline(start, color=INK, lw=0.5)
            axes.axvline(start, color=INK, lw=0.5)
        axes.text(
            1.01, (start + end) / 2, str(kinds[start]), transform=axes.get_yaxis_transform(),
            fontsize=8, va="center", clip_on=False,
        )  # fmt: skip
