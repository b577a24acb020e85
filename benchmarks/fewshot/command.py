"""Networks of -1 and +1 from few examples: annealed, trained by gradients, and published ones.

    python benchmarks/fewshot --mnist FOLDER [--parts images digits] [--counts 2 6 10 20 40]
                              [--seeds 0 1 2 3 4] [--members 25] [--markdown FILE]

images: 2 to 40 MNIST images per class, drawn by the seed, all 10,000 test images, 784-64-10. FOLDER
holds the four original files, train-images-idx3-ubyte.gz and so on. digits: scikit-learn's,
1,297 to train on and 500 to test, 64-64-10. Pixels above one fixed level are +1, others -1, for
all methods; QuboClassifier gets grey pixels too, and images with rows and columns: it then learns
from each also moved by a pixel, and so do other straight-through networks. Each training is
committed to the store as it ends: the same command goes on where it was stopped, and repeats
nothing that is done.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from fewshot.study import IMAGES, METHODS, PARTS, FewShot, Results, cases_of
from qubonn.experiments import Setting, Store, complete, watching, workers

STORE = Path(__file__).resolve().parent.parent / "results" / "fewshot.sqlite"
COUNTS, SEEDS, MEMBERS = [2, 6, 10, 20, 40], [0, 1, 2, 3, 4], 25
WIDTH = 160  # of tables that go to a file


def main(words: Sequence[str] | None = None) -> None:
    arguments = parse(words)
    study = study_of(arguments)
    with Store.open(arguments.store, study) as store:
        results = Results(store.rows(), arguments.again)
        try:
            train(study, store, results, study.tuning(), "straight-through networks, settings")
            results = Results(store.rows(), arguments.again)
            train(study, store, results, study.finals(results), "the best settings, all members")
            results = Results(store.rows(), arguments.again)
            chosen = [setting for _, _, setting in study.by_gradients(results)]
            train(study, store, results, [*study.settings, *chosen], "trainings")
        except KeyboardInterrupt:
            say("stopped; the same command, without --again, goes on from here")
            raise SystemExit(130) from None
        found = study.tables(store.rows())
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    for table in found:
        console.print(table.rich(), table.caption)
    if arguments.markdown:
        text = "\n".join(f"### {table.title}\n\n{table.markdown()}\n" for table in found)
        arguments.markdown.write_text(text, "utf-8")


def train(
    study: FewShot, store: Store, results: Results, settings: Sequence[Setting], title: str
) -> None:
    """Do the trainings that are not done yet, one after the other: their times are measured."""
    runs = list({run.key: run for run in map(results.run, settings)}.values())
    done = len({run.key for run in runs} & store.done())
    say(f"{title}: {done} of {len(runs)} trainings are done")
    totals, already = {study.label: len(runs)}, {study.label: done}
    console = Console(stderr=True)
    with watching(console, totals, already) as report, workers() as parallel:
        complete(study, store, runs, parallel, report=report)


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python benchmarks/fewshot",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--mnist", type=Path, help="folder with the four .gz files")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--counts", nargs="+", type=int, default=COUNTS, help="images per class")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--members", type=int, default=MEMBERS, help="networks that vote")
    parser.add_argument("--store", type=Path, default=STORE, help="SQLite file of all results")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables here too")
    parser.add_argument(
        "--again",
        nargs="+",
        default=[],
        choices=METHODS,
        help="train these methods again, whatever the store has of them",
    )
    arguments = parser.parse_args(words)
    if IMAGES in arguments.parts and arguments.mnist is None:
        parser.error("the part images needs --mnist FOLDER; or ask for --parts digits")
    return arguments


def study_of(arguments: argparse.Namespace) -> FewShot:
    has_torch = find_spec("torch") is not None
    if not has_torch:
        say("torch is not installed: no straight-through networks")
    return FewShot(
        folder=arguments.mnist,
        cases=cases_of(arguments.parts, arguments.counts, arguments.seeds),
        member_count=arguments.members,
        has_torch=has_torch,
    )


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
