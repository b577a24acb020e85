"""Figures as SVG: colours are variables inside a page, and fixed in a file."""

from matplotlib.figure import Figure

from qubonn.drawing.palette import FIRST, VARIABLES, page_svg, style, svg_file


def drawn() -> Figure:
    figure = Figure()
    figure.subplots().plot([0, 1], [1, 0], color=FIRST)
    return figure


def test_colours_of_a_page_follow_its_style_sheet() -> None:
    with style("page"):
        text = page_svg(drawn(), 'scores of "a" & b')
    assert text.startswith('<svg role="img" aria-label="scores of &quot;a&quot; &amp; b"')
    assert VARIABLES[FIRST] in text
    assert not any(colour in text for colour in VARIABLES)


def test_a_file_has_its_own_colours_and_is_the_same_each_time() -> None:
    with style("file"):
        first, second = svg_file(drawn()), svg_file(drawn())
    assert FIRST.encode() in first
    assert first == second
