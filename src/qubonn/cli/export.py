"""``qubonn export``: a model -> one C header for devices, or ONNX for runtimes."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from qubonn.cli.options import EXISTING, file_to_write, screen_options
from qubonn.cli.screen import Screen

if TYPE_CHECKING:
    from qubonn.export.c import Inputs

SUFFIX = {"c": ".h", "onnx": ".onnx"}


@click.command(
    epilog="""Examples:

\b
  qubonn export model.qubonn --to c
  qubonn export model.qubonn --to c --name letters --numbers uint8 --main -o letters.h
  gcc -O2 -x c -DLETTERS_MAIN letters.h -o letters
  qubonn export model.qubonn --to onnx --form int8 -o model.onnx"""
)
@click.argument("model", type=EXISTING)
@click.option("--to", type=click.Choice(["c", "onnx"]), required=True, help="Which language.")
@click.option("--name", help="Of the model in there.  [default: MODEL's]")
@click.option(
    "--numbers",
    type=click.Choice(["uint8", "int8", "uint16", "int16", "int32"]),
    help="C: also binarise whole numbers of this type.",
)
@click.option(
    "--scale",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="C: these numbers are so many times the columns that the model learned from.",
)
@click.option("--main", "with_main", is_flag=True, help="C: also a program that reads examples.")
@click.option(
    "--form",
    type=click.Choice(["float", "int8"]),
    default="float",
    show_default=True,
    help="ONNX: kind of arithmetic; the answers are the same.",
)
@click.option("--from-numbers", is_flag=True, help="ONNX: take columns as numbers, not spins.")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=file_to_write(*SUFFIX.values()),
    help="File to write.  [default: MODEL with .h or .onnx]",
)
@screen_options
def command(
    model: Path,
    to: Literal["c", "onnx"],
    name: str | None,
    numbers: "Inputs | None",
    scale: int,
    with_main: bool,
    form: Literal["float", "int8"],
    from_numbers: bool,
    out: Path | None,
    screen: Screen,
) -> None:
    """Write MODEL for a machine without Python.

    C: one C99 header that needs no library, no floating point and no memory of its own; XNOR and
    popcount do the work. ONNX: a graph for onnxruntime and others (needs the package onnx).
    """
    import qubonn as qn

    target = out or model.with_suffix(SUFFIX[to])
    if target.suffix != SUFFIX[to]:
        raise click.UsageError(f"--to {to} writes a file that ends in {SUFFIX[to]}; got {target}")
    _refuse_the_other_options(to)
    trained = qn.load(model)
    title = name or model.stem
    if to == "c":
        inputs: Inputs = numbers or "bits"
        qn.to_c(trained, target, name=title, inputs=inputs, scale=scale, with_main=with_main)
    else:
        kind: Literal["numbers", "spins"] = "numbers" if from_numbers else "spins"
        qn.to_onnx(trained, target, form=form, inputs=kind, name=title)
    size = target.stat().st_size
    screen.facts([("written", f"{target}, {size:,} bytes")])
    screen.document({"model": str(model), "written": str(target), "to": to, "bytes": size})


def _refuse_the_other_options(to: str) -> None:
    """Say so when an option belongs to the other language."""
    context = click.get_current_context()
    others = {"c": ("form", "from_numbers"), "onnx": ("numbers", "scale", "with_main")}[to]
    for option in others:
        if context.get_parameter_source(option) is click.core.ParameterSource.COMMANDLINE:
            flag = next(one.opts[0] for one in context.command.params if one.name == option)
            raise click.UsageError(f"{flag} does not go with --to {to}")
