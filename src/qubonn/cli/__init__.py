"""The command line: one file a command, imported when it is called or listed.

``qubonn COMMAND`` -> qubonn.cli.COMMAND.command
"""

import io
import sys
from importlib import import_module

import click

from qubonn import __version__
from qubonn.cli.screen import INTERRUPTED, WRONG, printable
from qubonn.errors import QubonnError

__all__ = ["main"]

COMMANDS = ("demo", "train", "predict", "inspect", "qubo", "decode", "export", "bench",
            "reproduce", "report", "playground")  # fmt: skip


class _LazyGroup(click.Group):
    """Imports only the command that is called; errors become one line and an exit code."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = import_module(f"qubonn.cli.{name}").command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except BrokenPipeError:
            raise  # click exits quietly when the reader of a pipe is gone
        except OSError as error:
            has_place = error.strerror and error.filename is not None
            line = f"{error.filename}: {error.strerror}" if has_place else str(error)
            raise _Wrong(printable(line)) from error
        except QubonnError as error:
            raise _Wrong(printable(str(error))) from error
        except MemoryError as error:
            raise _Wrong("there is not enough memory: use fewer examples") from error
        except KeyboardInterrupt:
            click.echo("\nInterrupted; nothing was written.", err=True)
            context.exit(INTERRUPTED)


class _Wrong(click.ClickException):
    """Wrong input: one sentence, nothing written."""

    exit_code = WRONG


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog="Exit codes: 0 for success, 2 for wrong usage or input, 3 for a result below what was "
    "required, 130 after Ctrl-C; the best result so far is kept.",
)
@click.version_option(__version__, prog_name="qubonn")
def main() -> None:
    """Train networks of -1 and +1 by minimising an energy instead of following a gradient."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # labels that an old terminal cannot show
            stream.reconfigure(errors="backslashreplace")
