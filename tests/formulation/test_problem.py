"""Wrong input to a training problem gets one sentence: what must hold, what came, what to do."""

import re
import time
from typing import Any

import numpy as np
import pytest

import qubonn as qn
from qubonn.errors import AlphabetError, QubonnError, RangeError, ShapeError, TopologyError

TOPOLOGY = qn.Topology.dense(2, 2, 1)
INPUTS = [[1, 1], [1, -1], [-1, 1]]
OUTPUTS = [[1], [-1], [-1]]
PROBLEM = qn.TrainingProblem(TOPOLOGY, INPUTS, OUTPUTS)
FREE = qn.TrainingProblem(TOPOLOGY, INPUTS, OUTPUTS, output_strength=1)
NETWORK = qn.BinaryNetwork.random(TOPOLOGY, seed=0)
COUNT = PROBLEM.variables.count
NAN, INFINITY = float("nan"), float("inf")


def refused(
    error: type[QubonnError], inputs: Any = INPUTS, outputs: Any = OUTPUTS, **strengths: Any
) -> str:
    """The sentence with which a problem is refused; it names its subject first."""
    with pytest.raises(error) as caught:
        qn.TrainingProblem(TOPOLOGY, inputs, outputs, **strengths)
    return str(caught.value)


class TestInputs:
    @pytest.mark.parametrize("bad", [NAN, INFINITY, -INFINITY])
    def test_must_be_finite_and_the_first_other_one_is_named(self, bad: float) -> None:
        said = refused(AlphabetError, inputs=[[1, 1], [1, bad], [bad, 1]])
        what, todo = said.split(": ")
        assert what == f"inputs must be finite; got {bad} in row 1, column 1"
        assert todo == "fill in or remove such rows first"

    @pytest.mark.parametrize(
        ("inputs", "shape", "hint"),
        [
            ([1, 1], "(2,)", "; give one example as a matrix of one row"),
            (np.ones((3, 5)), "(3, 5)", ""),
            (np.ones((2, 3)), "(2, 3)", "; examples are rows: transpose it"),
            (np.ones((3, 1, 2)), "(3, 1, 2)", "; flatten each example, with values.reshape"),
            (1.0, "()", ""),
        ],
    )
    def test_must_have_a_column_for_each_input_neuron(
        self, inputs: Any, shape: str, hint: str
    ) -> None:
        said = refused(ShapeError, inputs=inputs)
        start = f"inputs must have 2 columns, one per input neuron; got shape {shape}{hint}"
        assert said.startswith(start)

    def test_must_be_rectangular(self) -> None:
        assert refused(ShapeError, inputs=[[1, 1], [1]]) == (
            "inputs must be a rectangular array; got rows of unequal length"
        )

    @pytest.mark.parametrize(
        ("inputs", "said"),
        [
            ([["a", "b"]], "text such as 'a': encode it first"),
            ([[None, 1]], "None among them: replace it by a number first"),
            ([[1j, 1]], "complex128: turn it into real numbers"),
        ],
    )
    def test_must_be_numbers(self, inputs: Any, said: str) -> None:
        assert refused(AlphabetError, inputs=inputs).startswith(
            f"inputs must hold numbers; got {said}"
        )

    def test_must_have_at_least_one_row(self) -> None:
        assert refused(ShapeError, inputs=np.ones((0, 2)), outputs=np.ones((0, 1))) == (
            "inputs must have at least one row, one per example; got none"
        )
        assert "inputs must have 2 columns" in refused(ShapeError, inputs=[], outputs=[])


