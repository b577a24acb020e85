"""Options that several commands share, gathered into records.

Command-line options -> Screen, TableOptions, Networks.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from qubonn.cli.screen import Screen

F = TypeVar("F", bound=Callable[..., Any])

EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)
DATA = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)


def screen_options(function: F) -> F:
    """Add --json and -v; the command gets a `screen`."""

    @click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs.")
    @click.option("-v", "--verbose", count=True, help="Say what happens; -vv says more.")
    @wraps(function)
    def command(*arguments: Any, as_json: bool, verbose: int, **options: Any) -> Any:
        if verbose:
            _log_to_stderr(logging.DEBUG if verbose > 1 else logging.INFO)
        return function(*arguments, screen=Screen(as_json=as_json), **options)

    return command  # type: ignore[return-value]


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """How to read a file of examples; see `qubonn.datasets.read_table`."""

    target: str | None
    labels: Path | None
    inputs: str | None
    drop: tuple[str, ...]
    has_header: bool | None
    separator: str | None
    skip_missing: bool


def reading_options(function: F) -> F:
    """Add the options that say what stands where in a file; the command gets a `table_options`."""

    @click.option("-t", "--target", help="Column of labels (CSV), or array of labels (npz).")
    @click.option("--labels", type=EXISTING, help="IDX file of labels, where DATA is IDX.")
    @click.option("--inputs", help="Array of inputs, where DATA is npz.  [default: X]")
    @click.option("--drop", multiple=True, metavar="COLUMN", help="Leave a column out; repeatable.")
    @click.option("--header/--no-header", "has_header", default=None, help="First line is names.")
    @click.option("--separator", callback=_separator, help="Of CSV cells.  [default: found out]")
    @click.option("--skip-missing", is_flag=True, help="Leave out rows with missing values.")
    @wraps(function)
    def command(*arguments: Any, **options: Any) -> Any:
        return function(*arguments, **_gathered(TableOptions, "table_options", options))

    return command  # type: ignore[return-value]


@dataclass(frozen=True, kw_only=True)
class Networks:
    """Which network, and how numbers and classes become spins."""

    hidden: tuple[int, ...]
    topology: str | None
    image: tuple[int, ...] | None
    binariser: str | int
    code: str | None
    margin: float
    per_class: int | None


def network_options(hidden: str, margin: float, code: str) -> Callable[[F], F]:
    """Add the options of the network, with these defaults; the command gets `networks`."""

    def decorate(function: F) -> F:
        @click.option(
            "--hidden",
            default=hidden,
            show_default=True,
            callback=_sizes,
            metavar="N[,N...]",
            help="Neurons in each hidden layer; 0 for none.",
        )
        @click.option(
            "--topology",
            metavar="TEXT",
            help="The paper's notation instead, such as 'conv(3x3x2)+fc(4)'.",
        )
        @click.option(
            "--image",
            callback=_shape,
            metavar="ROWSxCOLUMNS",
            help="Shape of the image in each row of a CSV file; also CHANNELSxROWSxCOLUMNS.",
        )
        @click.option(
            "--binariser",
            default="auto",
            show_default=True,
            callback=_binariser,
            metavar="auto|threshold|thermometer|N",
            help="How a column becomes spins; N asks for N thresholds in each.",
        )
        @click.option(
            "--code",
            type=click.Choice(["one_hot", "gray_code"]),
            default=code,
            show_default=True,
            help="How a class becomes outputs: one each, or as few as can be.",
        )
        @click.option(
            "--margin",
            type=click.FloatRange(0),
            default=margin,
            show_default=True,
            help="Strength of the margin reward, gamma in the paper.",
        )
        @click.option(
            "--per-class",
            type=click.IntRange(1),
            metavar="N",
            help="Learn from N examples of each class only, drawn by the seed.",
        )
        @wraps(function)
        def command(*arguments: Any, **options: Any) -> Any:
            return function(*arguments, **_gathered(Networks, "networks", options))

        return command  # type: ignore[return-value]  # fmt: skip

    return decorate


seed_option = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same result."
)


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


model_option = click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("model.qubonn"),
    show_default=True,
    callback=file_to_write(".qubonn"),
    help="File for the model.",
)


def _gathered(record: Any, name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with those of a record gathered into one."""
    own = {field.name: options.pop(field.name) for field in fields(record)}
    return {**options, name: record(**own)}


def _log_to_stderr(level: int) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    logger = logging.getLogger("qubonn")
    logger.setLevel(level)
    logger.handlers = [handler]  # one, also where several commands run in one process


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


def _whole(text: str, separator: str) -> tuple[int, ...]:
    """Return positive numbers, or nothing where a part is none."""
    parts = [part.strip() for part in text.split(separator)]
    is_fine = all(part.isascii() and part.isdigit() and 0 < len(part) < 8 for part in parts)
    sizes = tuple(int(part) for part in parts) if is_fine else ()
    return sizes if all(sizes) else ()


def _binariser(context: click.Context, parameter: click.Parameter, text: str) -> str | int:
    if text in ("auto", "threshold", "thermometer"):
        return text
    count = _whole(text, ",")
    if len(count) != 1:
        raise click.BadParameter(
            f"must be auto, threshold, thermometer or a number of thresholds; got {text!r}"
        )
    return count[0]


def _separator(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    if text is None or len(text) == 1:
        return text
    if text in (r"\t", "tab"):
        return "\t"
    raise click.BadParameter(f"must be one character, or tab; got {text!r}")
