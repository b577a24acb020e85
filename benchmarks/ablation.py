"""What each part of QuboClassifier's default engine contributes: one change at a time.

    python benchmarks/ablation.py --mnist FOLDER [--counts 2 10 40] [--seeds 100 101 102 103]

Draws from MNIST's training images, scored on 10,000 other training images; test images are not
used. 784-64-10, 8 networks per draw; accuracy of single networks and of all 8 as a committee, and
seconds per network on one thread. With --all: 50,000 of the training images, one network.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

import qubonn as qn
from fewshot.data import Mnist, Split
from fewshot.methods import HIDDEN, shares_right
from printing import head, show
from qubonn.encoding.shifts import copy_count
from qubonn.engines import InputNoise
from qubonn.estimator.default_engine import engine_for

MEMBERS = 8
Engine = qn.ForwardAnnealing


def less_soft(engine: Engine, factor: float) -> Engine:
    assert engine.softness is not None
    return replace(engine, softness=factor * engine.softness)


def other_target(engine: Engine, factor: float) -> Engine:
    assert engine.target_margin is not None
    return replace(engine, target_margin=2 * round(factor * engine.target_margin / 2))


def not_soft(engine: Engine) -> Engine:
    """Use exact changes of energy, with the temperatures that are measured for them."""
    return replace(engine, softness=None, hottest=1.0, coldest=1.0)


CHANGES: dict[str, tuple[float, Callable[[Engine], Engine]]] = {  # margin strength, engine
    "default": (0, lambda engine: engine),
    "neurons not soft": (0, not_soft),
    "neurons not soft, margins 0.03": (0.03, not_soft),
    "half as soft": (0, lambda engine: less_soft(engine, 0.5)),
    "twice as soft": (0, lambda engine: less_soft(engine, 2)),
    "half the target margin": (0, lambda engine: other_target(engine, 0.5)),
    "twice the target margin": (0, lambda engine: other_target(engine, 2)),
    "margins 0.03 as well": (0.03, lambda engine: engine),
    "inputs inverted, 3 %": (0, lambda engine: replace(engine, noise=InputNoise(inverted=0.03))),
    "inputs dropped, 15 %": (0, lambda engine: replace(engine, noise=InputNoise(dropped=0.15))),
    "ten times the temperature": (0, lambda engine: replace(engine, hottest=0.3, coldest=3)),
    "temperature near zero": (0, lambda engine: replace(engine, hottest=1e-6, coldest=1e-6)),
    "no quench": (0, lambda engine: replace(engine, quench_sweeps=0)),
    "a quench of 5 sweeps": (0, lambda engine: replace(engine, quench_sweeps=5)),
    "10 sweeps": (0, lambda engine: replace(engine, sweep_count=10)),
    "200 sweeps": (0, lambda engine: replace(engine, sweep_count=200)),
}
CHANGES_OF_MANY: dict[str, tuple[float, Callable[[Engine], Engine]]] = {
    "default": (0, lambda engine: engine),
    "no batches": (0, lambda engine: replace(engine, batches=None)),
    "no batches, 10 sweeps": (0, lambda engine: replace(engine, batches=None, sweep_count=10)),
    "neurons not soft": (0, lambda engine: replace(engine, softness=None)),
    "neurons not soft, margins 0.05 up to 6": (
        0.05,
        lambda engine: replace(engine, softness=None, margin_cap=6),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mnist", type=Path, required=True, help="folder with the four .gz files")
    parser.add_argument("--counts", nargs="+", type=int, default=[2, 10, 40])
    parser.add_argument("--seeds", nargs="+", type=int, default=[100, 101, 102, 103])
    parser.add_argument("--all", action="store_true", help="50,000 images instead of a few")
    arguments = parser.parse_args()
    mnist = Mnist.read(arguments.mnist)
    if arguments.all:
        head("change", "per cent; seconds")
        for name, (margin, change) in CHANGES_OF_MANY.items():
            share, _, seconds = measure(mnist.tuning_split(5_000, 100), 100, margin, change, 1)
            show(name, f"{100 * share:.2f}; {seconds:.1f} s")
        return
    head("change", *(f"{count} per class" for count in arguments.counts))
    ways = {
        name: partial(measure, margin=margin, change=change)
        for name, (margin, change) in CHANGES.items()
    }
    for name, way in (ways | {"images shifted by a pixel": measure_moved}).items():
        cells = []
        for count in arguments.counts:
            splits = [(mnist.tuning_split(count, seed), seed) for seed in arguments.seeds]
            found = np.mean([way(split, seed) for split, seed in splits], 0)
            cells.append(f"{100 * found[0]:.1f}, {100 * found[1]:.1f}; {found[2]:.2f} s")
        show(name, *cells)


def measure_moved(split: Split, seed: int) -> tuple[float, float, float]:
    """Measure the defaults on images and on copies shifted by a pixel."""
    return measure(split.shifted(), seed, 0, lambda engine: engine, copies=copy_count(1))


def measure(
    split: Split,
    seed: int,
    margin: float,
    change: Callable[[Engine], Engine],
    member_count: int = MEMBERS,
    copies: int = 1,
) -> tuple[float, float, float]:
    """Return the accuracy of single networks and of the committee, and seconds per network."""
    topology = qn.Topology.dense(split.train_spins.shape[1], HIDDEN, 10)
    outputs = qn.CodeBook.one_hot(range(10)).encode(split.train_classes)
    problem = qn.TrainingProblem(topology, split.train_spins, outputs, margin_strength=margin)
    engine = change(engine_for(problem, "largest", is_alone=False, copy_count=copies))
    engine = replace(engine, replica_count=member_count)
    replace(engine, sweep_count=1).solve(problem, time_limit=0.01)  # compile
    start = time.perf_counter()
    found = engine.solve(problem, seed=seed)
    seconds = (time.perf_counter() - start) / member_count
    networks = [found.network(number) for number in range(member_count)]
    return *shares_right(networks, split.test_spins, split.test_classes), seconds


if __name__ == "__main__":
    main()
