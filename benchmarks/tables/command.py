"""QuboClassifier and scikit-learn's classifiers on ordinary tables, all with their defaults.

    python benchmarks/tables [--only NAME ...] [--methods NAME ...] [--splits 5] [--tuning]
                             [--store FILE] [--markdown FILE]

70 % of the rows are to train on and the others to test, in five stratified splits of each table.
Tables are generated, or come with scikit-learn, or from the KEEL collection, which needs
pip install 'qubonn[tables]'. Categories are columns of zeros and ones for all methods. Linear
models, naive Bayes and the MLP get standardised columns. --tuning runs other tables, on which
defaults may be chosen; none of them is scored. Each training is committed to the store as it ends:
the same command goes on where it was stopped, and repeats nothing that is done. If the code of
qubonn or the version of scikit-learn changes, what depends on it is trained again.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from qubonn.errors import MissingExtra
from qubonn.experiments import Store, complete, runs_of, watching, workers
from tables.data import SCORED, TUNING
from tables.methods import METHODS
from tables.study import Tables

STORE = Path(__file__).resolve().parent.parent / "results" / "tables.sqlite"
WIDTH = 180  # of tables that go to a file


def main(words: Sequence[str] | None = None) -> None:
    arguments = parse(words)
    try:
        study = Tables(
            names=tuple(arguments.only or (TUNING if arguments.tuning else SCORED)),
            methods=tuple(arguments.methods),
            split_count=arguments.splits,
        )
    except MissingExtra as error:
        raise SystemExit(f"{error}; or ask for other tables with --only") from None
    with Store.open(arguments.store, study) as store:
        try:
            train(study, store)
        except KeyboardInterrupt:
            say("stopped; the same command goes on from here")
            raise SystemExit(130) from None
        found = study.tables(store.rows())
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    for table in found:
        console.print(table.rich())
    if arguments.markdown:
        text = "\n".join(f"### {table.title}\n\n{table.markdown()}\n" for table in found)
        arguments.markdown.write_text(text, "utf-8")


def train(study: Tables, store: Store) -> None:
    """Do the trainings that are not done yet, one after the other: their times are measured."""
    runs = runs_of(study.settings, 1)
    done = len({run.key for run in runs} & store.done())
    say(f"{done} of {len(runs)} trainings are done")
    totals, already = {study.label: len(runs)}, {study.label: done}
    console = Console(stderr=True)
    with watching(console, totals, already) as report, workers() as parallel:
        complete(study, store, runs, parallel, report=report)


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python benchmarks/tables",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    known = [*SCORED, *TUNING]
    parser.add_argument("--only", nargs="+", choices=known, metavar="NAME", help=", ".join(known))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--tuning", action="store_true", help="the tables for tuning")
    parser.add_argument("--store", type=Path, default=STORE, help="SQLite file of all results")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables here too")
    return parser.parse_args(words)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
