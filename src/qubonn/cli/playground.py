"""``qubonn playground``: open the page that anneals a network in the browser."""

import webbrowser
from importlib.resources import files
from pathlib import Path

import click

from qubonn.cli import options
from qubonn.cli.screen import Screen

PAGE = "playground.html"


@click.command(
    epilog="""Examples:

\b
  qubonn playground
  qubonn playground --no-browser"""
)
@click.option(
    "--browser/--no-browser",
    default=True,
    help="Open the page in the default browser; its path is printed in both cases.",
)
@options.screen
def command(browser: bool, screen: Screen) -> None:
    """Open a page that shows a network of bits being trained.

    The page is one file, needs no connection, and sends nothing: it draws tasks, anneals networks
    in two views, lets them vote, and saves them as files that qubonn reads.
    """
    page = page_path()
    is_open = browser and webbrowser.open(page.as_uri())
    screen.say(str(page))
    if browser and not is_open:
        screen.note("No browser could be opened: open the file in one.")
    screen.document(page=str(page), is_open=is_open)


def page_path() -> Path:
    """Return where the page is installed."""
    return Path(str(files("qubonn").joinpath("playground", PAGE)))
