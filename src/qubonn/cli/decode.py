"""``qubonn decode``: a problem and an Ising machine's samples -> model.qubonn."""

import warnings
from pathlib import Path
from typing import Any

import click

import qubonn as qn
from qubonn import estimator
from qubonn.cli import options
from qubonn.cli.qubo import problem_facts
from qubonn.cli.screen import NOT_REACHED, Screen
from qubonn.cli.train import network_facts, save_model
from qubonn.errors import EnergiesDiffer, FileFormatError


@click.command(
    epilog="""Examples:

\b
  qubonn decode iris.qubo samples.csv -o iris.qubonn
  qubonn decode iris.bqm sampleset.json --committee 1 --require-feasible -o iris.qubonn

A sample is a row of 0 and 1, or of -1 and +1: CSV with or without a header, text of numpy.savetxt,
strings of bits, an npz or npy matrix, JSON lists or objects, samples serialised by dimod or
OpenJij, or the answer of Amplify or of a Digital Annealer. Variables are given by their number in
the QUBO or by their label; other columns are ignored. Energies are recomputed, and others are
noted."""
)
@click.argument("problem", type=options.EXISTING)
@click.argument("samples", type=options.EXISTING)
@click.option(
    "--committee", type=click.IntRange(1), default=25, help="Largest number of networks that vote."
)
@click.option(
    "--require-feasible",
    is_flag=True,
    help="Exit with 3 unless a network satisfies every constraint.",
)
@options.model
@options.screen
def command(
    problem: Path, samples: Path, committee: int, require_feasible: bool, out: Path, screen: Screen
) -> None:
    """Turn an Ising machine's samples into a model.

    SAMPLES are of the QUBO file PROBLEM. Every sample is decoded as a network. Where its bits
    contradict each other, two repairs are tried: run the network forward, or first lower the
    energy greedily, bit by bit. The better one is kept, and the report says which. Feasible
    networks vote; if there are none, the best network is the model.
    """
    posed, qubo = _loaded(problem)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EnergiesDiffer)
        found = qn.Samples.load(samples, qubo)
    for warning in caught:
        screen.note(f"Note: {warning.message}")
    with screen.working("Decoding networks from the samples ..."):
        decoding = qn.decode_samples(posed.problem, found, qubo=qubo)
    result = decoding.result
    classifier = posed.classifier(result.feasible_networks[:committee] or result.networks[:1])
    save_model(classifier, posed.names, out)
    _report(screen, posed, decoding, found.best_energy, classifier, out)
    if require_feasible and not result.is_feasible:
        screen.note("No network satisfies every constraint")
        click.get_current_context().exit(NOT_REACHED)


def _loaded(path: Path) -> tuple["estimator.PosedProblem", "qn.Qubo"]:
    """Read a problem's description and build its QUBO; the QUBO file must agree."""
    from qubonn.quadratic.files import READERS, suffix_of

    sidecar = Path(estimator.sidecar_of(path))
    if not sidecar.exists():
        raise FileFormatError(
            f"{path} must have its description {sidecar.name} beside it, as written by qubonn "
            "qubo; there is none"
        )
    posed = estimator.PosedProblem.load(sidecar)
    qubo = posed.problem.qubo()
    file = Path(str(sidecar).removesuffix(estimator.SIDECAR))
    if suffix_of(file) in READERS and file.exists() and qn.Qubo.load(file) != qubo:
        raise FileFormatError(
            f"{file} must be the QUBO that {sidecar.name} describes; it is another one: "
            "write both again with qubonn qubo"
        )
    return posed, qubo


def _report(
    screen: Screen,
    posed: "estimator.PosedProblem",
    decoding: Any,
    lowest_energy: float,
    model: "qn.QuboClassifier",
    out: Path,
) -> None:
    from qubonn.training.committee import is_right

    repairs, certificate = decoding.repairs, decoding.result.certificate()
    lowered = sum(repair.is_descended for repair in repairs)
    problem, book = posed.problem, posed.encoding.book
    is_correct = is_right(model.committee_, book, problem.input_spins, problem.output_spins)
    examples, right = problem.example_count, int(is_correct.sum())
    broken = certificate.violations.count + certificate.terms.output
    facts, document = network_facts(model)
    screen.facts(
        *problem_facts(posed),
        ("samples", f"{decoding.sample_count:,}, lowest energy {lowest_energy:g}, "
                    f"{len(repairs):,} distinct ones decoded"),
        ("as sampled", f"{decoding.feasible_as_sampled:,} satisfy every constraint; "
                       f"the lowest breaks {repairs[0].sampled:,}"),
        ("repaired", f"{len(repairs) - lowered:,} by running the network forward, {lowered:,} "
                     "by lowering the energy first"),
        ("after repair", f"{decoding.feasible_after_repair:,} satisfy every constraint"),
        ("best network", f"breaks {broken:,} of {problem.size.constraints:,} constraints,"
                         f" energy {certificate.terms.total:g}, S1 = {certificate.margins.s1}, "
                         f"S2 = {certificate.margins.s2}"),
        *facts[1:],
        ("training accuracy", f"{right / examples:.4f}  ({right} of {examples})"),
        ("model", f"{out}, {out.stat().st_size:,} bytes"),
    )  # fmt: skip
    screen.document(
        samples=decoding.sample_count,
        lowest_energy=lowest_energy,
        feasible_as_sampled=decoding.feasible_as_sampled,
        lowered_first=lowered,
        feasible_after_repair=decoding.feasible_after_repair,
        is_feasible=certificate.is_feasible,
        violation_count=certificate.violations.count,
        energy=certificate.terms.total,
        **document,
        training_accuracy=right / examples,
        model=str(out),
        bytes=out.stat().st_size,
    )
