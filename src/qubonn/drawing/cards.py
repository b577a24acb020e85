"""Cards: a record as a small table, for notebooks; commands print the same facts as text.

Topology, Qubo, Samples, TrainingProblem, TrainingResult -> names and values -> HTML.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from qubonn.checks import IntVector
from qubonn.drawing.pages import render
from qubonn.drawing.palette import HIDDEN, INPUT, OUTPUT

if TYPE_CHECKING:
    import qubonn as qn

Facts = Iterator[tuple[str, str]]  # names and values
MOST_LABELS = 100_000  # that are counted by kind
MOST_DOTS = 5  # of a layer


def card(title: str, facts: Iterable[tuple[str, str]], topology: Any = None) -> str:
    """Return a table in the colours of the page around it, with a sketch of a topology's layers.

    >>> card("<Card>", [("a & b", "1")]).count("&amp;")
    1
    """
    layers = [] if topology is None else _layers(topology)
    colours = (INPUT, HIDDEN, OUTPUT)
    return render("card.html", title=title, facts=facts, layers=layers, colours=colours)


def topology_facts(topology: "qn.Topology") -> Facts:
    """Return the size of a network; levels of weights and thresholds unless all are two."""
    yield "inputs", f"{topology.column_count:,}"
    yield "hidden", f"{topology.hidden_count:,}"
    yield "outputs", f"{topology.output_count:,}"
    yield "levels", f"{len(topology.levels()):,}" if topology.is_acyclic else "cyclic"
    yield "arcs", f"{topology.arc_count:,}"
    yield "weights", f"{topology.weight_count:,}"
    yield "biases", f"{topology.neuron_count:,}"
    for name, known in (("weights", topology.known_weights), ("biases", topology.known_biases)):
        if known.any():
            yield f"known {name}", f"{np.count_nonzero(known):,}"
    own = np.delete(np.arange(topology.arc_count), topology.constant_arcs)
    pairs = topology.source_of[own] * topology.node_count + topology.target_of[own]
    yield from _levels_fact("weight levels", np.unique(pairs, return_counts=True)[1] + 1)
    neurons = topology.target_of[topology.constant_arcs] - topology.input_count
    thresholds = np.bincount(neurons, minlength=topology.neuron_count) + 2
    yield from _levels_fact("threshold levels", thresholds)


def problem_facts(problem: "qn.TrainingProblem") -> Facts:
    """Return examples, network, outputs, strengths and size of a training problem."""
    free, size = problem.output_strength, problem.size
    yield "network", repr(problem.topology).removeprefix("Topology(").removesuffix(")")
    yield "examples", f"{problem.example_count:,}"
    yield "outputs", "fixed" if free is None else f"free, {free:g} for each wrong one"
    yield "strengths", f"product {problem.product_strength:g}, margin {problem.margin_strength:g}"
    yield "constraints", f"{size.constraints:,}"
    yield "QUBO variables", f"{size.qubo_variables:,}"
    if problem.contradictions:
        yield "contradictions", str(problem.contradictions)


def qubo_facts(qubo: "qn.Qubo") -> Facts:
    """Return the size of a QUBO, the kinds of its variables and the range of its values."""
    count = qubo.variable_count
    yield "variables", f"{count:,}"
    kinds = Counter(map(_kind, qubo.labels)) if count <= MOST_LABELS else Counter[str]()
    if set(kinds) - {"other"}:
        yield "by kind", ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
    pairs = count * (count - 1) // 2
    density = f" ({qubo.coupling_count / pairs:.1%} of all pairs)" if pairs else ""
    yield "couplings", f"{qubo.coupling_count:,}{density}"
    if qubo.coupling_count:
        yield "coupling values", f"{qubo.couplings.min():g} to {qubo.couplings.max():g}"
    if count:
        yield "linear values", f"{qubo.linear.min():g} to {qubo.linear.max():g}"
    yield "offset", f"{qubo.offset:g}"
    yield "numbers", "whole numbers, exact" if qubo.is_exact else "floating point"


def samples_facts(samples: "qn.Samples") -> Facts:
    """Return the number of states, their energies and why the solver stopped."""
    yield "states", f"{len(samples):,}"
    yield "variables", f"{samples.bits.shape[1]:,}"
    if len(samples):
        lowest = int((samples.energies == samples.energies[0]).sum())
        yield "lowest energy", f"{samples.best_energy:g}, {lowest:,} of {len(samples):,} states"
        yield "median energy", f"{np.median(samples.energies):g}"
        yield "highest energy", f"{samples.energies[-1]:g}"
    yield from _run_facts(samples)


def result_facts(result: "qn.TrainingResult") -> Facts:
    """Return the networks of a run, and the certificate of the best one."""
    certificate, topology = result.certificate(), result.problem.topology
    terms, margins = certificate.terms, certificate.margins
    violations = f"{certificate.violations.count:,} of {result.problem.size.constraints:,}"
    bits = topology.weight_count + topology.neuron_count
    yield "networks", f"{len(result.networks):,} distinct"
    yield "energies", f"{result.energies[0]:g} to {result.energies[-1]:g}"
    yield "best network", "feasible" if certificate.is_feasible else "not feasible"
    yield "violations", f"{violations} constraints"
    yield "terms", f"H1 = {terms.activation:g}, H2 = {terms.product:g}, total {terms.total:g}"
    yield "margins", f"S1 = {margins.s1:,}, S2 = {margins.s2:,}"
    yield "parameters", f"{bits:,} bits, {-(-bits // 8):,} bytes"
    yield "solver", result.solver
    if result.history:
        yield "iterations", f"{len(result.history):,}"
    yield from _run_facts(result)


def _run_facts(run: "qn.Samples | qn.TrainingResult") -> Facts:
    """Return why a run stopped, and the plain numbers of its records."""
    yield "stop", run.stop.value
    for name, value in run.info.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield (
                name.replace("_", " "),
                f"{value:,.4g}" if isinstance(value, float) else f"{value:,}",
            )


def _levels_fact(name: str, levels: IntVector) -> Facts:
    """Yield the number of levels, or the least and the most, unless all are two."""
    most = levels.max(initial=2)
    least = levels.min(initial=most)
    if most > 2:
        yield name, f"{most}" if least == most else f"{least} to {most}"


def _kind(label: Any) -> str:
    is_named = isinstance(label, tuple) and label and isinstance(label[0], str)
    return label[0] if is_named else "other"


def _layers(topology: "qn.Topology") -> list[tuple[str, int]]:
    """Return for each layer its shape and the number of dots that stand for it."""
    shapes = topology.layer_shapes
    if shapes is None:
        counts = topology.column_count, topology.hidden_count, topology.output_count
        shapes = tuple((count,) for count in counts if count)
    return [("x".join(map(str, s)), min(int(np.prod(s)), MOST_DOTS)) for s in shapes]
