import re
from pathlib import Path

import pytest

from qubonn.errors import NotationError
from qubonn.experiments import Cell, ResultTable
from qubonn.experiments.report import Picture, Report, Section


def drawn() -> object:
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().plot([0, 1], [1, 0], color="#2f6fde")
    return figure


TABLE = ResultTable(
    "sizes", "Sizes", ("name", "bits"), [(Cell("a|b"), Cell("<b>3</b>"))], "All *sizes*."
)
PICTURE = Picture("curve", "A <curve>", drawn)  # type: ignore[arg-type]
REPORT = Report(
    title="Studies",
    introduction="What & why",
    sections=[Section("first", "First", [TABLE, PICTURE])],
    texts={"how": ["By hand."], "judging": ["By eye."], "versions": ["numpy 2"]},
    value=lambda asked: asked.upper(),
)


def test_a_page_has_every_part_and_escapes_what_it_was_given() -> None:
    page = REPORT.html()
    assert "What &amp; why" in page
    assert "&lt;b&gt;3&lt;/b&gt;" in page
    assert page.count("<svg") == 1
    assert "var(--first)" in page
    for name in ("first", "sizes-table", "curve", "how"):
        assert f'id="{name}"' in page
    assert "By hand." in page
    assert "numpy 2" in page


def test_markdown_has_every_part_in_order(tmp_path: Path) -> None:
    text = REPORT.markdown("figures")
    assert re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE) == [
        "Studies",
        "First",
        "Sizes",
        "How it was made",
        "When is a difference more than chance?",
        "Versions",
    ]
    assert "| a\\|b | \\<b\\>3\\</b\\> |" in text
    assert "![A \\<curve\\>](figures/curve.svg)" in text
    (path,) = REPORT.write_figures(tmp_path / "figures", text)
    assert path.read_text().startswith("<?xml")
    assert REPORT.write_figures(tmp_path, "no figure") == []


def test_a_template_is_filled() -> None:
    template = "Mean {{a b=1 c}}.\n<!-- table: sizes -->\n<!-- text: how -->\n"
    assert REPORT.markdown("x", template).startswith("Mean A B=1 C.\nAll \\*sizes\\*.\n\n| name |")
    with pytest.raises(
        NotationError, match="there is no figure 'sizes' in this store; there are c"
    ):
        REPORT.markdown("x", "<!-- figure: sizes -->")
    with pytest.raises(NotationError, match="texts are how, judging, versions and marks"):
        REPORT.markdown("x", "<!-- text: why -->")


def test_marks_are_explained() -> None:
    assert "more than chance: \\*" in REPORT.markdown("x", "<!-- text: marks -->")
