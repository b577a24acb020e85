"""``qubonn reproduce``: the paper's studies -> a store, and their tables beside the paper's."""

import shlex
import sys
from pathlib import Path

import click
from rich.console import Console

from qubonn.errors import QubonnError
from qubonn.experiments.progress import watching
from qubonn.experiments.runner import complete, runs_of
from qubonn.experiments.spec import EngineName, Study, Tune
from qubonn.experiments.store import Store
from qubonn.experiments.studies import paper_runs, study_of
from qubonn.experiments.workers import InThisProcess, LocalProcesses, Workers, core_count

PARTS: dict[str, tuple[str, ...]] = {
    "table2": ("architectures",),
    "margins": ("margins",),
    "dropout": ("dropout",),
    "all": ("architectures", "margins", "dropout"),
}


@click.command(
    epilog="Example:  qubonn reproduce margins --engine native --runs 50 --store reproduction"
)
@click.argument("part", type=click.Choice(["table1", *PARTS]), default="all")
@click.option(
    "--engine",
    type=click.Choice(["paper", "native", "both"]),
    default="both",
    show_default=True,
    help="The paper's annealing of the QUBO, or our own engine.",
)
@click.option("--runs", type=click.IntRange(1), help="Runs a setting. [default: as in the paper]")
@click.option(
    "--store",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reproduction"),
    show_default=True,
    help="Folder with one SQLite file a study; a study that is there goes on.",
)
@click.option(
    "--tune",
    type=click.Choice(["once", "each"]),
    default="once",
    show_default=True,
    help="Tune the paper engine's temperatures once a setting, or in each run.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all runs.")
@click.option("--network", "networks", type=int, multiple=True, help="Only these networks.")
@click.option(
    "--jobs", type=click.IntRange(1), help="Processes, one core each. [default: one a core]"
)
@click.option("--cluster", help="Dask scheduler, tcp://HOST:PORT, or local:N.")
@click.option("--resume/--fresh", default=True, help="Go on with a store, or insist on a new one.")
def command(
    part: str,
    engine: str,
    runs: int | None,
    store: Path,
    tune: Tune,
    seed: int,
    networks: tuple[int, ...],
    jobs: int | None,
    cluster: str | None,
    resume: bool,
) -> None:
    """Rebuild the paper's tables: table1, table2, margins, dropout or all.

    Every run is kept as it ends. Stop at any moment; the same command goes on from there, and
    several may work on one store. See the result with  qubonn report STORE -o report.html
    """
    console = Console()
    if part in ("table1", "all"):
        _show_counts(console)
    names = PARTS.get(part, ())
    engines: tuple[EngineName, ...] = ("native", "paper")
    studies = [
        study_of(name, one, tune=tune, seed=seed)
        for name in names
        for one in engines
        if engine in (one, "both")
    ]
    if not studies:
        return
    wanted = {study.label: _places(study, networks) for study in studies}
    studies = [study for study in studies if wanted[study.label]]
    if not studies:
        raise QubonnError(f"none of the networks {networks} is in these studies")
    counts = {study.label: runs or paper_runs(study.name) for study in studies}
    stores = _open(studies, store, is_resumed=resume)
    try:
        _run(console, stores, wanted, counts, _workers(jobs, cluster))
    finally:
        for one in stores:
            one.close()
    _show_results(console, store, names)


def _places(study: Study, networks: tuple[int, ...]) -> list[int]:
    return [
        place
        for place, setting in enumerate(study.settings)
        if not networks or setting.network in networks
    ]


def _open(studies: list[Study], folder: Path, *, is_resumed: bool) -> list[Store]:
    paths = [folder / f"{study.label}.sqlite" for study in studies]
    there = [str(path) for path in paths if path.exists()]
    if there and not is_resumed:
        raise QubonnError(f"--fresh needs a new store, but there is {', '.join(there)}")
    return [Store.open(path, study) for path, study in zip(paths, studies, strict=True)]


def _workers(jobs: int | None, cluster: str | None) -> Workers:
    if cluster is not None:
        from qubonn.experiments.cluster import Cluster

        return Cluster(cluster)
    count = jobs or core_count()
    return InThisProcess() if count == 1 else LocalProcesses(count)


def _run(
    console: Console,
    stores: list[Store],
    wanted: dict[str, list[int]],
    counts: dict[str, int],
    workers: Workers,
) -> None:
    asked = {
        store.study.label: runs_of(wanted[store.study.label], counts[store.study.label])
        for store in stores
    }
    totals = {label: len(runs) for label, runs in asked.items()}
    already = {
        store.study.label: len(store.done().intersection(asked[store.study.label]))
        for store in stores
    }
    try:
        with watching(console, totals, already) as report:
            for store in stores:
                label = store.study.label
                complete(store, counts[label], workers, settings=wanted[label], report=report)
    except KeyboardInterrupt:
        console.print("\nStopped; every finished run is kept. To go on:")
        console.print(f"  {_this_command()}", highlight=False, soft_wrap=True)
        raise SystemExit(130) from None
    finally:
        workers.close()


def _this_command() -> str:
    return shlex.join(["qubonn", *sys.argv[1:]])


def _show_counts(console: Console) -> None:
    from qubonn.experiments.tables import counts_table
    from qubonn.experiments.terminal import rich_table

    console.print(rich_table(counts_table()))


def _show_results(console: Console, folder: Path, names: tuple[str, ...]) -> None:
    """Show what the store has now, of both engines."""
    from qubonn.experiments.contents import in_order
    from qubonn.experiments.summary import summarise
    from qubonn.experiments.tables import results_table
    from qubonn.experiments.terminal import rich_table

    for name in names:
        summaries = []
        for path in sorted(folder.glob(f"{name}-*.sqlite")):
            with Store.read(path) as store:
                summaries.append(summarise(store))
        known = in_order([summary for summary in summaries if summary.settings])
        if known:
            console.print(rich_table(results_table(name, known)))
    console.print(
        "In brackets: ours minus the paper's; * more than chance, ~ no more than other test images "
        f"bring. Everything else:  qubonn report {shlex.quote(str(folder))} -o report.html",
        highlight=False,
    )
