"""Card: numbers with names, as text and as a table of a notebook.

Names and values -> aligned lines, HTML.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from html import escape

Rows = Iterator[tuple[str, str]]


class Card(ABC):
    """Numbers with names, shown as aligned text or as a table of a notebook."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What the numbers are about."""

    @abstractmethod
    def rows(self) -> Rows:
        """Give names and values, as text."""

    def __repr__(self) -> str:
        rows = list(self.rows())
        left, right = (max(len(row[side]) for row in rows) for side in (0, 1))
        lines = [f"{name:<{left}}  {value:>{right}}".rstrip() for name, value in rows]
        return "\n".join([self.title, *lines])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:right'>{escape(value)}</td></tr>"
            for name, value in self.rows()
        )
        return f"<table><caption>{escape(self.title)}</caption>{rows}</table>"
