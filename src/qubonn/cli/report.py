"""``qubonn report``: a store -> one HTML page, or Markdown with figures, and CSV."""

from contextlib import ExitStack
from pathlib import Path

import click

from qubonn.errors import FileFormatError
from qubonn.experiments import Store
from qubonn.experiments.tables import runs_csv
from qubonn.paper.comparison import comparisons_csv
from qubonn.paper.results import report_of
from qubonn.storage import write_whole


@click.command(epilog="Example:  qubonn report reproduction -o report.html")
@click.argument("store", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write. [default: report.html, or report.md]",
)
@click.option("--markdown", "is_markdown", is_flag=True, help="Markdown instead of HTML.")
@click.option(
    "--template",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Prose with places for tables and figures; only with --markdown.",
)
@click.option(
    "--files",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the figures of --markdown, beside the file. [default: its name]",
)
@click.option(
    "--csv",
    "csv_folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also write every run and every comparison as CSV into this folder.",
)
def command(
    store: tuple[Path, ...],
    out: Path | None,
    is_markdown: bool,
    template: Path | None,
    files: Path | None,
    csv_folder: Path | None,
) -> None:
    """Turn the runs of reproduce into one page with tables and figures.

    STORE is the folder of reproduce, or some of its files. The page needs no network.
    """
    if (template or files) and not is_markdown:
        raise click.UsageError("--template and --files belong to --markdown")
    out = out or Path("report.md" if is_markdown else "report.html")
    with ExitStack() as stack:
        stores = [stack.enter_context(Store.read(path)) for path in stores_in(store)]
        report = report_of(stores)
        if is_markdown:
            folder = files or out.with_suffix("")
            text = report.markdown(_relative(folder, out.parent), _read(template))
            written = [*report.write_figures(folder, text), out]
        else:
            text, written = report.html(), [out]
        out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, text.encode())
        if csv_folder is not None:
            csv_folder.mkdir(parents=True, exist_ok=True)
            for one in stores:
                written.append(csv_folder / f"{one.path.stem}.csv")
                write_whole(written[-1], runs_csv(one.path.stem, one.rows()).encode())
            written.append(csv_folder / "comparisons.csv")
            write_whole(written[-1], comparisons_csv(stores).encode())
    for path in written:
        click.echo(f"{path}  {path.stat().st_size:,} bytes")


def stores_in(places: tuple[Path, ...]) -> list[Path]:
    """The store files among files and folders, in order."""
    paths = [
        path
        for place in places
        for path in (sorted(place.glob("*.sqlite")) if place.is_dir() else [place])
    ]
    if not paths:
        names = ", ".join(str(place) for place in places)
        raise FileFormatError(f"{names} must hold stores made by qubonn reproduce; there are none")
    return paths


def _read(template: Path | None) -> str | None:
    return None if template is None else template.read_text(encoding="utf-8")


def _relative(folder: Path, base: Path) -> str:
    try:
        return folder.resolve().relative_to(base.resolve()).as_posix()
    except ValueError:
        return folder.as_posix()
