"""One, two and three hidden layers, and convolutions, on few examples, with default settings.

    python benchmarks/depth.py --mnist FOLDER [--splits 5] [--draws 3]

Digits: splits with 70 % to train. MNIST: 3,000 training images without and with copies shifted by
a pixel, scored on all 10,000 test images. One network each; seconds are the processor time of
`fit`, the smallest of the runs.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import qubonn as qn
from fewshot.data import Mnist
from printing import head, show
from qubonn.experiments.tables import mean_and_spread

COUNT = 3_000
Examples = tuple[Any, Any, Any, Any]  # inputs to train and to test on, classes of both


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mnist", type=Path, required=True, help="folder with the four .gz files")
    parser.add_argument("--splits", type=int, default=5, help="of digits")
    parser.add_argument("--draws", type=int, default=3, help="of MNIST's training images")
    arguments = parser.parse_args()
    images = Mnist.read(arguments.mnist).whole()
    numbers, classes = load_digits(return_X_y=True)

    def digits(seed: int) -> Examples:
        found = train_test_split(
            numbers, classes, test_size=0.3, random_state=seed, stratify=classes
        )
        return tuple(found)

    def mnist(seed: int) -> Examples:
        rows = np.random.default_rng(seed).permutation(len(images.train_spins))[:COUNT]
        parts = images.train_spins[rows], images.test_spins, images.train_classes[rows]
        return *parts, images.test_classes

    head("data", "network", "per cent of the test examples", "seconds")
    for hidden in ((64,), (64, 64), (64, 64, 64)):
        report("digits", str(hidden), digits, arguments.splits, hidden=hidden)
    dense: list[dict[str, Any]] = [
        {"hidden": hidden} for hidden in ((64,), (64, 64), (128,), (128, 128), (128, 128, 128))
    ]
    convolutions = "conv(5x5x4)+fc(64)", "conv(7x7x16, stride=2)+conv(5x5x32, stride=2)+fc(64)"
    for layers in dense + [{"topology": notation} for notation in convolutions]:
        for name, shifts in (("MNIST", 0), ("MNIST, shifted", 1)):
            settings = {**layers, "image_shape": (28, 28), "shifts": shifts}
            network = str(layers.get("hidden", layers.get("topology")))
            report(name, network, mnist, arguments.draws, **settings)


def report(
    data: str, network: str, draw: Callable[[int], Examples], count: int, **settings: Any
) -> None:
    """Train on some draws, and print a row of the table."""
    shares, seconds = [], []
    for seed in range(count):
        train_inputs, test_inputs, train_classes, test_classes = draw(seed)
        model = qn.QuboClassifier(committee_size=1, random_state=seed, n_jobs=1, **settings)
        start = time.process_time()
        model.fit(train_inputs, train_classes)
        seconds.append(time.process_time() - start)
        shares.append(100 * float(model.score(test_inputs, test_classes)))
    show(data, network, mean_and_spread(shares, 2), f"{min(seconds):.2f}")


if __name__ == "__main__":
    main()
