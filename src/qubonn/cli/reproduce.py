"""``qubonn reproduce``: the paper's studies -> a store, and their tables beside the paper's."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qubonn.cli import options
from qubonn.cli.screen import INTERRUPTED, Screen
from qubonn.errors import QubonnError

if TYPE_CHECKING:
    from qubonn.experiments import ResultTable, Run, Store
    from qubonn.paper.studies import EngineName, PaperStudy, Tune, Votes

Studies = list[tuple["PaperStudy", list["Run"]]]
PARTS: dict[str, tuple[str, ...]] = {
    "table1": (),
    "table2": ("architectures",),
    "margins": ("margins",),
    "dropout": ("dropout",),
    "all": ("architectures", "margins", "dropout"),
}
MARKS = (
    "In brackets: ours minus the paper's; * more than chance, ~ within the variation between test "
    "sets."
)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which studies are run, with which engines, and how many runs."""

    engine: str = options.option(
        type=click.Choice(["paper", "native", "both"]),
        default="both",
        help="The paper's annealing of the QUBO, or our own engine.",
    )
    runs: int | None = options.option(
        type=click.IntRange(1), help="Runs of each setting.  [default: as in the paper]"
    )
    tune: "Tune" = options.option(
        type=click.Choice(["once", "each"]),
        default="once",
        help="Tune the temperatures of the paper's engine once for each setting, or in each run.",
    )
    votes: "Votes" = options.option(
        type=click.Choice(["decayed", "full"]),
        default="decayed",
        help="Dropout: decay votes that leave constraints unsatisfied, or not.",
    )
    seed: int = options.option(type=click.IntRange(0), default=0, help="Seed of all runs.")
    networks: tuple[int, ...] = options.option(
        "--network", type=int, multiple=True, help="Only this network; repeatable."
    )

    def studies(self, part: str) -> Studies:
        """Return the studies of a part with their runs, without those that have none."""
        from qubonn.experiments import runs_of
        from qubonn.paper import published
        from qubonn.paper.studies import study_of

        both: tuple[EngineName, ...] = ("native", "paper")
        engines = [engine for engine in both if self.engine in (engine, "both")]
        chosen: Studies = []
        for name, engine in product(PARTS[part], engines):
            study = study_of(name, engine, tune=self.tune, votes=self.votes, seed=self.seed)
            wanted = self.networks or [setting["network"] for setting in study.settings]
            settings = [setting for setting in study.settings if setting["network"] in wanted]
            if settings:
                count = self.runs or published(name)[0].run_count
                chosen.append((study, runs_of(settings, count)))
        if PARTS[part] and not chosen:
            raise QubonnError(f"none of the networks {self.networks} is in these studies")
        return chosen


@click.command(
    epilog="Example:  qubonn reproduce margins --engine native --runs 50 --store reproduction"
)
@click.argument("part", type=click.Choice(list(PARTS)), default="all")
@options.gathered("selection", Selection)
@click.option(
    "--store",
    type=options.FOLDER,
    default=Path("reproduction"),
    help="Folder with one SQLite file for each study; existing studies are continued.",
)
@click.option(
    "--jobs", type=click.IntRange(1), help="Processes, one core each.  [default: all cores]"
)
@click.option("--cluster", help="Dask scheduler, tcp://HOST:PORT, or local:N.")
@click.option("--resume/--fresh", default=True, help="Continue a store, or require a new one.")
@options.screen
def command(
    part: str,
    selection: Selection,
    store: Path,
    jobs: int | None,
    cluster: str | None,
    resume: bool,
    screen: Screen,
) -> None:
    """Rebuild the tables of the paper, beside its numbers.

    PART is table1, table2, margins, dropout or all. Every run is stored when it ends; after an
    interruption the same command continues. Write a page of the results with  qubonn report.
    """
    import joblib

    from qubonn.experiments import workers
    from qubonn.paper.results import counts_table

    tables = [counts_table()] if part in ("table1", "all") else []
    for table in tables:
        screen.show(table.rich())
    if studies := selection.studies(part):
        with ExitStack() as stack:
            stores = [stack.enter_context(one) for one in _opened(studies, store, resume)]
            parallel = stack.enter_context(workers(jobs or joblib.cpu_count(), cluster))
            _run(screen, studies, stores, parallel)
        for table in _results(store, PARTS[part]):
            screen.show(table.rich())
            tables.append(table)
        screen.say(f"{MARKS} All results:  qubonn report {shlex.quote(str(store))} -o report.html")
    screen.document(store=str(store), tables=[table.document() for table in tables])


def _opened(studies: Studies, folder: Path, is_resumed: bool) -> Iterator["Store"]:
    from qubonn.experiments import Store

    paths = {folder / f"{study.label}.sqlite": study for study, _ in studies}
    existing = [str(path) for path in paths if path.exists()]
    if existing and not is_resumed:
        raise QubonnError(f"--fresh needs a new store; {', '.join(existing)} exists already")
    for path, study in paths.items():
        yield Store.open(path, study)


def _run(screen: Screen, studies: Studies, stores: list["Store"], parallel: Any) -> None:
    """Do the missing runs, with progress on standard error."""
    from rich.console import Console

    from qubonn.experiments import complete, watching

    work = [(*study_and_runs, store) for study_and_runs, store in zip(studies, stores, strict=True)]
    totals = {study.label: len(runs) for study, runs in studies}
    already = {s.label: len({run.key for run in runs} & store.done()) for s, runs, store in work}
    try:
        with watching(Console(stderr=True), totals, already) as report:
            for study, runs, store in work:
                complete(study, store, runs, parallel, report=report)
    except KeyboardInterrupt:
        again = shlex.join(["qubonn", *sys.argv[1:]])
        screen.note(f"\nStopped; every finished run is stored. To continue:\n  {again}")
        click.get_current_context().exit(INTERRUPTED)


def _results(folder: Path, names: tuple[str, ...]) -> list["ResultTable"]:
    """Return the results of both engines in the store, one table for each study."""
    from qubonn.experiments import Store
    from qubonn.paper.comparison import StudySummary
    from qubonn.paper.results import in_order, results_table
    from qubonn.storage import guard

    tables = []
    for name in names:
        summaries = []
        for path in sorted(folder.glob(f"{name}-*.sqlite")):
            with guard(path), Store.read(path) as store:
                summaries.append(StudySummary.of(store))
        if known := in_order(summaries):
            tables.append(results_table(known))
    return tables
