"""Options that several commands share, gathered into records.

Command-line options -> Screen, Reading, Networks.
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

import qubonn as qn
from qubonn.cli.screen import Screen
from qubonn.errors import AlphabetError

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]

EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
POSITIVE = click.FloatRange(0, min_open=True)
DATA = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
MOST_CLASSES = 20  # of few examples; more distinct labels look like a regression target


def option(*names: str, **settings: Any) -> Any:
    """Return a field of a record that is an option, called as the field unless named."""
    return field(metadata={"names": names, "settings": settings})


def gathered(name: str, record: type, **defaults: Any) -> Decorator:
    """Return a decorator: the command gets the options of a record as one argument `name`.

    `defaults` replace those of the fields.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def command(*arguments: Any, **given: Any) -> Any:
            own = {one.name: given.pop(one.name) for one in fields(record)}
            return function(*arguments, **{name: record(**own)}, **given)

        decorated: Function = command
        for one in reversed(fields(record)):
            names = one.metadata["names"] or (f"--{one.name.replace('_', '-')}",)
            settings = dict(one.metadata["settings"])
            if one.name in defaults:
                settings["default"] = defaults[one.name]
            decorated = click.option(*names, one.name, **settings)(decorated)
        return decorated

    return decorate


def screen(function: Function) -> Function:
    """Add --json and -v; the command gets a `screen`."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
    @click.option("-v", "--verbose", count=True, show_default=False, help="Log; -vv logs more.")
    @wraps(function)
    def command(*arguments: Any, as_json: bool, verbose: int, **given: Any) -> Any:
        return function(*arguments, screen=Screen(as_json=as_json, verbose=verbose), **given)

    return command


class NewFile(click.Path):
    """A file with one of these suffixes; one that cannot be written is refused before any work."""

    def __init__(self, *suffixes: str, dir_okay: bool = False) -> None:
        super().__init__(dir_okay=dir_okay, path_type=Path)
        self.suffixes = suffixes

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        """Return the path, after the checks."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.name.lower().endswith(self.suffixes):
            self.fail(f"{path} must end in {' or '.join(self.suffixes)}")
        if not path.parent.is_dir():
            self.fail(f"the folder {path.parent} must exist")
        return path


def out(help: str, *suffixes: str, **settings: Any) -> Decorator:
    """Return the option -o, --out for a file with one of these suffixes."""
    return click.option("-o", "--out", type=NewFile(*suffixes), help=help, **settings)


model = out("File for the model.", ".qubonn", default=Path("model.qubonn"))
seed = click.option("--seed", type=click.IntRange(0), default=0, help="Seed of all randomness.")
per_class = click.option(
    "--per-class",
    type=click.IntRange(1),
    metavar="N",
    help="Train on N examples of each class only, drawn with the seed.",
)


