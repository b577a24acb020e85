"""All 60,000 MNIST images, 784-128-10: how right a network is after so many seconds of training.

    python benchmarks/full_mnist.py --mnist FOLDER [--seeds 0 1 2 3 4] [--picture FILE]

One network annealed by the default engine of QuboClassifier, with fewer or more sweeps, beside one
trained by gradients with straight-through slopes, with fewer or more epochs. Each point is a
training of its own, cooled or slowed down to the end of its own time; seconds are of wall clock.
Annealing one network takes one thread; OMP_NUM_THREADS=1 in the environment gives gradients one
too. Rate, batch size and output scale of the gradients are chosen with 50,000 of the training
images on the other 10,000; ours has its defaults. Each training is committed to the store as it
ends: the same command goes on where it was stopped.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import qubonn as qn
from fewshot.data import Mnist, Split
from fewshot.methods import byte_counts, code_of_ours, code_of_straight_through, shares_right
from fewshot.report import mean_and_spread
from fewshot.store import Key, Result, Store, opened
from qubonn.estimator.default_engine import engine_for
from straight_through import Settings, train_network
from tables import head, show

HIDDEN = 128
SWEEPS = (5, 10, 20, 40)
EPOCHS = (1, 2, 5, 10, 20)
RATES, BATCH_SIZES, SCALES, TUNING_EPOCHS = (0.003, 0.01, 0.03, 0.1), (64, 256), (1.0, 2.0, 4.0), 5
HELD_OUT = 10_000
STORE = Path(__file__).resolve().parent / "results" / "full_mnist.sqlite"
OURS, STRAIGHT = "annealing", "straight-through"


def main() -> None:
    arguments = parse()
    images = Mnist.read(arguments.mnist).whole()
    with opened(arguments.store) as store:
        settings = tuned(store, held_out(images))
        curves = {
            OURS: [ours(store, images, arguments.seeds, sweeps) for sweeps in SWEEPS],
            STRAIGHT: [
                straight(store, images, arguments.seeds, replace(settings, epoch_count=epochs))
                for epochs in EPOCHS
            ],
        }
    report(curves, settings)
    if arguments.picture:
        draw(curves, arguments.picture)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mnist", type=Path, required=True, help="folder with the four .gz files")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--picture", type=Path, help="draw accuracy against time here")
    return parser.parse_args()


def held_out(images: Split) -> Split:
    """Return the training images in two parts; the second takes the place of test images."""
    order = np.random.default_rng(0).permutation(len(images.train_pixels))
    rest, some = order[HELD_OUT:], order[:HELD_OUT]
    pixels, classes = images.train_pixels, images.train_classes
    return Split(images.level, pixels[rest], classes[rest], pixels[some], classes[some])


def ours(store: Store, images: Split, seeds: Sequence[int], sweeps: int) -> list[Result]:
    """Train with so many sweeps, once for each seed."""
    book = qn.CodeBook.one_hot(range(10))
    topology = qn.Topology.dense(784, HIDDEN, 10)

    def network(seed: int) -> qn.BinaryNetwork:
        outputs = book.encode(images.train_classes)
        problem = qn.TrainingProblem(topology, images.train_spins, outputs)
        engine = replace(engine_for(problem, "largest", is_alone=True), sweep_count=sweeps)
        return engine.solve(problem, seed=seed).network()

    few = qn.TrainingProblem(topology, images.train_spins[:9], book.encode(np.arange(9)))
    engine_for(few, "largest", is_alone=True).solve(few)  # compile
    named = {"sweeps": sweeps, "code": code_of_ours()}
    return [once(store, OURS, seed, named, images, network) for seed in seeds]


def straight(store: Store, images: Split, seeds: Sequence[int], settings: Settings) -> list[Result]:
    """Train by gradients, once for each seed."""

    def network(seed: int) -> qn.BinaryNetwork:
        examples = images.train_spins, images.train_classes
        return train_network(*examples, HIDDEN, 10, settings=settings, seed=seed)

    named = {"settings": repr(settings), "code": code_of_straight_through()}
    return [once(store, STRAIGHT, seed, named, images, network) for seed in seeds]


def tuned(store: Store, images: Split) -> Settings:
    """Return the settings that are right most often on training images that were held out."""
    tried = [
        Settings(learning_rate=rate, batch_size=size, output_scale=scale, epoch_count=TUNING_EPOCHS)
        for rate, size, scale in product(RATES, BATCH_SIZES, SCALES)
    ]
    shares = [straight(store, images, [100], settings)[0].single for settings in tried]
    return tried[int(np.argmax(shares))]


def once(
    store: Store,
    method: str,
    seed: int,
    named: dict[str, Any],
    images: Split,
    network_of: Callable[[int], qn.BinaryNetwork],
) -> Result:
    """Return the result of one training, from the store if it is there."""
    key = Key.of("full", 0, seed, method, {**named, "examples": len(images.train_spins)})
    found = store.get(key)
    if found is None:
        start = time.perf_counter()
        network = network_of(seed)
        seconds = time.perf_counter() - start
        share, _ = shares_right([network], images.test_spins, images.test_classes)
        found = Result(share, None, seconds, *byte_counts([network]))
        store.add(key, found, seconds)
        what = f"{method}, seed {seed}, {named}: {100 * share:.2f} %, {seconds:.1f} s"
        print(what, file=sys.stderr, flush=True)
    return found


def report(curves: dict[str, list[list[Result]]], settings: Settings) -> None:
    """Print a table of all points, and the settings of the gradients."""
    head("method", "sweeps or epochs", "seconds", "per cent of the test images", "bytes")
    for method, numbers in ((OURS, SWEEPS), (STRAIGHT, EPOCHS)):
        for number, results in zip(numbers, curves[method], strict=True):
            seconds = mean_and_spread([one.seconds for one in results], 1)
            percent = mean_and_spread([100 * one.single for one in results], 2)
            show(method, number, seconds, percent, f"{results[0].byte_count:,}")
    print(f"\nstraight-through: {settings}, chosen on training images; qubonn {qn.__version__}")


def draw(curves: dict[str, list[list[Result]]], path: Path) -> None:
    """Draw how right networks are against the seconds that they were trained."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
    for (method, points), mark in zip(curves.items(), "os", strict=True):
        seconds = [np.mean([one.seconds for one in results]) for results in points]
        shares = np.array([[100 * one.single for one in results] for results in points])
        axes.plot(seconds, shares.mean(axis=1), marker=mark, label=method)
        axes.fill_between(seconds, shares.min(axis=1), shares.max(axis=1), alpha=0.2)
    axes.set(
        xscale="log",
        xlabel="seconds of training",
        ylabel="per cent of 10,000 test images",
        title="MNIST, 60,000 images, 784-128-10, all weights -1 or +1",
    )
    axes.set_xticks([3, 5, 10, 20, 40], labels=["3", "5", "10", "20", "40"])
    axes.set_xticks([], minor=True)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