class TestOutputs:
    def test_must_not_be_bits_and_the_message_says_how_to_make_spins(self) -> None:
        assert refused(AlphabetError, outputs=[[1], [0], [0]]) == (
            "outputs must be -1 or +1; got 0 in row 1, column 0; "
            "turn bits into spins with 2 * bits - 1"
        )
        assert "2 * bits - 1" in refused(AlphabetError, outputs=[[True], [False], [True]])

    @pytest.mark.parametrize("bad", [2, 0.5, NAN, -7])
    def test_must_be_spins_and_the_message_names_the_first_other_one(self, bad: float) -> None:
        said = refused(AlphabetError, outputs=[[1], [-1], [bad]])
        assert said.startswith(f"outputs must be -1 or +1; got {bad} in row 2, column 0; turn ")
        assert "CodeBook" in said

    def test_must_not_be_class_names(self) -> None:
        assert refused(AlphabetError, outputs=[["yes"], ["no"], ["no"]]) == (
            "outputs must hold numbers; got text such as 'yes': "
            "encode it first, classes with a CodeBook"
        )

    def test_must_be_as_many_as_the_inputs(self) -> None:
        assert refused(ShapeError, outputs=[[1], [1]]) == (
            "outputs must have 3 rows, one per example; got 2"
        )

    def test_must_have_a_column_for_each_output_neuron(self) -> None:
        said = refused(ShapeError, outputs=[[1, 1]] * 3)
        assert said == "outputs must have 1 columns, one per output neuron; got shape (3, 2)"

    def test_must_be_a_column_where_there_is_one_output(self) -> None:
        said = refused(ShapeError, outputs=[1, -1, -1])
        assert said.endswith("got shape (3,); give a vector as one column, with values[:, None]")

    def test_must_be_there(self) -> None:
        assert refused(ShapeError, outputs=np.ones((0, 1))) == (
            "outputs must have at least one row, one per example; got none"
        )


STRENGTHS = ["product_strength", "margin_strength", "decay_strength"]


@pytest.mark.parametrize("name", [*STRENGTHS, "output_strength"])
@pytest.mark.parametrize("bad", [-1, -0.5, NAN, INFINITY, True, "1", [1], 1j])
def test_strengths_must_be_finite_numbers_of_at_least_zero(name: str, bad: Any) -> None:
    said = refused(RangeError, **{name: bad})
    shown = repr(bad) if isinstance(bad, str) else str(bad)
    assert said == f"{name} must be a finite number, at least 0; got {shown}"


@pytest.mark.parametrize("name", STRENGTHS)
def test_strengths_that_are_always_there_must_not_be_none(name: str) -> None:
    assert refused(RangeError, **{name: None}).endswith("at least 0; got None")


class TestField:
    def test_must_fit_the_topology(self) -> None:
        said = refused(ShapeError, field=qn.Field(np.zeros(5), np.zeros(3)))
        assert said == "field must have 6 weights and 3 biases; got 5 and 3"

    @pytest.mark.parametrize("bad", [NAN, INFINITY])
    def test_must_be_finite(self, bad: float) -> None:
        with pytest.raises(AlphabetError, match="field weights must be finite; got"):
            qn.Field(np.array([0, bad]), np.zeros(3))
        with pytest.raises(AlphabetError, match="field biases must be finite; got"):
            qn.Field(np.zeros(2), np.array([bad]))

    @pytest.mark.parametrize("bad", [np.zeros((2, 3)), np.array(1.0)])
    def test_must_hold_vectors(self, bad: Any) -> None:
        with pytest.raises(ShapeError, match="field weights must be a vector of numbers; got"):
            qn.Field(bad, np.zeros(3))

    def test_must_hold_numbers(self) -> None:
        with pytest.raises(AlphabetError, match="field weights must hold numbers; got text"):
            qn.Field(np.array(["a"]), np.zeros(3))

    @pytest.mark.parametrize("bad", [[1.0, 2.0], (1, 2), "strong"])
    def test_must_be_a_field(self, bad: Any) -> None:
        with pytest.raises(ShapeError, match=r"field must be a Field\(weights, biases\)"):
            qn.TrainingProblem(qn.Topology.dense(1, 1), [[1]], [[1]], field=bad)


@pytest.mark.parametrize("bad", [[2, 2, 1], "fc(2)", None, qn.BinaryNetwork])
def test_the_topology_must_be_one(bad: Any) -> None:
    with pytest.raises(
        TopologyError,
        match=r"topology must be a Topology, for example Topology\.dense\(25, 3, 2\); got "
        + type(bad).__name__,
    ):
        qn.TrainingProblem(bad, INPUTS, OUTPUTS)


@pytest.mark.parametrize("bad", ["H1", "", "Activation", 1])
def test_a_term_must_be_one_of_those_that_are_listed(bad: Any) -> None:
    message = rf"term must be 'activation', 'product', .* got {re.escape(repr(bad))}$"
    for build in (PROBLEM.qubo, PROBLEM.hamiltonian, FREE.qubo):
        with pytest.raises(RangeError, match=message):
            build(bad)


