"""A bar for people who wait: part done, lowest energy, time left."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from qubonn.stopping import Progress as Step
from qubonn.stopping import Report


@contextmanager
def progress_bar(title: str) -> Iterator[Report]:
    """Show a bar while the block runs; give its report function to a solver."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %  energy {task.fields[energy]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, transient=True, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=1.0, energy="")

        def report(step: Step) -> None:
            bar.update(task, completed=step.part, energy=f"{step.best_energy:g}")

        yield report
