"""What other formulations of H1 ask of an Ising machine, and how well they anneal.

    python benchmarks/formulations.py [networks] [shared]

networks  networks 5, 8 and 10 on the letters, seed 0, alpha 4; 500 replicas, 1,000 sweeps, seed 0;
          the last columns count samples whose network is feasible by its forward pass, with exact
          coefficients and with Ising coefficients rounded to 7 and 6 bits
shared    variables and couplings with and without `share=True`

All formulations have the same networks of zero energy:
binary, 4, 2, unary  encodings of the counts; the first is the paper's
shared               `share=True`: equal patches of two letters share their variables
outputs x 2          H1 and H2 of the output neurons, which have few inputs, times 2
adders of 7, of 3    each sum as a tree of adders of at most 7 or 3 bits of one weight, with
                     carry bits
"""

import sys
import warnings
from dataclasses import replace

import numpy as np
from sklearn.datasets import load_iris

import qubonn as qn
from printing import head, problem_of, show
from qubonn.quadratic import Hamiltonian
from qubonn.quadratic.hardware import hardware_of, rounded

ALPHA = 4
Form = dict[int | None, int]  # coefficient of each variable; of None: the constant


def main() -> None:
    tables = {"networks": networks, "shared": shared}
    for name in sys.argv[1:] or tables:
        tables[name]()
        print()


def networks() -> None:
    head(
        *("network", "formulation", "variables", "couplings", "degree", "QUBO range"),
        *("Ising range", "Ising bits", "Zephyr 12 qubits", "lowest energy (samples)"),
        *("feasible of 500", "7 bits", "6 bits"),
    )
    for number in (5, 8, 10):
        paper = replace(problem_of(number), product_strength=ALPHA)
        rows = {str(one): replace(paper, encoding=one) for one in ("binary", 4, 2, "unary")}
        rows["shared"] = replace(paper, share=True)
        for name, problem in rows.items():
            row(number, name, problem, problem.qubo())
        row(number, "outputs x 2", paper, scaled(paper, 2))
        for size in (7, 3):
            row(number, f"adders of {size}", paper, with_adders(paper, size))


def row(number: int, name: str, problem: qn.TrainingProblem, qubo: qn.Qubo) -> None:
    asked = hardware_of(qubo)
    sampler = qn.SimulatedAnnealing(replica_count=500, sweep_count=1000)
    found = [sampler.sample(one, seed=0) for one in (qubo, rounded(qubo, 7), rounded(qubo, 6))]
    energies = found[0].energies
    show(
        *(number, name, asked.variable_count, f"{asked.coupling_count:,}"),
        f"{asked.mean_degree:.0f}, at most {asked.largest_degree}",
        *(f"{low:g} to {high:g}" for low, high in (asked.qubo_range, asked.ising_range)),
        *(asked.ising_bits, f"{asked.embeddings[1].qubits:,}"),
        f"{energies.min():g} ({(energies == energies.min()).sum()})",
        *(feasible_count(problem, samples) for samples in found),
    )


def feasible_count(problem: qn.TrainingProblem, samples: qn.Samples) -> int:
    spins = zip(*problem.variables.parameter_spins(samples.bits), strict=True)
    made = (qn.BinaryNetwork(problem.topology, *one) for one in spins)
    return sum(problem.certify(network).is_feasible for network in made)


def shared() -> None:
    head("problem", "examples", "variables", "shared", "couplings", "shared")
    for number in (0, 1, 2, 3, 4, 5, 6, 7):
        sizes(f"letters, network {number}", problem_of(number))
    iris = load_iris()
    for count in (3, 10, 50):
        rows = np.concatenate([np.arange(count) + 50 * label for label in range(3)])
        for spins in (1, 2):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = qn.pose(iris.data[rows], iris.target[rows], hidden=2, binariser=spins)
            sizes(f"iris, {spins} spins a column, hidden=2", made.problem)


def sizes(name: str, problem: qn.TrainingProblem) -> None:
    plain, other = problem.qubo(), replace(problem, share=True).qubo()
    counts = plain.variable_count, other.variable_count, plain.coupling_count, other.coupling_count
    show(name, problem.example_count, *(f"{count:,}" for count in counts))


def scaled(problem: qn.TrainingProblem, factor: int) -> qn.Qubo:
    """Multiply H1 of the outputs and H2, whose arcs lead to them."""
    outputs = [
        form for node, form in forms(problem, None) if node >= problem.topology.outputs.start
    ]
    more = squares(outputs) + ALPHA * problem.hamiltonian("product")
    return (problem.hamiltonian() + (factor - 1) * more).to_qubo(problem.variables.count)


