"""``qubonn export``: a model -> C or MicroPython for devices, ONNX, Verilog for chips."""

from pathlib import Path
from typing import Any, Literal

import click

import qubonn as qn
from qubonn.cli import options
from qubonn.cli.screen import Screen

SUFFIX = {
    "c": ".h",
    "arduino": "",
    "micropython": ".py",
    "onnx": ".onnx",
    "verilog": "",
}  # no ending: a folder
OPTIONS = {
    "c": ("numbers", "scale", "with_main"),
    "arduino": ("numbers", "scale"),
    "micropython": ("numbers", "scale"),
    "onnx": ("form", "from_numbers"),
    "verilog": ("numbers", "scale", "style", "word", "lanes", "lut_inputs"),
}
Target = Literal["c", "arduino", "micropython", "onnx", "verilog"]


@click.command(
    epilog="""Examples:

\b
  qubonn export model.qubonn --to c
  qubonn export model.qubonn --to c --name letters --numbers uint8 --main -o letters.h
  gcc -O2 -x c -DLETTERS_MAIN letters.h -o letters
  qubonn export model.qubonn --to micropython --numbers uint8 --scale 10
  qubonn export model.qubonn --to onnx --form int8 -o model.onnx
  qubonn export model.qubonn --to verilog --style serial --numbers uint8 -o chip"""
)
@click.argument("model", type=options.EXISTING)
@click.option("--to", type=click.Choice(list(SUFFIX)), required=True, help="Format to write.")
@click.option("--name", help="Name of the model in the code.  [default: name of MODEL]")
@click.option(
    "--numbers",
    type=click.Choice(["uint8", "int8", "uint16", "int16", "int32", "float"]),
    help="All but ONNX: read numbers of this type and binarise them.",
)
@click.option(
    "--scale",
    type=click.IntRange(1),
    default=1,
    help="All but ONNX: the whole numbers are the columns of the training data times SCALE.",
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
@click.option(
    "--style",
    type=click.Choice(["combinational", "pipelined", "serial"]),
    default="combinational",
    help="Verilog: no clock; an example a clock; or a word a clock and weights in ROM.",
)
@click.option(
    "--word", type=click.IntRange(1, 1024), default=16, help="Verilog, serial: bits of a word."
)
@click.option(
    "--lanes",
    type=click.IntRange(1),
    default=1,
    help="Verilog, serial: neurons of a layer that are counted at once.",
)
@click.option(
    "--lut-inputs",
    type=click.Choice(["4", "6"]),
    default="4",
    help="Verilog: inputs of a lookup table of the chip.",
)
@click.option(
    "-o",
    "--out",
    type=options.NewFile("", dir_okay=True),
    help="File to write, or folder of Verilog or Arduino.  [default: MODEL with its ending]",
)
@options.screen
def command(
    model: Path,
    to: Target,
    name: str | None,
    numbers: Any,
    scale: int,
    with_main: bool,
    form: Literal["float", "int8"],
    from_numbers: bool,
    style: Any,
    word: int,
    lanes: int,
    lut_inputs: str,
    out: Path | None,
    screen: Screen,
) -> None:
    """Write a model as C, Arduino, MicroPython, ONNX or Verilog.

    C: one C99 header without libraries, floating point or allocation, which computes with XNOR
    and popcount. Arduino: a folder with this header and a sketch that answers on the serial line.
    MicroPython: one file of whole numbers. ONNX: a graph for onnxruntime and others (needs the
    package onnx). Verilog: a folder with a module, a test bench that checks itself, and a README.
    """
    target = out or model.with_suffix(SUFFIX[to])
    if SUFFIX[to] not in ("", target.suffix):
        raise click.UsageError(f"--to {to} writes a file that ends in {SUFFIX[to]}; got {target}")
    _refuse_options_of_others(to, style)
    from qubonn import export  # slow to import, and not needed for --help

    trained, title = qn.load(model), name or model.stem
    inputs: Any = numbers or "bits"
    if to == "c":
        qn.to_c(trained, target, name=title, inputs=inputs, scale=scale, with_main=with_main)
    elif to == "arduino":
        export.to_arduino(trained, target, name=name, inputs=inputs, scale=scale)
    elif to == "micropython":
        export.to_micropython(trained, target, name=title, inputs=inputs, scale=scale)
    elif to == "onnx":
        inputs = "numbers" if from_numbers else "spins"
        qn.to_onnx(trained, target, form=form, inputs=inputs, name=title)
    else:
        how = {"style": style, "word": word, "lanes": lanes, "lut_inputs": int(lut_inputs)}
        qn.to_verilog(trained, target, name=title, inputs=inputs, scale=scale, **how)
    size = sum(path.stat().st_size for path in ([target] if SUFFIX[to] else target.iterdir()))
    screen.facts(("written", f"{target}, {size:,} bytes"))
    screen.document(model=str(model), written=str(target), to=to, bytes=size)


def _refuse_options_of_others(to: Target, style: str) -> None:
    context = click.get_current_context()
    others = {name for names in OPTIONS.values() for name in names} - set(OPTIONS[to])
    unread = ("lut_inputs",) if style == "serial" else ("word", "lanes")
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        is_given = source is click.core.ParameterSource.COMMANDLINE
        if is_given and parameter.name in others:
            raise click.UsageError(f"{parameter.opts[0]} does not go with --to {to}")
        if is_given and parameter.name in unread:
            raise click.UsageError(f"{parameter.opts[0]} does not go with --style {style}")
