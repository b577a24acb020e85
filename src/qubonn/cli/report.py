"""``qubonn report``: a store -> one HTML page, or Markdown with figures, and CSV."""

import os
from contextlib import ExitStack
from pathlib import Path

import click

from qubonn.cli import options
from qubonn.cli.screen import Screen
from qubonn.errors import FileFormatError


@click.command(epilog="Example:  qubonn report reproduction -o report.html")
@click.argument("store", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write.  [default: report.html, or report.md]",
)
@click.option("--markdown", "is_markdown", is_flag=True, help="Write Markdown instead of HTML.")
@click.option(
    "--template",
    type=options.EXISTING,
    help="Text with placeholders for tables and figures; only with --markdown.",
)
@click.option(
    "--files",
    type=options.FOLDER,
    help="Folder for the figures of --markdown.  [default: OUT without its suffix]",
)
@click.option(
    "--csv",
    "csv_folder",
    type=options.FOLDER,
    help="Also write every run and every comparison as CSV into this folder.",
)
@options.screen
def command(
    store: tuple[Path, ...],
    out: Path | None,
    is_markdown: bool,
    template: Path | None,
    files: Path | None,
    csv_folder: Path | None,
    screen: Screen,
) -> None:
    """Write a page with the tables and figures of reproduce.

    STORE is the folder of reproduce, or some of its files. The page needs no network.
    """
    from qubonn.experiments import Store
    from qubonn.experiments.tables import runs_csv
    from qubonn.paper.comparison import comparisons_csv
    from qubonn.paper.results import report_of
    from qubonn.storage import write_whole

    if (template or files) and not is_markdown:
        raise click.UsageError("--template and --files need --markdown")
    out = out or Path("report.md" if is_markdown else "report.html")
    contents: dict[Path, str] = {}
    figures: list[Path] = []
    with ExitStack() as stack:
        stores = [stack.enter_context(Store.read(path)) for path in stores_in(store)]
        report = report_of(stores)
        if is_markdown:
            folder = files or out.with_suffix("")
            prose = None if template is None else template.read_text(encoding="utf-8")
            place = Path(os.path.relpath(folder, out.parent)).as_posix()
            contents[out] = report.markdown(place, prose)
            figures = report.write_figures(folder, contents[out])
        else:
            contents[out] = report.html()
        if csv_folder is not None:
            for one in stores:
                contents[csv_folder / f"{one.path.stem}.csv"] = runs_csv(one.path.stem, one.rows())
            contents[csv_folder / "comparisons.csv"] = comparisons_csv(stores)
    for path, text in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())
    written = [*figures, *contents]
    screen.facts(*((str(path), f"{path.stat().st_size:,} bytes") for path in written))
    screen.document(written=[str(path) for path in written])


def stores_in(places: tuple[Path, ...]) -> list[Path]:
    """Return the store files among files and folders, in order."""
    paths: list[Path] = []
    for place in places:
        paths += sorted(place.glob("*.sqlite")) if place.is_dir() else [place]
    if not paths:
        names = ", ".join(str(place) for place in places)
        raise FileFormatError(f"{names} must hold stores made by qubonn reproduce; there are none")
    return paths
