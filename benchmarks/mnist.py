"""ForwardAnnealing on a few MNIST images a class, tested on all 10,000 test images.

    python benchmarks/mnist.py --mnist FOLDER [--seed 0]

FOLDER holds the four original files, train-images-idx3-ubyte.gz and so on. Pixels are binarised at
128, images drawn by the seed; 784-64-10, one-hot outputs, pairwise cost, margin 0.03 capped at 20.
"""

import argparse
import gzip
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import qubonn as qn
from tables import head, show


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mnist", type=Path, required=True, help="folder with the four .gz files")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    train_images, train_labels = (read(arguments.mnist, f"train-{part}") for part in PARTS)
    test_images, test_labels = (read(arguments.mnist, f"t10k-{part}") for part in PARTS)
    head("images a class", "sweeps", "single (mean of 10)", "vote of 10", "seconds a network")
    for per_class in (10, 40):
        rows = few(train_labels, per_class, arguments.seed)
        problem = problem_of(train_images[rows], train_labels[rows])
        for sweeps in (40, 200):
            show(per_class, sweeps, *measure(problem, sweeps, test_images, test_labels))


PARTS = ("images-idx3-ubyte.gz", "labels-idx1-ubyte.gz")


def read(folder: Path, name: str) -> NDArray[np.int64]:
    """Images as spins, one row each; labels as numbers."""
    data = gzip.decompress((folder / name).read_bytes())
    if "labels" in name:
        return np.frombuffer(data, np.uint8, offset=8).astype(np.int64)
    pixels = np.frombuffer(data, np.uint8, offset=16).reshape(-1, 784)
    return np.where(pixels >= 128, 1, -1)


def few(labels: NDArray[np.int64], per_class: int, seed: int) -> NDArray[np.int64]:
    generator = np.random.default_rng(seed)
    chosen = [
        generator.choice(np.flatnonzero(labels == digit), per_class, replace=False)
        for digit in range(10)
    ]
    return np.concatenate(chosen)


def problem_of(images: NDArray[np.int64], labels: NDArray[np.int64]) -> qn.TrainingProblem:
    outputs = qn.CodeBook.one_hot(range(10)).encode(labels)
    return qn.TrainingProblem(qn.Topology.dense(784, 64, 10), images, outputs, margin_strength=0.03)


def measure(
    problem: qn.TrainingProblem,
    sweeps: int,
    images: NDArray[np.int64],
    labels: NDArray[np.int64],
) -> list[str]:
    engine = qn.ForwardAnnealing(
        replica_count=10, sweep_count=sweeps, outputs="pairwise", margin_cap=20
    )
    engine.solve(problem, seed=1, time_limit=0.01)  # compile
    start = time.perf_counter()
    result = qn.train(problem, engine, seed=0)
    seconds = time.perf_counter() - start
    singles = [
        (qn.Committee([network], "sums").votes(images).argmax(axis=1) == labels).mean()
        for network in result.networks
    ]
    together = (qn.Committee(result.networks, "sums").votes(images).argmax(axis=1) == labels).mean()
    return [f"{100 * np.mean(singles):.1f} %", f"{100 * together:.1f} %", f"{seconds / 10:.2f}"]


if __name__ == "__main__":
    main()
