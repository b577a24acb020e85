"""Options that several commands share, gathered into records.

Command-line options -> Screen, Reading, Networks.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qubonn.cli.screen import Screen
from qubonn.errors import AlphabetError

if TYPE_CHECKING:
    from qubonn.datasets import Table

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]

EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)
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


def file_to_write(*suffixes: str) -> Callable[[Any, Any, Path | None], Path | None]:
    """Return a callback that refuses, before any work, a file that cannot be written."""

    def check(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
        if path is None:
            return None
        if suffixes and not path.name.lower().endswith(suffixes):
            raise click.BadParameter(f"{path} must end in {' or '.join(suffixes)}")
        if not path.parent.is_dir():
            raise click.BadParameter(f"the folder {path.parent} must exist")
        return path

    return check


def out(help: str, *suffixes: str, **settings: Any) -> Decorator:
    """Return the option -o, --out for a file with one of these suffixes."""
    kind = click.Path(dir_okay=False, path_type=Path)
    check = file_to_write(*suffixes)
    return click.option("-o", "--out", type=kind, callback=check, help=help, **settings)


model = out("File for the model.", ".qubonn", default=Path("model.qubonn"))
seed = click.option("--seed", type=click.IntRange(0), default=0, help="Seed of all randomness.")
per_class = click.option(
    "--per-class",
    type=click.IntRange(1),
    metavar="N",
    help="Learn from N examples of each class only, drawn with the seed.",
)


def _separator(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    if text is None or len(text) == 1:
        return text
    if text in (r"\t", "tab"):
        return "\t"
    raise click.BadParameter(f"must be one character, or tab; got {text!r}")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How to read a file of examples; see `qubonn.datasets.read_table`."""

    target: str | None = option(
        "-t", "--target", help="Column of labels (CSV), or array of labels (npz)."
    )
    labels: Path | None = option(type=EXISTING, help="IDX file of labels, if DATA is IDX.")
    inputs: str | None = option(help="Array of inputs, if DATA is npz.  [default: X]")
    drop: tuple[str, ...] = option(
        multiple=True, metavar="COLUMN", help="Ignore a column; repeatable."
    )
    has_header: bool | None = option(
        "--header/--no-header", default=None, help="The first line holds names."
    )
    separator: str | None = option(
        callback=_separator, help="Separator of CSV cells.  [default: detected]"
    )
    skip_missing: bool = option(is_flag=True, help="Skip rows with missing values.")

    def read(self, path: Path, **changes: Any) -> "Table":
        """Read a table with these options, some of them changed."""
        from qubonn.datasets import read_table

        return read_table(path, **(vars(self) | changes))

    def read_labelled(self, path: Path, screen: Screen) -> "Table":
        """Read examples to learn from; print how many rows were skipped."""
        from qubonn.datasets.files import kind_of

        if kind_of(path) == "csv" and self.target is None:
            raise click.UsageError("a CSV file needs --target, the column of labels")
        if kind_of(path) == "idx" and self.labels is None:
            raise click.UsageError("an IDX file needs --labels, the file of labels")
        table = self.read(path)
        if table.skipped_count:
            screen.note(f"{table.source}: {table.skipped_count} rows with missing values skipped")
        _require_classes(table)
        return table


reading = gathered("reading", Reading)


def _require_classes(table: "Table") -> None:
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


def _sizes(context: click.Context, parameter: click.Parameter, text: str) -> tuple[int, ...]:
    if text.strip() == "0":
        return ()
    sizes = _whole(text, ",")
    if not sizes:
        raise click.BadParameter(f"must be sizes of layers such as 64 or 32,16; got {text!r}")
    return sizes


def _shape(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[int, ...] | None:
    if text is None:
        return None
    sizes = _whole(text.lower(), "x")
    if len(sizes) not in (2, 3):
        raise click.BadParameter(f"must be a shape such as 28x28 or 3x32x32; got {text!r}")
    return sizes


def _binariser(context: click.Context, parameter: click.Parameter, text: str) -> str | int:
    if text in ("auto", "threshold", "thermometer"):
        return text
    count = _whole(text, ",")
    if len(count) != 1:
        raise click.BadParameter(
            f"must be auto, threshold, thermometer or a number of thresholds; got {text!r}"
        )
    return count[0]


def _whole(text: str, separator: str) -> tuple[int, ...]:
    """Return positive whole numbers; empty if a part is not one."""
    parts = [part.strip() for part in text.split(separator)]
    is_fine = all(part.isascii() and part.isdigit() and 0 < len(part) < 8 for part in parts)
    sizes = tuple(int(part) for part in parts) if is_fine else ()
    return sizes if all(sizes) else ()


@dataclass(frozen=True, kw_only=True)
class Networks:
    """Which network, and how numbers and classes become spins: arguments of `QuboClassifier`."""

    hidden: tuple[int, ...] = option(
        callback=_sizes, metavar="N[,N...]", help="Neurons in each hidden layer; 0 for none."
    )
    topology: str | None = option(
        help="Layers in the paper's notation, such as 'conv(3x3x2)+fc(4)'; replaces --hidden."
    )
    image_shape: tuple[int, ...] | None = option(
        "--image",
        callback=_shape,
        metavar="ROWSxCOLUMNS",
        help="Shape of the image in each row of a CSV file; also CHANNELSxROWSxCOLUMNS.",
    )
    binariser: str | int = option(
        default="auto",
        callback=_binariser,
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
