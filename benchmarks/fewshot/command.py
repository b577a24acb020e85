"""Networks of -1 and +1 from few examples: annealed, trained by gradients, and published ones.

    python benchmarks/fewshot --mnist FOLDER [--parts images digits] [--counts 2 6 10 20 40]
                              [--seeds 0 1 2 3 4] [--members 25] [--markdown FILE]

images: 2 to 40 MNIST images a class, drawn by the seed, all 10,000 test images, 784-64-10. FOLDER
holds the four original files, train-images-idx3-ubyte.gz and so on. digits: scikit-learn's,
1,297 to learn from and 500 to ask, 64-64-10. Pixels above one fixed level are +1, others -1, for
all methods; QuboClassifier gets grey pixels too, and images with rows and columns: it then learns
from each also moved by a pixel, and so do other straight-through networks. Each training is
committed to the store as it ends: the same command goes on where it was stopped, and repeats
nothing that is done.
"""

import argparse
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import qubonn as qn
from fewshot import methods
from fewshot.data import DIGITS_LEVEL, MNIST_LEVEL, Mnist
from fewshot.plan import (
    DIGITS,
    IMAGES,
    KINDS,
    METHODS,
    PARTS,
    STRAIGHT,
    STRAIGHT_SHIFTED,
    Case,
    Plan,
    by_gradients,
    cases_of,
)
from fewshot.report import Section, as_markdown, as_text, sections
from fewshot.running import complete, say
from fewshot.store import Store, opened
from fewshot.targets import targets
from fewshot.tuning import worded

STORE = Path(__file__).resolve().parent.parent / "results" / "fewshot.sqlite"
COUNTS, SEEDS, MEMBERS = [2, 6, 10, 20, 40], [0, 1, 2, 3, 4], 25


def main(words: Sequence[str] | None = None) -> None:
    arguments = parse(words)
    plan = plan_of(arguments)
    with opened(arguments.store) as store:
        for method in arguments.again:
            store.forget(method)
        try:
            complete(store, plan.tuning_jobs(), "straight-through networks, settings")
            complete(store, plan.final_tuning_jobs(store), "the best settings again, all members")
            complete(store, plan.jobs(store), "trainings")
        except KeyboardInterrupt:
            say("stopped; the same command, without --again, goes on from here")
            raise SystemExit(130) from None
        found = report(plan, store)
    print(as_text(found))
    if arguments.markdown:
        arguments.markdown.write_text(as_markdown(found), "utf-8")


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python benchmarks/fewshot",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--mnist", type=Path, help="folder with the four .gz files")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--counts", nargs="+", type=int, default=COUNTS, help="images a class")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--members", type=int, default=MEMBERS, help="networks that vote")
    parser.add_argument("--store", type=Path, default=STORE, help="SQLite file of all results")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables here too")
    parser.add_argument(
        "--again",
        nargs="+",
        default=[],
        choices=METHODS,
        help="forget what the store has of these methods, and train them again",
    )
    arguments = parser.parse_args(words)
    if IMAGES in arguments.parts and arguments.mnist is None:
        parser.error("the part images needs --mnist FOLDER; or ask for --parts digits")
    return arguments


def plan_of(arguments: argparse.Namespace) -> Plan:
    mnist = Mnist.read(arguments.mnist) if IMAGES in arguments.parts else None
    has_torch = find_spec("torch") is not None
    if not has_torch:
        say("torch is not installed: no straight-through networks")
    cases = cases_of(arguments.parts, arguments.counts, arguments.seeds)
    return Plan(cases, arguments.members, mnist, has_torch=has_torch)


def report(plan: Plan, store: Store) -> list[Section]:
    """Return accuracies and seconds, whether targets are met, and how all was trained."""
    scores = list(plan.scores(store))
    rows = [target.row for target in targets(scores)]
    wanted = Section("Targets, by means over seeds", [["what", "found", "wanted", "met"], *rows])
    return [*sections(scores, plan.member_count), wanted, how(plan, store)]


def how(plan: Plan, store: Store) -> Section:
    """Return the settings of the straight-through networks, and what holds for all."""
    rows = [["straight-through", *KINDS]]
    if plan.has_torch:
        named = {
            title_of(case, method): plan.chosen(case, method, store)
            for method in (STRAIGHT, STRAIGHT_SHIFTED)
            for case in plan.cases
            if method in by_gradients(case)
        }
        rows += [[title, *map(worded, both)] for title, both in named.items()]
    seeds = sorted({case.seed for case in plan.cases})
    lines = [
        f"{plan.member_count} members, seeds {', '.join(map(str, seeds))}",
        f"+1 is a pixel above {MNIST_LEVEL} of 255 in MNIST, above {DIGITS_LEVEL} of 16 in digits",
        f"one process; threads: {plan.thread_counts()}",
        f"qubonn {qn.__version__}, defaults as of {methods.code_of_ours()}",
    ]
    return Section("How", rows, lines)


def title_of(case: Case, method: str) -> str:
    """Name the cases that share their settings."""
    if case.part == DIGITS:
        return f"digits, seed {case.seed}"
    return f"{case.per_class} a class" + (", moved" if method == STRAIGHT_SHIFTED else "")
