"""What a command prints: rich on a terminal, plain lines in a pipe, or one JSON object.

Results go to standard output, everything else to standard error. Text from files is printed with
its control characters escaped, so that it cannot control the terminal.
"""

import json
import logging
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import click

OK = 0  # exit codes; 1 is Python's own, for a bug
WRONG = 2  # usage, or a file that cannot be read or written; nothing was changed
NOT_REACHED = 3  # the result is written, but it is below what was required
INTERRUPTED = 130  # Ctrl-C; the best result so far is written if there is one
TERMINATED = 143  # SIGTERM; handled like Ctrl-C
WRITTEN = "qubonn.written"  # key of a context's meta: the file that holds the result

Cell = str | int | float
SHOWN_CLASSES = 12  # of a confusion matrix
WIDEST = 100_000  # characters of a line; a table is never cut


@dataclass(kw_only=True)
class Screen:
    """Where a command writes. With `as_json` only `document` writes to standard output."""

    as_json: bool = False
    verbose: int = 0
    is_watched: bool = field(init=False)  # standard error is a terminal: progress is shown
    is_terminal: bool = field(init=False)  # standard output is one, or colours are forced

    def __post_init__(self) -> None:
        self.is_watched = sys.stderr.isatty()
        self.is_terminal = sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))
        if self.verbose:
            handler, logger = logging.StreamHandler(), logging.getLogger("qubonn")
            handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
            logger.setLevel(logging.DEBUG if self.verbose > 1 else logging.INFO)
            logger.handlers = [handler]  # only one, also if several commands run in one process

    @property
    def has_blocks(self) -> bool:
        """Whether block characters can be shown."""
        return self.is_terminal and "utf" in (sys.stdout.encoding or "").lower()

    def heading(self, text: str) -> None:
        """Begin a section."""
        if self.as_json:
            return
        if self.is_terminal:
            self._console.rule(f"[bold]{_escape(text)}", align="left")
        else:
            click.echo(f"== {printable(text)}")

    def say(self, text: str) -> None:
        """Write one or more lines."""
        if not self.as_json:
            click.echo(printable_lines(text))

    def note(self, text: str) -> None:
        """Write a remark to standard error."""
        click.echo(printable_lines(text), err=True)

    def facts(self, *pairs: tuple[str, Cell]) -> None:
        """Write names and values, one pair a line."""
        shown = [(printable(name), printable(str(value))) for name, value in pairs]
        if self.as_json or not shown:
            return
        width = max(len(name) for name, _ in shown)
        for name, value in shown:
            padded = f"{name:<{width}}"
            click.echo(f"{click.style(padded, fg='cyan') if self.is_terminal else padded}  {value}")

    def table(self, heads: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
        """Write a table; the first column is text, the others are aligned to the right."""
        from rich import box
        from rich.table import Table

        frame = box.SIMPLE_HEAD if self.is_terminal else None
        table = Table(box=frame, header_style="bold cyan", pad_edge=False)
        for number, head in enumerate(heads):
            table.add_column(_escape(head), justify="right" if number else "left", no_wrap=True)
        for row in rows:
            table.add_row(*(_escape(str(cell)) for cell in row))
        self.show(table)

    def confusion(self, title: str, classes: Any, actual: Any, predicted: Any) -> None:
        """Write the number of examples by actual and predicted class, unless classes are many."""
        from sklearn.metrics import confusion_matrix

        if len(classes) > SHOWN_CLASSES or self.as_json:
            return
        counts = confusion_matrix(actual, predicted, labels=classes).tolist()
        names = [str(name) for name in classes]
        self.say(f"\n{title}")
        rows = [[name, *row] for name, row in zip(names, counts, strict=True)]
        self.table([r"actual \ predicted", *names], rows)

    def show(self, drawn: Any) -> None:
        """Write a table or another object of rich; one wider than the terminal is not cut."""
        if self.as_json:
            return
        console, width = self._console, self._console.width
        try:
            console.width = WIDEST
            console.width = max(width, console.measure(drawn).maximum)
            console.print(drawn)
        finally:
            console.width = width

    def document(self, **content: Any) -> None:
        """Write the result as JSON, if --json is given."""
        if self.as_json:
            click.echo(json.dumps(content, indent=2, allow_nan=False))

    def working(self, text: str) -> AbstractContextManager[Any]:
        """Show that work is under way, on a terminal."""
        if not self.is_watched:
            return nullcontext()
        from rich.console import Console

        return Console(stderr=True).status(_escape(text))

    @cached_property
    def _console(self) -> Any:
        from rich.console import Console

        width = None if self.is_terminal else WIDEST
        return Console(highlight=False, soft_wrap=True, width=width)


def printable(text: str) -> str:
    r"""Return text in one line: control characters, line ends and surrogates as \x1b and the like.

    >>> printable("red\x1b[31m\n")
    'red\\x1b[31m\\n'
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def printable_lines(text: str) -> str:
    """Return text with its line ends, everything else as in `printable`."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _escape(text: str) -> str:
    """Return text that rich does not read as its markup."""
    from rich.markup import escape

    return escape(printable(text))
