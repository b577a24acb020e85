"""What each part of QuboClassifier's default engine is good for: one thing changed at a time.

    python benchmarks/ablation.py --mnist FOLDER [--counts 2 10 40] [--seeds 100 101 102 103]

Draws from MNIST's training images, scored on 10,000 other training images: no test image is looked
at. 784-64-10, 8 networks a draw; per cent right of single networks and of all 8 together, and
seconds a network on one thread.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import qubonn as qn
from fewshot.data import Mnist, Split
from fewshot.methods import HIDDEN, shares_right
from qubonn.estimator.settings import engine_for
from tables import head, show

MEMBERS = 8
Engine = qn.ForwardAnnealing


def less_soft(engine: Engine, factor: float) -> Engine:
    assert engine.softness is not None
    return replace(engine, softness=factor * engine.softness)


def other_target(engine: Engine, factor: float) -> Engine:
    assert engine.target_margin is not None
    return replace(engine, target_margin=2 * round(factor * engine.target_margin / 2))


def not_soft(engine: Engine) -> Engine:
    """Judge by exact changes of energy, which need the heat that is measured for them."""
    return replace(engine, softness=None, hottest=1.0, coldest=1.0)


CHANGES: dict[str, tuple[float, Callable[[Engine], Engine]]] = {  # margin strength, engine
    "as it is": (0, lambda engine: engine),
    "neurons not soft": (0, not_soft),
    "neurons not soft, margins 0.03": (0.03, not_soft),
    "half as soft": (0, lambda engine: less_soft(engine, 0.5)),
    "twice as soft": (0, lambda engine: less_soft(engine, 2)),
    "half the target margin": (0, lambda engine: other_target(engine, 0.5)),
    "twice the target margin": (0, lambda engine: other_target(engine, 2)),
    "margins 0.03 as well": (0.03, lambda engine: engine),
    "inputs inverted, 3 %": (0, lambda engine: replace(engine, noise=qn.Noise(inverted=0.03))),
    "inputs dropped, 15 %": (0, lambda engine: replace(engine, noise=qn.Noise(dropped=0.15))),
    "ten times as hot": (0, lambda engine: replace(engine, hottest=0.3, coldest=3)),
    "no heat": (0, lambda engine: replace(engine, hottest=1e-6, coldest=1e-6)),
    "10 sweeps": (0, lambda engine: replace(engine, sweep_count=10)),
    "200 sweeps": (0, lambda engine: replace(engine, sweep_count=200)),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mnist", type=Path, required=True, help="folder with the four .gz files")
    parser.add_argument("--counts", nargs="+", type=int, default=[2, 10, 40])
    parser.add_argument("--seeds", nargs="+", type=int, default=[100, 101, 102, 103])
    arguments = parser.parse_args()
    mnist = Mnist.read(arguments.mnist)
    head("what is changed", *(f"{count} a class" for count in arguments.counts))
    for name, (margin, change) in CHANGES.items():
        cells = []
        for count in arguments.counts:
            splits = [(mnist.tuning_split(count, seed), seed) for seed in arguments.seeds]
            found = np.mean([measure(split, seed, margin, change) for split, seed in splits], 0)
            cells.append(f"{100 * found[0]:.1f}, {100 * found[1]:.1f}; {found[2]:.2f} s")
        show(name, *cells)


def measure(
    split: Split, seed: int, margin: float, change: Callable[[Engine], Engine]
) -> tuple[float, float, float]:
    """Return shares of right answers, single and together, and seconds a network."""
    topology = qn.Topology.dense(split.train_spins.shape[1], HIDDEN, 10)
    outputs = qn.CodeBook.one_hot(range(10)).encode(split.train_classes)
    problem = qn.TrainingProblem(topology, split.train_spins, outputs, margin_strength=margin)
    engine = replace(change(engine_for(problem, "pairwise", is_alone=False)), replica_count=MEMBERS)
    replace(engine, sweep_count=1).solve(problem)  # compile
    start = time.perf_counter()
    found = engine.solve(problem, seed=seed)
    seconds = (time.perf_counter() - start) / MEMBERS
    networks = [found.network(number) for number in range(MEMBERS)]
    return *shares_right(networks, split.test_spins, split.test_classes), seconds


if __name__ == "__main__":
    main()
