"""Scaling of both engines: time of a sweep and memory by examples, inputs and hidden neurons.

    python benchmarks/scaling.py [--picture FILE.png]

Random +-1 examples, one-hot outputs, inputs-hidden-10; one replica on one thread for
ForwardAnnealing (pairwise outputs, margin 0.03 capped at 20), 16 replicas in lanes for
LiftedAnnealing (its time is divided by 16). Each point runs in its own process, at a temperature
between hottest and coldest, after two sweeps to warm up. Times are processor times; memory is the
peak of the process minus that of the same run on a tiny problem. No QUBO is built.
"""

import argparse
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import qubonn as qn
from printing import head, show
from qubonn.engines import forward, lifted

LARGEST = {
    "forward": {"examples": 10_000, "inputs": 784, "hidden": 128},
    "lifted": {"examples": 1_000, "inputs": 196, "hidden": 32},
}
SHARES = {"examples": [64, 16, 4, 1], "inputs": [16, 4, 1], "hidden": [16, 4, 1]}
LEAST_SECONDS = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, help="also draw the table")
    arguments = parser.parse_args()
    rows: list[tuple[str, str, int, float, float]] = []
    head("engine", "varied", "size", "ms per sweep", "megabytes")
    for engine, largest in LARGEST.items():
        least = measured(engine, {"examples": 64, "inputs": 10, "hidden": 2})[1]
        for name, shares in SHARES.items():
            for size in (largest[name] // share for share in shares):
                seconds, memory = measured(engine, largest | {name: size})
                rows.append((engine, name, size, 1e3 * seconds, memory - least))
                show(engine, name, f"{size:,}", f"{rows[-1][3]:.1f}", f"{rows[-1][4]:.0f}")
    if arguments.picture:
        draw(rows, arguments.picture)


def measured(engine: str, sizes: dict[str, int]) -> tuple[float, float]:
    """Seconds of a sweep of one replica, and megabytes, in a separate process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, engine, sizes).result()


def measure(engine: str, sizes: dict[str, int]) -> tuple[float, float]:
    problem, replicas = random_problem(**sizes), 1
    advance: Callable[[int], None]
    if engine == "forward":
        settings = qn.ForwardAnnealing(
            replica_count=1, reading="largest", margin_cap=20, thread_count=1
        )
        hottest, coldest = forward.measured_temperatures(problem, settings)
        run = forward.ForwardRun(problem, settings, 0)
        warm = np.sqrt(hottest * coldest)
        advance = lambda sweeps: run.sweep(np.tile(warm, (sweeps, 1)))  # noqa: E731
    else:
        replicas = 16
        slower = qn.LiftedAnnealing(replica_count=16, violation="linear", thread_count=1)
        other = lifted.LiftedRun(problem, slower, 0, lanes=16)
        rows = np.full((1, 3), 5.0)
        advance = lambda sweeps: other.sweep(np.tile(rows, (sweeps, 1)))  # noqa: E731
    advance(2)
    sweeps, start = 0, time.process_time()
    while time.process_time() - start < LEAST_SECONDS:
        advance(1)
        sweeps += 1
    seconds = (time.process_time() - start) / sweeps / replicas
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def random_problem(examples: int, inputs: int, hidden: int) -> qn.TrainingProblem:
    generator = np.random.default_rng(0)
    labels = generator.integers(10, size=examples)
    prototypes = generator.normal(size=(10, inputs))
    return qn.TrainingProblem(
        qn.Topology.dense(inputs, hidden, 10),
        prototypes[labels] + 2 * generator.normal(size=(examples, inputs)),
        qn.CodeBook.one_hot(range(10)).encode(labels),
        margin_strength=0.03,
    )


def draw(rows: list[tuple[str, str, int, float, float]], path: Path) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(9, 5), sharey="row", layout="constrained")
    for column, name in enumerate(SHARES):
        for engine, marker in zip(LARGEST, "os", strict=True):
            chosen = [row for row in rows if row[:2] == (engine, name)]
            sizes = [row[2] for row in chosen]
            axes[0, column].loglog(sizes, [row[3] for row in chosen], marker + "-", label=engine)
            axes[1, column].loglog(sizes, [row[4] for row in chosen], marker + "-", label=engine)
        axes[1, column].set_xlabel(name)
        for row in range(2):
            axes[row, column].grid(alpha=0.3)
    axes[0, 0].set_ylabel("ms a sweep, one replica")
    axes[1, 0].set_ylabel("MB")
    axes[0, 0].legend()
    figure.suptitle(
        "forward: 784-128-10, 10,000 examples; lifted: 196-32-10, 1,000; one size varies; one core"
    )
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
