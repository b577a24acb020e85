"""Robustness on the letters, compared with margins and test accuracy; committees; MNIST.

    python benchmarks/robustness.py [--runs 100] [--committees 10] [--figure robustness.png]
                                    [--mnist FOLDER]

Networks 5, 10 and 12, margin strengths 0 to 0.05: the best feasible network of each run, evaluated
on the four training images. FOLDER holds the four original files of MNIST, which
benchmarks/fewshot reads too.
"""

import argparse
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import qubonn as qn
from fewshot.data import Mnist, drawn, spins_of
from printing import head, problem_of, show, timed
from qubonn.checks import SpinMatrix

NUMBERS = (5, 10, 12)
STRENGTHS = (0, 0.01, 0.02, 0.05)
COLOURS = ("0.55", "#56B4E9", "#0072B2", "#D55E00")
LETTERS = qn.datasets.letters(seed=0)


@dataclass(frozen=True)
class Row:
    """One network on the four training images."""

    number: int
    strength: float
    s1: int
    s2: int
    mean_flips: float
    least_flips: int
    accuracy: float  # on the 40 test images
    pair_accuracy: float  # on all 1,200 images with two pixels inverted
    cheap_is_exact: float  # share of the examples
    greedy_is_exact: float
    cheap_milliseconds: float
    exact_milliseconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="trainings of each kind")
    parser.add_argument("--committees", type=int, default=10, help="committees of each kind")
    parser.add_argument("--figure", help="where to draw flips against margins and accuracy")
    parser.add_argument("--mnist", type=Path, help="folder with the four .gz files")
    arguments = parser.parse_args()
    rows = measure(arguments.runs)
    show_means(rows)
    show_correlations(rows)
    if arguments.committees:
        show_committees(arguments.committees)
    if arguments.figure:
        draw(rows, arguments.figure)
    if arguments.mnist:
        show_mnist(arguments.mnist)


# ---- single networks ----


def measure(runs: int) -> list[Row]:
    rows = []
    for number in NUMBERS:
        for strength in STRENGTHS:
            problem = problem_of(number, strength)
            for seed in range(runs):
                feasible = qn.train(problem, qn.LiftedAnnealing(), seed=seed).feasible_networks
                if feasible:
                    rows.append(evaluate(number, strength, feasible[0]))
    return rows


def evaluate(number: int, strength: float, network: qn.BinaryNetwork) -> Row:
    images = LETTERS.train_inputs
    cheap_seconds, cheap = timed(partial(network.robustness, images, exact=False))
    exact_seconds, exact = timed(partial(network.robustness, images))
    assert exact.is_exact.all()
    margins = network.margins(images)
    return Row(
        number,
        strength,
        margins.s1,
        margins.s2,
        exact.mean_flips,
        int(exact.flips.min()),
        network.accuracy(LETTERS.test_inputs, LETTERS.test_outputs),
        network.accuracy(*pairs()),
        float((exact.lower_bound == exact.flips).mean()),
        float((cheap.flips == exact.flips).mean()),
        1000 * cheap_seconds,
        1000 * exact_seconds,
    )


def pairs() -> tuple[SpinMatrix, SpinMatrix]:
    """Return every training image with every two pixels inverted, and their outputs."""
    sets = np.array(list(combinations(range(25), 2)))
    images = np.repeat(LETTERS.train_inputs, len(sets), axis=0)
    images[np.arange(len(images))[:, np.newaxis], np.tile(sets, (4, 1))] *= -1
    return images, np.repeat(LETTERS.train_outputs, len(sets), axis=0)


def column(rows: list[Row], name: str) -> NDArray[np.float64]:
    return np.array([getattr(row, name) for row in rows], dtype=float)


def show_means(rows: list[Row]) -> None:
    print("### Letters: means over networks\n")
    head(
        "network",
        "margin strength",
        "networks",
        "S1",
        "S2",
        "flips",
        "weakest letter",
        "test accuracy",
        "all pairs",
        "bound = exact",
        "greedy = exact",
        "ms, cheap",
        "ms, exact",
    )
    for number in NUMBERS:
        for strength in STRENGTHS:
            chosen = [row for row in rows if (row.number, row.strength) == (number, strength)]
            if not chosen:
                show(number, strength, 0)
                continue
            mean = {name: column(chosen, name).mean() for name in Row.__dataclass_fields__}
            show(
                number,
                strength,
                len(chosen),
                f"{mean['s1']:.1f}",
                f"{mean['s2']:.1f}",
                f"{mean['mean_flips']:.2f}",
                f"{mean['least_flips']:.2f}",
                f"{mean['accuracy']:.3f}",
                f"{mean['pair_accuracy']:.3f}",
                f"{100 * mean['cheap_is_exact']:.1f} %",
                f"{100 * mean['greedy_is_exact']:.1f} %",
                f"{np.median(column(chosen, 'cheap_milliseconds')):.1f}",
                f"{np.median(column(chosen, 'exact_milliseconds')):.1f}",
            )
    print()


