"""Colours of figures, and figures as SVG: inside a page that is light or dark, or on their own.

Figure -> text.  In a page each colour is a variable of its style sheet.
"""

import io
import re
from contextlib import AbstractContextManager
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, MUTED, GRID, BAND = "#1f2430", "#7b8494", "#dfe3ea", "#c9ced8"
FIRST, SECOND, THIRD = "#2f6fde", "#d9662b", "#2a9a6b"
POSITIVE, NEGATIVE, NOTHING, ARC = "#0072b2", "#d55e00", "#f0f0f0", "#555555"  # weights
INPUT, HIDDEN, OUTPUT = "#7cc4ee", "#f5d66b", "#4dbb98"  # nodes; light, below numbers
VARIABLES = {
    INK: "currentColor",
    MUTED: "var(--muted)",
    GRID: "var(--line)",
    BAND: "var(--band)",
    FIRST: "var(--first)",
    SECOND: "var(--second)",
    THIRD: "var(--third)",
}
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 10,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": GRID,
}


def style(name: str) -> AbstractContextManager[None]:
    """A context in which figures get our colours; draw and save in the same one."""
    import matplotlib

    settings: Any = {**STYLE, "svg.hashsalt": name}
    return matplotlib.rc_context(settings)


def page_svg(figure: "Figure", title: str) -> str:
    """Return a figure as an <svg> element for an HTML page."""
    text = _saved(figure, transparent=True)
    text = text[text.index("<svg") :]
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, variable)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # every figure has the same ones
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'width="[^"]*pt" height="[^"]*pt"', "", text, count=1)  # as wide as the page
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)


def svg_file(figure: "Figure") -> bytes:
    """Return a figure as a file of its own, on white."""
    return _saved(figure, transparent=False).encode()


def _saved(figure: "Figure", *, transparent: bool) -> str:
    buffer = io.BytesIO()
    figure.savefig(
        buffer,
        format="svg",
        transparent=transparent,
        facecolor="none" if transparent else "white",
        metadata={"Date": None, "Creator": None},
    )
    return buffer.getvalue().decode()
