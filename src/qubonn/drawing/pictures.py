"""Figures of networks and QUBOs as files, and charts for pages.

BinaryNetwork, Qubo -> .png, .svg or .pdf, written whole; curves and bars -> <svg> in a page.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, SymLogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from qubonn.drawing import palette
from qubonn.storage import write_whole

if TYPE_CHECKING:
    import qubonn as qn

MOST_CELLS = 1000  # of a picture's side; larger QUBOs are drawn in blocks
MOST_IMAGES, IMAGES_ACROSS = 48, 12


def draw_network(network: "qn.BinaryNetwork", out: Path) -> None:
    """Draw the graph, arcs coloured by weight; below, weights of image neurons as images."""
    images = input_images(network)
    rows = 0 if images is None else -(-len(images) // IMAGES_ACROSS)
    figure = Figure(figsize=(11, 6 + 1.1 * rows), layout="constrained")
    heights = [6, 1.1 * rows] if rows else [6]
    panels: Any = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    network.draw(panels[0].subplots())
    if images is not None:
        _draw_images(panels[1], images, rows)
    _save(figure, out)


def draw_couplings(qubo: "qn.Qubo", out: Path) -> None:
    """Draw the matrix of couplings with the linear terms on its diagonal, divided by kind."""
    values, step = coupling_blocks(qubo)
    figure = Figure(figsize=(8, 7.2), layout="constrained")
    axes = figure.subplots()
    sizes = np.abs(values[values != 0])
    limit = float(sizes.max(initial=0)) or 1.0
    # small couplings must be visible beside large linear terms
    norm = SymLogNorm(max(float(sizes.min(initial=limit)), limit / 1e4), vmin=-limit, vmax=limit)
    count = qubo.variable_count
    sides = (0, max(count, 1), max(count, 1), 0)
    picture = axes.imshow(values, cmap="RdBu", norm=norm, interpolation="nearest", extent=sides)
    _divide_kinds(axes, qubo)
    block = f", blocks of {step} x {step}: the largest of each" if step > 1 else ""
    axes.set_title(f"{count:,} variables, {qubo.coupling_count:,} couplings{block}", fontsize=10)
    axes.set(xlabel="variable", ylabel="variable")
    figure.colorbar(picture, ax=axes, shrink=0.8, label="coefficient")
    _save(figure, out)


def coupling_blocks(qubo: "qn.Qubo") -> tuple[NDArray[np.float64], int]:
    """Return both triangles as at most 1,000 x 1,000 blocks: the entry of largest size in each.

    Memory grows with the couplings and the picture, not with the square of the variables.
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
    """Return the weights of neurons with an image as input: neurons x rows x columns, or None.

    0 where a neuron has no weight; parallel arcs add up. Neurons that share their weights, as in a
    convolution, appear once.
    """
    topology = network.topology
    shapes = topology.layer_shapes
    if shapes is None or len(shapes[0]) != 3 or shapes[0][0] != 1:
        return None
    images: dict[tuple[int, ...], NDArray[np.int8]] = {}
    for node in range(topology.input_count, topology.node_count):
        arcs = np.setdiff1d(topology.arcs_into(node), topology.constant_arcs)
        sources, weights = topology.source_of[arcs], topology.weight_of[arcs]
        if not len(arcs) or sources.max() >= topology.input_count or len(images) == MOST_IMAGES:
            break
        image = np.zeros(topology.column_count, dtype=np.int8)
        np.add.at(image, sources, network.weight_spins[weights])
        images.setdefault(tuple(weights.tolist()), image.reshape(shapes[0][1:]))
    return np.stack(list(images.values())) if images else None


def curves_svg(
    title: str, x_label: str, curves: Mapping[str, tuple[Sequence[float], Sequence[float]]]
) -> str:
    """Return a chart of curves (name -> x, y) for a page; `title` names the y axis."""
    with _chart(title, height=2.7) as axes:
        axes.set_prop_cycle(color=[palette.SECOND, palette.FIRST, palette.THIRD])
        for name, (x, y) in curves.items():
            axes.plot(x, y, label=name)
        axes.set(xlabel=x_label, ylabel=title)
        axes.grid(axis="y")
        axes.legend(frameon=False)
        return palette.page_svg(axes.figure, title)


def bars_svg(title: str, values: Mapping[str, float]) -> str:
    """Return a chart of values from 0 to 1 for a page: one bar a row, with its name and value."""
    with _chart(title, height=0.5 + 0.3 * len(values)) as axes:
        colours = (palette.MUTED, palette.SECOND, palette.FIRST, palette.THIRD)
        bars = axes.barh(list(values), list(values.values()), color=colours)
        axes.bar_label(bars, fmt="{:.3f}", padding=4)
        axes.set(xlim=(0, 1.12))
        axes.invert_yaxis()
        axes.tick_params(left=False, bottom=False, labelbottom=False)
        axes.spines[["left", "bottom"]].set_visible(False)
        return palette.page_svg(axes.figure, title)


