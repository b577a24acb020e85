"""ResultTable: one record of heads and cells, and its forms in Markdown, on a terminal and as CSV.

Rows of a store -> ResultTable -> text.  HTML pages draw the same record, see ``report.html``.
"""

import csv
import io
import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from qubonn.experiments.significance import Verdict
from qubonn.experiments.store import Row
from qubonn.experiments.study import canonical

if TYPE_CHECKING:
    from rich.table import Table as RichTable
    from rich.text import Text

COLOURS: dict[Verdict | None, str] = {Verdict.MORE: "red", Verdict.DRAW: "yellow"}
PACKAGES = ("qubonn", "python", "numpy", "scipy", "numba")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~!])")


@dataclass(frozen=True)
class Cell:
    """One cell of a table: text, a smaller note after it, and a verdict."""

    text: str
    note: str = ""
    verdict: Verdict | None = None

    @property
    def marked_note(self) -> str:
        """The note with the mark of its verdict."""
        return self.note + (self.verdict.mark if self.verdict and self.note else "")


@dataclass(frozen=True)
class ResultTable:
    """Heads and lines of cells or plain text; `group_starts` are the rows that begin a group.

    >>> table = ResultTable("t", "Sizes", ("network", "bits"), [("fc(3)", Cell("186", "(0)"))])
    >>> print(table.markdown())
    | network | bits |
    |---|---|
    | fc(3) | 186 (0) |
    """

    name: str
    title: str
    heads: tuple[str, ...]
    lines: Sequence[Sequence[Cell | str]]
    caption: str = ""
    group_starts: Collection[int] = ()

    @cached_property
    def rows(self) -> list[list[Cell]]:
        """The lines, with all text in cells."""
        return [[Cell(c) if isinstance(c, str) else c for c in line] for line in self.lines]

    @property
    def word_columns(self) -> set[int]:
        """Columns of words; the others hold numbers."""
        first = [cell.text.lstrip("-.") for cell in self.rows[0]] if self.rows else []
        return {number for number, text in enumerate(first) if not text[:1].isdigit()}

    def markdown(self) -> str:
        """Return the table in pipes, with its caption."""
        lines = [[escaped(head) for head in self.heads]]
        lines += [[escaped(f"{c.text} {c.marked_note}".strip()) for c in row] for row in self.rows]
        piped = [f"| {' | '.join(line)} |" for line in lines]
        piped.insert(1, "|" + "---|" * len(self.heads))
        return "\n".join([*([escaped(self.caption), ""] if self.caption else []), *piped])

    def document(self) -> dict[str, Any]:
        """Return the table as plain values for JSON; notes stay in their cells."""
        rows = [[f"{cell.text} {cell.marked_note}".strip() for cell in row] for row in self.rows]
        return {
            "name": self.name,
            "title": self.title,
            "caption": self.caption,
            "heads": list(self.heads),
            "rows": rows,
        }

    def rich(self) -> "RichTable":
        """Return the table for a terminal: a line between groups, colours for verdicts."""
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        drawn = RichTable(title=Text(self.title), box=box.SIMPLE_HEAD, pad_edge=False)
        for number, head in enumerate(self.heads):
            drawn.add_column(Text(head), justify="left" if number == 0 else "right")
        for number, row in enumerate(self.rows, 1):
            drawn.add_row(*map(_rich_cell, row), end_section=number in self.group_starts)
        return drawn


def means_table(name: str, title: str, rows: Sequence[Row]) -> ResultTable:
    """Return the mean of each number of the records, with its standard deviation, by setting."""
    groups = by_setting(rows).values()
    keys = list(dict.fromkeys(key for row in rows for key in row.run.setting))
    numbers = list(dict.fromkeys(key for row in rows for key in _numbers(row)))
    lines = [
        (
            *(_text(group[0].run.setting.get(key)) for key in keys),
            str(len(group)),
            *(mean_and_spread([_numbers(row).get(key) for row in group]) for key in numbers),
        )
        for group in groups
    ]
    heads = (*keys, "runs", *numbers)
    return ResultTable(name, title, heads, lines, "Mean ± standard deviation over the runs.")


def by_setting(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each setting, by its canonical text."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(canonical(row.run.setting), []).append(row)
    return groups


def mean_and_spread(values: Iterable[float | None], digits: int = 3) -> str:
    """Return "70.1 ± 0.5", or the mean alone if there is one value; None is left out.

    >>> mean_and_spread([1.0, 3.0], 1), mean_and_spread([2.0], 1), mean_and_spread([], 1)
    ('2.0 ± 1.4', '2.0', '')
    """
    known = [value for value in values if value is not None]
    if not known:
        return ""
    mean = f"{np.mean(known):.{digits}f}"
    return mean if len(known) == 1 else f"{mean} ± {np.std(known, ddof=1):.{digits}f}"


def runs_csv(label: str, rows: Sequence[Row]) -> str:
    """Return every run, one line each: setting, number, all values, seconds, versions."""
    settings = list(dict.fromkeys(key for row in rows for key in row.run.setting))
    values = list(dict.fromkeys(key for row in rows for key in row.record))
    lines = [
        [
            label,
            *(row.run.setting.get(key) for key in settings),
            row.run.number,
            row.seed,
            *(row.record.get(key) for key in values),
            row.seconds,
            *(read_versions(row.versions).get(name) for name in PACKAGES),
        ]
        for row in rows
    ]
    return csv_text(["study", *settings, "number", "seed", *values, "seconds", *PACKAGES], lines)


def csv_text(heads: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Return CSV; numbers with six digits, None as an empty field."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([_text(value) for value in line] for line in lines)
    return buffer.getvalue()


def read_versions(text: str) -> dict[str, str]:
    """Read what `store.versions` wrote; for any other text return no versions.

    >>> read_versions('{"numpy": "2.0"}'), read_versions("?")
    ({'numpy': '2.0'}, {})
    """
    try:
        return {str(name): str(value) for name, value in json.loads(text).items()}
    except (ValueError, AttributeError, RecursionError):
        return {}


def plain_name(text: str) -> str:
    """Return a name that is safe in file names, anchors and templates, from an untrusted store.

    >>> plain_name("../<b>margins"), plain_name("")
    ('----b-margins', 'part')
    """
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text)[:80] or "part"


def escaped(text: str) -> str:
    """Return text escaped for Markdown, on one line."""
    return _SPECIAL.sub(r"\\\1", text.replace("\n", " ").replace("\r", " "))


def _rich_cell(cell: Cell) -> "Text":
    from rich.text import Text

    text = Text(cell.text)
    if cell.note:
        text.append(f" {cell.marked_note}", style=COLOURS.get(cell.verdict, "bright_black"))
    return text


def _numbers(row: Row) -> dict[str, float]:
    return {name: value for name, value in row.record.items() if isinstance(value, int | float)}


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
