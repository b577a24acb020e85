"""All 60,000 MNIST images: networks of several widths and depths, convolutions and committees.

    python benchmarks/ladder.py --mnist FOLDER [--only ROW ...] [--seeds 0 1 2] [--methods ...]
                                [--minutes 15] [--tuning-seconds 30] [--jobs 2]

Each row is trained by QuboClassifier with its defaults on images, and by gradients with
straight-through slopes: a network of the same shape for as many seconds as ours took with the same
seed, at most --minutes, also on images that are shifted by up to a pixel. Rates and scales of the
gradients are chosen for each row with 50,000 of the training images on the other 10,000. A training
has one thread, and seconds are those of its processor; --jobs trainings run at the same time. Each
is committed to the store as it ends: the same command goes on where it was stopped.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

import qubonn as qn
from fewshot.data import Mnist, Split
from fewshot.methods import code_of_ours
from full_mnist import held_out
from printing import head, show
from qubonn.experiments import Record, Run, Setting, Store, Study, complete, workers
from qubonn.experiments.tables import mean_and_spread

STORE = Path(__file__).resolve().parent / "results" / "ladder.sqlite"
OURS, STRAIGHT = METHODS = "qubonn", "straight-through"
RATES, SCALES = (0.01, 0.03, 0.1), (1.0, 3.0, 10.0)


@dataclass(frozen=True)
class Row:
    """A network or a committee, and what is known of it."""

    hidden: str
    published: str
    goal: float  # per cent of the test images
    member_count: int = 1


ROWS = {
    "784-128-10": Row("fc(128)", "", 96.8),
    "784-512-10": Row("fc(512)", "", 98.0),
    "784-256-256-256-10": Row(
        "fc(256)+fc(256)+fc(256)", "97.8, straight-through, 1,000 epochs (Brevitas)", 97.9
    ),
    "784-501-501-10": Row(
        "fc(501)+fc(501)", "97.4 to 97.7, message passing (Lucibello and others 2022)", 98.0
    ),
    "convolutions": Row("conv(7x7x32, stride=2)+conv(5x5x96, stride=2)", "90, p-bit machine", 98.8),
    "committee": Row("fc(512)", "99.0, straight-through, 3 x 4096", 99.1, 10),
}


@dataclass(frozen=True, kw_only=True)
class Ladder(Study):
    """Trainings of all rows by either method; the seed of a training is part of its setting."""

    name: str = "ladder"
    folder: Path

    @property
    def spec(self) -> dict[str, Any]:
        """Everything else is part of the settings."""
        return {"name": self.name}

    def perform(self, setting: Setting, seed: int, prepared: Record) -> Record:
        """Train, and count right answers on images that were not seen."""
        images = Mnist.read(self.folder).whole()
        with threadpool_limits(1):
            return self.train(images, setting)

    def train(self, images: Split, setting: Setting) -> Record:
        """Train by the method of the setting."""
        if setting["method"] == OURS:
            return anneal(images, setting)
        return descend(held_out(images) if setting["is_tuning"] else images, setting)


def main() -> None:
    arguments = parse()
    study = Ladder(settings=tuple({"row": name} for name in ROWS), folder=arguments.mnist)
    with Store.open(arguments.store, study) as store:
        head(
            "network",
            "method",
            "per cent of the test images",
            "goal",
            "seconds",
            "bytes",
            "published",
        )
        for name in arguments.only:
            row, seeds = ROWS[name], arguments.seeds
            found = trained(study, store, [ours(row, seed) for seed in seeds], arguments.jobs)
            report(name, OURS, found, row)
            if STRAIGHT not in arguments.methods or row.member_count > 1:
                continue
            tried = [
                straight(row, 100, arguments.tuning_seconds, rate, scale, is_tuning=True)
                for rate, scale in product(RATES, SCALES)
            ]
            tuned = trained(study, store, tried, arguments.jobs)
            best = tried[int(np.argmax([record["share"] for record in tuned]))]
            chosen = best["rate"], best["scale"]
            most = 60 * arguments.minutes
            by_gradients = [
                straight(row, seed, min(round(one["training_seconds"]), most), *chosen)
                for seed, one in zip(seeds, found, strict=True)
            ]
            report(name, STRAIGHT, trained(study, store, by_gradients, arguments.jobs), row)
            print(f"{name}: rate {chosen[0]}, scale {chosen[1]}", file=sys.stderr)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mnist", type=Path, required=True, help="folder with the four .gz files")
    parser.add_argument("--only", nargs="+", default=list(ROWS), choices=ROWS, metavar="ROW")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--minutes", type=float, default=15, help="most of one training")
    parser.add_argument("--tuning-seconds", type=float, default=30, help="of each one tried")
    parser.add_argument("--jobs", type=int, default=joblib.cpu_count(), help="trainings at once")
    parser.add_argument("--store", type=Path, default=STORE)
    return parser.parse_args()


def ours(row: Row, seed: int) -> Setting:
    known = {"method": OURS, "hidden": row.hidden, "members": row.member_count, "seed": seed}
    return known | {"code": code_of_ours()}


def straight(
    row: Row, seed: int, seconds: float, rate: float, scale: float, *, is_tuning: bool = False
) -> Setting:
    known = {"method": STRAIGHT, "hidden": row.hidden, "seed": seed, "is_tuning": is_tuning}
    return known | {"seconds": seconds, "rate": rate, "scale": scale}


def trained(study: Ladder, store: Store, settings: Sequence[Setting], jobs: int) -> list[Record]:
    """Return the records of the settings, from the store if they are there."""
    runs = [Run(setting, 0) for setting in settings]
    with workers(jobs) as parallel:
        complete(study, store, runs, parallel)
    records = {row.run.key: row.record for row in store.rows()}
    return [records[run.key] for run in runs]


def anneal(images: Split, setting: Setting) -> Record:
    """Train a classifier with its defaults."""

    def fitted(images: Split) -> qn.QuboClassifier:
        return qn.QuboClassifier(
            topology=setting["hidden"] if "conv" in setting["hidden"] else None,
            hidden=sizes_of(setting["hidden"]),
            committee_size=setting["members"],
            random_state=setting["seed"],
            n_jobs=1,
        ).fit(images.train_spins.reshape(-1, *images.image_shape), images.train_classes)

    pixels, classes = images.train_pixels, images.train_classes
    fitted(Split(images.level, pixels[:6_000], classes[:6_000], pixels[:1], classes[:1]))  # compile
    start = time.process_time()
    model = fitted(images)
    seconds = time.process_time() - start
    if model.is_interrupted_:
        raise KeyboardInterrupt
    share = float(model.score(images.test_spins, images.test_classes))
    return record_of(share, seconds, model.committee_)


def sizes_of(hidden: str) -> Any:
    """Return sizes of dense layers, "auto" for others."""
    if "conv" in hidden:
        return "auto"
    return tuple(int(part[3:-1]) for part in hidden.split("+"))


def descend(images: Split, setting: Setting) -> Record:
    """Train a network by gradients for a number of seconds."""
    from layered_gradients import Settings, train_layers

    network, steps = train_layers(
        images.train_spins.reshape(-1, *images.image_shape),
        images.train_classes,
        setting["hidden"],
        settings=Settings(learning_rate=setting["rate"], output_scale=setting["scale"]),
        seconds=setting["seconds"],
        seed=setting["seed"],
    )
    committee = qn.Committee([network], "largest")
    share = (committee.votes(images.test_spins).argmax(axis=1) == images.test_classes).mean()
    return record_of(float(share), setting["seconds"], committee) | {"steps": steps}


def record_of(share: float, seconds: float, committee: qn.Committee) -> Record:
    topology = committee.members[0].topology
    bits = len(committee.members) * (topology.weight_count + topology.neuron_count)
    return {"share": share, "training_seconds": seconds, "byte_count": -(-bits // 8)}


def report(name: str, method: str, records: Sequence[Record], row: Row) -> None:
    """Print a row of the table."""
    percent = mean_and_spread([100 * one["share"] for one in records], 2)
    seconds = mean_and_spread([one["training_seconds"] for one in records], 0)
    size = f"{records[0]['byte_count']:,}"
    what = name if row.member_count == 1 else f"{row.member_count} x {row.hidden}"
    show(what, method, percent, row.goal, seconds, size, row.published)


if __name__ == "__main__":
    main()
