"""``qubonn decode``: a problem and an Ising machine's samples -> model.qubonn."""

from pathlib import Path

import click

import qubonn as qn
from qubonn.cli.options import EXISTING, model_option, screen_options
from qubonn.cli.qubo import problem_facts
from qubonn.cli.screen import NOT_REACHED, Screen
from qubonn.cli.train import network_facts, save_model
from qubonn.errors import FileFormatError
from qubonn.estimator.files import SIDECAR, load_problem, sidecar_of
from qubonn.estimator.plan import PosedProblem
from qubonn.quadratic.files import READERS
from qubonn.training import Decoding, decode_samples
from qubonn.training.committee import is_right


@click.command(
    epilog="""Examples:

\b
  qubonn decode iris.qubo samples.csv -o iris.qubonn
  qubonn decode iris.bqm sampleset.json --committee 1 --require-feasible -o iris.qubonn

A sample is a row of 0 and 1, or of -1 and +1: CSV with or without a header, an npz or npy matrix,
JSON lists or objects, or a SampleSet that dimod serialised. Variables go by their number in the
QUBO or by their label; other columns are not looked at, energies are computed anew."""
)
@click.argument("problem", type=EXISTING)
@click.argument("samples", type=EXISTING)
@click.option(
    "--committee",
    type=click.IntRange(1),
    default=25,
    show_default=True,
    help="Let at most so many networks vote.",
)
@click.option(
    "--require-feasible",
    is_flag=True,
    help="End with 3 unless a network satisfies every constraint.",
)
@model_option
@screen_options
def command(
    problem: Path,
    samples: Path,
    committee: int,
    require_feasible: bool,
    out: Path,
    screen: Screen,
) -> None:
    """Turn SAMPLES of the QUBO file PROBLEM into a model.

    Every sample is read as a network. Where its bits contradict each other, two repairs are tried:
    run the network forward, or first lower the energy greedily, bit by bit. The better one is kept,
    and the report says which. Feasible networks vote; if there are none, the best one is alone.
    """
    decode_files(screen, problem, samples, committee, out, is_feasible_required=require_feasible)


def decode_files(
    screen: Screen,
    problem: Path,
    samples: Path,
    committee: int,
    out: Path,
    *,
    is_feasible_required: bool,
) -> None:
    """Read, decode, repair, write the model, report."""
    posed, qubo = load_posed(problem)
    found = qn.Samples.load(samples, qubo)
    with screen.working("Reading networks out of the samples ..."):
        decoding = decode_samples(posed.problem, found, qubo=qubo)
    result = decoding.result
    networks = result.feasible_networks[:committee] or result.networks[:1]
    classifier = posed.classifier(networks)
    save_model(classifier, posed.names, out)
    data = posed.problem.input_spins, posed.problem.output_spins
    right = int(is_right(classifier.committee_, posed.encoding.book, *data).sum())
    _report(screen, posed, found, decoding, classifier, right, out)
    if is_feasible_required and not result.is_feasible:
        screen.note("No network satisfies every constraint, as was asked for")
        click.get_current_context().exit(NOT_REACHED)


def load_posed(path: Path) -> tuple[PosedProblem, qn.Qubo]:
    """Read a problem's description and build its QUBO; the file of the QUBO must agree."""
    sidecar = Path(sidecar_of(path))
    if not sidecar.exists():
        raise FileFormatError(
            f"{path} must have its description {sidecar.name} beside it, as qubonn qubo writes it; "
            "there is none"
        )
    posed = load_problem(sidecar)
    qubo = posed.problem.qubo()
    file = path if path != sidecar else Path(str(path).removesuffix(SIDECAR))
    if file.suffix.lower() in READERS and file.exists() and qn.Qubo.load(file) != qubo:
        raise FileFormatError(
            f"{file} must be the QUBO that {sidecar.name} describes; it is another one: "
            "write both anew with qubonn qubo"
        )
    return posed, qubo


def _report(
    screen: Screen,
    posed: PosedProblem,
    samples: qn.Samples,
    decoding: Decoding,
    classifier: "qn.QuboClassifier",
    right: int,
    out: Path,
) -> None:
    result, repairs, examples = decoding.result, decoding.repairs, posed.problem.example_count
    certificate = result.certificate()
    lowered = sum(repair.is_descended for repair in repairs)
    facts, document = network_facts(classifier)
    screen.facts(
        [
            *problem_facts(posed),
            ("samples", f"{decoding.sample_count:,}, lowest energy {samples.best_energy:g}, "
                        f"{len(repairs):,} different ones decoded"),
            ("as sampled", f"{decoding.feasible_as_sampled:,} satisfy every constraint; "
                           f"the lowest breaks {repairs[0].sampled:,}"),
            ("repaired", f"{len(repairs) - lowered:,} by running the network forward, {lowered:,} "
                         "better by lowering the energy first"),
            ("after repair", f"{decoding.feasible_after_repair:,} satisfy every constraint"),
            ("best network", f"breaks {certificate.violations.count + certificate.terms.output:,} "
                             f"of {posed.problem.size.constraints:,} constraints, energy "
                             f"{certificate.terms.total:g}, S1 = {certificate.margins.s1}, "
                             f"S2 = {certificate.margins.s2}"),
            *facts[1:],
            ("training accuracy", f"{right / examples:.4f}  ({right} of {examples})"),
            ("model", f"{out}, {out.stat().st_size:,} bytes"),
        ]
    )  # fmt: skip
    screen.document(
        {
            "samples": decoding.sample_count,
            "lowest_energy": samples.best_energy,
            "feasible_as_sampled": decoding.feasible_as_sampled,
            "lowered_first": lowered,
            "feasible_after_repair": decoding.feasible_after_repair,
            "is_feasible": certificate.is_feasible,
            "violation_count": certificate.violations.count,
            "energy": certificate.terms.total,
            **document,
            "training_accuracy": right / examples,
            "model": str(out),
            "bytes": out.stat().st_size,
        }
    )
