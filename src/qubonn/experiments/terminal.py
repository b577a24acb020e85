"""Tables on a terminal.

Table -> rich table.
"""

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from qubonn.experiments.comparison import Verdict
from qubonn.experiments.tables import Cell, Table
from qubonn.experiments.wording import MARKS

COLOURS = {Verdict.MORE: "red", Verdict.DRAW: "yellow"}


def rich_table(table: Table) -> RichTable:
    """Return the table with a line between groups and colours for what is more than chance."""
    drawn = RichTable(title=Text(table.title), box=box.SIMPLE_HEAD, pad_edge=False)
    for number, head in enumerate(table.heads):
        drawn.add_column(Text(head), justify="left" if number == 0 else "right")
    ends, place = set(), 0
    for size in table.groups:
        place += size
        ends.add(place - 1)
    for number, row in enumerate(table.rows):
        drawn.add_row(*(_cell(cell) for cell in row), end_section=number in ends)
    return drawn


def _cell(cell: Cell) -> Text:
    text = Text(cell.text)
    if cell.note:
        mark = MARKS[cell.verdict] if cell.verdict else ""
        colour = COLOURS.get(cell.verdict, "bright_black") if cell.verdict else "bright_black"
        text.append(f" {cell.note}{mark}", style=colour)
    return text
