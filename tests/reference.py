"""Slow, obvious twins: the paper's equations term by term, with no QUBO and no vector in sight."""

from collections.abc import Iterator
from itertools import product
from math import floor, log2
from typing import Any

from numpy.typing import NDArray

import qubonn as qn
from qubonn.checks import SpinMatrix


def f(value: float) -> int:
    """The activation function, eq:dummy."""
    return 1 if value > 0 else -1


def top_bit(predecessor_count: int) -> int:
    """n_j, eq:n."""
    return floor(log2(predecessor_count + 1))


def slack(predecessor_count: int) -> int:
    """kappa_j, eq:kappa."""
    return int(2 ** (top_bit(predecessor_count) + 1)) - predecessor_count - 2


class Reading:
    """An assignment read label by label, as the paper writes it: d, v, y, chi, psi."""

    def __init__(self, problem: qn.TrainingProblem, bits: NDArray[Any]) -> None:
        self.topology = problem.topology
        self.examples = range(len(problem.input_spins))
        self.weight: list[float] = problem.weight_of_example.tolist()
        self.arcs_into: dict[int, list[int]] = {
            node: [] for node in range(self.topology.node_count)
        }
        for arc in range(self.topology.arc_count):
            self.arcs_into[int(self.topology.target_of[arc])].append(arc)
        self.value = {
            label: int(bit) for label, bit in zip(problem.variables.labels, bits, strict=True)
        }
        for weight, spin in enumerate(self.topology.known_weights.tolist()):
            if spin:
                self.value["weight", weight] = (spin + 1) // 2
        for node, spin in zip(self.neurons, self.topology.known_biases.tolist(), strict=True):
            if spin:
                self.value["bias", node] = (spin + 1) // 2
        for k in self.examples:
            for node in self.topology.inputs:
                self.value["activation", k, node] = 1  # the constant
            for node, spin in enumerate(problem.input_spins[k].tolist()):
                self.value["activation", k, node] = (spin + 1) // 2
            if problem.has_fixed_outputs:
                for i, node in enumerate(self.topology.outputs):
                    self.value["activation", k, node] = (int(problem.output_spins[k, i]) + 1) // 2

    @property
    def neurons(self) -> range:
        return range(self.topology.input_count, self.topology.node_count)

    def v(self, arc: int) -> int:
        return self.value["weight", int(self.topology.weight_of[arc])]

    def y(self, k: int, node: int) -> int:
        return self.value["activation", k, node]

    def d(self, node: int) -> int:
        return self.value["bias", node]

    def psi(self, k: int, arc: int) -> int:
        """The product variable, or its exact value where the source is known."""
        exact = self.v(arc) * self.y(k, int(self.topology.source_of[arc]))
        return self.value.get(("product", k, arc), exact)

    def chi(self, k: int, node: int) -> int:
        bits = range(top_bit(len(self.arcs_into[node])))
        return sum(2**bit * self.value["count", k, node, bit] for bit in bits)

    def residual(self, k: int, node: int) -> int:
        """Left minus right side of eq:training-activation-constraint2."""
        arcs = self.arcs_into[node]
        source = [int(self.topology.source_of[arc]) for arc in arcs]
        left = self.d(node) + sum(
            2 * self.psi(k, arc) - self.v(arc) - self.y(k, i) + 1
            for arc, i in zip(arcs, source, strict=True)
        )
        right = (
            2 ** top_bit(len(arcs)) * self.y(k, node) + self.chi(k, node) - slack(len(arcs)) // 2
        )
        return int(left - right)

    def h1(self) -> float:
        squares = ((k, self.residual(k, j) ** 2) for k in self.examples for j in self.neurons)
        return sum(self.weight[k] * square for k, square in squares)

    def h2(self) -> float:
        total = 0.0
        for k, arc in product(self.examples, range(self.topology.arc_count)):
            v, y = self.v(arc), self.y(k, int(self.topology.source_of[arc]))
            p = self.psi(k, arc)
            total += self.weight[k] * (v * y - 2 * (v * p + y * p) + 3 * p)
        return total

    def h_som(self) -> float:
        """eq:som-hamiltonian."""
        total = 0.0
        for k, j in product(self.examples, self.neurons):
            count = len(self.arcs_into[j])
            y = self.y(k, j)
            inner = 2 ** top_bit(count) * y + self.chi(k, j) - slack(count) // 2
            total += self.weight[k] * (2 * y - 1) * (2 * inner - count - 1)
        return total

    def h_ext(self, field: qn.Field) -> float:
        weights = sum(
            c * (2 * self.value["weight", w] - 1) for w, c in enumerate(field.weights.tolist())
        )
        biases = sum(
            c * (2 * self.d(node) - 1)
            for node, c in zip(self.neurons, field.biases.tolist(), strict=True)
        )
        return float(weights + biases)

    def h_decay(self) -> int:
        """The square of the sum of all free weights on the same arcs, unless it is one weight."""
        arcs_of: dict[int, list[tuple[int, int]]] = {}
        constant = self.topology.input_count - 1 if self.topology.has_constant else None
        for arc, weight in enumerate(self.topology.weight_of.tolist()):
            ends = int(self.topology.source_of[arc]), int(self.topology.target_of[arc])
            arcs_of.setdefault(weight, []).append(ends)
        together: dict[tuple[tuple[int, int], ...], list[int]] = {}
        for weight, arcs in arcs_of.items():
            is_known = bool(self.topology.known_weights[weight])
            if not is_known and all(source != constant for source, _ in arcs):
                spin = 2 * self.value["weight", weight] - 1
                together.setdefault(tuple(sorted(arcs)), []).append(spin)
        return sum(sum(spins) ** 2 for spins in together.values() if len(spins) > 1)

    def wrong_outputs(self, wanted: SpinMatrix) -> float:
        return sum(
            self.weight[k] * bool(2 * self.y(k, node) - 1 != wanted[k, i])
            for k in self.examples
            for i, node in enumerate(self.topology.outputs)
        )


