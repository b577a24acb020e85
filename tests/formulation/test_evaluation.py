"""The energy of any network on any assignment equals the paper's equations, term by term."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qubonn as qn
from reference import Reading, energy
from topology.random_graphs import with_known


@st.composite
def topologies(draw: st.DrawFn) -> qn.Topology:
    """Any small graph: skips, parallel arcs, shared weights, self loops, cycles, lonely nodes."""
    inputs = draw(st.integers(0, 3))
    outputs = draw(st.integers(1, 2))
    nodes = inputs + outputs + draw(st.integers(0, 3))
    arc = st.tuples(st.integers(0, nodes - 1), st.integers(inputs, nodes - 1))
    pairs = draw(st.lists(arc, max_size=8))
    names = draw(st.lists(st.integers(0, 4), min_size=len(pairs), max_size=len(pairs)))
    number = {name: index for index, name in enumerate(dict.fromkeys(names))}
    arcs = [(*pair, number[name]) for pair, name in zip(pairs, names, strict=True)]
    has_constant = inputs > 0 and draw(st.booleans())
    counts = {"inputs": inputs, "outputs": outputs, "nodes": nodes}
    return draw(with_known(qn.Topology.from_arcs(arcs, **counts, has_constant=has_constant)))


@st.composite
def problems(draw: st.DrawFn) -> qn.TrainingProblem:
    topology = draw(topologies())
    examples = draw(st.integers(1, 3))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    whole = draw(st.booleans())
    scale = (lambda value: int(value)) if whole else (lambda value: value / 4)
    field = qn.Field(
        generator.integers(-3, 4, topology.weight_count) / (1 if whole else 8),
        generator.integers(-3, 4, topology.neuron_count) / (1 if whole else 8),
    )
    return qn.TrainingProblem(
        topology,
        generator.normal(size=(examples, topology.column_count)).round(1),
        generator.choice([-1, 1], size=(examples, topology.output_count)),
        product_strength=scale(draw(st.integers(0, 5))),
        margin_strength=scale(draw(st.integers(0, 5))),
        field=draw(st.sampled_from([qn.Field.zero(topology), field])),
        output_strength=draw(st.sampled_from([None, scale(3), 0])),
        decay_strength=scale(draw(st.integers(0, 5))),
        example_weights=draw(
            st.sampled_from([None, 1 + np.arange(examples), (1 + np.arange(examples)) / 4])
        ),
    )


@settings(max_examples=300, deadline=None)
@given(problems(), st.integers(0, 2**32))
def test_every_term_and_the_total_equal_the_slow_twin_on_random_assignments(
    problem: qn.TrainingProblem, seed: int
) -> None:
    bits = np.random.default_rng(seed).integers(0, 2, problem.variables.count)
    reading = Reading(problem, bits)
    terms = problem.terms(bits)
    assert terms.activation == reading.h1() == problem.qubo("activation").energy(bits)
    assert terms.product == reading.h2() == problem.qubo("product").energy(bits)
    assert terms.margin == reading.h_som() == problem.qubo("margin").energy(bits)
    assert terms.field == reading.h_ext(problem.field) == problem.qubo("field").energy(bits)
    assert terms.decay == reading.h_decay() == problem.qubo("decay").energy(bits)
    assert terms.output == reading.wrong_outputs(problem.output_spins)
    # strengths are multiples of 1/4 and fields of 1/8, so float64 is exact here too
    assert terms.total == energy(problem, bits) == problem.qubo().energy(bits)


@settings(max_examples=100, deadline=None)
@given(problems(), st.integers(0, 2**32))
def test_violations_are_exactly_the_constraints_that_the_twin_finds_broken(
    problem: qn.TrainingProblem, seed: int
) -> None:
    bits = np.random.default_rng(seed).integers(0, 2, problem.variables.count)
    reading = Reading(problem, bits)
    found = {(v.kind, v.example, v.place): v.residual for v in problem.violations(bits)}
    expected = {
        ("activation", k, j): reading.residual(k, j)
        for k in reading.examples
        for j in reading.neurons
        if reading.residual(k, j) != 0
    }
    for kind, k, *rest in problem.variables.labels:
        if kind == "product":
            (arc,) = rest
            source = int(problem.topology.source_of[arc])
            error = reading.psi(k, arc) - reading.v(arc) * reading.y(k, source)
            if error:
                expected["product", k, arc] = error
    assert found == expected
    assert len(problem.violations(bits)) == len(expected)


@settings(max_examples=50, deadline=None)
@given(problems(), st.integers(0, 2**32))
def test_qubo_ising_and_dimod_give_the_same_energies(
    problem: qn.TrainingProblem, seed: int
) -> None:
    bits = np.random.default_rng(seed).integers(0, 2, problem.variables.count)
    qubo = problem.qubo()
    model = qubo.to_dimod()
    sample = dict(zip(qubo.labels, bits.tolist(), strict=True))
    assert qubo.energy(bits) == qubo.to_ising().energy(2 * bits - 1) == model.energy(sample)


@pytest.mark.parametrize("number", range(18))
@pytest.mark.parametrize("strengths", [{}, {"margin_strength": 2}, {"output_strength": 5}])
def test_the_papers_networks_have_exact_integer_energies(
    number: int, strengths: dict[str, Any]
) -> None:
    letters = qn.datasets.letters(seed=0)
    problem = qn.TrainingProblem(
        qn.paper.topology(number), letters.train_inputs, letters.train_outputs, **strengths
    )
    qubo = problem.qubo()
    bits = np.random.default_rng(number).integers(0, 2, (3, qubo.variable_count))
    assert qubo.linear.dtype == qubo.couplings.dtype == np.int64
    assert [energy(problem, row) for row in bits] == qubo.energy(bits).tolist()


@pytest.mark.parametrize("weight_levels", [2, 3, 4, (3, 5)])
@pytest.mark.parametrize("threshold_levels", [2, 5])
def test_weights_of_several_levels_decay_and_thresholds_do_not(
    weight_levels: Any, threshold_levels: int
) -> None:
    levels = {"weight_levels": weight_levels, "threshold_levels": threshold_levels}
    topology = qn.Topology.dense(3, 2, 1, **levels)
    problem = qn.TrainingProblem(topology, [[1, 1, -1]], [[1]], decay_strength=7)
    qubo = problem.qubo()
    bits = np.random.default_rng(0).integers(0, 2, (20, qubo.variable_count))
    assert qubo.is_exact
    assert [energy(problem, row) for row in bits] == qubo.energy(bits).tolist()
    assert [problem.terms(row).total for row in bits] == qubo.energy(bits).tolist()
    ones = qn.BinaryNetwork(topology, [1] * topology.weight_count, [1] * 3)
    sizes = np.array(weight_levels if isinstance(weight_levels, tuple) else [weight_levels] * 2) - 1
    squares = np.where(sizes > 1, sizes**2, 0) * [6, 2]
    assert problem.certify(ones).terms.decay == squares.sum()


def test_without_levels_the_decay_changes_nothing() -> None:
    topology = qn.Topology.parse("conv(2x2)", inputs=(3, 3), outputs=1)
    plain = qn.TrainingProblem(topology, [[1] * 9], [[1]])
    assert replace(plain, decay_strength=3).qubo() == plain.qubo()


def test_a_fractional_strength_makes_the_coefficients_float64() -> None:
    problem = qn.TrainingProblem(qn.Topology.dense(2, 2, 1), [[1, 1]], [[1]], margin_strength=0.02)
    assert problem.qubo().linear.dtype == np.float64
    whole = qn.TrainingProblem(qn.Topology.dense(2, 2, 1), [[1, 1]], [[1]], product_strength=2.0)
    assert whole.qubo().linear.dtype == np.int64


def test_variables_come_in_the_documented_order() -> None:
    problem = qn.TrainingProblem(
        qn.Topology.from_arcs([(0, 2), (1, 2), (2, 3), (3, 2)], inputs=2, outputs=1),
        [[1, 1], [-1, 1]],
        [[1], [-1]],
    )
    assert list(problem.qubo().labels) == [
        *[("weight", w) for w in range(4)],
        *[("bias", 2), ("bias", 3)],
        *[("activation", 0, 2), ("activation", 1, 2)],
        *[("count", k, *place) for k in (0, 1) for place in ((2, 0), (2, 1), (3, 0))],
        *[("product", 0, 2), ("product", 1, 2)],
    ]
    assert problem.qubo().labels[-1] == ("product", 1, 2)
    assert problem.qubo().labels[:2] == [("weight", 0), ("weight", 1)]


def test_no_variable_is_made_for_what_is_known() -> None:
    arcs = [(0, 1), (0, 2), (2, 1), (1, 2)]  # output 2 is listened to by hidden node 1
    topology = qn.Topology.from_arcs(arcs, inputs=1, outputs=1)
    fixed = qn.TrainingProblem(topology, [[1]], [[1]])
    free = qn.TrainingProblem(topology, [[1]], [[1]], output_strength=1)
    kinds = [label for label in fixed.variables.labels if label[0] in ("activation", "product")]
    assert kinds == [("activation", 0, 1), ("product", 0, 3)]
    kinds = [label for label in free.variables.labels if label[0] in ("activation", "product")]
    assert kinds == [
        ("activation", 0, 1),
        ("activation", 0, 2),
        ("product", 0, 2),
        ("product", 0, 3),
    ]
