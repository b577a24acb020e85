"""What a command says: rich on a terminal, plain lines in a pipe, one JSON object for programs.

Results go to standard output, everything else to standard error.
"""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import click

Cell = str | int | float


class Screen:
    """Where a command writes. With `as_json` only `document` writes to standard output."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json

    @cached_property
    def is_terminal(self) -> bool:
        """Whether somebody looks at the output."""
        return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))

    @cached_property
    def has_blocks(self) -> bool:
        """Whether pictures can be made of block characters."""
        return self.is_terminal and "utf" in (sys.stdout.encoding or "").lower()

    @property
    def is_watched(self) -> bool:
        """Whether somebody looks at progress."""
        return sys.stderr.isatty()

    def heading(self, text: str) -> None:
        """Begin a section."""
        if self.as_json:
            return
        if self.is_terminal:
            self._console.rule(f"[bold]{_escape(text)}", align="left")
        else:
            click.echo(f"== {printable(text)}")

    def say(self, text: str) -> None:
        """Write one or more lines as they are."""
        if not self.as_json:
            click.echo(printable_lines(text))

    def note(self, text: str) -> None:
        """Write a remark to standard error."""
        click.echo(printable_lines(text), err=True)

    def facts(self, pairs: Iterable[tuple[str, Cell]]) -> None:
        """Write names and values, one pair a line."""
        shown = [(printable(name), printable(str(value))) for name, value in pairs]
        if self.as_json or not shown:
            return
        width = max(len(name) for name, _ in shown)
        for name, value in shown:
            if self.is_terminal:
                name = click.style(f"{name:<{width}}", fg="cyan")
                click.echo(f"{name}  {value}")
            else:
                click.echo(f"{name:<{width}}  {value}")

    def table(self, heads: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
        """Write a table; the first column is text, the others are aligned to the right."""
        if self.as_json:
            return
        cells = [[printable(str(cell)) for cell in row] for row in rows]
        named = [printable(head) for head in heads]
        if self.is_terminal:
            self._rich_table(named, cells)
            return
        widths = [max(len(row[n]) for row in (named, *cells)) for n in range(len(named))]
        for row in (named, *cells):
            first = row[0].ljust(widths[0])
            rest = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            click.echo("  ".join([first, *rest]).rstrip())

    def document(self, content: dict[str, Any]) -> None:
        """Write the result for programs, if they asked for it."""
        if self.as_json:
            click.echo(json.dumps(content, indent=2, allow_nan=False))

    def working(self, text: str) -> AbstractContextManager[Any]:
        """Show that something is going on, where somebody looks."""
        if not self.is_watched:
            return nullcontext()
        from rich.console import Console

        return Console(stderr=True).status(_escape(text))

    @cached_property
    def _console(self) -> Any:
        from rich.console import Console

        return Console(highlight=False, soft_wrap=True)

    def _rich_table(self, heads: list[str], rows: list[list[str]]) -> None:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, header_style="bold cyan", pad_edge=False)
        for number, head in enumerate(heads):
            table.add_column(_escape(head), justify="right" if number else "left", no_wrap=True)
        for row in rows:
            table.add_row(*(_escape(cell) for cell in row))
        self._console.print(table)


def _escape(text: str) -> str:
    """Return text that rich does not read as its markup."""
    from rich.markup import escape

    return escape(printable(text))


def printable(text: str) -> str:
    r"""Return text in one line: control characters, line ends and surrogates as \x1b and the like.

    >>> printable("red\x1b[31m\n")
    'red\\x1b[31m\\n'
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def printable_lines(text: str) -> str:
    """Return text with its line ends, everything else as `printable` has it."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


OK = 0
WRONG = 2  # usage, or a file that cannot be read or written; nothing was changed
NOT_REACHED = 3  # the result is written, but it is worse than was asked for
INTERRUPTED = 130  # Ctrl-C; the best so far is written if there was any
TERMINATED = 143  # SIGTERM; treated like Ctrl-C