def test_the_output_term_exists_only_where_outputs_are_free() -> None:
    with pytest.raises(RangeError, match="where output_strength is given, 'output'; got 'output'"):
        PROBLEM.qubo("output")
    assert FREE.qubo("output").energy(FREE.encode(NETWORK)) >= 0


@pytest.mark.parametrize("evaluate", [PROBLEM.decode, PROBLEM.terms, PROBLEM.violations])
class TestBits:
    @pytest.mark.parametrize("length", [0, 1, COUNT - 1, COUNT + 1])
    def test_must_be_one_for_each_variable(self, evaluate: Any, length: int) -> None:
        with pytest.raises(
            ShapeError,
            match=rf"bits must have {COUNT} values, one per variable; got shape \({length},\)",
        ):
            evaluate(np.zeros(length))

    def test_must_not_be_spins(self, evaluate: Any) -> None:
        with pytest.raises(
            AlphabetError,
            match=r"bits must be 0 or 1; got -1 at place 0; turn spins into bits with \(spins",
        ):
            evaluate([-1] + [1] * (COUNT - 1))

    @pytest.mark.parametrize("bad", [2, 0.5, NAN])
    def test_must_be_zero_or_one(self, evaluate: Any, bad: float) -> None:
        with pytest.raises(AlphabetError, match=f"bits must be 0 or 1; got {bad} at place 1"):
            evaluate([0, bad] + [1] * (COUNT - 2))

    def test_must_be_numbers(self, evaluate: Any) -> None:
        with pytest.raises(AlphabetError, match="bits must hold numbers; got text such as '0'"):
            evaluate(["0"] * COUNT)

    def test_must_be_one_assignment_and_not_a_matrix_of_them(self, evaluate: Any) -> None:
        with pytest.raises(
            ShapeError,
            match=rf"bits must be one assignment, .* got shape \(2, {COUNT}\): .* one by one",
        ):
            evaluate(np.zeros((2, COUNT)))


@pytest.mark.parametrize("use", [PROBLEM.encode, PROBLEM.certify, PROBLEM.assignment])
class TestNetwork:
    def test_must_have_the_topology_of_the_problem(self, use: Any) -> None:
        other = qn.BinaryNetwork.random(qn.Topology.dense(2, 3, 1), seed=0)
        with pytest.raises(
            TopologyError,
            match=r"must have the problem's topology, Topology\(2 -> 2.*; got Topology\(2 -> 3",
        ):
            use(other)

    def test_must_have_activations_for_each_example_and_node_where_they_are_given(
        self, use: Any
    ) -> None:
        with pytest.raises(ShapeError, match=r"activations must have 5 columns, one per node; got"):
            use(NETWORK, [[1]])
        with pytest.raises(
            ShapeError, match="activations must have 3 rows, one per example; got 1"
        ):
            use(NETWORK, [[1, 1, 1, 1, 1]])
        with pytest.raises(AlphabetError, match=r"activations must be -1 or \+1; got 0 in row 0"):
            use(NETWORK, [[0, 0, 0, 0, 0]] * 3)

    def test_must_have_activations_that_agree_with_the_data(self, use: Any) -> None:
        with pytest.raises(QubonnError, match="activations must agree with the inputs"):
            use(NETWORK, -np.ones((3, 5)))


