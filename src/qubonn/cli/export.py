"""``qubonn export``: a model -> one C header for devices, or ONNX for runtimes."""

from pathlib import Path
from typing import Any, Literal

import click

import qubonn as qn
from qubonn.cli import options
from qubonn.cli.screen import Screen

SUFFIX = {"c": ".h", "onnx": ".onnx"}
OPTIONS = {"c": ("numbers", "scale", "with_main"), "onnx": ("form", "from_numbers")}


@click.command(
    epilog="""Examples:

\b
  qubonn export model.qubonn --to c
  qubonn export model.qubonn --to c --name letters --numbers uint8 --main -o letters.h
  gcc -O2 -x c -DLETTERS_MAIN letters.h -o letters
  qubonn export model.qubonn --to onnx --form int8 -o model.onnx"""
)
@click.argument("model", type=options.EXISTING)
@click.option("--to", type=click.Choice(["c", "onnx"]), required=True, help="Format to write.")
@click.option("--name", help="Name of the model in the code.  [default: name of MODEL]")
@click.option(
    "--numbers",
    type=click.Choice(["uint8", "int8", "uint16", "int16", "int32", "float"]),
    help="C: also binarise numbers of this type.",
)
@click.option(
    "--scale",
    type=click.IntRange(1),
    default=1,
    help="C: the whole numbers are the columns of the training data times SCALE.",
)
@click.option("--main", "with_main", is_flag=True, help="C: add a program that reads examples.")
@click.option(
    "--form",
    type=click.Choice(["float", "int8"]),
    default="float",
    help="ONNX: arithmetic of the graph; the outputs are the same.",
)
@click.option(
    "--from-numbers", is_flag=True, help="ONNX: the inputs are columns of numbers, not spins."
)
@options.out("File to write.  [default: MODEL with .h or .onnx]", *SUFFIX.values())
@options.screen
def command(
    model: Path,
    to: Literal["c", "onnx"],
    name: str | None,
    numbers: Any,
    scale: int,
    with_main: bool,
    form: Literal["float", "int8"],
    from_numbers: bool,
    out: Path | None,
    screen: Screen,
) -> None:
    """Write a model as C or ONNX, for devices and runtimes.

    C: one C99 header without libraries, floating point or allocation, which computes with XNOR
    and popcount. ONNX: a graph for onnxruntime and others (needs the package onnx).
    """
    target = out or model.with_suffix(SUFFIX[to])
    if target.suffix != SUFFIX[to]:
        raise click.UsageError(f"--to {to} writes a file that ends in {SUFFIX[to]}; got {target}")
    _refuse_options_of_the_other(to)
    trained, title = qn.load(model), name or model.stem
    if to == "c":
        inputs: Any = numbers or "bits"
        qn.to_c(trained, target, name=title, inputs=inputs, scale=scale, with_main=with_main)
    else:
        inputs = "numbers" if from_numbers else "spins"
        qn.to_onnx(trained, target, form=form, inputs=inputs, name=title)
    size = target.stat().st_size
    screen.facts(("written", f"{target}, {size:,} bytes"))
    screen.document(model=str(model), written=str(target), to=to, bytes=size)


def _refuse_options_of_the_other(to: str) -> None:
    context = click.get_current_context()
    others = OPTIONS["onnx" if to == "c" else "c"]
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in others and source is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[0]} does not go with --to {to}")