def reliability_svg(
    title: str, shares: NDArray[Any], accuracies: NDArray[Any], counts: NDArray[Any]
) -> str:
    """Return a chart of accuracy against probability by bin, above the number of examples."""
    with palette.style(title):
        figure = Figure(figsize=(5.6, 4.6), layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1.2])
        upper.plot([0, 1], [0, 1], color=palette.MUTED, ls="--", lw=1, label="perfect")
        upper.plot(shares, accuracies, color=palette.FIRST, marker="o", label="this model")
        upper.set(ylabel="accuracy", xlim=(0, 1), ylim=(0, 1.04))
        upper.legend(frameon=False, loc="upper left")
        middles = (np.arange(len(counts)) + 0.5) / len(counts)
        bars = lower.bar(middles, counts, width=0.9 / len(counts), color=palette.BAND)
        lower.bar_label(bars, [f"{count:,}" if count else "" for count in counts], fontsize=8)
        lower.set(xlabel="probability of the predicted class", ylabel="examples")
        lower.margins(y=0.2)
        for axes in (upper, lower):
            axes.grid(axis="y")
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
        return palette.page_svg(figure, title)


def histogram_svg(title: str, x_label: str, values: Mapping[str, NDArray[Any]]) -> str:
    """Return a histogram of each of `values` (name -> numbers), in shares of its own total."""
    with _chart(title, height=2.9) as axes:
        edges = _edges(np.concatenate(list(values.values())))
        colours = (palette.FIRST, palette.SECOND)
        for (name, some), colour in zip(values.items(), colours, strict=False):
            share = np.full(len(some), 1 / len(some))
            axes.hist(some, edges, weights=share, color=colour, alpha=0.55, label=name)
        if edges[0] < -0.5:  # there are negative values
            axes.axvline(0, color=palette.MUTED, lw=1)
        axes.set(xlabel=x_label, ylabel="share")
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        if len(values) > 1:
            axes.legend(frameon=False)
        return palette.page_svg(axes.figure, title)


def _edges(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return edges of about 30 bins; of whole numbers each bin holds the same even count."""
    low, high = float(values.min()), float(values.max())
    if values.dtype.kind in "iu":
        step = 2 * np.ceil((high - low + 1) / 60)
        return np.arange(low - 0.5, high + step, step)
    return np.linspace(low, max(high, low + 1e-3), 31)  # all may be equal


def heat_svg(title: str, values: NDArray[Any]) -> str:
    """Return an image of numbers, rows x columns, with a scale; 0 is the lightest colour."""
    with _chart(title, height=4.2) as axes:
        ends = [palette.NEGATIVE, palette.NOTHING, palette.POSITIVE]
        colours = LinearSegmentedColormap.from_list("heat", ends)
        most = float(np.abs(values).max(initial=0)) or 1.0
        shown = axes.imshow(values, cmap=colours, vmin=-most, vmax=most, interpolation="nearest")
        axes.set_axis_off()
        axes.figure.colorbar(shown, ax=axes, shrink=0.8, label=title)
        return palette.page_svg(axes.figure, title)


@contextmanager
def _chart(title: str, height: float) -> Iterator[Any]:
    """Give axes in the style of pages, large enough to be read on a phone."""
    with palette.style(title):
        axes = Figure(figsize=(5.6, height), layout="constrained").subplots()
        axes.spines[["top", "right"]].set_visible(False)
        yield axes


def _save(figure: Figure, out: Path) -> None:
    """Write a figure in the format that its suffix names, whole or not at all."""
    buffer = io.BytesIO()
    undated: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    suffix = out.suffix.lower()
    figure.savefig(buffer, format=suffix[1:], dpi=130, metadata=undated.get(suffix))
    write_whole(out, buffer.getvalue())


def _draw_images(panel: Any, images: NDArray[np.int8], rows: int) -> None:
    most = int(np.abs(images).max(initial=1))
    key = f"(orange -{most}, blue +{most})"
    panel.suptitle(f"weights of neurons with an image as input {key}", fontsize=10)
    ends = [palette.NEGATIVE, palette.NOTHING, palette.POSITIVE]
    colours = LinearSegmentedColormap.from_list("weights", ends, N=2 * most + 1)
    across = min(IMAGES_ACROSS, len(images))
    for number, axes in enumerate(np.ravel(panel.subplots(rows, across))):
        axes.set_axis_off()
        if number < len(images):
            axes.imshow(images[number], cmap=colours, vmin=-most, vmax=most)


def _divide_kinds(axes: Axes, qubo: "qn.Qubo") -> None:
    """Draw a line between weights, biases, activations, counts and products, and name them."""
    kinds = [label[0] if isinstance(label, tuple) and label else None for label in qubo.labels]
    starts = [n for n, kind in enumerate(kinds) if kind is not None and kind != kinds[n - 1]]
    if not starts or starts[0] != 0 or len(starts) > 8:
        return
    beside = axes.get_yaxis_transform()
    for start, end in zip(starts, [*starts[1:], len(kinds)], strict=True):
        if start:
            axes.axhline(start, color=palette.INK, lw=0.5)
            axes.axvline(start, color=palette.INK, lw=0.5)
        middle, name = (start + end) / 2, str(kinds[start])
        axes.text(1.01, middle, name, transform=beside, fontsize=8, va="center", clip_on=False)
