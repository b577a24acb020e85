"""From a file on the command line to examples to learn from and to test on.

Path, TableOptions -> Tables.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from qubonn.cli.options import TableOptions
from qubonn.cli.screen import Screen
from qubonn.datasets import Table, read_table
from qubonn.datasets.files import kind_of
from qubonn.errors import AlphabetError, ShapeError

MOST_CLASSES = 20  # of few examples; more of them are rather numbers to be predicted


def learning_table(path: Path, table_options: TableOptions, screen: Screen) -> Table:
    """Read examples with labels; say what was left out."""
    if kind_of(path) == "csv" and table_options.target is None:
        raise click.UsageError("a CSV file needs --target, the column of labels")
    if kind_of(path) == "idx" and table_options.labels is None:
        raise click.UsageError("an IDX file needs --labels, the file of labels")
    table = read_table(path, **options_of(table_options))
    if table.skipped_count:
        screen.note(f"{table.source}: {table.skipped_count} rows with missing values left out")
    _require_classes(table)
    return table


def held_out_table(
    path: Path, table_options: TableOptions, learned: Table, labels: Path | None
) -> Table:
    """Read examples to test on, with the same columns as those to learn from."""
    options = options_of(table_options) | {"labels": labels, "is_test": True}
    if kind_of(path) == "csv" and learned.names is not None:
        options |= {"keep": learned.names, "drop": ()}
    if kind_of(path) == "npz" and str(path) == learned.source:  # other arrays of the same file
        options |= {"inputs": None, "target": None}
    table = read_table(path, **options)
    if table.column_count != learned.column_count:
        raise ShapeError(
            f"{table.source} must have {learned.column_count} numbers for each example, as "
            f"{learned.source} has; got {table.column_count}"
        )
    classes = np.unique(learned.known_labels)
    return replace(table, labels=labels_among(classes, table, learned.source))


def labels_among(classes: NDArray[Any], table: Table, owner: object) -> NDArray[Any]:
    """Return the labels as the classes are written; refuse those of which none is a class.

    Classes may be text while the labels of one file happen to be whole numbers all.
    """
    labels = table.known_labels
    if classes.dtype.kind not in "biuf":
        labels = labels.astype(str)
    known = set(classes.tolist())
    if not any(label in known for label in np.unique(labels).tolist()):
        raise AlphabetError(
            f"{table.source} must have labels such as {classes.tolist()[0]!r:.60}, as {owner} has; "
            f"got {labels.tolist()[0]!r:.60}, and no other that is known"
        )
    return labels


def options_of(table_options: TableOptions) -> dict[str, Any]:
    """Return the options of `read_table`."""
    return {name: getattr(table_options, name) for name in TableOptions.__dataclass_fields__}


def split(table: Table, share: float, seed: int) -> tuple[Table, Table | None]:
    """Set a share of each class aside to test on; at least one of each stays to learn from."""
    chosen = _drawn(table, lambda count: min(round(share * count), count - 1), seed)
    if not chosen.any():
        return table, None
    return table.rows(np.flatnonzero(~chosen)), table.rows(np.flatnonzero(chosen))


def some_per_class(table: Table, count: int | None, seed: int) -> Table:
    """Keep so many examples of each class, or all where there are fewer."""
    if count is None:
        return table
    wanted = count
    return table.rows(np.flatnonzero(_drawn(table, lambda there: min(wanted, there), seed + 1)))


def _drawn(table: Table, how_many: Any, seed: int) -> NDArray[np.bool_]:
    """Mark examples of each class, drawn by the seed."""
    generator = np.random.default_rng(seed)
    labels = table.known_labels
    is_drawn = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        members = generator.permutation(np.flatnonzero(labels == label))
        is_drawn[members[: how_many(len(members))]] = True
    return is_drawn


def _require_classes(table: Table) -> None:
    labels = table.known_labels
    count = len(np.unique(labels))
    if count < 2:
        raise AlphabetError(
            f"{table.source} must have labels of at least two classes; all are {labels[0]!r:.60}"
        )
    if count > max(MOST_CLASSES, len(labels) // 2):
        raise AlphabetError(
            f"{table.source} must have labels that repeat, as classes do; got {count} different "
            f"ones in {len(labels)} examples: is {table.target!r:.60} a number to be predicted?"
        )
