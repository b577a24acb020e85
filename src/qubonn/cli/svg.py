"""Small drawings in SVG for pages: images of spins, curves, bars.

Arrays -> text.  Colours are classes, so that a page can have a light and a dark form.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray


def spin_image(spins: NDArray[Any], title: str, cell: int = 12) -> str:
    """Draw a matrix of -1, 0 and +1; 0 stays empty.

    >>> spin_image(np.array([[1, -1]]), "two")[:58]
    '<svg class="spins" role="img" aria-label="two" width="24" '
    """
    rows, columns = spins.shape
    squares = "".join(
        f'<rect class="{"plus" if spins[row, column] > 0 else "minus"}" '
        f'x="{column * cell}" y="{row * cell}" width="{cell - 1}" height="{cell - 1}"/>'
        for row in range(rows)
        for column in range(columns)
        if spins[row, column]
    )
    width, height = columns * cell, rows * cell
    return (
        f'<svg class="spins" role="img" aria-label="{escape(title)}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}"><title>{escape(title)}</title>'
        f"{squares}</svg>"
    )


def curves(
    lines: Sequence[tuple[str, Sequence[float], Sequence[float]]], x_name: str, y_name: str
) -> str:
    """Draw lines (name, x, y) in one frame with a scale on both sides."""
    width, height, left, bottom = 640, 300, 56, 44
    xs = np.concatenate([np.asarray(x, dtype=float) for _, x, _ in lines])
    ys = np.concatenate([np.asarray(y, dtype=float) for _, _, y in lines])
    low, high = float(ys.min()), float(ys.max())
    low, high = low - 0.08 * (high - low or 1), high + 0.08 * (high - low or 1)
    first, last = float(xs.min()), float(xs.max())

    def across(x: float) -> float:
        return left + (x - first) / (last - first or 1) * (width - left - 16)

    def down(y: float) -> float:
        return 12 + (high - y) / (high - low) * (height - bottom - 12)

    parts = [
        f'<line class="grid" x1="{left}" x2="{width - 16}" y1="{down(y):.1f}" y2="{down(y):.1f}"/>'
        f'<text x="{left - 8}" y="{down(y) + 4:.1f}" text-anchor="end">{y:g}</text>'
        for y in _steps(low, high)
    ]
    parts += [
        f'<text x="{across(x):.1f}" y="{height - bottom + 20}" text-anchor="middle">{x:g}</text>'
        for x in _steps(first, last)
    ]
    for number, (name, x, y) in enumerate(lines):
        points = " ".join(f"{across(a):.1f},{down(b):.1f}" for a, b in zip(x, y, strict=True))
        parts.append(f'<polyline class="line{number}" points="{points}"/>')
        end = down(y[-1])
        parts.append(
            f'<text class="name{number}" x="{width - 18}" y="{end - 7:.1f}" '
            f'text-anchor="end">{escape(name)}</text>'
        )
    parts.append(
        f'<text x="{width / 2:.0f}" y="{height - 4}" text-anchor="middle">{escape(x_name)}</text>'
    )
    parts.append(f'<text x="{left}" y="{9}" text-anchor="start">{escape(y_name)}</text>')
    title = f"{y_name} against {x_name}"
    return (
        f'<svg class="curves" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {width} {height}"><title>{escape(title)}</title>{"".join(parts)}</svg>'
    )


def bars(rows: Sequence[tuple[str, float]], unit: str) -> str:
    """Draw values from 0 to 1 as bars, one a row, each with its name and its number."""
    height, left, width = 34 * len(rows) + 4, 250, 640
    parts = []
    for number, (name, value) in enumerate(rows):
        y = 34 * number + 4
        length = value * (width - left - 64)
        parts.append(
            f'<text x="{left - 10}" y="{y + 18}" text-anchor="end">{escape(name)}</text>'
            f'<rect class="bar{number % 4}" x="{left}" y="{y}" width="{length:.1f}" height="26" '
            f'rx="3"/><text x="{left + length + 8:.1f}" y="{y + 18}">{value:.3f}</text>'
        )
    return (
        f'<svg class="bars" role="img" aria-label="{escape(unit)}" viewBox="0 0 {width} {height}">'
        f"<title>{escape(unit)}</title>{''.join(parts)}</svg>"
    )


def _steps(low: float, high: float) -> list[float]:
    """Return about five round numbers between two.

    >>> _steps(-0.2, 4.3)
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    rough = max(high - low, 1e-9) / 5
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(m for m in (1, 2, 5, 10) if m * power >= rough * 0.999) * power
    first = int(np.ceil(low / step - 1e-9))
    last = int(np.floor(high / step + 1e-9))
    return [round(float(number * step), 9) for number in range(first, last + 1)]
