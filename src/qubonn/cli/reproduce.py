"""``qubonn reproduce``: the paper's studies -> a store, and their tables beside the paper's."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from qubonn.errors import QubonnError
from qubonn.experiments import Run, Store, complete, runs_of, watching, workers
from qubonn.paper import published
from qubonn.paper.studies import EngineName, PaperStudy, Tune, study_of

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

    Every run is kept as it ends. Stop at any moment; the same command goes on from there. See the
    result with  qubonn report STORE -o report.html
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
    wanted = {study.label: _runs(study, networks, runs) for study in studies}
    studies = [study for study in studies if wanted[study.label]]
    if not studies:
        raise QubonnError(f"none of the networks {networks} is in these studies")
    import joblib

    with ExitStack() as opened:
        stores = [opened.enter_context(one) for one in _open(studies, store, is_resumed=resume)]
        parallel = opened.enter_context(workers(jobs or joblib.cpu_count(), cluster))
        _run(console, studies, stores, wanted, parallel)
    _show_results(console, store, names)


def _runs(study: PaperStudy, networks: tuple[int, ...], count: int | None) -> list[Run]:
    chosen = [one for one in study.settings if not networks or one["network"] in networks]
    return runs_of(chosen, count or published(study.name)[0].run_count)


def _open(studies: list[PaperStudy], folder: Path, *, is_resumed: bool) -> Iterator[Store]:
    paths = [folder / f"{study.label}.sqlite" for study in studies]
    there = [str(path) for path in paths if path.exists()]
    if there and not is_resumed:
        raise QubonnError(f"--fresh needs a new store, but there is {', '.join(there)}")
    for path, study in zip(paths, studies, strict=True):
        yield Store.open(path, study)


def _run(
    console: Console,
    studies: list[PaperStudy],
    stores: list[Store],
    wanted: dict[str, list[Run]],
    parallel: Any,
) -> None:
    totals = {study.label: len(wanted[study.label]) for study in studies}
    already = {
        study.label: len({run.key for run in wanted[study.label]} & store.done())
        for study, store in zip(studies, stores, strict=True)
    }
    try:
        with watching(console, totals, already) as report:
            for study, store in zip(studies, stores, strict=True):
                complete(study, store, wanted[study.label], parallel, report=report)
    except KeyboardInterrupt:
        console.print("\nStopped; every finished run is kept. To go on:")
        console.print(f"  {_this_command()}", highlight=False, soft_wrap=True)
        raise SystemExit(130) from None


def _this_command() -> str:
    return shlex.join(["qubonn", *sys.argv[1:]])


def _show_counts(console: Console) -> None:
    from qubonn.paper.results import counts_table

    console.print(counts_table().rich())


def _show_results(console: Console, folder: Path, names: tuple[str, ...]) -> None:
    """Show what the store has now, of both engines."""
    from qubonn.paper.comparison import Summary
    from qubonn.paper.results import in_order, results_table

    for name in names:
        summaries = []
        for path in sorted(folder.glob(f"{name}-*.sqlite")):
            with Store.read(path) as store:
                summaries.append(Summary.of(store))
        known = in_order(summaries)
        if known:
            console.print(results_table(known).rich())
    console.print(
        "In brackets: ours minus the paper's; * more than chance, ~ no more than other test images "
        f"bring. Everything else:  qubonn report {shlex.quote(str(folder))} -o report.html",
        highlight=False,
    )