def _separator(text: str) -> str:
    if len(text) != 1 and text not in (r"\t", "tab"):
        raise click.BadParameter(f"must be one character, or tab; got {text!r}")
    return text if len(text) == 1 else "\t"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How to read a file of examples; see `qubonn.datasets.read_table`."""

    target: str | None = option(
        "-t", "--target", help="Column of labels (CSV), or array of labels (npz)."
    )
    labels: Path | None = option(type=EXISTING, help="IDX file of labels, if DATA is IDX.")
    inputs: str | None = option(help="Array of inputs, if DATA is npz.  [default: X]")
    drop: tuple[str, ...] = option(
        multiple=True, metavar="COLUMN[,COLUMN...]", help="Ignore columns; repeatable."
    )
    has_header: bool | None = option(
        "--header/--no-header", default=None, help="The first line holds names."
    )
    separator: str | None = option(
        type=_separator, metavar="TEXT", help="Separator of CSV cells.  [default: detected]"
    )
    decimal: str = option(
        type=click.Choice([".", ","]), default=".", help="Decimal separator of CSV cells."
    )
    encoding: str = option(
        default="utf-8", metavar="NAME", help="Encoding of CSV files, such as latin-1."
    )
    skip_missing: bool = option(is_flag=True, help="Skip rows with missing values.")

    def read(self, path: Path, **changes: Any) -> "qn.datasets.Table":
        """Read a table with these options, some of them changed."""
        return qn.datasets.read_table(path, **(vars(self) | changes))

    def read_labelled(self, path: Path, screen: Screen) -> "qn.datasets.Table":
        """Read training examples; print which rows were skipped and which columns look odd."""
        kind = qn.datasets.kind_of(path)
        if kind == "csv" and self.target is None:
            raise click.UsageError("a CSV file needs --target, the column of labels")
        if kind == "idx" and self.labels is None:
            raise click.UsageError("an IDX file needs --labels, the file of labels")
        table = self.read(path)
        if table.skipped:
            screen.note(f"{table.source}: {len(table.skipped)} rows with missing values skipped")
        for note in table.notes:
            screen.note(f"Note: {note}")
        for name in table.id_columns:
            screen.note(
                f"Warning: column {name!r:.60} looks like an id, different in each row: leave it "
                "out (--drop) if it says nothing about new examples"
            )
        _require_classes(table)
        return table


reading = gathered("reading", Reading)


def _require_classes(table: "qn.datasets.Table") -> None:
    labels = table.known_labels
    count = len(set(labels.tolist()))
    if count < 2:
        raise AlphabetError(
            f"{table.source} must have labels of at least two classes; all are {labels[0]!r:.60}"
        )
    if count > max(MOST_CLASSES, len(labels) // 2):
        raise AlphabetError(
            f"{table.source} must have labels that repeat, as classes do; got {count} different "
            f"ones in {len(labels)} examples: is {table.target!r:.60} a regression target?"
        )


def _sizes(text: str) -> str | tuple[int, ...]:
    if text == "auto":
        return text
    return () if text.strip() == "0" else _whole(text, ",", "sizes of layers such as 64 or 32,16")


def _levels(text: str) -> str | int | tuple[int, ...]:
    if text == "auto":
        return text
    levels = _whole(text, ",", "numbers of levels such as 3 or 5,4")
    return levels if len(levels) > 1 else levels[0]


def _shape(text: str) -> tuple[int, ...]:
    return _whole(text.lower(), "x", "a shape such as 28x28 or 3x32x32", counts=(2, 3))


def _binariser(text: str) -> str | int:
    names = "auto, threshold, thermometer"
    if text in names.split(", "):
        return text
    return _whole(text, ",", f"{names} or a number of thresholds", counts=(1,))[0]


def counts(text: str) -> str | int:
    """Return how counts become bits."""
    if text in ("binary", "unary"):
        return text
    return _whole(text, ",", "binary, unary or the largest weight of a bit", counts=(1,))[0]


def _whole(text: str, separator: str, what: str, counts: Sequence[int] = ()) -> tuple[int, ...]:
    """Return positive whole numbers; their count must be one of `counts` if given."""
    parts = [part.strip() for part in text.split(separator)]
    is_whole = all(re.fullmatch("0*[1-9][0-9]*", part) and len(part) < 8 for part in parts)
    if not is_whole or (counts and len(parts) not in counts):
        raise click.BadParameter(f"must be {what}; got {text!r}")
    return tuple(int(part) for part in parts)


@dataclass(frozen=True, kw_only=True)
class Networks:
    """Which network, and how numbers and classes become spins: arguments of `QuboClassifier`."""

    hidden: str | tuple[int, ...] = option(
        type=_sizes,
        metavar="auto|N[,N...]",
        help="Neurons in each hidden layer; 0 for none, auto: compare a few networks.",
    )
    weight_levels: str | tuple[int, ...] = option(
        "--levels",
        type=_levels,
        metavar="auto|N[,N...]",
        help="Number of values of a weight, also layer by layer; 2: -1 and +1.",
    )
    threshold_levels: str | tuple[int, ...] = option(
        "--thresholds",
        type=_levels,
        metavar="auto|N[,N...]",
        help="Number of values of a neuron's threshold, also layer by layer.",
    )
    topology: str | None = option(
        help="Layers in the paper's notation, such as 'conv(3x3x2)+fc(4)'; replaces --hidden."
    )
    image_shape: tuple[int, ...] | None = option(
        "--image",
        type=_shape,
        metavar="ROWSxCOLUMNS",
        help="Shape of the image in each row of a CSV file; also CHANNELSxROWSxCOLUMNS.",
    )
    binariser: str | int = option(
        default="auto",
        type=_binariser,
        metavar="auto|threshold|thermometer|N",
        help="How a column becomes spins; N is a number of thresholds for each column.",
    )
    label_code: str = option(
        "--code",
        type=click.Choice(["one_hot", "gray_code"]),
        help="How a class becomes outputs: one output each, or as few as possible.",
    )
    margin_strength: float = option(
        "--margin",
        type=click.FloatRange(0),
        default=0.0,
        help="Strength of the margin reward, gamma in the paper.",
    )
