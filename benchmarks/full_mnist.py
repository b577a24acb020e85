"""All 60,000 MNIST images, 784-128-10: accuracy of a network against seconds of training.

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
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import qubonn as qn
from fewshot.data import Mnist, Split
from fewshot.methods import (
    byte_counts,
    code_of_ours,
    code_of_straight_through,
    record_of,
    shares_right,
)
from fewshot.study import settings_of
from printing import head, show
from qubonn.estimator.default_engine import engine_for
from qubonn.experiments import Record, Run, Setting, Store, Study, complete, workers
from qubonn.experiments.tables import mean_and_spread
from straight_through import Settings, train_network

HIDDEN = 128
SWEEPS = (5, 10, 20, 40)
EPOCHS = (1, 2, 5, 10, 20)
RATES, BATCH_SIZES, SCALES, TUNING_EPOCHS = (0.003, 0.01, 0.03, 0.1), (64, 256), (1.0, 2.0, 4.0), 5
HELD_OUT = 10_000
STORE = Path(__file__).resolve().parent / "results" / "full_mnist.sqlite"
OURS, STRAIGHT = "annealing", "straight-through"


@dataclass(frozen=True, kw_only=True)
class FullMnist(Study):
    """One network by either method; the seed of a training is part of its setting."""

    name: str = "full-mnist"
    folder: Path

    @property
    def spec(self) -> dict[str, Any]:
        """Everything else is part of the settings."""
        return {"name": self.name, "hidden": HIDDEN}

    def perform(self, setting: Setting, seed: int, prepared: Record) -> Record:
        """Train a network, and count its right answers on images that it has not seen."""
        images = images_of(self.folder)
        images = held_out(images) if setting["is_tuning"] else images
        train = anneal if setting["method"] == OURS else descend
        network, seconds = train(images, setting)
        share, _ = shares_right([network], images.test_spins, images.test_classes)
        return record_of(share, None, seconds, *byte_counts([network]))


def main() -> None:
    arguments = parse()
    seeds = arguments.seeds
    tried = [
        Settings(learning_rate=rate, batch_size=size, output_scale=scale, epoch_count=TUNING_EPOCHS)
        for rate, size, scale in product(RATES, BATCH_SIZES, SCALES)
    ]
    tuning = [straight(100, settings, is_tuning=True) for settings in tried]
    study = FullMnist(settings=tuple(tuning), folder=arguments.mnist)
    with Store.open(arguments.store, study) as store:
        shares = [record["single"] for record in trained(study, store, tuning)]
        settings = tried[int(np.argmax(shares))]
        curves = {
            OURS: [
                trained(study, store, [ours(seed, sweeps) for seed in seeds]) for sweeps in SWEEPS
            ],
            STRAIGHT: [
                trained(
                    study,
                    store,
                    [straight(seed, replace(settings, epoch_count=epochs)) for seed in seeds],
                )
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


@cache
def images_of(folder: Path) -> Split:
    return Mnist.read(folder).whole()


def ours(seed: int, sweeps: int) -> Setting:
    known = {"method": OURS, "sweeps": sweeps, "seed": seed, "is_tuning": False}
    return known | {"code": code_of_ours()}


def straight(seed: int, settings: Settings, *, is_tuning: bool = False) -> Setting:
    known = {"method": STRAIGHT, **asdict(settings), "seed": seed, "is_tuning": is_tuning}
    return known | {"code": code_of_straight_through()}


def trained(study: FullMnist, store: Store, settings: Sequence[Setting]) -> list[Record]:
    """Return the records of the settings, from the store if they are there."""
    runs = [Run(setting, 0) for setting in settings]
    with workers() as parallel:
        count = complete(study, store, runs, parallel)
    records = {row.run.key: row.record for row in store.rows()}
    found = [records[run.key] for run in runs]
    shares = ", ".join(f"{100 * record['single']:.2f} %" for record in found)
    print(f"{dict(settings[0])}: {shares}; {count} trained now", file=sys.stderr, flush=True)
    return found


def anneal(images: Split, setting: Setting) -> tuple[qn.BinaryNetwork, float]:
    """Return a network of the default engine, and the seconds that it took."""
    book = qn.CodeBook.one_hot(range(10))
    topology = qn.Topology.dense(784, HIDDEN, 10)
    few = qn.TrainingProblem(topology, images.train_spins[:9], book.encode(np.arange(9)))
    engine_for(few, "largest", is_alone=True).solve(few)  # compile
    start = time.perf_counter()
    outputs = book.encode(images.train_classes)
    problem = qn.TrainingProblem(topology, images.train_spins, outputs)
    engine = engine_for(problem, "largest", is_alone=True)
    found = replace(engine, sweep_count=setting["sweeps"]).solve(problem, seed=setting["seed"])
    return found.network(), time.perf_counter() - start


def descend(images: Split, setting: Setting) -> tuple[qn.BinaryNetwork, float]:
    """Return a network that is trained by gradients, and the seconds that it took."""
    examples, start = (images.train_spins, images.train_classes), time.perf_counter()
    settings = settings_of(setting)
    network = train_network(*examples, HIDDEN, 10, settings=settings, seed=setting["seed"])
    return network, time.perf_counter() - start


def report(curves: dict[str, list[list[Record]]], settings: Settings) -> None:
    """Print a table of all points, and the settings of the gradients."""
    head("method", "sweeps or epochs", "seconds", "per cent of the test images", "bytes")
    for method, numbers in ((OURS, SWEEPS), (STRAIGHT, EPOCHS)):
        for number, results in zip(numbers, curves[method], strict=True):
            seconds = mean_and_spread([one["training_seconds"] for one in results], 1)
            percent = mean_and_spread([100 * one["single"] for one in results], 2)
            show(method, number, seconds, percent, f"{results[0]['byte_count']:,}")
    print(f"\nstraight-through: {settings}, chosen on training images; qubonn {qn.__version__}")


def draw(curves: dict[str, list[list[Record]]], path: Path) -> None:
    """Draw how right networks are against the seconds that they were trained."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
    for (method, points), mark in zip(curves.items(), "os", strict=True):
        seconds = [np.mean([one["training_seconds"] for one in results]) for results in points]
        shares = np.array([[100 * one["single"] for one in results] for results in points])
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