def with_adders(problem: qn.TrainingProblem, size: int) -> qn.Qubo:
    """Give each sum a tree of adders; the count bits of the paper remain, unused and at 0."""
    made = [form for _, form in forms(problem, size)]
    energy = squares(made) + ALPHA * problem.hamiltonian("product")
    used = {v for form in made for v in form if v is not None}
    used |= set(range(problem.variables.starts[2]))
    place = np.cumsum(np.isin(np.arange(max(used) + 1), list(used))) - 1
    parts = [
        (place[rows.astype(np.int64)], place[columns.astype(np.int64)], values)
        for rows, columns, values in energy.parts
    ]
    return Hamiltonian(tuple(parts), energy.offset).to_qubo(len(used))


def forms(problem: qn.TrainingProblem, size: int | None) -> list[tuple[int, Form]]:
    """Return what H1 squares, with its node: one form for each neuron and example, or adders."""
    found: list[tuple[int, Form]] = []
    unused = [problem.variables.count]
    for example in range(problem.example_count):
        for node in range(problem.topology.input_count, problem.topology.node_count):
            terms, own = terms_of(problem, example, node), activation(problem, example, node)
            structure, neuron = problem.variables.structure, node - problem.topology.input_count
            top, shift = int(structure.top_bit[neuron]), int(structure.shift[neuron])
            if size is None:
                places = np.flatnonzero(structure.count_neuron == neuron)
                counts = problem.variables.count_variables[example, places].tolist()
                weights = structure.count_weight[places].tolist()
                bits = [({bit: 1}, -weight) for bit, weight in zip(counts, weights, strict=True)]
                whole = [(term, 1) for term in terms] + [
                    ({None: 1}, shift),
                    (own, -(2**top)),
                    *bits,
                ]
                found.append((node, total(whole)))
            else:
                found += [(node, form) for form in adders(terms, own, top, shift, size, unused)]
    return found


def adders(
    terms: list[Form], own: Form, top: int, shift: int, size: int, unused: list[int]
) -> list[Form]:
    """Add bits of one weight, at most `size` at a time, until each weight has one; the top is y."""
    columns: list[list[Form]] = [[{None: 1}] * (shift >> place & 1) for place in range(top + 1)]
    columns[0] += terms
    found = []
    for place in range(top):
        while len(columns[place]) > 1:
            some, columns[place] = columns[place][:size], columns[place][size:]
            parts = [(term, 1) for term in some]
            for higher in range(min(len(some).bit_length(), top + 1 - place)):
                bit: Form = {unused[0]: 1}
                unused[0] += 1
                columns[place + higher].append(bit)
                parts.append((bit, -(2**higher)))
            found.append(total(parts))
    return [*found, total([*((term, 1) for term in columns[top]), (own, -1)])]


def terms_of(problem: qn.TrainingProblem, example: int, node: int) -> list[Form]:
    """Return the terms of the sum of a neuron: its bias, and 2 * psi - v - y + 1 of each arc."""
    topology, variables = problem.topology, problem.variables
    found: list[Form] = [{int(variables.bias_variables[node - topology.input_count]): 1}]
    for arc in np.flatnonzero(topology.target_of == node).tolist():
        weight = int(variables.weight_variables[topology.weight_of[arc]])
        source = activation(problem, example, int(topology.source_of[arc]))
        if list(source) == [None]:
            found.append({weight: 1} if source[None] else {weight: -1, None: 1})
        else:
            rank = np.searchsorted(variables.structure.product_arcs, arc)
            product = int(variables.product_variables[example, rank])
            found.append(total([({product: 2, weight: -1, None: 1}, 1), (source, -1)]))
    return found


def activation(problem: qn.TrainingProblem, example: int, node: int) -> Form:
    variable = int(problem.variables.activation_variables[example, node])
    return (
        {variable: 1} if variable >= 0 else {None: int(problem.variables.known_bits[example, node])}
    )


def total(parts: list[tuple[Form, int]]) -> Form:
    found: Form = {}
    for form, factor in parts:
        for variable, value in form.items():
            found[variable] = found.get(variable, 0) + factor * value
    return found


def squares(some: list[Form]) -> Hamiltonian:
    """Return the sum of the squares of forms."""
    parts, offset = [], 0
    for form in some:
        constant = form.get(None, 0)
        variables = np.array([v for v in form if v is not None])
        values = np.array([value for v, value in form.items() if v is not None])
        first, second = np.triu_indices(len(values))
        factors = np.where(first == second, 1, 2) * values[first] * values[second]
        factors[first == second] += 2 * constant * values
        parts.append((variables[first], variables[second], factors))
        offset += constant**2
    return Hamiltonian(tuple(parts), offset)


if __name__ == "__main__":
    main()
