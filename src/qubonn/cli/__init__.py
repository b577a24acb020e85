"""The command line: one file a command, each imported when it is called.

``qubonn COMMAND`` -> qubonn.cli.COMMAND.command
"""

from importlib import import_module

import click

from qubonn import __version__
from qubonn.errors import QubonnError

__all__ = ["main"]

COMMANDS = {"demo": "Show the whole road on the paper's letters, in seconds."}


class _LazyGroup(click.Group):
    """Lists the commands without importing them, so that --help answers at once."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = import_module(f"qubonn.cli.{name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except (QubonnError, OSError) as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="qubonn")
def main() -> None:
    """Train networks of -1 and +1 by minimising an energy instead of following a gradient."""
