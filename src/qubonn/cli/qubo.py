"""``qubonn qubo``: labelled examples -> the QUBO of a training problem, and what its bits mean."""

import shlex
import warnings
from pathlib import Path
from typing import Any

import click

import qubonn as qn
from qubonn import estimator
from qubonn.cli import options
from qubonn.cli.screen import Screen
from qubonn.errors import ContradictingExamples


@click.command(
    epilog="""Examples:

\b
  qubonn qubo iris.csv --target species --per-class 3 --binariser 2 --hidden 2 -o iris.qubo
  qubonn qubo letters.csv -t letter --image 5x5 --topology 'fc(3)' --margin 0.02 -o letters.bqm
  ... solve iris.qubo anywhere, write a row of 0 and 1 for each sample ...
  qubonn decode iris.qubo samples.csv -o iris.qubonn"""
)
@click.argument("data", type=options.DATA)
@options.reading
@options.gathered(
    "networks",
    options.Networks,
    hidden="3",
    weight_levels="2",
    threshold_levels="2",
    label_code="gray_code",
)
@options.per_class
@click.option(
    "--alpha", type=click.FloatRange(0), default=1.0, help="Strength of the product penalty H2."
)
@click.option(
    "--free-outputs",
    type=options.POSITIVE,
    metavar="STRENGTH",
    help="Leave outputs free, with this penalty for each wrong one.  [default: fixed]",
)
@click.option(
    "--counts",
    type=options.counts,
    default="binary",
    metavar="binary|unary|N",
    help="How counts become bits: powers of two, ones, or powers of two up to N.",
)
@click.option(
    "--share", is_flag=True, help="Share variables between examples with equal inputs to a neuron."
)
@options.seed
@options.out(
    "File for the QUBO: .qubo (qbsolv's text), .npz (numpy), .bqm, .coo or .lp (dimod), .json "
    "(bqpjson), .mtx (MatrixMarket) or .rudy (Max-Cut).",
    *(".qubo", ".npz", ".bqm", ".coo", ".json", ".mtx", ".rudy", ".lp"),
    required=True,
)
@options.screen
def command(
    data: Path,
    reading: options.Reading,
    networks: options.Networks,
    per_class: int | None,
    alpha: float,
    free_outputs: float | None,
    counts: str | int,
    share: bool,
    seed: int,
    out: Path,
    screen: Screen,
) -> None:
    """Write the QUBO of a training problem, for an Ising machine.

    The ground states of the QUBO are the networks that classify every example of DATA correctly.
    Solve it with any machine or program, then pass the samples to  qubonn decode.  The second
    file, OUT.problem.npz, describes the bits; decode needs it, so keep the two together.
    """
    from qubonn.drawing.cards import qubo_facts

    table = reading.read_labelled(data, screen).some_per_class(per_class, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictingExamples)  # in the facts
        posed = qn.pose(
            table.inputs,
            table.known_labels,
            **vars(networks),
            product_strength=alpha,
            output_strength=free_outputs,
            encoding=counts,
            share=share,
            names=table.names,
            target=table.target,
        )
    if torn := posed.problem.contradictions:
        screen.note(f"Note: {torn}. Try more spins per column (--binariser 2) or another --seed.")
    qubo, classes = posed.problem.qubo(), posed.encoding.book.classes
    sidecar = Path(estimator.sidecar_of(out))
    posed.save(sidecar)
    qubo.save(out)
    screen.facts(
        ("data", f"{table.source}: {len(table):,} examples, {len(classes)} classes"),
        *problem_facts(posed),
        *qubo_facts(qubo),
        ("QUBO", f"{out}, {out.stat().st_size:,} bytes"),
        ("problem", f"{sidecar}, {sidecar.stat().st_size:,} bytes"),
        ("next", f"qubonn decode {shlex.quote(str(out))} SAMPLES -o model.qubonn"),
    )
    screen.document(
        qubo=str(out),
        problem=str(sidecar),
        **qubo_document(qubo),
        examples=len(table),
        classes=classes.tolist(),
        **contradictions_document(posed.problem),
    )


def problem_facts(posed: "estimator.PosedProblem") -> list[tuple[str, str]]:
    """Return which network a problem trains, on which inputs and outputs."""
    problem, book = posed.problem, posed.encoding.book
    inputs = f"{posed.column_count} columns, {problem.topology.column_count} spins"
    free = problem.output_strength
    outputs = "fixed" if free is None else f"free, {free:g} for each wrong one"
    return [
        ("network", repr(problem.topology).removeprefix("Topology(").removesuffix(")")),
        ("inputs", f"{inputs} ({type(posed.encoding.binariser).__name__})"),
        ("outputs", f"{book.spin_count} spins for {len(book.classes)} classes, {outputs}"),
        ("counts", f"{problem.encoding} encoding"),
        *([("variables", "shared between examples")] if problem.share else []),
        ("strengths", f"product {problem.product_strength:g}, margin {problem.margin_strength:g}"),
        ("constraints", f"{problem.size.constraints:,}"),
        ("contradictions", str(problem.contradictions)),
    ]


def contradictions_document(problem: "qn.TrainingProblem") -> dict[str, Any]:
    """Return the examples that contradict each other, and what they cost at least, as JSON."""
    torn = problem.contradictions
    return {"contradictions": torn.groups, "least_penalty": torn.least_penalty}


def qubo_document(qubo: "qn.Qubo") -> dict[str, Any]:
    """Return the size of a QUBO as JSON."""
    return {
        "variables": qubo.variable_count,
        "couplings": qubo.coupling_count,
        "offset": qubo.offset,
        "is_exact": bool(qubo.is_exact),
    }