def energy(problem: qn.TrainingProblem, bits: NDArray[Any]) -> float:
    """The whole Hamiltonian, term by term."""
    reading = Reading(problem, bits)
    total = (
        reading.h1()
        + problem.product_strength * reading.h2()
        - problem.margin_strength * reading.h_som()
        - reading.h_ext(problem.field)
        + problem.decay_strength * reading.h_decay()
    )
    if problem.output_strength is None:
        return total
    return total + problem.output_strength * reading.wrong_outputs(problem.output_spins)


def consistent_states(network: qn.BinaryNetwork, inputs: list[int]) -> Iterator[list[int]]:
    """All activations in which every neuron is f of what it listens to; cycles or not."""
    topology = network.topology
    for spins in product((-1, 1), repeat=topology.neuron_count):
        x = [*inputs, *[1] * topology.has_constant, *spins]
        sums = [0] * topology.node_count
        for arc in range(topology.arc_count):
            weight = int(network.weight_spins[topology.weight_of[arc]])
            sums[topology.target_of[arc]] += weight * x[topology.source_of[arc]]
        first = topology.input_count
        biases = network.bias_spins.tolist()
        if all(x[first + j] == f(sums[first + j] + b) for j, b in enumerate(biases)):
            yield x


def is_feasible(problem: qn.TrainingProblem, network: qn.BinaryNetwork) -> bool:
    """Whether every example has consistent activations with the wanted outputs."""
    first = problem.topology.outputs.start
    return all(
        any(
            state[first:] == problem.output_spins[k].tolist()
            for state in consistent_states(network, problem.input_spins[k].tolist())
        )
        for k in range(len(problem.input_spins))
    )


def all_networks(topology: qn.Topology) -> Iterator[qn.BinaryNetwork]:
    """Every choice of weights and biases that are not known."""
    count, known = topology.weight_count, topology.known_parameters.tolist()
    for spins in product(*((spin,) if spin else (-1, 1) for spin in known)):
        yield qn.BinaryNetwork(topology, spins[:count], spins[count:])