class TestMemory:
    def test_a_qubo_larger_than_the_memory_is_refused_at_once(self) -> None:
        topology = qn.Topology.dense(784, 500, 10)
        problem = qn.TrainingProblem(topology, np.ones((10_000, 784)), np.ones((10_000, 10)))
        start = time.perf_counter()
        with pytest.raises(
            RangeError,
            match=r"a QUBO of up to [\d,]+ couplings needs about [\d.,]+ GiB and [\d.]+ GiB are "
            "free: use fewer examples or a smaller network",
        ):
            problem.qubo()
        assert time.perf_counter() - start < 5

    def test_what_fits_is_built_and_what_does_not_is_not(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("qubonn.checks.HARMLESS_BYTES", 0)
        monkeypatch.setattr("qubonn.checks.free_memory", lambda: 1 << 30)
        assert PROBLEM.qubo().variable_count == COUNT
        monkeypatch.setattr("qubonn.checks.free_memory", lambda: 1000)
        with pytest.raises(RangeError, match=r"needs about 0\.0 GiB and 0\.0 GiB are free"):
            PROBLEM.qubo()

    def test_a_network_is_certified_without_the_qubo_that_would_not_fit(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("qubonn.checks.HARMLESS_BYTES", 0)
        monkeypatch.setattr("qubonn.checks.free_memory", lambda: 1000)
        assert PROBLEM.certify(NETWORK).terms == PROBLEM.terms(PROBLEM.encode(NETWORK))


def test_refused_data_leave_nothing_changed() -> None:
    inputs, outputs = np.array(INPUTS), np.array([[1], [0], [-1]])
    refused(AlphabetError, inputs=inputs, outputs=outputs)
    assert inputs.tolist() == INPUTS
    assert outputs.tolist() == [[1], [0], [-1]]
    assert inputs.flags.writeable


class TestTheConstant:
    topology = qn.Topology.dense(2, 2, 1, weight_levels=3, threshold_levels=4)
    problem = qn.TrainingProblem(topology, INPUTS, OUTPUTS)

    def test_is_no_column_of_the_inputs(self) -> None:
        assert self.problem.input_spins.tolist() == INPUTS
        with pytest.raises(ShapeError, match="inputs must have 2 columns, one per input neuron"):
            qn.TrainingProblem(self.topology, np.ones((3, 3)), OUTPUTS)

    def test_is_known_and_has_neither_activations_nor_products(self) -> None:
        kinds: dict[str, list[Any]] = {}
        for label in self.problem.variables.labels:
            kinds.setdefault(label[0], []).append(label)
        sources = {int(self.topology.source_of[arc]) for _, _, arc in kinds["product"]}
        assert (self.problem.variables.known_bits[:, 2] == 1).all()
        assert {node for _, _, node in kinds["activation"]} == sources == {3, 4}
        assert len(kinds["weight"]) == self.topology.weight_count == 2 * (4 + 2) + 4 + 2

    def test_is_there_when_networks_are_encoded_decoded_and_certified(self) -> None:
        problem = qn.TrainingProblem(self.topology, INPUTS, OUTPUTS, margin_strength=0.5)
        for seed in range(20):
            network = qn.BinaryNetwork.random(self.topology, seed=seed)
            bits = problem.encode(network)
            certificate = problem.certify(network)
            assert problem.decode(bits) == network
            assert problem.qubo().energy(bits) == certificate.terms.total
            assert certificate.violations.count == problem.violations(bits).count
            if certificate.is_feasible:
                assert certificate.margins.s2 == network.margins(INPUTS).s2

    def test_must_be_positive_where_activations_are_given(self) -> None:
        network = qn.BinaryNetwork.random(self.topology, seed=0)
        spins = self.problem.assignment(network).activation_spins.copy()
        spins[1, 2] = -1
        with pytest.raises(AlphabetError, match="example 1 has -1 at node 2, where the problem"):
            self.problem.certify(network, spins)


def test_an_example_of_weight_two_is_the_same_as_the_example_twice() -> None:
    weighed = qn.TrainingProblem(TOPOLOGY, INPUTS, OUTPUTS, example_weights=[2, 1, 1])
    rows = [0, *range(len(INPUTS))]
    twice = PROBLEM.of_examples(np.array(rows))
    for seed in range(5):
        spins = np.random.default_rng(seed).choice([-1, 1], TOPOLOGY.weight_count)
        network = qn.BinaryNetwork(TOPOLOGY, spins, np.ones(TOPOLOGY.neuron_count, dtype=int))
        assert weighed.certify(network).terms == twice.certify(network).terms
    assert "int64" in repr(weighed.qubo())


@pytest.mark.parametrize(
    ("weights", "words"),
    [([1, 1], "one per example"), ([1, -1, 1], "negative"), ([0] * 3, "positive")],
)
def test_wrong_weights_of_examples_are_refused(weights: list[int], words: str) -> None:
    with pytest.raises(qn.QubonnError, match=words):
        qn.TrainingProblem(TOPOLOGY, INPUTS, OUTPUTS, example_weights=weights)


def test_weights_that_are_all_one_are_no_weights() -> None:
    problem = qn.TrainingProblem(TOPOLOGY, INPUTS, OUTPUTS, example_weights=[1.0] * 3)
    assert problem.example_weights is None
