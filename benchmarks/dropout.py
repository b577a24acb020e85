"""Dropout on the letters and mini-batches on scikit-learn's digits.

    python benchmarks/dropout.py [letters] [digits] [warm] [--runs N]

Without arguments: all tables with 20 runs per row, in about ten minutes on two cores.
letters  networks 10 and 12, the paper's settings, LiftedAnnealing
digits   1,400 images in batches, compared with one problem of all images, ForwardAnnealing
warm     the same with short anneals that start warm or cold
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import qubonn as qn
from printing import head, problem_of, show, timed


def main() -> None:
    tables = {"letters": letters, "digits": digits, "warm": warm}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="table", help=", ".join(tables))
    parser.add_argument("--runs", type=int, default=20)
    arguments = parser.parse_args()
    unknown = set(arguments.tables) - set(tables)
    if unknown:
        parser.error(f"tables are {', '.join(tables)}; got {', '.join(unknown)}")
    for name in arguments.tables or tables:
        tables[name](arguments.runs)
        print(flush=True)


# ---- dropout ----


def letters(runs: int) -> None:
    print(f"### Dropout on the letters, {runs} runs a row\n")
    head(
        "network",
        "learning rate",
        "hidden dropped",
        "test mean",
        "min",
        "max",
        "committee",
        "training",
        "unsatisfied %",
        "seconds",
    )
    for number in (10, 12):
        problem = problem_of(number)
        letters_row(number, "none", "", runs, partial(qn.train, problem))
        for rate in (0.01, 0.05, 0.1, 0.5):
            for dropped in (0, 1, 2):
                dropout = qn.Dropout(dropped_inputs=5, dropped_hidden=dropped, learning_rate=rate)
                train = partial(qn.train_with_dropout, problem, dropout)
                letters_row(number, rate, dropped, runs, train)


def letters_row(
    number: int, rate: object, dropped: object, runs: int, train: Callable[..., Any]
) -> None:
    data = qn.datasets.letters(seed=0)
    train(seed=0)  # compile
    rows = []
    for seed in range(runs):
        seconds, result = timed(partial(train, seed=seed))
        rows.append(
            (
                result.network.accuracy(data.test_inputs, data.test_outputs),
                result.committee().accuracy(data.test_inputs, data.test_outputs),
                result.network.accuracy(data.train_inputs, data.train_outputs),
                100 * result.found_violations.fraction,
                seconds,
            )
        )
    table = np.array(rows)
    test, committee, training, unsatisfied, seconds = table.mean(axis=0)
    show(
        number,
        rate,
        dropped,
        f"{test:.3f}",
        f"{table[:, 0].min():.3f}",
        f"{table[:, 0].max():.3f}",
        f"{committee:.3f}",
        f"{training:.3f}",
        f"{unsatisfied:.2f}",
        f"{seconds:.2f}",
    )


# ---- mini-batches ----

ROUNDS = qn.Dropout(violation_decay=1, final="batch")  # no node dropped
ENGINE = qn.ForwardAnnealing(reading="largest", replica_count=8, sweep_count=60, margin_cap=12)


class Digits:
    """1,400 training and 397 test images; pixels are binarised at half of the range."""

    def __init__(self) -> None:
        from sklearn.datasets import load_digits

        images, classes = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(images))
        spins = np.where(images[order] > 7.5, 1, -1).astype(np.int8)
        outputs = qn.CodeBook.one_hot(range(10)).encode(classes[order])
        self.problem = qn.TrainingProblem(
            qn.Topology.dense(64, 32, 10), spins[:1400], outputs[:1400], margin_strength=0.03
        )
        self.inputs, self.outputs = spins[1400:], outputs[1400:]

    def scores(self, result: qn.TrainingResult) -> tuple[float, float]:
        """Mean accuracy of the networks found, by largest output, and accuracy of their vote."""
        alone = [
            qn.Committee([network], reading="largest").accuracy(self.inputs, self.outputs)
            for network in result.networks
        ]
        vote = qn.Committee(result.networks, reading="largest").accuracy(self.inputs, self.outputs)
        return float(np.mean(alone)), vote

    def row(self, runs: int, train: Callable[..., qn.TrainingResult], *cells: object) -> None:
        """Show the mean scores of the runs, and seconds per run."""
        seconds, scores = timed(lambda: [self.scores(train(seed=seed)) for seed in range(runs)])
        single, vote = np.mean(scores, axis=0)
        show(*cells, f"{single:.3f}", f"{vote:.3f}", f"{seconds / runs:.1f}")


def digits(runs: int) -> None:
    print(f"### Digits in batches, 64-32-10, 8 networks x 60 sweeps, {runs} runs a row\n")
    data = Digits()
    problem = data.problem
    head("batch", "iterations", "learning rate", "single", "vote of 8", "seconds")

    def one_batch(size: int, seed: int) -> qn.TrainingResult:
        first = next(iter(qn.Batches(problem.inputs, problem.outputs, size=size, seed=seed)))
        return qn.train(replace(problem, inputs=first.inputs, outputs=first.outputs), ENGINE)

    data.row(runs, partial(qn.train, problem, ENGINE), "all 1,400", 1, "")
    for size in (50, 200):
        data.row(runs, partial(one_batch, size), size, 1, "")
    for size, count in ((50, 28), (50, 112), (200, 7), (200, 28)):
        for share in (0.0025, 0.01, 0.04):  # of the examples of a batch; 0.01 is the default
            rounds = replace(ROUNDS, iteration_count=count, learning_rate=share * size)
            train = partial(qn.train_with_dropout, problem, rounds, ENGINE, batches=size)
            data.row(runs, train, size, count, f"{share * size:g}")


def warm(runs: int) -> None:
    print(f"### Short anneals, batches of 200 x 28, learning rate 0.5, {runs} runs a row\n")
    data = Digits()
    head("sweeps", "hottest", "start", "single", "vote of 8", "seconds")
    for sweeps in (5, 15):
        for hottest, is_warm in ((1.0, False), (1.0, True), (0.1, False), (0.1, True)):
            engine = replace(ENGINE, sweep_count=sweeps, hottest=hottest)
            rounds = replace(ROUNDS, iteration_count=28, learning_rate=0.5, warm_start=is_warm)
            train = partial(qn.train_with_dropout, data.problem, rounds, engine, batches=200)
            data.row(runs, train, sweeps, hottest, "warm" if is_warm else "cold")


if __name__ == "__main__":
    main()
