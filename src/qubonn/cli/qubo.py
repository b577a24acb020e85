"""``qubonn qubo``: labelled examples -> the QUBO of a training problem, for an Ising machine."""

import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import click

import qubonn as qn
from qubonn.cli.options import (
    DATA,
    Networks,
    TableOptions,
    file_to_write,
    network_options,
    reading_options,
    screen_options,
    seed_option,
)
from qubonn.cli.screen import Screen
from qubonn.datasets import Table
from qubonn.estimator.files import save_problem, sidecar_of
from qubonn.estimator.plan import PosedProblem, pose


@click.command(
    epilog="""Examples:

\b
  qubonn qubo iris.csv --target species --per-class 3 --binariser threshold -o iris.qubo
  qubonn qubo letters.csv -t letter --image 5x5 --topology 'fc(3)' --margin 0.02 -o letters.bqm
  ... solve iris.qubo anywhere, write a row of 0 and 1 for each sample ...
  qubonn decode iris.qubo samples.csv -o iris.qubonn"""
)
@click.argument("data", type=DATA)
@reading_options
@network_options(hidden="3", margin=0.0, code="gray_code")
@click.option(
    "--alpha",
    type=click.FloatRange(0),
    default=1.0,
    show_default=True,
    help="Strength of the product penalty H2.",
)
@click.option(
    "--free-outputs",
    type=click.FloatRange(0, min_open=True),
    metavar="STRENGTH",
    help="Leave outputs free, with this penalty for each wrong one.  [default: fixed]",
)
@seed_option
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    callback=file_to_write(".qubo", ".npz", ".bqm"),
    help="File for the QUBO: .qubo (qbsolv's text), .npz (numpy) or .bqm (dimod).",
)
@screen_options
def command(
    data: Path,
    table_options: TableOptions,
    networks: Networks,
    alpha: float,
    free_outputs: float | None,
    seed: int,
    out: Path,
    screen: Screen,
) -> None:
    """Write the QUBO that trains a network on DATA, and beside it what its bits mean.

    Its ground states are the networks that get every example right. Solve it with any machine or
    program, then hand the samples to  qubonn decode.  The second file, OUT.problem.json, is needed
    for that; keep the two together.
    """
    from qubonn.cli.train import learning_table, some_per_class

    table = some_per_class(learning_table(data, table_options, screen), networks.per_class, seed)
    write_problem(screen, table, networks, (alpha, free_outputs), out)


def write_problem(
    screen: Screen,
    table: Table,
    networks: Networks,
    strengths: tuple[float, float | None],
    out: Path,
) -> None:
    """Write the QUBO and the description; say how large they are."""
    posed = pose(
        table.inputs,
        table.known_labels,
        hidden=networks.hidden,
        topology=networks.topology,
        image_shape=networks.image,
        binariser=networks.binariser,
        label_code=networks.code,
        margin_strength=networks.margin,
        product_strength=strengths[0],
        output_strength=strengths[1],
        names=table.names,
        target=table.target,
    )
    qubo = posed.problem.qubo()
    sidecar = Path(sidecar_of(out))
    save_problem(posed, sidecar)
    qubo.save(out)
    screen.facts(
        [
            ("data", f"{table.source}: {len(table):,} examples, {len(posed.encoding.book.classes)} "
                     "classes"),
            *problem_facts(posed),
            *qubo_facts(qubo),
            ("QUBO", f"{out}, {out.stat().st_size:,} bytes"),
            ("problem", f"{sidecar}, {sidecar.stat().st_size:,} bytes"),
            ("next", f"qubonn decode {shlex.quote(str(out))} SAMPLES -o model.qubonn"),
        ]
    )  # fmt: skip
    screen.document(
        {
            "qubo": str(out),
            "problem": str(sidecar),
            **qubo_document(qubo),
            "examples": len(table),
            "classes": posed.encoding.book.classes.tolist(),
        }
    )


def problem_facts(posed: PosedProblem) -> list[tuple[str, str]]:
    """Say which network is to be trained, and on what."""
    problem, book = posed.problem, posed.encoding.book
    shape = repr(problem.topology).removeprefix("Topology(").removesuffix(")")
    strengths = f"product {problem.product_strength:g}, margin {problem.margin_strength:g}"
    outputs = "fixed"
    if problem.output_strength is not None:
        outputs = f"free, {problem.output_strength:g} for each wrong one"
    return [
        ("network", shape),
        ("inputs", f"{posed.column_count} columns, {problem.topology.input_count} spins "
                   f"({type(posed.encoding.binariser).__name__})"),
        ("outputs", f"{book.spin_count} spins for {len(book.classes)} classes, {outputs}"),
        ("strengths", strengths),
        ("constraints", f"{problem.size.constraints:,}"),
    ]  # fmt: skip


def qubo_facts(qubo: qn.Qubo) -> list[tuple[str, str]]:
    """Say how large a QUBO is, what its variables are, and the range of its numbers."""
    kinds = Counter(
        label[0] if isinstance(label, tuple) and label and isinstance(label[0], str) else "other"
        for label in qubo.labels
    )
    facts = [("variables", f"{qubo.variable_count:,}")]
    if set(kinds) - {"other"}:
        facts += [("of these", ", ".join(f"{count:,} {kind}" for kind, count in kinds.items()))]
    pairs = qubo.variable_count * (qubo.variable_count - 1) // 2
    density = f" ({qubo.coupling_count / pairs:.1%} of all pairs)" if pairs else ""
    facts += [("couplings", f"{qubo.coupling_count:,}{density}")]
    if qubo.coupling_count:
        facts += [("coupling values", f"{qubo.couplings.min():g} to {qubo.couplings.max():g}")]
    if qubo.variable_count:
        facts += [("linear values", f"{qubo.linear.min():g} to {qubo.linear.max():g}")]
    exact = "whole numbers, exact" if qubo.is_exact else "floating point"
    return [*facts, ("offset", f"{qubo.offset:g}"), ("numbers", exact)]


def qubo_document(qubo: qn.Qubo) -> dict[str, Any]:
    """Say the same for programs."""
    return {
        "variables": qubo.variable_count,
        "couplings": qubo.coupling_count,
        "offset": qubo.offset,
        "is_exact": bool(qubo.is_exact),
    }
