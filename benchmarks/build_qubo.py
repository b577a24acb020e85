"""Time and memory of building a QUBO, compared with dimod.

    python benchmarks/build_qubo.py [--figure growth.png]

Table 1: the paper's 18 networks on the letters, best of several: ``problem.qubo()`` of a new
problem on a topology that was used before; dimod building the same model from existing
dictionaries; dimod's expression algebra building it symbolically. Table 2: problems of growing
size, each in its own process, with its peak memory.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import dimod
import numpy as np

import qubonn as qn

GROWTH = [(784, 16, 10, 5), (784, 16, 10, 10), (784, 16, 10, 25), (784, 16, 10, 50)]
GROWTH += [(784, 16, 10, 100), (784, 16, 10, 200), (784, 32, 10, 200), (196, 64, 10, 100)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", help="where to draw time and memory against couplings")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure_one(json.loads(arguments.one))))
        return
    compare_with_dimod()
    rows = show_growth()
    if arguments.figure:
        draw_growth(rows, arguments.figure)


def compare_with_dimod() -> None:
    print(
        "Paper networks, milliseconds (best of 200 / 200 / 3); how many times longer dimod takes\n"
    )
    print("| network | couplings | qubonn | dimod, dictionaries | dimod, symbolic |")
    print("|---|---|---|---|---|")
    for number in range(18):
        compare_one(number)


def compare_one(number: int) -> None:
    letters = qn.datasets.letters(seed=0)
    topology = qn.paper.topology(number)

    def new_problem() -> qn.TrainingProblem:
        return qn.TrainingProblem(topology, letters.train_inputs, letters.train_outputs)

    qubo = new_problem().qubo()
    linear = dict(enumerate(qubo.linear.tolist()))
    pairs = zip(qubo.rows.tolist(), qubo.columns.tolist(), strict=True)
    quadratic = dict(zip(pairs, qubo.couplings.tolist(), strict=True))
    fresh = [new_problem() for _ in range(200)]
    ours = best_of(200, lambda: fresh.pop().qubo())
    given = best_of(
        200, lambda: dimod.BinaryQuadraticModel(linear, quadratic, qubo.offset, "BINARY")
    )
    symbolic = best_of(3, lambda: symbolic_model(new_problem()))
    assert_same(qubo, symbolic_model(new_problem()))
    print(
        f"| {number} | {qubo.coupling_count} | {ours:.2f} | {given:.2f} ({given / ours:.1f}x) "
        f"| {symbolic:.0f} ({symbolic / ours:.0f}x) |"
    )


def symbolic_model(problem: qn.TrainingProblem) -> Any:
    """Return the paper's H1 + H2, written with dimod's algebra as its users would."""
    topology, variables = problem.topology, problem.variables
    symbol = {label: dimod.Binary(label) for label in variables.labels}
    known = variables.structure.is_known
    model = dimod.BinaryQuadraticModel("BINARY")
    for k in range(problem.example_count):
        y = [
            int(variables.known_bits[k, node]) if known[node] else symbol["activation", k, node]
            for node in range(topology.node_count)
        ]
        for neuron, node in enumerate(range(topology.input_count, topology.node_count)):
            form = symbol["bias", node] + int(variables.structure.shift[neuron])
            for arc in topology.arcs_into(node).tolist():
                source, weight = (
                    topology.source_of[arc],
                    symbol["weight", int(topology.weight_of[arc])],
                )
                if known[source]:
                    form += (2 * y[source] - 1) * weight + (1 - y[source])
                    continue
                product = symbol["product", k, arc]
                form += 2 * product - weight - y[source] + 1
                model += weight * y[source] - 2 * (weight * product + y[source] * product)
                model += 3 * product
            top_bit = int(variables.structure.top_bit[neuron])
            form -= 2**top_bit * y[node]
            for bit in range(top_bit):
                form -= 2**bit * symbol["count", k, node, bit]
            model += form * form
    return model


def assert_same(qubo: qn.Qubo, model: Any) -> None:
    bits = np.random.default_rng(0).integers(0, 2, (5, qubo.variable_count))
    energies = model.energies((bits, list(qubo.labels)))
    assert np.array_equal(energies, qubo.energy(bits))


def best_of(count: int, build: Callable[[], object]) -> float:
    seconds = []
    for _ in range(count):
        start = time.perf_counter()
        build()
        seconds.append(time.perf_counter() - start)
    return 1000 * min(seconds)


def show_growth() -> list[dict[str, float]]:
    print("\nGrowth (each in a new process; memory is the peak of the process over its start)\n")
    print("| network | images | couplings | seconds | GiB | ns per coupling | bytes per coupling |")
    print("|---|---|---|---|---|---|---|")
    rows = []
    for case in GROWTH:
        command = [sys.executable, __file__, "--one", json.dumps(case)]
        row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        rows.append(row)
        couplings, seconds, memory = row["couplings"], row["seconds"], row["bytes"]
        print(
            f"| {'-'.join(map(str, case[:-1]))} | {case[-1]} | {couplings:,} | {seconds:.2f} "
            f"| {memory / 2**30:.2f} | {1e9 * seconds / couplings:.0f} | {memory / couplings:.0f} |"
        )
    return rows


def measure_one(case: list[int]) -> dict[str, float]:
    *sizes, image_count = case
    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(image_count, sizes[0]))
    outputs = generator.choice([-1, 1], size=(image_count, sizes[-1]))
    qn.TrainingProblem(qn.Topology.dense(4, 2, 1), inputs[:1, :4], [[1]]).qubo()  # imports
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    start = time.perf_counter()
    qubo = qn.TrainingProblem(qn.Topology.dense(*sizes), inputs, outputs).qubo()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"couplings": qubo.coupling_count, "seconds": seconds, "bytes": peak - before}


def draw_growth(rows: list[dict[str, float]], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    millions = np.array([row["couplings"] for row in rows]) / 1e6
    for axes, name, unit, scale in (
        (left, "seconds", "seconds", 1.0),
        (right, "bytes", "GiB at the peak", 2.0**-30),
    ):
        values = np.array([row[name] for row in rows]) * scale
        slope = (values @ millions) / (millions @ millions)
        axes.plot([0, millions.max()], [0, slope * millions.max()], color="0.6", lw=1)
        axes.plot(millions, values, "o", color="#0072B2")
        axes.set(xlabel="million couplings", ylabel=unit, xlim=(0, None), ylim=(0, None))
        axes.set_title(f"{slope:.3f} {unit} a million", fontsize=10)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