def show_correlations(rows: list[Row]) -> None:
    from scipy.stats import spearmanr

    print("### Rank correlations (Spearman)\n")
    head(
        "network",
        "margin strengths",
        "flips, S1",
        "flips, S2",
        "flips, all pairs",
        "S1, all pairs",
        "S2, all pairs",
    )
    asked = [("mean_flips", "s1"), ("mean_flips", "s2"), ("mean_flips", "pair_accuracy")]
    asked += [("s1", "pair_accuracy"), ("s2", "pair_accuracy")]
    for number in NUMBERS:
        for name, strengths in (("all", STRENGTHS), *((str(s), (s,)) for s in STRENGTHS)):
            chosen = [row for row in rows if row.number == number and row.strength in strengths]
            cells = []
            for first, second in asked:
                values = column(chosen, first), column(chosen, second)
                varies = all(len(np.unique(part)) > 1 for part in values)
                cells.append(f"{spearmanr(*values).statistic:.2f}" if varies else "constant")
            show(number, name, *cells)
    print()


# ---- committees ----


def show_committees(runs: int) -> None:
    print("### Committees of 25: means over committees\n")
    head(
        "network",
        "margin strength",
        "flips, members",
        "flips, committee",
        "weakest letter",
        "all pairs, members",
        "all pairs, committee",
        "ms, exact",
    )
    for number in NUMBERS:
        for strength in (0, 0.01):
            problem = problem_of(number, strength)
            results = [qn.train(problem, qn.LiftedAnnealing(), seed=seed) for seed in range(runs)]
            cells = np.mean([committee_cells(result.committee(25)) for result in results], axis=0)
            *numbers, milliseconds = cells
            show(number, strength, *(f"{cell:.3f}" for cell in numbers), f"{milliseconds:.0f}")
    print()


def committee_cells(committee: qn.Committee) -> list[float]:
    images = LETTERS.train_inputs
    alone = [member.robustness(images).mean_flips for member in committee.members]
    seconds, found = timed(partial(committee.robustness, images))
    assert found.is_exact.all()
    summary = committee.summary(*pairs())
    assert summary.accuracy is not None
    assert summary.mean_member_accuracy is not None
    return [
        float(np.mean(alone)),
        found.mean_flips,
        float(found.flips.min()),
        summary.mean_member_accuracy,
        summary.accuracy,
        1000 * seconds,
    ]


# ---- MNIST ----


def show_mnist(folder: Path, count: int = 200) -> None:
    print("### MNIST, 784-64-10, ten images per class, the first test images\n")
    mnist = Mnist.read(folder)
    images, labels = spins_of(mnist.test_pixels[:count], 127), mnist.test_classes[:count]
    chosen = drawn(mnist.train_classes, 10, 0)
    head(
        "margin strength", "test accuracy", "images", "flips", "bound", "bound = greedy", "seconds"
    )
    for strength in (0.0, 0.03):
        problem = qn.TrainingProblem(
            qn.Topology.dense(784, 64, 10),
            spins_of(mnist.train_pixels[chosen], 127),
            qn.CodeBook.one_hot(range(10)).encode(mnist.train_classes[chosen]),
            margin_strength=strength,
        )
        engine = qn.ForwardAnnealing(
            replica_count=2, sweep_count=100, reading="largest", margin_cap=20
        )
        network = qn.train(problem, engine, seed=0).network
        outputs = qn.CodeBook.one_hot(range(10)).encode(labels)
        accuracy = network.summary(images, outputs, reading="largest").accuracy
        ask = partial(network.robustness, images, reading="largest", exact=False)
        seconds, found = timed(ask)
        show(
            strength,
            f"{accuracy:.3f}",
            len(found),
            f"{found.mean_flips:.2f}",
            f"{found.bound.mean():.2f}",
            f"{100 * found.is_exact.mean():.1f} %",
            f"{seconds:.1f}",
        )
    print()


# ---- a picture ----


def draw(rows: list[Row], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, grid = pyplot.subplots(3, 3, figsize=(9, 7.6), layout="constrained", sharey="col")
    for line, number in zip(grid, NUMBERS, strict=True):
        chosen = [row for row in rows if row.number == number]
        scatter(line[0], chosen, "s1", "mean_flips")
        scatter(line[1], chosen, "s2", "mean_flips")
        scatter(line[2], chosen, "mean_flips", "pair_accuracy")
        line[0].set_ylabel(f"network {number}\nmean flips")
        line[1].set_ylabel("mean flips")
        line[2].set_ylabel("accuracy, all pairs")
    for axes, label in zip(grid[-1], ("S1", "S2", "mean flips"), strict=True):
        axes.set_xlabel(label)
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(
        handles,
        names,
        loc="outside upper center",
        ncols=len(STRENGTHS),
        frameon=False,
        markerscale=2.5,
    )
    figure.savefig(path, dpi=90)
    pyplot.close(figure)


def scatter(axes: Any, rows: list[Row], across: str, up: str) -> None:
    """One dot per network, with jitter, because many coincide."""
    generator = np.random.default_rng(0)
    for strength, colour in zip(STRENGTHS, COLOURS, strict=True):
        chosen = [row for row in rows if row.strength == strength]
        values = [column(chosen, across), column(chosen, up)]
        spans = [max(np.ptp(column(rows, name)), 1e-9) for name in (across, up)]
        x, y = (
            part + generator.normal(0, 0.008 * span, len(part))
            for part, span in zip(values, spans, strict=True)
        )
        axes.plot(
            x, y, "o", ms=3, alpha=0.5, mew=0, color=colour, label=f"margin strength {strength}"
        )
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
